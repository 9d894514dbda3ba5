"""Syntax to rounds: each statement expanded where it stands."""
