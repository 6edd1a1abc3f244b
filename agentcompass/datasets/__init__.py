"""Public data sets here: where they lie, whether they are whole, how they are fetched."""
