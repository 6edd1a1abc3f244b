"""The run directory: layout, atomic writes, records, log."""
