"""Traces of profilers, read into one form."""
