"""The types of nodes as nodes of the IR, one family per file."""
