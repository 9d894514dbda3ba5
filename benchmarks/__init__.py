"""Every figure that README and documents quote: `python -m benchmarks [name ...]`.

Peers are timed in the same run, taking turns; what counts is the ratio of each pair, and its median.
Absolute times are shown only to tell what was measured.
"""
