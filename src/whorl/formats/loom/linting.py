"""Checks for features that only this dialect has, and for an order that Azure does not keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import whole_of
from whorl.errors import Diagnostic
from whorl.formats.loom import forms
from whorl.formats.loom.control import actions_in, variables_in
from whorl.formats.loom.definitions import forms_of
from whorl.formats.loom.forms import LOOPS, find, find_mapping, scalars_in, text_at
from whorl.source import Mapping

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.errors import Span
    from whorl.source import Document, Entry, Value


# The label of what Azure would not take.
REFUSED = "would not deploy"
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
# Fields that only this dialect has.
_AZURE_NAMES = (("condition", "expression"), ("delay", "a Delay action"), ("on", "expression"))
# The keys under which actions hold others.
_BLOCKS = ("actions", "then", "else", "default", "cases", "tools")


def lint_for_azure(document: Document) -> tuple[list[Diagnostic], bool]:
    """Returns what Azure Logic Apps would do otherwise, and whether it would refuse the file."""
    diagnostics: list[Diagnostic] = []
    for form in forms_of(document.root):
        definition = form.deployed().definition
        for entry, in_loop in _steps(find(definition, "actions")):
            diagnostics += _check(entry, in_loop)
        for scalar in scalars_in(definition):
            names = forms.names_read(scalar.text, "variables")
            if any(forms.is_of_a_loop(name) for _, name in names):
                message = "Azure has no variables of loops"
                advice = "count in a variable of your own"
                diagnostics.append(_refused(message, scalar.span, advice))
    return diagnostics, any(d.severity == "error" or d.label == REFUSED for d in diagnostics)


def _steps(actions: Value | None, *, in_loop: bool = False) -> Iterator[tuple[Entry, bool]]:
    """Yields all actions, each with whether it is in a loop."""
    for entry in actions if isinstance(actions, Mapping) else ():
        yield entry, in_loop
        kind, inputs = text_at(entry.value, "type").lower(), find(entry.value, "inputs")
        is_inside = in_loop or kind in LOOPS or kind == "foreach"
        for name in _BLOCKS:
            part = find_mapping(entry.value, name) or find_mapping(inputs, name)
            blocks = {each.name: each.value for each in part or ()}
            if part is not None and name not in ("cases", "tools"):
                blocks = {entry.name: part}
            for alone, block in blocks.items():
                yield from _steps(actions_in(block, alone), in_loop=is_inside)


def _check(entry: Entry, in_loop: bool) -> Iterator[Diagnostic]:
    action, kind = entry.value, text_at(entry.value, "type").lower()
    inputs, retry = find(action, "inputs"), find(action, "retry")
    if kind in forms.OWN:
        place = (find(action, "type") or action).span
        yield _refused(f"Azure has no type {kind!r}", place, f"write {_INSTEAD[kind]}")
    for key, instead in _AZURE_NAMES if kind in LOOPS or kind in ("if", "switch") else ():
        value = find(action, key) or (find(inputs, key) if kind in ("until", "if") else None)
        if value is not None:
            message = f"{entry.name!r} has {key!r}, which Azure does not know"
            yield _refused(message, value.span, f"write {instead}")
    if retry is not None:
        yield _refused("Azure has no 'retry'", retry.span, "write retryPolicy in the inputs")
    if kind in ("terminate", "response") and in_loop:
        advice = "set a variable, and end after the loop"
        yield _refused(f"{kind!r} is not allowed in a loop", entry.key.span, advice)
    is_sequential = "sequential" in text_at(action, "operationOptions").lower()
    repetitions = find(action, "runtimeConfiguration", "concurrency", "repetitions")
    if kind == "foreach" and not is_sequential and whole_of(repetitions) != 1:
        for name in sorted({name.lower() for name, _ in variables_in(find(action, "actions"))}):
            message = f"{entry.name!r} runs its items at the same time, and they all change "
            advice = "write runtimeConfiguration.concurrency.repetitions 1, or use Select"
            span, label = entry.key.span, "in any order"
            yield Diagnostic("W023", f"{message}{name!r}", span, label, advice, "warning")


def _refused(message: str, span: Span, advice: str) -> Diagnostic:
    return Diagnostic("W023", message, span, REFUSED, advice, "warning")
