"""How tokens are chosen, and drafted ones accepted, so that a request's tokens are its own alone."""
