"""How the checkpoint was made. `python -m plait.runtime.models.tiny.training` makes it again."""
