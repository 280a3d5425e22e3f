"""What to say about a name that is not known: the nearest one, or what there is."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from whorl.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

_LISTED_MAX = 12
# Comparing names costs time, and a hostile file has many of both.
_COMPARED_MAX = 500


def suggest(name: str, known: Iterable[str]) -> str:
    """Returns a help text: the nearest name, or what there is to choose from."""
    names = list(dict.fromkeys(islice(known, _COMPARED_MAX)))
    question = did_you_mean(name, names)
    if question or not names:
        return question
    listed = ", ".join(names[:_LISTED_MAX])
    return f"there is {listed}" + (", ..." if len(names) > _LISTED_MAX else "")
