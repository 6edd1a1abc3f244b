"""A run directory after the run: its report, made anew from its records."""
