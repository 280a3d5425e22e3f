"""Readers of single nodes: each gives the nodes of the IR that stand for one of the file."""
