"""Formats of other systems: each a folder that alone knows what its files mean."""
