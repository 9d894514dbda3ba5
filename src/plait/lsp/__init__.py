"""A language server: what `plait check` and `plait explain` know, where a spec is written."""
