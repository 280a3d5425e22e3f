"""What the editors of all dialects share: the picture of a file, the operations, how they apply."""
