"""The native format in an editor: its picture, and what operations do to its text."""
