"""How a model is reached: wire protocols over httpx, and replay."""
