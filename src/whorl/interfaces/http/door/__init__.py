"""The door: who may come in, and what may be brought along."""
