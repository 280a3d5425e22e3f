"""What a step was given: its inputs, or where it has none, the names that it reads."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from whorl.interpreter.evaluation import value_of
from whorl.ir import Assign, Branch, Call, Compute, Constant, Fields, ForEach, Gate, Stop, Wait
from whorl.ir.expressions import expressions_in, outer_values
from whorl.language import UNDEFINED, LanguageError, Undefined, evaluate, free_names

if TYPE_CHECKING:
    from whorl.ir import Expression, Node, Value
    from whorl.language import Json, Scope


# What a name stands for, and how far into its value it is read.
Use: TypeAlias = tuple[str, str, tuple[str | int, ...]]
# All names at once, which tells nothing.
_EVERYTHING = "results"


class Inputs:
    """Computes inputs; what is known of a node before is computed once."""

    def __init__(self) -> None:
        # The node is kept beside what is known of it, so that its id stays its own.
        self._known: dict[int, tuple[Node, list[Use], list[Expression]]] = {}

    def of(self, node: Node, scope: Scope) -> Json:
        """What a node is given, in the scope that it stands in; None where that cannot be had."""
        written = _written(node)
        if written is None:
            return self.read(node, scope) or None
        try:
            return value_of(written, scope)
        except LanguageError:
            # The node itself fails of it, and says why.
            return self.read(node, scope) or None

    def read(self, node: Node, scope: Scope) -> dict[str, Json]:
        """The names that a node reads, as far as it reads into their values."""
        if id(node) not in self._known:
            self._known[id(node)] = (node, *_uses(node))
        _, uses, looking = self._known[id(node)]
        given: dict[str, Json] = {}
        for label, name, path in uses:
            value: Any = scope.lookup(name)
            if value is not UNDEFINED:
                given[label] = _inside(value, path)
        if looking:
            tracing, known = _Tracing(scope), {name for _, name, _ in uses}
            for expression in looking:
                with suppress(LanguageError):
                    evaluate(expression, tracing)
            given |= {name: tracing.read[name] for name in tracing.read if name not in known}
        return given


class _Tracing:
    """A scope that keeps the names that are looked up in it."""

    def __init__(self, below: Scope) -> None:
        self._below = below
        self.read: dict[str, Json] = {}

    def lookup(self, name: str) -> Json | Undefined:
        value = self._below.lookup(name)
        if not isinstance(value, Undefined) and not name.startswith("$") and name != _EVERYTHING:
            self.read[name] = value
        return value


def _written(node: Node) -> Value | None:
    """The value that says what a node is given, where it has one."""
    if node.echo is not None:
        return node.echo
    match node:
        case Call():
            return node.inputs
        case ForEach():
            return Fields((("items", node.items),))
        case Assign():
            return Fields(node.sets)
        case Branch(subject=subject) if subject is not None:
            return Fields((("subject", subject),))
        case Compute(over=over) if over is not None:
            return Fields((("items", over),))
        case Compute(shape=shape, value=Fields()) if shape is not None:
            return node.value
        case Gate():
            return Fields((("message", node.message), ("show", node.show)))
        case Wait() if node.until is not None:
            return Fields((("until", node.until),))
        case Wait():
            return Fields((("duration", node.duration or Constant(None)),))
        case Stop():
            output = () if node.output is None else (("output", node.output),)
            code = () if node.code == Constant(None) else (("code", node.code),)
            return Fields((("message", node.message), *code, *output))
        case _:
            return None


def _uses(node: Node) -> tuple[list[Use], list[Expression]]:
    """The names that a node reads, and the expressions whose functions look up more."""
    uses: dict[str, Use] = {}
    looking: list[Expression] = []
    for expression in (e for value in outer_values(node) for e in expressions_in(value)):
        if expression.library:
            looking.append(expression)
        try:
            names = free_names(expression)
        except LanguageError:
            continue
        for use in names:
            # Names that begin so are tables of the engine's own, where a thing has a name in them.
            label, path = use.name, use.path
            if label.startswith("$"):
                label, path = (str(path[0]) if path else ""), path[:1]
            else:
                label += "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path)
            if label:
                uses[label] = (label, use.name, path)
    return list(uses.values()), looking


def _inside(value: Any, path: tuple[str | int, ...]) -> Json:
    for step in path:
        if isinstance(value, dict) and step not in value:
            # Some dialects do not tell small letters from capital ones.
            alike = (name for name in value if name.casefold() == str(step).casefold())
            step = next(alike, step)
        try:
            value = value[step]
        except (LookupError, TypeError):
            return None
    is_record = isinstance(value, dict) and {"name", "status", "code"} <= value.keys()
    return value.get("outputs") if is_record else value  # type: ignore[no-any-return]
