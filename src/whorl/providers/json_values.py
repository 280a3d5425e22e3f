"""Text and JSON from other systems, made fit for the journal: bounded, finite, valid Unicode."""

from __future__ import annotations

import json
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar

from whorl.language.chunked_json import read_pieces
from whorl.lazily import regex
from whorl.source import without_surrogates

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from whorl.language import Json

T = TypeVar("T")
# So many characters take milliseconds to read.
LARGE = 200_000
DEPTH_MAX = 64
INTEGER_MAX = 2**63
# A reply of 10 MB may hold millions of values; each takes fifty times its two characters.
VALUES_MAX = 500_000

_STRING = regex('"[^"]*+"')

# Text from other systems is cleaned like files.
clean = without_surrogates


@cache
def _thread() -> Executor:
    """Returns the only thread: each further one would slow the event loop down."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1, thread_name_prefix="whorl-large")


async def beside(work: Callable[[], T], size: int = LARGE) -> T:
    """Does work of milliseconds in a thread; work of a small size is done at once."""
    if size < LARGE:
        return work()
    from asyncio import get_running_loop

    return await get_running_loop().run_in_executor(_thread(), work)


class NotJson(ValueError):
    """A text or a value that is not JSON; the message says where and why."""


def parse_json(text: str, *, in_part: bool = False) -> Json:
    """Parses the JSON value of a text. Raises NotJson.

    With `in_part`, as for the wire formats of models, texts are not cleaned, because a text may end
    in half a character. A number that is not finite becomes None, so that one wrong count does not
    lose a paid answer.
    """
    check_values(text)

    def constant(word: str) -> None:
        if not in_part:
            raise NotJson(f"{word} is not JSON")

    try:
        parse_float = _finite if in_part else None
        decoder = json.JSONDecoder(parse_constant=constant, parse_float=parse_float)
        parsed = read_pieces(text, decoder)
    except NotJson:
        raise
    except RecursionError:
        raise NotJson(f"more than {DEPTH_MAX} levels deep") from None
    except json.JSONDecodeError as cause:
        raise NotJson(_plain(cause)) from None
    except ValueError as cause:
        raise NotJson(str(cause)) from None
    return as_json(parsed, tidy=str if in_part else clean)


def _plain(fault: json.JSONDecodeError) -> str:
    """Returns the fault and its place, without the text, which may be a secret."""
    place = f"at line {fault.lineno}, column {fault.colno}"
    if not fault.doc.strip():
        return "it is empty"
    if not fault.doc[fault.pos :].strip():
        return f"it ends too early, {place}"
    if not fault.doc[: fault.pos].strip() and fault.msg.startswith("Expecting value"):
        return f"it begins with other words, {place}"
    return f"{fault.msg.partition(': ')[0]} {place}"


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if isfinite(number) else None


def check_values(text: str) -> None:
    """Refuses a text with too many values, before they take memory. Raises NotJson."""
    if _marks(text) <= VALUES_MAX:
        return
    # Marks inside texts do not count; one call for all texts would hold up other threads.
    marks = end = 0
    text = text.replace("\\\\", "").replace('\\"', "")
    for string in _STRING.finditer(text):
        marks += _marks(text[end : string.start()])
        end = string.end()
        if marks > VALUES_MAX:
            break
    if marks + _marks(text[end:]) > VALUES_MAX:
        raise NotJson(f"more than {VALUES_MAX:,} values")


def _marks(text: str) -> int:
    """Counts values: each but the first follows a comma, or is the first in another."""
    return text.count(",") + text.count("[") + text.count("{")


def as_json(value: object, path: str = "$", *, tidy: Callable[[str], str] = clean) -> Json:
    """Returns a copy as plain JSON (tuples become lists). Raises NotJson with its path."""
    try:
        return _copied(value, 0, tidy)
    except _Unfit as fault:
        raise NotJson(f"{path}{fault.path} {fault}") from None


class _Unfit(Exception):
    """A part of a value is not JSON; the path is only put together for a message."""

    path = ""


def _copied(value: object, depth: int, tidy: Callable[[str], str]) -> Json:
    if depth > DEPTH_MAX:
        raise _Unfit(f"is more than {DEPTH_MAX} levels deep")
    if isinstance(value, str):
        # One of a kind of its own, such as a member of an enumeration, becomes a plain one.
        return tidy(str.__str__(value))
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not -INTEGER_MAX <= value < INTEGER_MAX:
            raise _Unfit("is an integer of more than 64 bits")
        return int(value)
    if isinstance(value, float):
        if not isfinite(value):
            raise _Unfit(f"is {value}, which JSON cannot hold")
        return float(value)
    if isinstance(value, list | tuple):
        items: list[Json] = []
        for item in value:
            try:
                items.append(_copied(item, depth + 1, tidy))
            except _Unfit as fault:
                fault.path = f"[{len(items)}]{fault.path}"
                raise
        return items
    if not isinstance(value, dict):
        raise _Unfit(f"is of type {type(value).__name__!r}, which JSON cannot hold")
    table: dict[str, Json] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise _Unfit(f"has the key {key!r}, which is not a string")
        try:
            table[clean(str.__str__(key))] = _copied(item, depth + 1, tidy)
        except _Unfit as fault:
            fault.path = f".{key}{fault.path}"
            raise
    return table


def shorten(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}..."


def table_of(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def tables_of(value: Json) -> list[dict[str, Json]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def as_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def json_bytes(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def is_deeper(value: object, depth: int) -> bool:
    """Whether objects and lists are nested more deeply than `depth`."""
    layer: list[Any] = [value]
    for _ in range(depth):
        parts = [each.values() if isinstance(each, dict) else each for each in layer]
        layer = [part for each in parts for part in each if isinstance(part, dict | list)]
        if not layer:
            return False
    return True
