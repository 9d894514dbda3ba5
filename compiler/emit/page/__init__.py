"""A page of timelines that holds all it needs."""
