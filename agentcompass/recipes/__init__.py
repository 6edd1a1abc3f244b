"""Plan adjustments for pairs of benchmark and environment."""
