"""Runs workflows: the driver, the journal and the runtimes."""
