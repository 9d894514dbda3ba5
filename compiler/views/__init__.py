"""A round as pages for a person."""
