"""When two values are the same: by content, numbers by value, a boolean never equal to a number."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from whorl.language.values import UNDEFINED

if TYPE_CHECKING:
    from collections.abc import Hashable

    from whorl.language.run import Run
    from whorl.language.values import Value


def same(run: Run, left: Value, right: Value) -> bool:
    """Tell whether two values are equal; the text `true` equals true, as in JSON."""
    if isinstance(left, str) and isinstance(right, str):
        run.spend(min(len(left), len(right)) >> 8)
        return left == right
    if isinstance(left, bool) or isinstance(right, bool):
        return _as_boolean(left) == _as_boolean(right)
    if isinstance(left, list | dict) and isinstance(right, list | dict):
        run.weigh(left)
        run.weigh(right)
    return identity(left) == identity(right)


def _as_boolean(value: Value) -> Value:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value) if isinstance(value, str) else None


def identity(value: Value) -> Hashable:
    """Return what two values have in common if they are equal; the value has been measured."""
    if value is None or value is UNDEFINED:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, int | float | Decimal):
        return ("number", value)
    if isinstance(value, list):
        return ("array", tuple([identity(item) for item in value]))
    assert isinstance(value, dict)
    return ("object", frozenset([(key, identity(item)) for key, item in value.items()]))
