"""Servers to hold against clients: in this process or in one of their own, and many clients at once."""
