"""The tables of a store, one module for what belongs together."""
