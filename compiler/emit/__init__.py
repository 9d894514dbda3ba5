"""A Schedule as text for people: one form a file. Python is the runtime's (`runtime/program.py`)."""
