"""Runs and workflows as they go out: the store and the IR in, models out."""
