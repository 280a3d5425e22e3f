"""The function library of canvases of nodes and edges."""

from __future__ import annotations

from whorl.dialects.studio.functions.handles import CANVAS_FUNCTIONS
from whorl.language.libraries import Library

LIBRARY = Library(functions=CANVAS_FUNCTIONS)
