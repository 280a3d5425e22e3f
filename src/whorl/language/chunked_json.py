"""Reads and writes large JSON in pieces: one call for all of it would block other threads."""

from __future__ import annotations

from itertools import islice
from json import JSONDecodeError, JSONDecoder
from typing import TYPE_CHECKING, Any, NoReturn

from whorl.lazily import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PARTS_LARGE = 5_000
_CHARACTERS_LARGE = 200_000
# So many parts are written, and so many characters read, at once.
_AT_ONCE = 200
_WINDOW = 65_536
_SMALL_WINDOW = 1_024
_KEY = regex(r'"(?:[^"\\]|\\.){0,200}"[ \t\n\r]*:[ \t\n\r]*')
_SPACE = regex(r"[ \t\n\r]*")
# What an item ends with, by what it begins with.
_ENDS = {"{": "},", "[": "],", '"': '",'}


def is_large(value: object) -> bool:
    """Return whether JSON takes milliseconds to process; reads no more of it than necessary."""
    if isinstance(value, str):
        return len(value) > _CHARACTERS_LARGE
    parts = characters = 0
    waiting = [value] if isinstance(value, dict | list) else []
    while waiting:
        container = waiting.pop()
        parts += len(container)
        if parts > _PARTS_LARGE:
            return True
        for part in container.values() if isinstance(container, dict) else container:
            kind = type(part)
            if kind is str:
                characters += len(part)
            elif kind is dict or kind is list:
                waiting.append(part)
        if characters > _CHARACTERS_LARGE:
            return True
    return False


def write_pieces(value: object, encode: Callable[[Any], str], space: str = "") -> Iterator[str]:
    """Write the JSON of a value; `encode` writes a small part, with `space` after marks."""
    if not is_large(value):
        yield encode(value)
    elif isinstance(value, str):
        yield '"'
        for at in range(0, len(value), _CHARACTERS_LARGE):
            yield encode(value[at : at + _CHARACTERS_LARGE])[1:-1]
        yield '"'
    elif isinstance(value, dict):
        yield from _write_members(value, encode, space)
    else:
        assert isinstance(value, list)
        yield from _write_items(value, encode, space)


def _write_members(
    members: dict[str, Any], encode: Callable[[Any], str], space: str
) -> Iterator[str]:
    mark, rest = "{", iter(members.items())
    while some := dict(islice(rest, _AT_ONCE)):
        if not is_large(some):
            yield f"{mark}{encode(some)[1:-1]}"
            mark = f",{space}"
            continue
        for key, part in some.items():
            yield f"{mark}{encode(key)}:{space}"
            yield from write_pieces(part, encode, space)
            mark = f",{space}"
    yield "}"


def _write_items(items: list[Any], encode: Callable[[Any], str], space: str) -> Iterator[str]:
    mark = "["
    for at in range(0, len(items), _AT_ONCE):
        some = items[at : at + _AT_ONCE]
        if not is_large(some):
            yield f"{mark}{encode(some)[1:-1]}"
            mark = f",{space}"
            continue
        for part in some:
            yield mark
            yield from write_pieces(part, encode, space)
            mark = f",{space}"
    yield "]"


def read_pieces(text: str, decoder: JSONDecoder) -> Any:
    """Read a JSON text; raises what the decoder raises, ValueError or RecursionError."""
    if len(text) <= _WINDOW:
        return decoder.decode(text)
    reader = _Reader(text, decoder)
    value, end = reader.value(reader.skip(0))
    end = reader.skip(end)
    if end != len(text):
        raise JSONDecodeError("Extra data", text, end)
    return value


def refuse_constant(name: str) -> NoReturn:
    """Refuses NaN and Infinity, which Python's decoders read."""
    raise ValueError(f"{name} is not JSON")


class _Reader:
    """Decodes the parts that fit into a window, and goes into larger ones."""

    def __init__(self, text: str, decoder: JSONDecoder) -> None:
        self._text = text
        self._decode = decoder.decode
        self._scan: Callable[[str, int], tuple[Any, int]] = decoder.scan_once  # type: ignore[attr-defined]

    def skip(self, at: int) -> int:
        space = _SPACE.match(self._text, at)
        return space.end() if space else at

    def value(self, at: int) -> tuple[Any, int]:
        text = self._text
        for size in (_SMALL_WINDOW, _WINDOW):
            window = text[at : at + size]
            try:
                value, end = self._scan(window, 0)
            except (StopIteration, ValueError):  # it is cut, or wrong
                continue
            # A number may be cut by the end of the window, also behind its `.`, `e` or `e+`.
            if end + 2 < len(window) or at + len(window) == len(text):
                return value, at + end
        if text[at : at + 1] == "[":
            return self._items(at + 1)
        if text[at : at + 1] == "{":
            return self._members(at + 1)
        try:
            return self._scan(text, at)
        except StopIteration as wrong:
            raise JSONDecodeError("Expecting value", text, wrong.value) from None

    def _items(self, at: int) -> tuple[list[Any], int]:
        items: list[Any] = []
        at = self.skip(at)
        while alike := self._alike(at, at, "[]"):
            items += alike[0]
            at = self.skip(alike[1])
        if not items and self._text[at : at + 1] == "]":
            return items, at + 1
        while True:
            item, at = self.value(at)
            items.append(item)
            at, is_last = self._next(at, "]")
            if is_last:
                return items, at

    def _alike(self, at: int, begin: int, brackets: str) -> tuple[Any, int] | None:
        """Read the parts in a window if all end as one that begins so, and find the next place."""
        window = self._text[at : at + _WINDOW]
        end = _ENDS.get(self._text[begin : begin + 1], ",")
        cut = window.rfind(end) + len(end) - 1
        try:
            some = self._decode(f"{brackets[0]}{window[:cut]}{brackets[1]}") if cut > 0 else ()
        except ValueError:
            return None
        return (some, at + cut + 1) if some else None

    def _members(self, at: int) -> tuple[dict[str, Any], int]:
        members: dict[str, Any] = {}
        at = self.skip(at)
        while (key := _KEY.match(self._text, at)) and (alike := self._alike(at, key.end(), "{}")):
            members |= alike[0]
            at = self.skip(alike[1])
        while True:
            name, at = self.value(at) if self._text[at : at + 1] == '"' else (None, at)
            if name is None:
                message = "Expecting property name enclosed in double quotes"
                raise JSONDecodeError(message, self._text, at)
            at = self.skip(at)
            if self._text[at : at + 1] != ":":
                raise JSONDecodeError("Expecting ':' delimiter", self._text, at)
            members[name], at = self.value(self.skip(at + 1))
            at, is_last = self._next(at, "}")
            if is_last:
                return members, at

    def _next(self, at: int, end: str) -> tuple[int, bool]:
        """Return the start of the next part, or the place after the end."""
        at = self.skip(at)
        mark = self._text[at : at + 1]
        if mark not in (",", end) or not mark:
            raise JSONDecodeError("Expecting ',' delimiter", self._text, at)
        return (at + 1, True) if mark == end else (self.skip(at + 1), False)
