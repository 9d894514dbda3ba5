"""One verb a module: `DESCRIPTION`, `add_arguments`, and `run`, which returns the exit code."""
