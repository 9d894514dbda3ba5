"""How long a round takes: costs, a simulation of it, and the path that decides."""
