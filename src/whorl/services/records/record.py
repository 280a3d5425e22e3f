"""Defines records, and selections of records."""

from __future__ import annotations

import re
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any

from whorl.ir import Task
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.interpreter.frames import Values
    from whorl.ir import Node
    from whorl.language import Json

_REPETITION = re.compile(r".*\](?:#[0-9]+)?")
# Words of the file and of the engine, times and numbers: what else a record has are values.
_NAMES = """address name kind node started_at status ended_at usage reason branch number repetitions
    attempts frame"""
_OWN = frozenset(_NAMES.split())


@dataclass(slots=True)
class Attempt:
    """One attempt at a task."""

    address: str
    status: str
    ended_at: float
    error: Json = None


@dataclass(slots=True)
class Record:
    """The outcome of a step, an item or an iteration; `node` is the key of its node in the plan.

    `kind` is the kind of a task, the IR's word for another node, `item` or `iteration`. A skip has
    the `reason` `condition` (its own), `order` (a step before it), `halt` (a failure), `branch`
    (another case was taken), `around` (the node around it), `end` (too late) or `budget`. `because`
    has the facts.
    """

    address: str
    name: str
    kind: str
    node: str
    started_at: float | None
    status: str = "running"
    ended_at: float | None = None
    inputs: Json = None
    output: Json = None
    error: Any = None
    usage: dict[str, float] = field(default_factory=dict)
    reason: str = ""
    because: Values = field(default_factory=dict)
    branch: str | None = None
    number: int | None = None
    repetitions: int | None = None
    attempts: list[Attempt] = field(default_factory=list)
    # The key of its frame.
    frame: str = ""

    def end(self, at: float, status: str, **facts: Any) -> None:
        self.ended_at, self.status = at, status
        for name, fact in facts.items():
            setattr(self, name, fact)

    def hide(self, hidden: Callable[[str, Any], Json]) -> None:
        """Replaces each field with values by its visible form, also in the attempts."""
        holders: tuple[Record | Attempt, ...] = (self, *self.attempts)
        for holder in holders:
            for name in (part.name for part in fields(holder) if part.name not in _OWN):
                setattr(holder, name, hidden(name, getattr(holder, name)))


@dataclass(frozen=True, slots=True)
class Focus:
    """The selection of records: a place and everything inside it.

    `depth` is the levels of iterations and items inside it, or None; `only_repetitions`: only them.
    """

    at: str = ""
    depth: int | None = None
    only_repetitions: bool = False

    @property
    def inside(self) -> str:
        """The innermost iteration or item that is the place or around it."""
        match = _REPETITION.match(self.at)
        return match[0] if match else ""

    def wants(self, address: str) -> bool:
        if self.at and not is_inside(self.at, address):
            return False
        if self.only_repetitions and not _REPETITION.fullmatch(address):
            return False
        return self.depth is None or address.count("[", len(self.at)) <= self.depth


def is_inside(place: str, address: str) -> bool:
    """Returns whether an address is a place, an attempt at it, or inside it."""
    return address.startswith(place) and address[len(place) :][:1] in ("", "/", "[", "#")


def kind_of(node: Node) -> str:
    return node.kind if isinstance(node, Task) else type(node).__name__.lower()
