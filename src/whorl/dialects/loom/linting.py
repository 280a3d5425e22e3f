"""What would not deploy to Azure, and what would run there in an order that nobody can foresee."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.loom.action import find, find_deep, text_at
from whorl.dialects.loom.block import OWN
from whorl.dialects.loom.control import actions_in
from whorl.dialects.loom.forms import form_of
from whorl.dialects.loom.linting_limits import Place, limits_of_azure, refused
from whorl.dialects.loom.loops import is_of_a_loop, set_in
from whorl.dialects.loom.texts import names_read, scalars_in
from whorl.errors import Diagnostic
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.source import Document, Entry, Value

_INSTEAD = {
    "while": "an Until whose expression is the inverse",
    "dountil": "an Until, which runs before it checks",
    "ai": "an Http action that calls the model",
    "actor": "a Function or Http action",
    "activity": "a Function or Http action",
    "retry": "retryPolicy in the inputs of the action",
    "parallel": "actions that run after the same one",
    "condition": "an If",
}


def lint_for_azure(document: Document) -> list[Diagnostic]:
    """Everything in a file that Azure Logic Apps would refuse or do otherwise."""
    form = form_of(document.root)
    if form is None:
        return []
    return list(_block(find(form.definition, "actions"), Place()))


def _block(actions: Value | None, place: Place) -> Iterator[Diagnostic]:
    for entry in actions if isinstance(actions, Mapping) else ():
        if isinstance(entry.value, Mapping):
            yield from limits_of_azure(entry, entry.value, place)
            yield from _action(entry, entry.value, place)


def _action(entry: Entry, action: Mapping, around: Place) -> Iterator[Diagnostic]:
    kind = text_at(action, "type").lower()
    inside = around.inside(kind)
    if kind in OWN:
        place = find(action, "type") or action
        yield refused(f"Azure has no type {kind!r}", place.span, f"write {_INSTEAD[kind]}")
    inputs = find(action, "inputs")
    for key, instead in (("condition", "expression"), ("delay", "a Delay action"), ("on", "")):
        found = find(action, key) or (find(inputs, key) if kind in ("until", "if") else None)
        if found is not None and kind in ("until", "while", "dountil", "if", "switch"):
            advice = f"write {instead or 'expression'}"
            yield refused(f"{entry.name!r} says {key!r}, which Azure does not", found.span, advice)
    if find(action, "retry") is not None:
        span = (find(action, "retry") or action).span
        yield refused("Azure has no 'retry'", span, "write retryPolicy in the inputs")
    yield from _names(action)
    if kind == "foreach":
        yield from _parallel(entry, action)
    for name in ("actions", "then", "else", "default"):
        part = find(action, name) or find(inputs, name)
        if isinstance(part, Mapping):
            yield from _block(actions_in(part, entry.name), inside)
    cases = find(action, "cases") or find(inputs, "cases")
    for case in cases if isinstance(cases, Mapping) else ():
        yield from _block(actions_in(case.value, case.name), inside)


def _names(action: Mapping) -> Iterator[Diagnostic]:
    """The variables of a loop, in what an action itself says."""
    for entry in action:
        if entry.name in ("actions", "then", "else", "cases", "default", "action"):
            continue
        held = find(entry.value, "actions") is None
        for scalar in scalars_in(entry.value) if held else ():
            if any(map(is_of_a_loop, names_read(scalar.text))):
                message = "Azure has no variables of loops"
                yield refused(message, scalar.span, "count in a variable of your own")


def _parallel(entry: Entry, action: Mapping) -> Iterator[Diagnostic]:
    repetitions = find_deep(action, "runtimeConfiguration", "concurrency", "repetitions")
    is_one = isinstance(repetitions, Scalar) and repetitions.value == 1
    if is_one or "sequential" in text_at(action, "operationOptions").lower():
        return
    for name in sorted(set_in(find(action, "actions"))):
        yield Diagnostic(
            "W023",
            f"{entry.name!r} runs its items side by side, and they change {name!r}",
            entry.key.span,
            "in any order",
            "write runtimeConfiguration.concurrency.repetitions 1, or use Select",
            "warning",
        )
