"""From measured rounds to a cost profile, and how well that foretells them."""
