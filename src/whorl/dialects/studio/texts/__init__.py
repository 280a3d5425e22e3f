"""Texts with placeholders, scripts and paths, as expressions over what the canvas knows."""
