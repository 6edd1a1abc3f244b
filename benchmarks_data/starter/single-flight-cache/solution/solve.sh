#!/bin/bash
set -e
cd "${APP_DIR:-/app}"

cat > loading_cache.py <<'PY'
"""Values that are loaded when they are first asked for."""

import threading
from concurrent.futures import Future


class LoadingCache:
    """Loads the value of a key with `load(key)` and keeps it until the key is invalidated."""

    def __init__(self, load):
        self._load = load
        self._lock = threading.Lock()  # held for the two dicts only, never during a load
        self._values = {}
        self._loading = {}

    def get(self, key):
        """Return the value of `key`, loading it if need be."""
        with self._lock:
            if key in self._values:
                return self._values[key]
            future = self._loading.get(key)
            if future is None:
                mine = self._loading[key] = Future()
        if future is not None:
            return future.result()
        return self._run(key, mine)

    def _run(self, key, future):
        try:
            value = self._load(key)
        except BaseException as error:
            with self._lock:
                del self._loading[key]
            future.set_exception(error)
            raise
        with self._lock:
            del self._loading[key]
            self._values[key] = value
        future.set_result(value)
        return value

    def invalidate(self, key):
        """Forget the value of `key`; the next `get` loads it again."""
        with self._lock:
            self._values.pop(key, None)

    def __len__(self):
        """Return how many values are kept."""
        with self._lock:
            return len(self._values)
PY
python3 -m unittest
