"""Bodies that mix every input into every output: a run of any schedule without a model."""
