"""A trace read against the schedule whose rounds it shows."""
