"""Loops: their phases, what they keep, when they end."""
