"""Accesses that meet, those that nothing orders, and the edge that mends them."""
