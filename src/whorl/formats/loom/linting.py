"""What Azure Logic Apps would refuse to deploy, or run in an order that nobody can foresee.

It bounds names, sizes, depth and what stands in a loop, and lacks what only this dialect has.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import duration_of, whole_of
from whorl.errors import Diagnostic
from whorl.formats.loom import forms
from whorl.formats.loom.control import actions_in, declared, set_in, variable_set
from whorl.formats.loom.definitions import forms_of
from whorl.formats.loom.forms import LOOPS, find, find_mapping, scalars_in, text_at
from whorl.source import Mapping

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.errors import Span
    from whorl.source import Document, Entry, Value


# The label of what Azure would not take.
REFUSED = "would not deploy"
NAME_MAX = 80
DEPTH_MAX = 8
CASES_MAX = 25
EXPRESSION_MAX = 8_192
# How many of each a definition may have.
TOTALS = {"actions": 500, "triggers": 10, "parameters": 50, "outputs": 10, "variables": 250}
# Numbers and times of an action: where they stand, their least and most, and what is told of them.
_BOUNDS = (
    ("limit count", 0, 5_000, "a loop has at most 5,000 iterations", "nest two loops"),
    ("inputs retryPolicy count", 0, 90, "there are at most 90 retries", "wait longer"),
    (
        *("inputs retryPolicy interval", 5, 86_400),
        *("the interval of a retry must be from PT5S to P1D", "write PT5S or more"),
    ),
    (
        *("runtimeConfiguration concurrency repetitions", 1, 50),
        *("repetitions must be from 1 to 50", "write repetitions 50 or less"),
    ),
)
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
    """What Azure Logic Apps would refuse or do otherwise, and whether it would refuse the file."""
    diagnostics: list[Diagnostic] = []
    for form in forms_of(document.root):
        definition = form.deployed().definition
        steps = list(_steps(find(definition, "actions")))
        for step in steps:
            diagnostics += _check(*step)
        diagnostics += _totals(definition, [entry.value for entry, *_ in steps])
    return diagnostics, any(d.severity == "error" or d.label == REFUSED for d in diagnostics)


def _steps(
    actions: Value | None, depth: int = 0, *, in_loop: bool = False
) -> Iterator[tuple[Entry, str, int, bool]]:
    """All actions with their types, how deep they stand, and whether that is in a loop."""
    for entry in actions if isinstance(actions, Mapping) else ():
        if not isinstance(entry.value, Mapping):
            continue
        kind, inputs = text_at(entry.value, "type").lower(), find(entry.value, "inputs")
        yield entry, kind, depth, in_loop
        is_inside = in_loop or kind in LOOPS or kind == "foreach"
        for name in _BLOCKS:
            part = find_mapping(entry.value, name) or find_mapping(inputs, name) or ()
            blocks = [(each.name, each.value) for each in part]
            if name not in ("cases", "tools"):
                blocks = [(entry.name, part)] if isinstance(part, Mapping) else []
            for alone, block in blocks:
                yield from _steps(actions_in(block, alone), depth + 1, in_loop=is_inside)


def _totals(definition: Value, actions: list[Value]) -> Iterator[Diagnostic]:
    """What a definition has too much of, and variables that it declares twice."""
    names = [
        (name, item.span)
        for action in actions
        if text_at(action, "type").lower() == "initializevariable"
        for item, name, _ in declared(
            find(action, "inputs", "variables") or find(action, "variables")
        )
    ]
    for part, most in TOTALS.items():
        count = {"actions": len(actions), "variables": len(names)}.get(part)
        written = find_mapping(definition, part)
        count = len(written or ()) if count is None else count
        if count > most:
            message = f"a workflow has at most {most} {part}, and this one has {count}"
            advice = "move some of them into a workflow that it calls"
            yield _refused(message, (written or definition).span, advice)
    seen: Counter[str] = Counter()
    for name, span in names:
        seen[name.lower()] += 1
        if seen[name.lower()] > 1:
            message = f"variable {name!r} is declared twice"
            yield _refused(message, span, "set it where it is declared again")


def _check(entry: Entry, kind: str, depth: int, in_loop: bool) -> Iterator[Diagnostic]:
    """Everything about one action that Azure does not know, bounds, or forbids by place."""
    action, span = entry.value, entry.key.span
    assert isinstance(action, Mapping)
    inputs, cases, retry = (find(action, name) for name in ("inputs", "cases", "retry"))
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
    if len(entry.name) > NAME_MAX:
        yield _refused(f"a name has at most {NAME_MAX} characters", span, "take a shorter one")
    if depth == DEPTH_MAX:
        message = f"actions can be nested at most {DEPTH_MAX} levels deep"
        yield _refused(message, span, "call another workflow from here")
    if kind == "initializevariable" and depth > 0:
        advice = "declare it at the top level, and set it here"
        yield _refused("variables can only be declared at the top level", span, advice)
    if kind in ("terminate", "response") and in_loop:
        advice = "set a variable, and end after the loop"
        yield _refused(f"{kind!r} is not allowed in a loop", span, advice)
    if isinstance(cases, Mapping) and len(cases) > CASES_MAX:
        yield _refused(f"a switch has at most {CASES_MAX} cases", cases.span, "nest two switches")
    for path, least, most, message, advice in _BOUNDS:
        value = find(action, *path.split())
        number = duration_of(value) if path.endswith("interval") else whole_of(value)
        if value is not None and number is not None and not least <= number <= most:
            yield _refused(message, value.span, advice)
    yield from _check_expressions(action, kind)
    if kind == "foreach":
        yield from _check_order(entry)


def _check_expressions(action: Mapping, kind: str) -> Iterator[Diagnostic]:
    """What an action itself computes, without those inside of it."""
    own = [
        scalar
        for entry in action
        if entry.name not in (*_BLOCKS, "action") and find(entry.value, "actions") is None
        for scalar in scalars_in(entry.value)
    ]
    for scalar in own:
        if any(map(forms.is_of_a_loop, forms.variables_read(scalar.text))):
            message = "Azure has no variables of loops"
            yield _refused(message, scalar.span, "count in a variable of your own")
        if scalar.text[:1] == "@" and len(scalar.text) > EXPRESSION_MAX:
            message = f"an expression has at most {EXPRESSION_MAX:,} characters"
            yield _refused(message, scalar.span, "compute parts of it in Compose actions")
    values = find(action, "inputs", "value") or find(action, "value")
    for scalar in scalars_in(values) if kind in forms.SETTING else ():
        if variable_set(action).lower() in (
            name.lower() for name in forms.variables_read(scalar.text)
        ):
            message = "a variable may not be read where it is set"
            yield _refused(message, scalar.span, "compute the value in a Compose action before")


def _check_order(entry: Entry) -> Iterator[Diagnostic]:
    """What the items of a Foreach do at the same time."""
    repetitions = find(entry.value, "runtimeConfiguration", "concurrency", "repetitions")
    is_sequential = "sequential" in text_at(entry.value, "operationOptions").lower()
    if repetitions is not None and is_sequential:
        message = "concurrency and Sequential exclude each other"
        yield _refused(message, repetitions.span, "keep one of them")
    is_serial = is_sequential or whole_of(repetitions) == 1
    for name in sorted(set_in(find(entry.value, "actions"))) if not is_serial else ():
        message = f"{entry.name!r} runs its items at the same time, and they all change {name!r}"
        advice = "write runtimeConfiguration.concurrency.repetitions 1, or use Select"
        yield Diagnostic("W023", message, entry.key.span, "in any order", advice, "warning")


def _refused(message: str, span: Span, advice: str) -> Diagnostic:
    return Diagnostic("W023", message, span, REFUSED, advice, "warning")
