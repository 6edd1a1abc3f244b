"""How an agent loops."""
