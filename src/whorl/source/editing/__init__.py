"""Changing a text in the smallest way: patches on offsets, each verified by reading it again."""
