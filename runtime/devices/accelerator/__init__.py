"""NPUs and CUDA GPUs as devices, through one code path: `kinds.py` says in what they differ."""
