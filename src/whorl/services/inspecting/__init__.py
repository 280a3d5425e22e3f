"""Reads runs: their results, costs, places and live text."""
