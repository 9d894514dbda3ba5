"""The buckets of a dim, chosen for the sizes that were seen."""
