"""Rows to the ranks of their experts and back, behind one interface."""
