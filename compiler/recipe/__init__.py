"""A launch recipe, read and never run: what it exports, and the options it passes."""
