"""The functions of Logic Apps expressions, one table per family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.loom.functions.collections import (
    COLLECTIONS,
    LENIENT_COLLECTIONS,
    LOGICAL,
    OBJECTS,
    TYPING,
)
from whorl.dialects.loom.functions.conversion import CONVERSION, MATH, XML_FUNCTIONS
from whorl.dialects.loom.functions.dates import DATES
from whorl.dialects.loom.functions.strings import BINARY, STRINGS, URIS
from whorl.dialects.loom.functions.workflow import WORKFLOW, differing

if TYPE_CHECKING:
    from whorl.language.entry import FunctionEntry

LOGIC_FUNCTIONS: tuple[FunctionEntry, ...] = (
    STRINGS
    + COLLECTIONS
    + LOGICAL
    + CONVERSION
    + BINARY
    + MATH
    + DATES
    + WORKFLOW
    + URIS
    + OBJECTS
    + XML_FUNCTIONS
    + TYPING
)

# Later entries take the place of earlier ones of the same name.
LENIENT_LOGIC_FUNCTIONS: tuple[FunctionEntry, ...] = (
    LOGIC_FUNCTIONS + LENIENT_COLLECTIONS + differing(lenient=True)
)
