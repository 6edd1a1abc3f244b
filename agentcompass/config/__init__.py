"""Settings from files, flags and keywords: read, merged, resolved."""
