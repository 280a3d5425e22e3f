"""Models: their names, their wire formats, their limits and prices."""
