"""The journal of a run, and rebuilding runs from it."""
