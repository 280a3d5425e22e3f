"""Reads the literate cases of `conformance/` and runs them on every runtime."""
