"""A Schedule to work on a device. Never imports the language or the compiler."""

if __name__ != "plait.runtime":  # pragma: no cover
    raise ImportError(
        f"import plait.runtime, not {__name__} (this folder is linked as src/plait/runtime)"
    )
