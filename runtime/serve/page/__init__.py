"""The page at `/`: what the engine does, as it does it."""
