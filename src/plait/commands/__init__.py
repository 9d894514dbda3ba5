"""One verb a module: `add_to` declares its arguments, `run` does it and returns the exit code."""
