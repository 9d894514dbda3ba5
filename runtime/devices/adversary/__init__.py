"""A device that runs whatever a schedule allows, chosen by a seed, to find what it should not allow."""
