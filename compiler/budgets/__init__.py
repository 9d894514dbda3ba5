"""What a pipeline costs its target: streams, tasks, memory, routes, and what is cheapest to drop."""
