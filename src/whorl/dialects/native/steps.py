"""Steps in their order: each is read by its kind; a wrong one does not hide what is behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from whorl import ir
from whorl.dialects.native import actions, branches, calls, repeat, tasks
from whorl.dialects.native.draft import Step
from whorl.dialects.native.fields import Common, read_common
from whorl.dialects.native.format.steps import kinds_of
from whorl.source import Mapping

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.dialects.native.draft import Around, Draft
    from whorl.source import Entry, Value

    ReadStep: TypeAlias = Callable[[Draft, Step, Common], ir.Node]

_READERS: dict[str, ReadStep] = {
    "ask": tasks.read_ask,
    "agent": tasks.read_agent,
    "run": tasks.read_run,
    "http": tasks.read_http,
    "use": tasks.read_use,
    "call": calls.read_call,
    "set": actions.read_set,
    "value": actions.read_computed_value,
    "if": branches.read_if,
    "choose": branches.read_choose,
    "each": branches.read_each,
    "together": branches.read_together,
    "repeat": repeat.read_repeat,
    "wait": actions.read_wait,
    "approve": actions.read_approve,
    "stop": actions.read_stop,
    "break": actions.read_break,
    "continue": actions.read_continue,
}


def read_steps(draft: Draft, steps: Value | None, around: Around) -> ir.Block:
    """Reads the steps of a block; each waits for the one before it unless it says otherwise."""
    if not isinstance(steps, Mapping):
        return ir.Block((), open=around.is_open)
    nodes: list[ir.Node] = []
    for entry in steps:
        previous = nodes[-1].name if nodes and around.is_ordered else None
        nodes.append(_read_step(draft, entry, around, previous))
    return ir.Block(tuple(nodes), open=around.is_open)


def _read_step(draft: Draft, entry: Entry, around: Around, previous: str | None) -> ir.Node:
    name = entry.name
    draft.count_step(entry.key.span)
    path = f"{around.path}/{name}" if around.path else name
    draft.places.remember_node(path, entry.key.span)
    fields = entry.value if isinstance(entry.value, Mapping) else Mapping((), entry.value.span)
    found = kinds_of(fields)
    step = Step(name, entry.key, fields, found[0] if found else "", path, around)
    common = read_common(draft, step, previous)
    if not found:
        # The structure check has reported it; others may still refer to its name.
        return ir.Compute(value=ir.Constant(None), **common)
    return _READERS[found[0]](draft, step, common)
