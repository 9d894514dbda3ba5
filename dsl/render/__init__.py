"""Diagnostics as people and programs want them; the data stands in `dsl/diagnostic.py`."""
