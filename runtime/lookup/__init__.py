"""Prompt lookup: drafting from the text itself, for any model that verifies."""
