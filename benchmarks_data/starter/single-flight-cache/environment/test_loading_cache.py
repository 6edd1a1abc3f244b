import unittest

from loading_cache import LoadingCache


class LoadingCacheTest(unittest.TestCase):
    def setUp(self):
        self.loaded = []
        self.cache = LoadingCache(self.load)

    def load(self, key):
        self.loaded.append(key)
        return key.upper()

    def test_a_value_is_loaded_once(self):
        self.assertEqual([self.cache.get("a"), self.cache.get("a")], ["A", "A"])
        self.assertEqual(self.loaded, ["a"])

    def test_an_invalidated_value_is_loaded_again(self):
        self.cache.get("a")
        self.cache.invalidate("a")
        self.cache.invalidate("never loaded")
        self.cache.get("a")
        self.assertEqual(self.loaded, ["a", "a"])

    def test_len_counts_values(self):
        self.cache.get("a")
        self.cache.get("b")
        self.assertEqual(len(self.cache), 2)
