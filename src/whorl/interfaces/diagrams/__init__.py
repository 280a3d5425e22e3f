"""Workflows as diagrams: `text` is a tree or a Mermaid chart, `svg` a picture."""
