"""Workflows that are written in Python, as functions; they become the same as files."""
