"""How the checkpoint was made. `python -m plait.runtime.models.small_llama.training` makes it again."""
