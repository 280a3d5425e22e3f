"""Fields of objects in a file, read as texts, flags, schemas and lists of objects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.shodan.draft import Draft
    from whorl.errors import Span


def text_of(item: Mapping, name: str) -> str:
    """A text; empty where there is none."""
    value = item.get(name)
    return value.text if isinstance(value, Scalar) and value.value is not None else ""


def flag_of(item: Mapping, name: str) -> bool:
    """Whether a field is true."""
    return text_of(item, name).lower() == "true"


def span_of(item: Mapping, name: str) -> Span:
    """Where a field stands, or else the object."""
    value = item.get(name)
    return item.span if value is None else value.span


def scalar_of(item: Mapping, name: str) -> Scalar | None:
    """A field that is one value and not null."""
    value = item.get(name)
    return value if isinstance(value, Scalar) and value.value is not None else None


def table_of(item: Mapping, name: str) -> Mapping | None:
    """An object."""
    value = item.get(name)
    return value if isinstance(value, Mapping) else None


def items_of(draft: Draft, item: Mapping, name: str) -> list[Mapping]:
    """A list of objects; anything else in it is reported."""
    value = item.get(name)
    if value is None or (isinstance(value, Scalar) and value.value is None):
        return []
    found: list[Mapping] = []
    for part in value if isinstance(value, Sequence) else (value,):
        if isinstance(part, Mapping):
            found.append(part)
        else:
            draft.report(
                "W007",
                f"{name!r} must be a list of objects",
                part.span,
                label="no object",
                help="write a list whose items have names, such as - id: ...",
            )
    return found


def read_schema(text: str) -> dict[str, object] | None:
    """The JSON Schema in a text; None if it is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
