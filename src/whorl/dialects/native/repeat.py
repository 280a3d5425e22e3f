"""The loop: everything that `repeat` can say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from whorl import ir
from whorl.dialects.native.conditions import read_condition
from whorl.dialects.native.draft import Around
from whorl.dialects.native.format.repeat import TAKES
from whorl.dialects.native.names import FACTS
from whorl.dialects.native.scalars import (
    count_of,
    duration_of,
    is_template,
    is_true,
    number_of,
    text_of,
    whole_of,
    word_of,
)
from whorl.dialects.native.values import read_fields, read_text, read_value
from whorl.ir.expressions import inner_values
from whorl.ir.nodes import ITERATIONS_MAX
from whorl.ir.walk import names_given
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from whorl.dialects.native.draft import Draft, Step
    from whorl.dialects.native.fields import Common
    from whorl.ir.nodes import Fact, Take
    from whorl.source import Entry, Value

ITERATIONS = 10
HISTORY_KEPT = 50
_EMPTY = ir.Block(())


def read_repeat(draft: Draft, step: Step, common: Common) -> ir.Loop:
    """Reads a loop."""
    repeat = step.get("repeat")
    if not isinstance(repeat, Mapping):
        return ir.Loop(body=_EMPTY, **common)
    around = Around(step.path, (*step.around.loops, step.name))
    body = draft.block(repeat.get("steps"), around)
    _check_clashes(draft, repeat, body)
    loop = ir.Loop(
        body=body,
        until=read_condition(draft, repeat.get("until"), body),
        limits=_read_limits(draft, repeat.get("at_most")),
        carry=_read_carry(draft, repeat.get("carry")),
        collect=_read_collect(draft, repeat.get("collect")),
        delay=_read_delay(draft, repeat.get("wait")),
        on_iteration_failure=_read_failure(repeat.get("on_failure")),
        memory=_read_memory(draft, repeat.get("memory"), step.path),
        **_read_words(repeat),
        **common,
    )
    _remember(draft, step, repeat)
    return _with_facts(draft, loop)


def _read_words(repeat: Mapping) -> dict[str, Any]:
    """The fields that are one of a few words; the structure check has reported any other."""
    return {
        "check": word_of(repeat.get("check"), ("after", "before"), "after"),
        "on_limit": word_of(repeat.get("on_limit"), ("finish", "fail", "pause"), "finish"),
        "returns": word_of(repeat.get("return"), TAKES, "last"),
        "session": word_of(repeat.get("session"), ("fresh", "continue"), "fresh"),
        "ask": word_of(repeat.get("ask_person"), ("never", "each", "at_limit"), "never"),
    }


def _with_facts(draft: Draft, loop: ir.Loop) -> ir.Loop:
    """Binds what the engine tells an iteration, as far as anything in the loop asks for it."""
    from dataclasses import replace

    named = draft.names.in_block(loop.body) | draft.names.in_values(inner_values(loop))
    facts = tuple((name, cast("Fact", fact)) for name, fact in FACTS.items() if name in named)
    return replace(loop, facts=facts, history_keep=HISTORY_KEPT if "history" in named else 0)


def _remember(draft: Draft, step: Step, repeat: Mapping) -> None:
    for entry in repeat:
        span = entry.key.span if entry.name == "at_most" else entry.value.span
        draft.places.remember_field(step.path, entry.name, span)


def _read_limits(draft: Draft, value: Value | None) -> ir.LoopLimits:
    if not isinstance(value, Mapping):
        return ir.LoopLimits(iterations=_read_iterations(draft, value))
    time = value.get("time")
    cost = number_of(value.get("cost"))
    return ir.LoopLimits(
        iterations=_read_iterations(draft, value.get("iterations")),
        time_s=_read_template(draft, time) or duration_of(time),
        iteration_time_s=duration_of(value.get("each_time")),
        cost_usd=None if cost is None else float(cost),
        tokens=count_of(value.get("tokens")),
        calls=count_of(value.get("calls")),
    )


def _read_iterations(draft: Draft, value: Value | None) -> int | ir.Expression:
    template = _read_template(draft, value)
    if template is not None:
        return template
    number = whole_of(value)
    return number if number is not None and 1 <= number <= ITERATIONS_MAX else ITERATIONS


def _read_template(draft: Draft, value: Value | None) -> ir.Expression | None:
    if isinstance(value, Scalar) and is_template(text_of(value) or ""):
        read = read_text(draft, value)
        return read if isinstance(read, ir.Expression) else None
    return None


def _read_carry(draft: Draft, value: Value | None) -> tuple[ir.Carry, ...]:
    if not isinstance(value, Mapping):
        return ()
    return tuple(_read_carried(draft, entry) for entry in value)


def _read_carried(draft: Draft, entry: Entry) -> ir.Carry:
    value = entry.value
    if isinstance(value, Mapping) and value.entries and _keys(value) <= {"first", "then"}:
        first, then = value.get("first"), value.get("then")
        return ir.Carry(
            entry.name,
            first=None if first is None else read_value(draft, first),
            later=None if then is None else read_value(draft, then),
        )
    return ir.Carry(entry.name, later=read_value(draft, value))


def _read_collect(draft: Draft, value: Value | None) -> tuple[ir.Collect, ...]:
    if not isinstance(value, Mapping):
        return ()
    return tuple(_read_collected(draft, entry) for entry in value)


def _read_collected(draft: Draft, entry: Entry) -> ir.Collect:
    value = entry.value
    if not isinstance(value, Mapping):
        return ir.Collect(entry.name, "all", read_value(draft, value))
    take = next((inner for inner in value if inner.name in TAKES), None)
    if take is None or len(value) != 1:
        draft.report(
            "W007",
            f"{entry.name!r} of 'collect' must say which iterations it takes",
            value.span,
            help="write one of {all: ...}, {first: ...}, {last: ...}, {best: ...}",
        )
    if take is None:
        return ir.Collect(entry.name, "all", ir.Constant(None))
    return ir.Collect(entry.name, cast("Take", take.name), read_value(draft, take.value))


def _read_delay(draft: Draft, value: Value | None) -> ir.Value | None:
    template = _read_template(draft, value)
    if template is not None:
        return template
    seconds = duration_of(value)
    return None if not seconds else ir.Constant(seconds)


def _read_failure(value: Value | None) -> ir.IterationFailure:
    if isinstance(value, Mapping):
        times = whole_of(value.get("retry"))
        return ir.IterationFailure("retry", times) if times else ir.IterationFailure()
    if word_of(value, ("halt", "continue"), "halt") == "continue":
        return ir.IterationFailure("continue")
    return ir.IterationFailure()


def _read_memory(draft: Draft, value: Value | None, path: str) -> ir.Memory | None:
    if not isinstance(value, Mapping):
        return None
    across_runs = is_true(value.get("across_runs"))
    key = text_of(value.get("key")) or f"{draft.name}/{path}"
    return ir.Memory(
        record=read_fields(draft, value.get("record")),
        keep=whole_of(value.get("keep")) or 20,
        across_runs=across_runs,
        key=key if across_runs else "",
    )


def _check_clashes(draft: Draft, repeat: Mapping, body: ir.Block) -> None:
    """A name means one thing: a step of the body, a carried value or a collected result."""
    steps = dict(names_given(body))
    for field in ("carry", "collect"):
        names = repeat.get(field)
        for entry in names.entries if isinstance(names, Mapping) else ():
            if entry.name in steps:
                draft.report(
                    "W012",
                    f"{entry.name!r} in {field!r} is also the name of a step of the loop",
                    entry.key.span,
                    label="a step has this name",
                    help=f"choose another name, such as {('last_' + entry.name)!r}",
                )


def _keys(value: Mapping) -> set[str]:
    return {entry.name for entry in value}
