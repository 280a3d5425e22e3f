"""Scouts, which choose the agents that run next, and executors, which run those of a path."""
