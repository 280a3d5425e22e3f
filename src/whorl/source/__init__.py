"""Text with positions: bounded YAML and JSON, and the one rule for files beside a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.source.paths import (
    Nearby,
    Place,
    find_beside,
    list_beside,
    open_beside,
    open_file,
    resolve_beside,
)
from whorl.source.reading import read_text
from whorl.source.tree import (
    LIMITS,
    Document,
    Entry,
    Json,
    Limits,
    Mapping,
    Scalar,
    Sequence,
    Value,
    plain,
)
from whorl.source.yaml import read_yaml

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.source.json import read_json

__all__ = [
    "LIMITS",
    "Document",
    "Entry",
    "Json",
    "Limits",
    "Mapping",
    "Nearby",
    "Place",
    "Scalar",
    "Sequence",
    "Value",
    "find_beside",
    "list_beside",
    "open_beside",
    "open_file",
    "plain",
    "read_json",
    "read_text",
    "read_yaml",
    "resolve_beside",
]


def __getattr__(name: str) -> Callable[..., Document]:
    # Most files are YAML.
    if name == "read_json":
        from whorl.source.json import read_json

        return read_json
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
