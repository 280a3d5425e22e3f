"""The variables of a file: flat names such as input, env.X, a step's name and loop.iteration."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from whorl.dialects.mcp_cli.functions import quoted
from whorl.source import Mapping

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.dialects.mcp_cli.draft import Item
    from whorl.errors import Span


LIBRARY = "mcp-cli"
MAIN = "input"
RESERVED = frozenset({MAIN, "env", "loop", "step"})
# What a loop tells about itself: to its own texts, and to whatever comes after it.
REFINE = ("iteration", "output", "last.output", "history")
ITERATE = ("iteration", "index", "count", "current", "item")
AFTERWARDS = {
    "iteration": "iterations",
    "iterations": "iterations",
    "output": "output",
    "last.output": "output",
    "history": "accumulator",
    "succeeded": "succeeded",
    "failed": "failed",
}

# What a loop has in the public system besides.
_ELSEWHERE = ("stats.succeeded", "stats.failed", "total")
LOOP = frozenset((*REFINE, *ITERATE, *AFTERWARDS, *_ELSEWHERE))

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INPUT = re.compile(r"[^\W\d][\w-]*")
_DOTTED = re.compile(r"[^\W\d][\w-]*(?:\.[\w-]+)+")
# What an expression reads as a word of its own.
_CONSTANTS = ("true", "false", "none", "null", "True", "False", "None")
_OPERATORS = ("and", "or", "not", "in", "is", "if", "else", "elif", "recursive")
WORDS = frozenset((*_CONSTANTS, *_OPERATORS))


@dataclass(frozen=True, slots=True)
class View:
    """From where a text looks: whose it is, the loop that it is inside of, the one before it."""

    item: Item | None = None
    inside: Item | None = None
    before: Item | None = None
    judged: bool = False


@dataclass(frozen=True, slots=True)
class Reference:
    """The expression that reads a variable; one that is not certain may be undefined."""

    expression: str
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Mention:
    """An unknown name where it is mentioned first: an input, which a run may need to be given."""

    written: str
    span: Span
    required: bool


@dataclass(slots=True)
class Variables:
    """What the texts of one file can mention; unknown names are inputs of the workflow.

    `reads_input` says whether anything in the file reads its main input, or hands it on.
    """

    items: dict[str, Item] = field(default_factory=dict)
    accumulators: dict[str, Item] = field(default_factory=dict)
    env: frozenset[str] = frozenset()
    inputs: dict[str, Mention] = field(default_factory=dict)
    reads_input: bool = False

    def owner(self, name: str) -> Item | None:
        """The step or loop whose result a variable is."""
        bare = name.removeprefix("step.") if name not in self.items else name
        return self.items.get(bare) or self.accumulators.get(bare)

    def find(self, name: str, view: View) -> Reference | None:
        """How a variable is read from a place; None where it is not known."""
        if name == MAIN:
            self.reads_input = True
            return Reference(MAIN)
        owner = self.owner(name)
        if owner is not None and owner is not view.item:
            return self._result(name, owner)
        first, _, rest = name.partition(".")
        if first == "env" and rest:
            return Reference(f"env[{quoted(rest)}]", rest in self.env)
        return _of_loop(rest, view) if first == "loop" else None

    def _result(self, name: str, owner: Item) -> Reference:
        certain = owner.get("if") is None
        bare = name if name in self.items else name.removeprefix("step.")
        if owner.loop is None:
            return Reference(spelled(owner.name), certain)
        part = "output" if bare in self.items else "accumulator"
        return Reference(f"{spelled(owner.name)}.{part}", certain)

    def take(self, name: str, mention: Mention) -> bool:
        """Makes an unknown name an input of the workflow; false where it cannot be one."""
        if not _INPUT.fullmatch(name) or name in RESERVED or self.owner(name) is not None:
            return False
        first = self.inputs.setdefault(name, mention)
        if mention.required:
            self.inputs[name] = replace(first, required=True)
        return True

    def is_misspelt(self, name: str, nearest: str) -> bool:
        """Whether nobody can give a name: no step or loop has it anywhere, or it is near to one."""
        if not _DOTTED.fullmatch(name):
            return False
        first, _, rest = name.partition(".")
        if first == "step":
            return self.owner(name) is None and self.owner(rest.partition(".")[0]) is None
        return rest not in LOOP if first == "loop" else bool(nearest)

    def known(self, wanted: str) -> Iterator[str]:
        """All names that a text may mention, those of the form of the wanted one first."""
        flat = ("input", *self.items, *self.accumulators)
        dotted = chain(
            (f"loop.{name}" for name in (*REFINE, *ITERATE)),
            (f"env.{name}" for name in self.env),
            (f"step.{name}" for name in flat[1:]),
        )
        return chain(dotted, flat) if "." in wanted else chain(flat, dotted)


def spelled(name: str) -> str:
    """A name as an expression reads it."""
    if _PLAIN.fullmatch(name) and name not in WORDS:
        return name
    return f"variable({quoted(name)})"


def collect_variables(items: Iterable[Item], env: object) -> Variables:
    """The variables of a file, before its texts are read."""
    names = [entry.name for entry in env] if isinstance(env, Mapping) else []
    found = Variables(env=frozenset(names))
    for item in items:
        found.items.setdefault(item.name, item)
    for item in found.items.values():
        for name in item.accumulators:
            if name not in found.items:
                found.accumulators.setdefault(name, item)
    return found


def _of_loop(rest: str, view: View) -> Reference | None:
    if view.inside is not None:
        known = ITERATE if view.inside.is_iterate else REFINE
        if view.judged and rest == "output":
            return Reference("output")
        return Reference(f"loop.{rest}") if rest in known else None
    if view.before is not None:
        part = AFTERWARDS.get(rest)
        return Reference(f"{spelled(view.before.name)}.{part}", False) if part else None
    return Reference(f"loop.{rest}", False) if rest in {*REFINE, *ITERATE} else None
