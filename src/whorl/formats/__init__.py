"""Formats of other systems: each is a folder, and only that folder knows the format."""
