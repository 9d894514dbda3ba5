"""A real browser, driven through its DevTools protocol."""
