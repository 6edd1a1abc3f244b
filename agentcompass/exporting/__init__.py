"""A run directory for others: as other programs read it."""
