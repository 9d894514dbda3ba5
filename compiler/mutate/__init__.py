"""A spec edited in every single way, to see that each edit that breaks it is refused."""
