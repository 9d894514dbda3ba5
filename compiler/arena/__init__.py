"""Memory that buffers share."""
