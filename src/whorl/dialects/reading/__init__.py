"""The reader kit: what the readers of all dialects share, so that each has only its own rules.

context    one file while it is read: its diagnostics, places, called workflows; how reading ends
scalars    plain values of a file as Python values, without diagnostics
fields     the fields of one object, each read as what it must be, with diagnostics
structure  a whole file against tables: unknown, missing and wrong fields at once
texts      texts with placeholders, JSON values that hold such texts, sources of expressions
arguments  what a call gives to another workflow, against what that workflow takes
"""

from __future__ import annotations

from whorl.dialects.reading.context import REPORTED_MAX, ReadContext
from whorl.dialects.reading.fields import Fields, check_id, check_node, objects_of, unknown_fields
from whorl.dialects.reading.scalars import (
    duration_of,
    is_true,
    number_of,
    scalar_of,
    shown,
    span_of,
    text_of,
    texts_of,
    whole_of,
    words,
)
from whorl.dialects.reading.texts import (
    NearestNames,
    Placeholder,
    called,
    joined,
    placeholders,
    quoted,
    read_tree,
    split_text,
)

__all__ = [
    "REPORTED_MAX",
    "Fields",
    "NearestNames",
    "Placeholder",
    "ReadContext",
    "called",
    "check_id",
    "check_node",
    "duration_of",
    "is_true",
    "joined",
    "number_of",
    "objects_of",
    "placeholders",
    "quoted",
    "read_tree",
    "scalar_of",
    "shown",
    "span_of",
    "split_text",
    "text_of",
    "texts_of",
    "unknown_fields",
    "whole_of",
    "words",
]
