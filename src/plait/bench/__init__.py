"""What this machine makes of a round, each figure a ratio of two that took turns."""
