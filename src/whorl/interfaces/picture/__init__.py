"""A workflow as an SVG picture: rows and layout compute where things are, svg writes them."""

from __future__ import annotations

from whorl.interfaces.picture.svg import svg

__all__ = ["svg"]
