"""What a Python program gives: checked where it enters, with the place of whatever does not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from whorl.errors import UsageError
from whorl.providers.json_values import DEPTH_MAX, NotJson, as_json

if TYPE_CHECKING:
    from whorl.language import Json

# What parameters take: also types whose items cannot be changed, such as tuples.
JsonLike: TypeAlias = (
    "bool | int | float | str | Sequence[JsonLike] | Mapping[str, JsonLike] | None"
)
_BYTES = (bytes, bytearray, memoryview)
_DOLLARS_MAX = 1e9


def plain_value(value: object, place: str) -> Json:
    """A copy of the value as plain JSON; raises UsageError with the place of what is none."""
    try:
        return _plain(value, place, 0)
    except NotJson as fault:
        raise UsageError(str(fault)) from None


def plain_table(value: object, place: str) -> dict[str, Json]:
    """The same for a value that must be a mapping; None stands for an empty one."""
    if not isinstance(value, Mapping | None):
        raise UsageError(f"{place} must be a mapping of names to values, not {value!r:.80}")
    found = plain_value(dict(value or {}), place)
    assert isinstance(found, dict)
    return found


def dollars(value: float | None, name: str = "budget") -> float | None:
    """An amount of dollars, if one is given; raises UsageError where it is none."""
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value < _DOLLARS_MAX:
        raise UsageError(f"{name} is {value!r:.80}, which is no amount of dollars such as 0.50")
    return float(value)


def count(value: int | None, name: str) -> int | None:
    """A whole number of at least 1, if one is given; raises UsageError where it is none."""
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{name} is {value!r:.80}, which is no whole number of at least 1")
    return int(value)


def text(value: str | None, name: str) -> str:
    """A text; None stands for an empty one. Raises UsageError for anything else."""
    if not isinstance(value, str | None):
        raise UsageError(f"{name} is {value!r:.80}, which is no text")
    return value or ""


def _plain(value: object, place: str, depth: int) -> Json:
    if depth > DEPTH_MAX:
        raise NotJson(f"{place[:80]}... is more than {DEPTH_MAX} levels deep")
    if isinstance(value, Mapping):
        return {
            _key(key, place): _plain(item, f"{place}.{key}", depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, str):
        # A text that is a member of an enumeration would be shown as the name of the member.
        return as_json(str.__str__(value), place)
    if isinstance(value, Sequence) and not isinstance(value, _BYTES):
        return [_plain(item, f"{place}[{at}]", depth + 1) for at, item in enumerate(value)]
    return as_json(value, place)


def _key(key: object, place: str) -> str:
    if not isinstance(key, str):
        raise NotJson(f"{place} has the key {key!r:.80}, which is no text")
    return str.__str__(key)
