"""Whatever is typed ends in syntax or in a diagnostic, soon and in little memory: `python -m soak`."""
