"""Functions that read the run. What they need, the scope says under these names:

| name | value |
|---|---|
| `$parameters`, `$variables` | objects: value by name |
| `$actions` | object: record by action name; null for an action that has not run |
| `$trigger` | the record of the trigger |
| `$items`, `$iterations` | objects by loop name: the current item, the index from 0 |
| `$item` | the item of the innermost loop |
| `$results` | object by scope or loop name: array of the records of its actions |
| `$scopes` | in place of it, object by scope or loop name: array of the names of its actions |
| `$loop` | object: the variables of the loops around, by name |
| `$workflow` | `{id, name, type, location, tags, run: {id, name, type}}` |
| `$action` | the record of the action that is being evaluated, for `action()` |
| `$settings`, `$secrets`, `$agent_parameters` | objects: value by name |
| `$callback_url` | what `listCallbackUrl()` gives |
| `$now` | seconds since 1970 (date functions) |
| `$seed` | a text (`guid`, `rand`) |

A record is `{name, status, inputs, outputs, code, error, startTime, endTime, ...}`; `outputs` of
most actions is `{statusCode, headers, body}`. Names are found without regard to case. A name that
the scope does not know is undefined, and the function that needs it says so.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from whorl.dialects.loom.values.arguments import (
    Family,
    find_key,
    forgiving_item,
    not_valid,
    text,
    whole,
)
from whorl.errors import did_you_mean
from whorl.language.faults import EvaluationError
from whorl.language.values import UNDEFINED

if TYPE_CHECKING:
    from whorl.language.entry import FunctionEntry
    from whorl.language.run import Run
    from whorl.language.values import Value


_NAMES_MAX = 1_000
_FAILED = ("Failed", "TimedOut", "Cancelled")


def named(
    function: str, place: str, noun: str, run: Run, name: Value, *, lenient: bool = False
) -> Value:
    """Return the value of a name in one of the tables of the scope."""
    key = text(function, None, name)
    table = run.lookup(place)
    if isinstance(table, dict):
        if key in table:
            return table[key]
        run.spend(len(table) >> 4)
        found = find_key(table, key)
        if found is not None:
            return table[found]
    if lenient:
        return None
    known = list(table)[:_NAMES_MAX] if isinstance(table, dict) else []
    raise EvaluationError(
        f"The template language function {function!r} cannot be evaluated: "
        f"the {noun} {key!r} is not defined",
        help=did_you_mean(key, known),
    )


def variable(lenient: bool, run: Run, name: Value) -> Value:
    loop = run.lookup("$loop")
    if isinstance(loop, dict):
        found = find_key(loop, text("variables", None, name))
        if found is not None:
            return loop[found]
    return named("variables", "$variables", "variable", run, name, lenient=lenient)


def result(run: Run, name: Value) -> Value:
    if run.lookup("$scopes") is UNDEFINED:
        return named("result", "$results", "scope", run, name)
    inside = named("result", "$scopes", "scope", run, name)
    known = run.lookup("$actions")
    if not isinstance(inside, list) or not isinstance(known, dict):
        return None
    run.spend(len(inside))
    records = [known.get(action) for action in inside if isinstance(action, str)]
    return [record for record in records if record is not None]


def _record(function: str, run: Run, name: Value) -> Value:
    """Return the record of an action, or of the trigger where it bears the name."""
    try:
        return named(function, "$actions", "workflow action", run, name)
    except EvaluationError:
        started = run.lookup("$trigger")
        own = started.get("name") if isinstance(started, dict) else None
        if isinstance(name, str) and isinstance(own, str) and name.lower() == own.lower():
            return started
        raise


def outputs(function: str, run: Run, name: Value) -> Value:
    return forgiving_item(_record(function, run, name), "outputs")


def body(function: str, lenient: bool, run: Run, name: Value) -> Value:
    given = outputs(function, run, name)
    if lenient and not (isinstance(given, dict) and find_key(given, "body") is not None):
        # Whatever an action gives is its body there, unless it says which part of it is.
        return given
    return _body_of(given)


def _body_of(given: Value) -> Value:
    """Return the body of outputs; an action such as Compose has outputs of any kind and none."""
    return forgiving_item(given, "body") if isinstance(given, dict) else None


def actions(run: Run, name: Value, part: Value) -> Value:
    record = _record("actions", run, name)
    return record if part is None else forgiving_item(record, text("actions", 1, part))


def settled(run: Run, name: Value, function: Value) -> bool:
    """Tell whether what a function reads of an action is no remainder of a failure."""
    table = run.lookup("$actions")
    record = table.get(find_key(table, str(name)) or "") if isinstance(table, dict) else None
    if not isinstance(record, dict) or record.get("status") not in _FAILED:
        return True
    # How a call failed may be asked for; what it replied then is no result.
    return function != "body" and record.get("outputs") is not None


def trigger(run: Run) -> Value:
    return _scope("trigger", "$trigger", run)


def trigger_outputs(run: Run) -> Value:
    return forgiving_item(_scope("triggerOutputs", "$trigger", run), "outputs")


def trigger_body(run: Run) -> Value:
    return _body_of(forgiving_item(_scope("triggerBody", "$trigger", run), "outputs"))


def _scope(function: str, place: str, run: Run) -> Value:
    value = run.lookup(place)
    if value is UNDEFINED:
        raise EvaluationError(
            f"The template language function {function!r} cannot be used here: "
            f"there is no {place[1:].replace('_', ' ')}"
        )
    return value


def scoped(function: str, place: str, run: Run) -> Value:
    return _scope(function, place, run)


def current_action(run: Run, part: Value) -> Value:
    record = _scope("action", "$action", run)
    return record if part is None else forgiving_item(record, text("action", None, part))


def form_value(function: str, run: Run, name: Value, key: Value) -> Value:
    found = _form(function, run, body(function, False, run, name), key)
    return _single(function, found, key)


def form_values(function: str, run: Run, name: Value, key: Value) -> Value:
    return _form(function, run, body(function, False, run, name), key)


def trigger_form_value(run: Run, key: Value) -> Value:
    return _single("triggerFormDataValue", trigger_form_values(run, key), key)


def trigger_form_values(run: Run, key: Value) -> Value:
    return _form("triggerFormDataMultiValues", run, trigger_body(run), key)


def _form(function: str, run: Run, given: Value, key: Value) -> list[Value]:
    wanted = text(function, None, key).lower()
    pairs = forgiving_item(given, "$formdata") if isinstance(given, dict) else None
    if not isinstance(pairs, list):
        raise not_valid(function, "the body is not a form")
    run.spend(len(pairs))
    return [
        forgiving_item(pair, "value")
        for pair in pairs
        if isinstance(pair, dict) and str(forgiving_item(pair, "key")).lower() == wanted
    ]


def _single(function: str, found: Value, key: Value) -> Value:
    assert isinstance(found, list)
    if len(found) > 1:
        raise not_valid(function, f"the form has {len(found)} values for the key {key!r}")
    return found[0] if found else None


def multipart(function: str, run: Run, name: Value, index: Value) -> Value:
    return _part(function, body(function, False, run, name), index)


def trigger_multipart(run: Run, index: Value) -> Value:
    return _part("triggerMultipartBody", trigger_body(run), index)


def _part(function: str, given: Value, index: Value) -> Value:
    parts = forgiving_item(given, "$multipart") if isinstance(given, dict) else None
    number = whole(function, None, index)
    if not isinstance(parts, list) or not 0 <= number < len(parts):
        raise not_valid(function, f"the body has no part with the index '{number}'")
    return forgiving_item(parts[number], "body")


_workflow = Family("workflow")


def _differing(lenient: bool) -> tuple[FunctionEntry, ...]:
    """Return the functions that differ where what is missing is null."""
    variables = _workflow(
        "variables(name)",
        partial(variable, lenient),
        "the value of a variable, or of a variable of the loop",
        reads="$variables",
        borrows=True,
    )
    bodies = (
        ("body(action)", "the body of an action's outputs"),
        ("actionBody(action)", "the body of an action's outputs; an old name"),
    )
    reading = (
        _workflow(
            signature,
            partial(body, signature.partition("(")[0], lenient),
            doc,
            reads="$actions",
            borrows=True,
        )
        for signature, doc in bodies
    )
    return (variables, *reading)


def lenient_entries() -> tuple[FunctionEntry, ...]:
    """Return the functions that differ where what is missing is null."""
    return _differing(lenient=True)


def _by_name() -> tuple[FunctionEntry, ...]:
    """Return the functions that take the name of something."""
    tables = (
        ("parameters(name)", "$parameters", "workflow parameter", "the value of a parameter"),
        ("items(loop)", "$items", "loop", "the current item of a loop"),
        ("iterationIndexes(loop)", "$iterations", "loop", "the index of a loop, from 0"),
        ("appsetting(name)", "$settings", "app setting", "the value of an app setting"),
        ("secret(name)", "$secrets", "secret", "the value of a secret; not in Azure"),
        ("agentParameters(name)", "$agent_parameters", "agent parameter", "what a model chose"),
    )
    entries = [
        _workflow(
            signature,
            partial(named, signature.partition("(")[0], place, noun),
            doc,
            reads=place,
            borrows=True,
        )
        for signature, place, noun, doc in tables
    ]
    reading = (
        ("outputs(action)", partial(outputs, "outputs"), "the outputs of an action"),
        (
            "actionOutputs(action)",
            partial(outputs, "actionOutputs"),
            "the outputs of an action; an old name",
        ),
        ("result(scope)", result, "the records of the actions in a scope or loop"),
        ("actions(action, part?)", actions, "a record"),
    )
    for signature, call, doc in reading:
        entries.append(_workflow(signature, call, doc, reads="$actions", borrows=True))
    return tuple(entries)


def _form_entries() -> tuple[FunctionEntry, ...]:
    return (
        _workflow(
            "formDataValue(action, key)",
            partial(form_value, "formDataValue"),
            "the one value of a key in a form",
            reads="$actions",
        ),
        _workflow(
            "formDataMultiValues(action, key)",
            partial(form_values, "formDataMultiValues"),
            "all values of a key in a form",
            reads="$actions",
        ),
        _workflow(
            "multipartBody(action, index)",
            partial(multipart, "multipartBody"),
            "a part of a body that has several",
            reads="$actions",
        ),
        _workflow(
            "triggerFormDataValue(key)",
            trigger_form_value,
            "the one value of a key in the trigger's form",
        ),
        _workflow(
            "triggerFormDataMultiValues(key)",
            trigger_form_values,
            "all values of a key in the trigger's form",
        ),
        _workflow("triggerMultipartBody(index)", trigger_multipart, "a part of the trigger's body"),
    )


WORKFLOW: tuple[FunctionEntry, ...] = (
    Family("internal")(
        "$settled(action, function)",
        settled,
        "whether an action has not failed, for the condition of a loop",
        reads="$actions",
    ),
    *_by_name(),
    *_differing(lenient=False),
    _workflow("trigger()", trigger, "the record of the trigger", reads="$trigger", borrows=True),
    _workflow(
        "triggerOutputs()",
        trigger_outputs,
        "the outputs of the trigger",
        reads="$trigger",
        borrows=True,
    ),
    _workflow(
        "triggerBody()", trigger_body, "the body of the trigger", reads="$trigger", borrows=True
    ),
    _workflow(
        "item()", partial(scoped, "item", "$item"), "the current item", reads="$item", borrows=True
    ),
    _workflow(
        "workflow()",
        partial(scoped, "workflow", "$workflow"),
        "the run",
        reads="$workflow",
        borrows=True,
    ),
    _workflow(
        "action(part?)", current_action, "the record of this action", reads="$action", borrows=True
    ),
    _workflow(
        "listCallbackUrl()",
        partial(scoped, "listCallbackUrl", "$callback_url"),
        "the address that starts this workflow",
        reads="$callback_url",
    ),
    *_form_entries(),
)
