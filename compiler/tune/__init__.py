"""A better schedule of the same round, looked for among texts that are each proven before they are priced."""
