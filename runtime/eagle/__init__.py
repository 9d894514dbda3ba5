"""EAGLE on a model with a NextN head: the bodies of a round's phases, and the loops around rounds."""
