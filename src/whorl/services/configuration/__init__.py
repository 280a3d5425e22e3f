"""Where settings come from, and whether a folder may have rights."""
