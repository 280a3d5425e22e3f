"""Loops in all their formats: the inside, what is mapped and carried, when they go on."""
