"""Text to checked syntax. Knows nothing of graphs, of what a stream is for, or of torch."""

if __name__ != "plait.dsl":  # pragma: no cover
    raise ImportError(f"import plait.dsl, not {__name__} (this folder is linked as src/plait/dsl)")
