"""Functions that read the run. What they need, the scope says under these names:

| name | value |
|---|---|
| `$parameters`, `$variables` | objects: value by name |
| `$actions` | object: record by action name; null for an action that has not run |
| `$trigger` | the record of the trigger |
| `$items`, `$iterations` | objects by loop name: the current item, the index from 0 |
| `$item` | the item of the innermost loop |
| `$scopes` | object by scope or loop name: array of the names of its actions |
| `$loop` | object: the variables of the loops around, by name |
| `$workflow` | `{id, name, type, location, tags, run: {id, name, type}}` |
| `$action` | the record of the action that is being evaluated, for `action()` |
| `$settings` | object: value by name |
| `$call` | what a model wants of a tool, with its `arguments` |
| `$callback_url` | what `listCallbackUrl()` gives |
| `$now` | seconds since 1970 (date functions) |
| `$seed` | a text (`guid`, `rand`) |

A record is `{name, status, inputs, outputs, code, error, startTime, endTime, ...}`; `outputs` of
most actions is `{statusCode, headers, body}`. Names are found without regard to case. A name that
the scope does not know is undefined, and the function that needs it says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import did_you_mean
from whorl.formats.loom.values import arguments
from whorl.formats.loom.values.arguments import find_key, forgiving_item, not_valid, text
from whorl.language.faults import EvaluationError
from whorl.language.values import UNDEFINED

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.calls import Run
    from whorl.language.values import Value


INTERNAL = arguments.Family("internal")
WORKFLOW = arguments.Family("workflow")
# The functions that differ where what is missing is null.
LENIENT = arguments.Family("workflow")

_NAMES_MAX = 1_000
_FAILED = ("Failed", "TimedOut", "Cancelled")


@INTERNAL(
    "$settled(action, function)",
    "whether an action has not failed, for the condition of a loop",
    reads="$actions",
)
def _settled(run: Run, name: Value, function: Value) -> bool:
    """Tell whether what a function reads of an action is no remainder of a failure."""
    table = run.lookup("$actions")
    record = table.get(find_key(table, str(name)) or "") if isinstance(table, dict) else None
    if not isinstance(record, dict) or record.get("status") not in _FAILED:
        return True
    # How a call failed may be asked for; what it replied then is no result.
    return function != "body" and record.get("outputs") is not None


def _named(
    function: str, place: str, noun: str, run: Run, name: Value, *, lenient: bool = False
) -> Value:
    """Return the value of a name in one of the tables of the scope."""
    key = text(function, None, name)
    table = run.lookup(place)
    if isinstance(table, dict):
        if key in table:
            return table[key]
        run.spend(len(table) >> 4)
        own = find_key(table, key)
        if own is not None:
            return table[own]
    if lenient:
        return None
    fault = EvaluationError(
        f"The template language function {function!r} cannot be evaluated: "
        f"the {noun} {key!r} is not defined",
        help=did_you_mean(key, list(table)[:_NAMES_MAX] if isinstance(table, dict) else []),
    )
    fault.name = key
    raise fault


for _signature, _place, _noun, _doc in (
    ("parameters(name)", "$parameters", "workflow parameter", "the value of a parameter"),
    ("items(loop)", "$items", "loop", "the current item of a loop"),
    ("iterationIndexes(loop)", "$iterations", "loop", "the index of a loop's iteration, from 0"),
    ("appsetting(name)", "$settings", "app setting", "the value of an app setting"),
):
    WORKFLOW(_signature, _doc, _place, _noun, reads=_place, borrows=True)(_named)


@WORKFLOW("agentParameters(name)", "an argument that the model chose", reads="$call", borrows=True)
def _agent_parameter(run: Run, name: Value) -> Value:
    call = run.lookup("$call")
    if not isinstance(call, dict) or not isinstance(given := call.get("arguments"), dict):
        raise EvaluationError(
            "The template language function 'agentParameters' cannot be evaluated: "
            "it is not inside a tool of an agent"
        )
    own = find_key(given, text("agentParameters", None, name))
    return None if own is None else given[own]


def _record(function: str, run: Run, name: Value) -> Value:
    """Return the record of an action, or of the trigger where it bears the name."""
    records = run.lookup("$actions")
    if isinstance(records, dict) and isinstance(name, str) and name in records:
        return records[name]
    try:
        return _named(function, "$actions", "workflow action", run, name)
    except EvaluationError:
        started = run.lookup("$trigger")
        own = started.get("name") if isinstance(started, dict) else None
        if isinstance(name, str) and isinstance(own, str) and name.lower() == own.lower():
            return started
        raise


def _outputs(function: str, run: Run, name: Value) -> Value:
    return forgiving_item(_record(function, run, name), "outputs")


_OLD = "the outputs of an action; old name"
WORKFLOW("outputs(action)", "the outputs of an action", reads="$actions", borrows=True)(_outputs)
WORKFLOW("actionOutputs(action)", _OLD, reads="$actions", borrows=True)(_outputs)


@WORKFLOW(
    "result(scope)", "the records of the actions in a scope or loop", reads="$actions", borrows=True
)
def _result(run: Run, name: Value) -> Value:
    inside = _named("result", "$scopes", "scope", run, name)
    records = run.lookup("$actions")
    if not isinstance(inside, list) or not isinstance(records, dict):
        return None
    run.spend(len(inside))
    each = [records.get(action) for action in inside if isinstance(action, str)]
    return [record for record in each if record is not None]


@WORKFLOW("actions(action, part?)", "a record", reads="$actions", borrows=True)
def _actions(run: Run, name: Value, part: Value) -> Value:
    record = _record("actions", run, name)
    return record if part is None else forgiving_item(record, text("actions", 1, part))


def _variable(function: str, lenient: bool, run: Run, name: Value) -> Value:
    loop = run.lookup("$loop")
    if isinstance(loop, dict):
        own = find_key(loop, text(function, None, name))
        if own is not None:
            return loop[own]
    return _named(function, "$variables", "variable", run, name, lenient=lenient)


def _body(function: str, lenient: bool, run: Run, name: Value) -> Value:
    given = _outputs(function, run, name)
    if lenient and not (isinstance(given, dict) and find_key(given, "body") is not None):
        # Whatever an action gives is its body there, unless it says which part of it is.
        return given
    return _body_of(given)


_VARIABLE = "the value of a variable, or of a variable of the loop"
for _signature, _call, _doc, _place in (
    ("variables(name)", _variable, _VARIABLE, "$variables"),
    ("body(action)", _body, "the body of an action's outputs", "$actions"),
    ("actionBody(action)", _body, "the body of an action's outputs; old name", "$actions"),
):
    for _family, _lenient in ((WORKFLOW, False), (LENIENT, True)):
        _family(_signature, _doc, _lenient, reads=_place, borrows=True)(_call)


def _body_of(given: Value) -> Value:
    """Return the body of outputs; an action such as Compose has outputs of any kind and none."""
    return forgiving_item(given, "body") if isinstance(given, dict) else None


def _scoped(function: str, place: str, run: Run, part: Value = None) -> Value:
    """Return what the scope says under a name, or a part of it; raise where it says nothing."""
    value = run.lookup(place)
    if value is UNDEFINED:
        raise EvaluationError(
            f"The template language function {function!r} cannot be used here: "
            f"there is no {place[1:].replace('_', ' ')}"
        )
    return value if part is None else forgiving_item(value, text(function, None, part))


def _trigger_outputs(function: str, place: str, run: Run) -> Value:
    return _scoped(function, place, run, "outputs")


def _trigger_body(function: str, place: str, run: Run) -> Value:
    return _body_of(_trigger_outputs(function, place, run))


_SCOPED: tuple[tuple[str, Callable[..., Value], str, str], ...] = (
    ("trigger()", _scoped, "the record of the trigger", "$trigger"),
    ("triggerOutputs()", _trigger_outputs, "the outputs of the trigger", "$trigger"),
    ("triggerBody()", _trigger_body, "the body of the trigger", "$trigger"),
    ("item()", _scoped, "the current item", "$item"),
    ("workflow()", _scoped, "the run", "$workflow"),
    ("action(part?)", _scoped, "the record of this action", "$action"),
    ("listCallbackUrl()", _scoped, "the address that starts this workflow", "$callback_url"),
)
for _signature, _call, _doc, _place in _SCOPED:
    _borrows = _place != "$callback_url"
    WORKFLOW(_signature, _doc, _place, reads=_place, borrows=_borrows)(_call)


def _content(run: Run, function: str, action: list[Value], key: str) -> Value:
    """Return what the body of an action, or else of the trigger, has under a key."""
    if action:
        given = _body(function, False, run, action[0])
    else:
        given = _trigger_body("triggerBody", "$trigger", run)
    return forgiving_item(given, key) if isinstance(given, dict) else None


def _form_values(function: str, run: Run, *given: Value) -> list[Value]:
    *action, key = given
    pairs = _content(run, function, action, "$formdata")
    wanted = text(function, None, key).lower()
    if not isinstance(pairs, list):
        raise not_valid(function, "the body is not form data")
    run.spend(len(pairs))
    return [
        forgiving_item(pair, "value")
        for pair in pairs
        if isinstance(pair, dict) and str(forgiving_item(pair, "key")).lower() == wanted
    ]


def _form_value(function: str, run: Run, *given: Value) -> Value:
    values = _form_values(function, run, *given)
    if len(values) > 1:
        key = given[-1]
        raise not_valid(function, f"the form has {len(values)} values for the key {key!r}")
    return values[0] if values else None


def _multipart(function: str, run: Run, *given: Value) -> Value:
    *action, index = given
    parts = _content(run, function, action, "$multipart")
    number = arguments.whole(function, None, index)
    if not isinstance(parts, list) or not 0 <= number < len(parts):
        raise not_valid(function, f"the body has no part with the index '{number}'")
    return forgiving_item(parts[number], "body")


_PARTS: tuple[tuple[str, Callable[..., Value], str], ...] = (
    ("formDataValue(action, key)", _form_value, "the one value of a key in a form"),
    ("formDataMultiValues(action, key)", _form_values, "all values of a key in a form"),
    ("multipartBody(action, index)", _multipart, "one part of a multipart body"),
    ("triggerFormDataValue(key)", _form_value, "the one value of a key in the trigger's form"),
    ("triggerFormDataMultiValues(key)", _form_values, "all values of a key in the trigger's form"),
    ("triggerMultipartBody(index)", _multipart, "a part of the trigger's body"),
)
for _signature, _call, _doc in _PARTS:
    _place = "$actions" if "(action" in _signature else ""
    WORKFLOW(_signature, _doc, reads=_place)(_call)
