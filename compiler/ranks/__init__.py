"""What the ranks of a group do together: the collectives of each, whether they match, whether they end."""
