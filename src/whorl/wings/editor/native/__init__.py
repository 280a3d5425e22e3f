"""The native format in an editor: its picture, and how operations change its text."""
