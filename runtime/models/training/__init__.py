"""What both checkpoints were made by: corpus, plan, optimiser, and the folder that comes of it."""
