"""Rounds of many ranks: what they settle together, and what happens when one does not come."""
