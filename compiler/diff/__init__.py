"""Two schedules side by side: what differs, what that changes in order, time and memory."""
