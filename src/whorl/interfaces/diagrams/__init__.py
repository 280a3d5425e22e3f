"""Workflows as diagrams: `text` is a tree or a Mermaid chart, `layout` and `svg` a picture."""
