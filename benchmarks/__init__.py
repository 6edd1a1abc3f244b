"""How fast, how flat: measured from outside, on the real engine and the real store."""
