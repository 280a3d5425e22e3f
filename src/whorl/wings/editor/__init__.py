"""The editor: pictures of files, operations on them, undo, single steps."""
