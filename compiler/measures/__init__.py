"""What a round costs, in figures: its time, what communication it exposes, memory, and why."""
