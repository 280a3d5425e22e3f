"""Which steps a key means: a step's name, or the end of an address such as `polish[2]/review`."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from whorl.errors import did_you_mean
from whorl.interpreter.events import unescape
from whorl.ir import Call, ForEach, Judge, Loop, Task
from whorl.ir.expressions import conditions_in
from whorl.ir.walk import blocks_of
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir import Block, Node, Workflow

Names: TypeAlias = tuple[tuple[str, bool], ...]

# A workflow that calls others in several places has their steps as often.
STEPS_MAX = 10_000
_CALLS_MAX = 16
_LISTED_MAX = 8
_PART = re.compile(r"(.*?)(?:\[([0-9]+)\])?(?:#([0-9]+))?", re.DOTALL)
_JUDGE = ":judge"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an address: a name, which iteration or item, which attempt."""

    name: str
    number: int | None = None
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A step where it stands, through calls and all: each name, and whether it is repeated there.

    What a loop does by itself has a name such as `:judge`, and no node.
    """

    names: Names
    node: Node | None
    owner: Workflow

    @property
    def label(self) -> str:
        return "/".join(name for name, _ in self.names)


@lru_cache(maxsize=4096)
def parts_of(address: str) -> tuple[Part, ...]:
    return tuple(map(_part, address.split("/")))


def _part(text: str) -> Part:
    match = _PART.fullmatch(text)
    assert match is not None
    number, attempt = (None if digits is None else int(digits) for digits in match.group(2, 3))
    return Part(unescape(match[1]), number, attempt)


@dataclass(frozen=True, slots=True)
class Key:
    """What is written for a step; all its parts have to be the end of an address."""

    text: str
    parts: tuple[Part, ...]

    @property
    def rank(self) -> int:
        """How much it says: of two that fit, the higher one counts."""
        numbers = [part.number for part in self.parts] + [part.attempt for part in self.parts]
        return len(self.parts) + sum(number is not None for number in numbers)

    def fits(self, address: str) -> bool:
        """Whether it means what happens at an address."""
        parts = parts_of(address)
        if len(self.parts) > len(parts):
            return False
        return all(map(_is_meant, self.parts, parts[-len(self.parts) :]))

    def means(self, step: Step) -> bool:
        """Whether there is an address of the step that it fits."""
        if len(self.parts) > len(step.names):
            return False
        ends = step.names[-len(self.parts) :]
        return all(
            _is_named(part.name, name) and (part.number is None or repeats)
            for part, (name, repeats) in zip(self.parts, ends, strict=True)
        )


def _is_meant(wanted: Part, part: Part) -> bool:
    return (
        _is_named(wanted.name, part.name)
        and wanted.number in (None, part.number)
        and wanted.attempt in (None, part.attempt or 1)
    )


def _is_named(wanted: str, name: str) -> bool:
    """What a construct does by itself may be counted: `:tool` means `:tool2` as well."""
    return wanted == name or (wanted.startswith(":") and name.rstrip("0123456789") == wanted)


def key_of(text: str, steps: list[Step]) -> Key:
    """The key that is written; a name may hold any character, and `judge` is every judge's."""
    names = {step.names[-1][0] for step in steps}
    if text in names:
        return Key(text, (Part(text),))
    parts = parts_of(text)
    if parts[-1].name == "judge" and "judge" not in names:
        parts = (*parts[:-1], Part(_JUDGE, attempt=parts[-1].attempt))
    return Key(text, parts)


def meant_by(key: Key, steps: list[Step]) -> list[Step]:
    return [step for step in steps if key.means(step)]


def advice_for(key: Key, steps: list[Step]) -> str:
    """What a key that means no step may have been meant for."""
    last = key.parts[-1]
    for step in steps:
        if step.names[-1][0] == last.name and last.number is not None:
            *around, (name, _) = step.names
            if not (loops := [n for n, repeats in around if repeats]):
                return f"{name!r} is not in a loop: write {name!r}"
            return f"an iteration belongs to its loop: write '{loops[-1]}[{last.number}]/{name}'"
    labels = dict.fromkeys(step.label for step in steps)
    names = dict.fromkeys(step.names[-1][0] for step in steps)
    near = did_you_mean("/".join(part.name for part in key.parts), [*names, *labels])
    listed = [name for name in names if not name.startswith(":")]
    more = ", ..." if len(listed) > _LISTED_MAX else ""
    return near or f"steps: {', '.join(listed[:_LISTED_MAX])}{more}"


def steps_of(workflow: Workflow) -> list[Step]:
    """All steps of a workflow and of those that it calls, where they stand."""
    called = dict(workflow.workflows)

    def inside(block: Block, owner: Workflow, around: Names, depth: int = 0) -> Iterator[Step]:
        for node in block.nodes:
            names = around
            if not (isinstance(node, Call) and node.unnamed):
                yield Step((*around, (node.name, False)), node, owner)
                names = (*around, (node.name, isinstance(node, Loop | ForEach)))
            yield from (Step((*names, (word, False)), None, owner) for word in _own(node))
            for _, held in blocks_of(node):
                yield from inside(held, owner, names, depth)
            if isinstance(node, Call) and node.workflow in called and depth < _CALLS_MAX:
                other = called[node.workflow]
                yield from inside(other.body, other, names, depth + 1)

    return list(islice(inside(workflow.body, workflow, ()), STEPS_MAX))


def _own(node: Node) -> Iterator[str]:
    """What a node does by itself that others answer."""
    if isinstance(node, Loop):
        if any(isinstance(part, Judge) for part in conditions_in(node.until)):
            yield _JUDGE
        if node.ask == "each":
            yield ":ask"
        if node.ask == "at_limit" or node.on_limit == "pause":
            yield ":limit"
    elif isinstance(node, Task) and node.kind == "ask":
        yield ":tool"
