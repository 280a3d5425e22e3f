"""Patches: which characters of a text are replaced, one after the other, and by what."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Patch(NamedTuple):
    """The characters from `start` to `end` are replaced by `text`; offsets count characters."""

    start: int
    end: int
    text: str


def apply(text: str, patches: Iterable[Patch]) -> str:
    """The text with all patches made; none of them may reach into another."""
    parts: list[str] = []
    at = 0
    for start, end, new in sorted(patches, key=lambda patch: patch[:2]):
        assert start >= at, "patches overlap"
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


def in_utf16(text: str, patches: Iterable[Patch]) -> list[Patch]:
    """The same patches with offsets in UTF-16 units, which browsers count."""
    if text.isascii():
        return list(patches)
    converted: list[Patch] = []
    at = units = 0
    for start, end, new in sorted(patches, key=lambda patch: patch[:2]):
        first = units + _units(text[at:start])
        at, units = end, first + _units(text[start:end])
        converted.append(Patch(first, units, new))
    return converted


def _units(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


class History:
    """All changes of a text together, as patches of the text that it was at first."""

    def __init__(self, text: str) -> None:
        self._first = text
        # What the text consists of: stretches of the first one, and texts that are new.
        self._parts: list[tuple[int, int] | str] = [(0, len(text))]

    def add(self, patches: Sequence[Patch]) -> None:
        """Note patches of the text as it is by now."""
        for patch in sorted(patches, key=lambda patch: patch[:2], reverse=True):
            self._replace(patch)

    def _replace(self, patch: Patch) -> None:
        first = self._split(patch.start)
        last = self._split(patch.end)
        self._parts[first:last] = [patch.text] if patch.text else []

    def _split(self, offset: int) -> int:
        """Cut at an offset; gives the index of the part that begins there."""
        for index, part in enumerate(self._parts):
            length = len(part) if isinstance(part, str) else part[1] - part[0]
            if offset <= 0:
                return index
            if offset < length:
                halves: list[tuple[int, int] | str]
                if isinstance(part, str):
                    halves = [part[:offset], part[offset:]]
                else:
                    halves = [(part[0], part[0] + offset), (part[0] + offset, part[1])]
                self._parts[index : index + 1] = halves
                return index + 1
            offset -= length
        return len(self._parts)

    def patches(self) -> list[Patch]:
        """What is different from the first text, in its offsets."""
        found: list[Patch] = []
        at, new = 0, ""
        for part in (*self._parts, (len(self._first), len(self._first))):
            if isinstance(part, str):
                new += part
                continue
            if new or part[0] > at:
                found.append(trimmed(self._first, Patch(at, part[0], new)))
            at, new = part[1], ""
        return [patch for patch in found if patch.text or patch.end > patch.start]


def trimmed(text: str, patch: Patch) -> Patch:
    """A patch without what it would replace by the same."""
    start, end, new = patch
    head, tail = shared_ends(text[start:end], new)
    return Patch(start + head, end - tail, new[head : len(new) - tail])


def shared_ends(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    """How much two texts, or lists, have in common at their beginning, and at their end."""
    most = min(len(old), len(new))
    head = next((at for at in range(most) if old[at] != new[at]), most)
    most -= head
    tail = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    return head, tail
