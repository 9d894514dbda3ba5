"""Requests in, tokens out: continuous batching over a compiled schedule."""
