"""A run directory for others: copies of it as other programs read them."""
