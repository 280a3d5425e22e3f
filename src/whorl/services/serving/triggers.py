"""The rules of triggers, and the runs that they start."""

from __future__ import annotations

import os
from dataclasses import field, replace
from typing import TYPE_CHECKING

from whorl.errors import UsageError
from whorl.interpreter.constructs.run import check_inputs
from whorl.interpreter.evaluation import value_of
from whorl.language import LanguageError, MappingScope, to_text
from whorl.lazily import dataclass
from whorl.runtimes.journal.folding import fold
from whorl.services.files.preflight import check_given, permitted

if TYPE_CHECKING:
    from whorl.dialects import Reading
    from whorl.interpreter.frames import Values
    from whorl.ir import Trigger, Workflow
    from whorl.language import Json
    from whorl.providers.registry import Providers
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.runtimes.start_options import Start

CODE = "R130"
NO_ANSWER = "R131"
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Starts:
    """The runs to start; the number of the others, and why they are not started."""

    each: tuple[Start, ...]
    is_split: bool = False
    skipped: int = 0
    reason: str = ""


def starts_of(workflow: Workflow, start: Start, now: float) -> Starts:
    """Returns the runs that a trigger starts for an input, or raises UsageError R130."""
    trigger = workflow.trigger
    if trigger is None or not (trigger.has_rules or trigger.tracking):
        return Starts((start,))
    if trigger.schema is not None:
        body = start.input.get(workflow.main_input)
        if body is None and trigger.fields:
            body = {name: start.input[name] for name in trigger.fields if name in start.input}
        from whorl.language.schema import misfits

        if faults := misfits(trigger.schema, body):
            words = "; ".join(map(str, faults[:_SHOWN]))
            message = f"the body does not fit the schema of trigger {trigger.name!r}: {words}"
            help_ = "correct the body ($ is all of it), or `schema` of the trigger in the file"
            raise UsageError(message, help=help_, code=CODE)
    is_split = trigger.split_on is not None
    items = _split(workflow, trigger, start.input, now) if is_split else [start.input]
    reason = "" if items else f"the list of trigger {trigger.name!r} is empty"
    each: list[Start] = []
    for number, given in enumerate(items, 1):
        scope = scope_of(workflow, given, now)
        unmet = (one for one in trigger.conditions if computed(trigger, one, scope) is not True)
        if (condition := next(unmet, None)) is not None:
            reason = f"a condition of trigger {trigger.name!r} is not met: {condition.source}"
            continue
        name = dict(trigger.gives).get("tracking")
        if trigger.tracking is not None and name is not None:
            given = given | {name: to_text(computed(trigger, trigger.tracking, scope))}
        key = f"{start.key}/{number}" if start.key and is_split else start.key
        each.append(replace(start, input=given, key=key))
    return Starts(tuple(each), is_split, len(items) - len(each), reason)


@dataclass(frozen=True, slots=True)
class TriggerCall:
    """A call of a trigger: its parts, each as JSON."""

    method: str
    path: str = ""
    queries: dict[str, Json] = field(default_factory=dict)
    headers: dict[str, Json] = field(default_factory=dict)
    body: Json = None


def checked_start(reading: Reading, providers: Providers, start: Start) -> tuple[Start, str]:
    """Returns the checked start of a file's run, and the stand-in that answers for a real model.

    Raises UsageError for inputs that the workflow refuses, and what `permitted` raises.
    """
    check_given(reading.workflow, start.input, advice="see `inputs` of the workflow")
    start = replace(start, sources=dict(reading.sources))
    return permitted(reading.workflow, providers, start)


def inputs_of(trigger: Trigger, call: TriggerCall) -> Values:
    """Returns the inputs of a run from a call. Raises UsageError W902 if it does not fit."""
    parameters = _matched(trigger.path, call.path)
    if parameters is None:
        words = f"trigger {trigger.name!r} is called at {trigger.path or 'no path'!r}"
        raise UsageError(f"{words}, not at {call.path[:80]!r}", code="W902")
    parts: dict[str, Json] = {"body": call.body, "headers": call.headers, "queries": call.queries}
    parts["path"] = parameters
    return {name: parts[part] for part, name in trigger.gives if parts.get(part) is not None}


def _matched(template: str, path: str) -> dict[str, Json] | None:
    """Returns the parameters of a path such as `orders/{id}`, or None if it does not match."""
    wanted, given = template.split("/"), path.strip("/").split("/")
    if len(wanted) != len(given):
        return None
    parameters: dict[str, Json] = {}
    for part, text in zip(wanted, given, strict=True):
        if text and part.startswith("{") and part.endswith("}"):
            parameters[part[1:-1]] = text
        elif part.lower() != text.lower():
            return None
    return parameters


def answer_of(store: SqliteStore, run: RunId) -> dict[str, Json] | None:
    """Returns the answer to the caller, including secrets, or None if it has none (yet)."""
    machine = fold(store, run, to_drive=True).machine
    answer = machine.plan.workflow.answer
    scope = machine.frames[machine.state["root"]].get("own_scope")
    if answer is None or scope is None:
        return None
    value = value_of(answer, machine.scope_at(scope))
    return value if isinstance(value, dict) and value.get("status") is not None else None


def only_start(workflow: Workflow, start: Start, now: float) -> Start:
    """Returns the only run to start; raises UsageError R130 for zero or several."""
    starts = starts_of(workflow, start, now)
    if starts.is_split and workflow.trigger is not None:
        words = f"trigger {workflow.trigger.name!r} starts a run for each of its items"
        raise UsageError(words, help="`whorl run` and a server start them", code=CODE)
    if not starts.each:
        raise UsageError(f"no run was started: {starts.reason}", code=CODE)
    return starts.each[0]


def _split(workflow: Workflow, trigger: Trigger, given: Values, now: float) -> list[Values]:
    assert trigger.split_on is not None
    items = computed(trigger, trigger.split_on, scope_of(workflow, given, now))
    if not isinstance(items, list):
        words = f"trigger {trigger.name!r} starts a run for each item of a list, but the value "
        words += f"to split is {'nothing' if items is None else f'a {type(items).__name__}'}"
        raise UsageError(words, help="send a body that has the list", code=CODE)
    if len(items) > trigger.items_max:
        words = f"trigger {trigger.name!r} has {len(items):,} items to split, more than "
        raise UsageError(f"{words}{trigger.items_max:,}", help="send fewer", code=CODE)
    kept = {name: value for name, value in given.items() if name not in trigger.fields}
    return [kept | {workflow.main_input: item} for item in items]


def scope_of(workflow: Workflow, given: Values, now: float) -> MappingScope:
    """Returns the scope with which a run would begin."""
    values: dict[str, Json] = check_inputs(workflow, given)
    values |= {"$now": now, "$seed": os.urandom(8).hex()}
    scope = MappingScope(values)
    for name, value in workflow.variables:
        values[name] = value_of(value, scope)
    return scope


def computed(trigger: Trigger, value: object, scope: MappingScope) -> Json:
    try:
        return value_of(value, scope)  # type: ignore[arg-type]
    except LanguageError as fault:
        message = f"a rule of trigger {trigger.name!r} cannot be computed: {fault}"
        advice = fault.help or "send a body that the rule can read"
        raise UsageError(message, help=advice, code=CODE) from fault
