"""Models that come with Plait: real, trained, and small enough to live in the wheel."""
