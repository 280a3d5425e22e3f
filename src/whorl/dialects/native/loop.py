"""The loop: everything that `repeat` can say, and every condition of `until`."""

from __future__ import annotations

from typing import Any

from whorl import ir
from whorl.dialects.native import field_types
from whorl.dialects.native.blocks import NODE, ON_FAILURE, OPTIONS, Steps
from whorl.dialects.native.conditions import CONDITION
from whorl.dialects.native.context import (
    FACTS,
    Attributes,
    CannotWriteError,
    Context,
    Location,
)
from whorl.dialects.native.objects import MapOf, Object, Short, defaults, write_object
from whorl.dialects.native.table import fields
from whorl.ir.expressions import inner_values
from whorl.ir.walk import names_given
from whorl.source import Mapping, Value

HISTORY_KEPT = 50
TAKES = ("last", "best", "first", "all")


class Repeat(Object):
    """The fields of a loop: they stand in the loop, and know its steps."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        attributes = super().read(inside(context), value, at)
        if attributes is None or not isinstance(value, Mapping):
            return attributes
        for entry in value:
            span = entry.key.span if entry.name == "at_most" else entry.value.span
            context.places.remember_field(context.around.path, entry.name, span)
        if not context.exact and "body" in attributes:
            _check_clashes(context, value, attributes["body"])
        return attributes

    def write(self, context: Context, value: Any) -> Any:
        inner = inside(context)
        inner.around.blocks.append(value.body)
        written = write_object(inner, self.fields, value)
        steps = written.pop("steps")
        return {**written, "steps": steps}


def inside(context: Context) -> Context:
    """The place of the steps of a loop."""
    return context.within(loops=(*context.around.loops, context.around.step), blocks=[])


def _check_clashes(context: Context, repeat: Mapping, body: ir.Block) -> None:
    """A name means one thing: a step of the body, a carried value or a collected result."""
    steps = dict(names_given(body))
    for field in ("carry", "collect"):
        names = repeat.get(field)
        for entry in names.entries if isinstance(names, Mapping) else ():
            if entry.name in steps:
                message = f"{entry.name!r} in {field!r} is also the name of a step of the loop"
                advice = f"choose another name, such as {('last_' + entry.name)!r}"
                span, label = entry.key.span, "a step has this name"
                context.report("W012", message, span, label=label, help=advice)


_PAIR = {"first", "then"}


class Carried(field_types.Anything):
    """A value for the next iteration; {first, then} tells the first one apart."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        keys = {entry.name for entry in value} if isinstance(value, Mapping) else set()
        if not isinstance(value, Mapping) or not keys & _PAIR:
            return {"later": super().read(context, value, at)}
        for entry in value:
            if entry.name not in _PAIR:
                message = f"{entry.name!r} beside 'first' and 'then' of a carried value"
                advice = "write {first: ..., then: ...}; to carry an object: {then: {...}}"
                context.report("W004", message, entry.key.span, label="unknown field", help=advice)
        parts = {"first": value.get("first"), "later": value.get("then")}
        return {name: context.read_value(part) for name, part in parts.items() if part is not None}

    def write(self, context: Context, value: Any) -> Any:
        parts = {"first": value.first, "then": value.later}
        written = {name: context.write_value(part) for name, part in parts.items() if part}
        if not written:
            raise CannotWriteError(value)
        later = written.get("then")
        is_pair = isinstance(later, dict) and bool(_PAIR & set(later))
        return written if "first" in written or is_pair else later


class Collected(field_types.Anything):
    """A value, with the iterations that it is taken from."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        if not isinstance(value, Mapping):
            return {"take": "all", "value": super().read(context, value, at)}
        take = next((entry for entry in value if entry.name in TAKES), None)
        if take is None or len(value) != 1:
            message = f"{at.field!r} of 'collect' must say which iterations it takes"
            advice = "write one of {all: ...}, {first: ...}, {last: ...}, {best: ...}"
            context.report("W007", message, value.span, help=advice)
        if take is None:
            return None
        return {"take": take.name, "value": super().read(context, take.value, at)}

    def write(self, context: Context, value: Any) -> Any:
        return {value.take: super().write(context, value.value)}


class _Failure(field_types.OneOf):
    """What happens when an iteration fails; the object says more in converted files."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        action = super().read(context, value, at)
        if isinstance(action, dict):
            action = {"action": "retry" if action.get("times") else "halt", **action}
            return ir.IterationFailure(**action)
        return None if action is None else ir.IterationFailure(action)

    def write(self, context: Context, value: Any) -> Any:
        written: dict[str, Any] = self.forms[1].write(context, value)
        if value.action != "retry" and not written.keys() - {"action"}:
            return value.action
        action = {} if value.action == "retry" and value.times else {"action": value.action}
        return {**written, "retry": value.times, **action}


def _facts(context: Context, attributes: Attributes) -> tuple[tuple[str, str], ...]:
    """What the engine tells an iteration, as far as anything in the loop asks for it."""
    own = {name: attributes[name] for name in attributes if name in defaults(ir.Loop)}
    loop = ir.Loop(**{"name": "", **own})
    named = context.names.in_block(loop.body) | context.names.in_values(inner_values(loop))
    return tuple((name, fact) for name, fact in FACTS.items() if name in named)


def _history(context: Context, attributes: Attributes) -> int:
    return HISTORY_KEPT if "history" in dict(attributes["facts"]) else 0


def _key(context: Context, attributes: Attributes) -> str:
    return f"{context.name}/{context.around.path}" if attributes.get("across_runs") else ""


_FAILED = Object("on_failure", fields("on_failure", None, ir.IterationFailure))
_CARRY = MapOf(
    Carried(),
    "names with values, such as {feedback: '{{ review.feedback }}'}",
    make=lambda name, attributes: ir.Carry(name, **attributes),
)
_COLLECT = MapOf(
    Collected(),
    "names with {all: ...}, {first: ...}, {last: ...} or {best: ...}",
    "dashed",
    make=lambda name, attributes: ir.Collect(name, **attributes),
)
_LIMITS = Object("at_most", fields("limits", None, ir.LoopLimits), ir.LoopLimits)
_LOOP: dict[str, field_types.Form] = {
    "condition": CONDITION,
    "limits": Short("iterations", _LIMITS),
    "carry": _CARRY,
    "failed": _Failure((ON_FAILURE[0], _FAILED)),
    "collect": _COLLECT,
    "memory": Object("memory", fields("memory", None, ir.Memory, key=_key), ir.Memory),
    "steps": Steps(),
    "block": OPTIONS,
}
_FIELDS = fields("loop", _LOOP, ir.Loop, *NODE, facts=_facts, history_keep=_history)
REPEAT = Repeat("repeat", _FIELDS)
