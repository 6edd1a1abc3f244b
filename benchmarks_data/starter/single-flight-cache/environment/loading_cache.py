"""Values that are loaded when they are first asked for."""


class LoadingCache:
    """Loads the value of a key with `load(key)` and keeps it until the key is invalidated."""

    def __init__(self, load):
        self._load = load
        self._values = {}

    def get(self, key):
        """Return the value of `key`, loading it if need be."""
        if self._values.get(key) is None:
            self._values[key] = self._load(key)
        return self._values[key]

    def invalidate(self, key):
        """Forget the value of `key`; the next `get` loads it again."""
        if key in self._values:
            del self._values[key]

    def __len__(self):
        """Return how many values are kept."""
        return len(self._values)
