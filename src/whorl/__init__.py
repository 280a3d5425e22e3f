"""Whorl: a workflow engine for AI work that goes round until it is right."""

__version__ = "0.1.0"
