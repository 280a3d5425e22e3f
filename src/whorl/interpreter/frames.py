"""Frames and outcomes: the JSON objects that a machine's state is made of."""

from __future__ import annotations

from typing import Any, TypeAlias

# The file of a frame's construct says which fields it has.
Frame: TypeAlias = dict[str, Any]
Outcome: TypeAlias = dict[str, Any]


def children_of(frame: Frame) -> list[str]:
    """The keys of the frames right below a frame."""
    found = list(frame["children"].values()) if "children" in frame else []
    if frame.get("body"):
        found.append(frame["body"])
    return found
