"""Tasks that run code of a file, in a process of its own that may reach little or nothing."""
