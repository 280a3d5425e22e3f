"""What Azure Logic Apps would refuse to deploy, or run in an order that nobody can foresee.

It bounds names, sizes, depth and what stands in a loop, and lacks what only this dialect has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import duration_of
from whorl.errors import Diagnostic
from whorl.formats.loom.control import actions_in, declared, set_in, variable_set
from whorl.formats.loom.definitions import forms_of
from whorl.formats.loom.forms import (
    INNER,
    LOOPS,
    OWN,
    SETTING,
    find,
    is_of_a_loop,
    scalars_in,
    text_at,
    variables_read,
)
from whorl.source import Mapping, Scalar

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
COUNT_MAX = 5_000
REPETITIONS_MAX = 50
RETRIES_MAX = 90
RETRY_S = (5.0, 86_400.0)
# How many of each a definition may have.
TOTALS = {"actions": 500, "triggers": 10, "parameters": 50, "outputs": 10, "variables": 250}
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


def lint_for_azure(document: Document) -> tuple[list[Diagnostic], bool]:
    """What Azure Logic Apps would refuse or do otherwise, and whether it would refuse the file."""
    definitions = [form.deployed().definition for form in forms_of(document.root)]
    diagnostics = [d for each in definitions for d in _block(find(each, "actions"))]
    diagnostics += [d for each in definitions for d in _totals(each)]
    return diagnostics, any(d.severity == "error" or d.label == REFUSED for d in diagnostics)


def _block(actions: Value | None, depth: int = 0, *, in_loop: bool = False) -> Iterator[Diagnostic]:
    """What stands in a block, which is so many actions deep."""
    for entry in actions if isinstance(actions, Mapping) else ():
        action = entry.value
        if not isinstance(action, Mapping):
            continue
        yield from _check_limits(entry, action, depth, in_loop=in_loop)
        kind = text_at(action, "type").lower()
        yield from _action(entry, action, kind)
        inside = in_loop or kind in LOOPS or kind == "foreach"
        for block in _inner_blocks(entry):
            yield from _block(block, depth + 1, in_loop=inside)


def _totals(definition: Value) -> Iterator[Diagnostic]:
    """What a definition has too much of, and variables that it declares twice."""
    parts = {name: find(definition, name) for name in TOTALS}
    counts = {n: len(part) for n, part in parts.items() if isinstance(part, Mapping)}
    actions = list(_written(parts["actions"]))
    names = [variable for action in actions for variable in _declared(action)]
    counts |= {"actions": len(actions), "variables": len(names)}
    for name, count in counts.items():
        if count > TOTALS[name]:
            span = (parts[name] or definition).span
            message = f"a workflow has at most {TOTALS[name]} {name}, and this one has {count}"
            yield _refused(message, span, "move some of them into a workflow that it calls")
    seen: set[str] = set()
    for name, span in names:
        if name.lower() in seen:
            message = f"variable {name!r} is declared twice"
            yield _refused(message, span, "set it where it is declared again")
        seen.add(name.lower())


def _written(part: Value | None) -> Iterator[Mapping]:
    """All actions, wherever they stand."""
    for entry in part if isinstance(part, Mapping) else ():
        if isinstance(entry.value, Mapping):
            yield entry.value
            for inner in _inner_blocks(entry):
                yield from _written(inner)


def _inner_blocks(entry: Entry) -> Iterator[Mapping]:
    action, inputs = entry.value, find(entry.value, "inputs")
    for name in ("actions", "then", "else", "default"):
        part = find(action, name) or find(inputs, name)
        if isinstance(part, Mapping):
            yield actions_in(part, entry.name)
    for name in ("cases", "tools"):
        listed = find(action, name) or find(inputs, name)
        for each in listed if isinstance(listed, Mapping) else ():
            yield actions_in(each.value, each.name)


def _declared(action: Mapping) -> Iterator[tuple[str, Span]]:
    if text_at(action, "type").lower() == "initializevariable":
        listed = find(action, "inputs", "variables") or find(action, "variables")
        yield from ((name, item.span) for item, name, _ in declared(listed))


def _action(entry: Entry, action: Mapping, kind: str) -> Iterator[Diagnostic]:
    if kind in OWN:
        span = (find(action, "type") or action).span
        yield _refused(f"Azure has no type {kind!r}", span, f"write {_INSTEAD[kind]}")
    inputs = find(action, "inputs")
    for key, instead in _AZURE_NAMES:
        value = find(action, key) or (find(inputs, key) if kind in ("until", "if") else None)
        if value is not None and (kind in LOOPS or kind in ("if", "switch")):
            message = f"{entry.name!r} has {key!r}, which Azure does not know"
            yield _refused(message, value.span, f"write {instead}")
    retry = find(action, "retry")
    if retry is not None:
        yield _refused("Azure has no 'retry'", retry.span, "write retryPolicy in the inputs")
    yield from _names(action)
    if kind == "foreach":
        yield from _parallel(entry, action)


def _names(action: Mapping) -> Iterator[Diagnostic]:
    """The variables of a loop, in what an action itself says."""
    for entry in action:
        is_own = entry.name not in INNER and find(entry.value, "actions") is None
        for scalar in scalars_in(entry.value) if is_own else ():
            if any(map(is_of_a_loop, variables_read(scalar.text))):
                message = "Azure has no variables of loops"
                yield _refused(message, scalar.span, "count in a variable of your own")


def _parallel(entry: Entry, action: Mapping) -> Iterator[Diagnostic]:
    repetitions = find(action, "runtimeConfiguration", "concurrency", "repetitions")
    is_serial = isinstance(repetitions, Scalar) and repetitions.value == 1
    if is_serial or "sequential" in text_at(action, "operationOptions").lower():
        return
    for name in sorted(set_in(find(action, "actions"))):
        message = f"{entry.name!r} runs its items at the same time, and they all change {name!r}"
        advice = "write runtimeConfiguration.concurrency.repetitions 1, or use Select"
        yield Diagnostic("W023", message, entry.key.span, "in any order", advice, "warning")


def _check_limits(
    entry: Entry, action: Mapping, depth: int, *, in_loop: bool
) -> Iterator[Diagnostic]:
    """Everything about one action that Azure bounds, or forbids by place."""
    kind, span = text_at(action, "type").lower(), entry.key.span
    if len(entry.name) > NAME_MAX:
        yield _refused(f"a name has at most {NAME_MAX} characters", span, "take a shorter one")
    if depth == DEPTH_MAX:
        advice = "call another workflow from here"
        yield _refused(f"actions can be nested at most {DEPTH_MAX} levels deep", span, advice)
    if kind == "initializevariable" and depth > 0:
        advice = "declare it at the top level, and set it here"
        yield _refused("variables can only be declared at the top level", span, advice)
    if kind in ("terminate", "response") and in_loop:
        yield _refused(
            f"{kind!r} is not allowed in a loop", span, "set a variable, and end after the loop"
        )
    if kind in SETTING:
        name = variable_set(action).lower()
        for scalar in scalars_in(find(action, "inputs", "value") or find(action, "value")):
            if name in (read.lower() for read in variables_read(scalar.text)):
                message = "a variable may not be read where it is set"
                yield _refused(message, scalar.span, "compute the value in a Compose action before")
    yield from _counts(action)
    for inner in action:
        for scalar in scalars_in(inner.value) if inner.name not in INNER else ():
            if scalar.text[:1] == "@" and len(scalar.text) > EXPRESSION_MAX:
                message = f"an expression has at most {EXPRESSION_MAX:,} characters"
                yield _refused(message, scalar.span, "compute parts of it in Compose actions")


def _counts(action: Mapping) -> Iterator[Diagnostic]:
    cases = find(action, "cases")
    if isinstance(cases, Mapping) and len(cases) > CASES_MAX:
        yield _refused(f"a switch has at most {CASES_MAX} cases", cases.span, "nest two switches")
    count = find(action, "limit", "count")
    if isinstance(count, Scalar) and isinstance(count.value, int) and count.value > COUNT_MAX:
        yield _refused(f"a loop has at most {COUNT_MAX:,} iterations", count.span, "nest two loops")
    tries = find(action, "inputs", "retryPolicy", "count")
    if isinstance(tries, Scalar) and isinstance(tries.value, int) and tries.value > RETRIES_MAX:
        yield _refused(f"there are at most {RETRIES_MAX} retries", tries.span, "wait longer")
    interval = find(action, "inputs", "retryPolicy", "interval")
    seconds = duration_of(interval)
    if interval is not None and seconds is not None and not RETRY_S[0] <= seconds <= RETRY_S[1]:
        yield _refused(
            "the interval of a retry must be from PT5S to P1D", interval.span, "write PT5S or more"
        )
    repetitions = find(action, "runtimeConfiguration", "concurrency", "repetitions")
    number = repetitions.value if isinstance(repetitions, Scalar) else 1
    if isinstance(number, int) and not 1 <= number <= REPETITIONS_MAX:
        message = f"repetitions must be from 1 to {REPETITIONS_MAX}"
        span = (repetitions or action).span
        yield _refused(message, span, f"write repetitions {REPETITIONS_MAX} or less")
    if repetitions is not None and "sequential" in text_at(action, "operationOptions").lower():
        message = "concurrency and Sequential exclude each other"
        yield _refused(message, repetitions.span, "keep one of them")


def _refused(message: str, span: Span, advice: str) -> Diagnostic:
    return Diagnostic("W023", message, span, REFUSED, advice, "warning")
