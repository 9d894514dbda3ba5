"""Checked mode: what a phase declares against what it does, while it runs.

A wrapper around a device, so nothing of it is there when it is off. `checker.py` is the wrapper, `watch.py`
sees the kernels of one body, and each thing that is held against the spec has a file.
"""
