"""Models: their names, wire formats, limits and prices."""
