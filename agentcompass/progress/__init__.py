"""Events folded to a snapshot, written and shown."""
