"""Judges of a schedule that share nothing with the compiler but the schedule itself."""
