"""Sizes that depend on dims: how wide they are, what only pads, what is a graph where."""
