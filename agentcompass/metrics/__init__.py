"""From what attempts observed to the report of a run: pure functions, no clock and no I/O."""
