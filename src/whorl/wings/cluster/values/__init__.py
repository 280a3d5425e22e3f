"""How values travel: encoded, encrypted, and, where they are large, by reference to a place."""
