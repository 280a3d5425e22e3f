"""What tasks give, made fit for the journal before anything is done with it.

The machine and the journal have to hold the same value, or a run that is replayed is another one.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from whorl.errors import ProviderError
from whorl.providers.json_values import NotJson, as_json
from whorl.providers.task import Reply

if TYPE_CHECKING:
    from whorl.language import Json

REPLY_MAX: Final = 48_000_000
_LONG: Final = REPLY_MAX // 6
_INTEGER_MAX: Final = 2**63
_DEPTH_MAX: Final = 128


def checked(reply: object) -> Reply:
    """The reply, if it is one; plugins may give anything."""
    if not isinstance(reply, Reply):
        kind = type(reply).__name__
        raise ProviderError(f"the task gave a {kind!r} instead of a Reply", code="P115")
    return reply


def fit(value: Json) -> Json:
    """The value itself, or what JSON makes of it; raises ProviderError where that cannot be."""
    try:
        size = _size(value, 0)
    except _Unfit:
        try:
            value = as_json(value)
        except NotJson as cause:
            raise ProviderError(
                f"the task gave a value that is not JSON: {cause}", code="P115"
            ) from None
        size = _size(value, 0)
    # A line break is two characters in JSON, some others are six: what is long is counted exactly.
    if size > _LONG and len(json.dumps(value, ensure_ascii=False)) > REPLY_MAX:
        raise ProviderError(
            f"the task gave more than {REPLY_MAX:,} characters; let it give less, or a place where"
            " the rest is",
            code="P117",
        )
    return value


class _Unfit(Exception):
    """Something that JSON, or the journal, does not hold as it is."""


def _size(value: Any, depth: int) -> int:
    """About how long the value is as JSON; raises _Unfit."""
    kind = type(value)
    if kind is str:
        # What is too long anyway is not mended first, which takes long.
        if not value.isascii() and len(value) <= REPLY_MAX:
            _check_text(value)
        return len(value) + 2
    if value is None or kind is bool:
        return 5
    if kind is int and -_INTEGER_MAX <= value < _INTEGER_MAX:
        return 8
    if kind is float and isfinite(value):
        return 8
    if depth > _DEPTH_MAX:
        raise _Unfit
    if kind is list:
        return 2 + sum([_size(item, depth + 1) for item in value])
    if kind is dict:
        total = 2
        for name, item in value.items():
            if type(name) is not str:
                raise _Unfit
            total += _size(name, depth) + _size(item, depth + 1)
        return total
    raise _Unfit


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _Unfit from None


def usage_of_failure(fault: ProviderError, reserve: dict[str, Json]) -> dict[str, Json]:
    """What a call that failed has used: what its provider says, or what was reserved for it.

    Where it is in doubt, the other side may have done the work, and will never say for how much.
    """
    usage: Any = fault.detail.get("usage")
    if isinstance(usage, dict):
        return usage | {"in_doubt": 1} if fault.is_doubtful and usage.get("calls") else usage
    if fault.is_doubtful and reserve:
        return {
            "calls": reserve.get("calls", 0),
            "output_tokens": reserve.get("tokens", 0),
            "cost_usd": reserve.get("cost_usd", 0),
            "in_doubt": 1,
        }
    return {"calls": reserve["calls"]} if reserve.get("calls") else {}
