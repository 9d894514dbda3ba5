"""Checked syntax to a proven Schedule. Knows nothing of torch, and of the runtime only schedule.py."""

if __name__ != "plait.compiler":  # pragma: no cover
    raise ImportError(
        f"import plait.compiler, not {__name__} (this folder is linked as src/plait/compiler)"
    )
