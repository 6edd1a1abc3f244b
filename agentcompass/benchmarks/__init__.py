"""Data sets and how they are scored."""
