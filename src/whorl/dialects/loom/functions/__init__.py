"""The functions of Logic Apps expressions, one table per family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.loom.functions import collections, conversion, dates, strings, workflow

if TYPE_CHECKING:
    from whorl.language.entry import FunctionEntry

LOGIC_FUNCTIONS: tuple[FunctionEntry, ...] = (
    *strings.STRINGS.entries,
    *collections.COLLECTIONS.entries,
    *collections.LOGICAL.entries,
    *conversion.CONVERSION.entries,
    *strings.BINARY.entries,
    *conversion.MATH.entries,
    *dates.DATES.entries,
    *workflow.INTERNAL.entries,
    *workflow.WORKFLOW.entries,
    *strings.URIS.entries,
    *collections.OBJECTS.entries,
    *conversion.XML_FUNCTIONS.entries,
    *collections.TYPING.entries,
)

# Later entries take the place of earlier ones of the same name.
LENIENT_LOGIC_FUNCTIONS: tuple[FunctionEntry, ...] = (
    *LOGIC_FUNCTIONS,
    *collections.LENIENT_COLLECTIONS.entries,
    *workflow.LENIENT.entries,
)
