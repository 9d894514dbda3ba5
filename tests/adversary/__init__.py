"""What any legal interleaving makes of every example, and of every spec that is refused as a race."""
