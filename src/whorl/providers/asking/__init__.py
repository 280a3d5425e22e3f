"""Asking a model, for an answer or a verdict, and the tools that it is offered."""
