"""Actions that compute, wait, answer, end the run, or set variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from whorl import ir
from whorl.dialects.reading.fields import text_of
from whorl.errors import did_you_mean
from whorl.formats.loom import texts
from whorl.formats.loom.forms import find, text_at
from whorl.formats.loom.words import SETTING
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.formats.loom.action import Action
    from whorl.language import Json
    from whorl.source import Value


_ENDS: dict[str, Literal["succeeded", "failed", "cancelled"]] = {
    "failed": "failed",
    "succeeded": "succeeded",
    "cancelled": "cancelled",
    "canceled": "cancelled",
}
# The kinds of an action that computes a time: its function, and the settings that it hands to it.
_TIMES = {
    "currenttime": "utcNow",
    "converttimezone": "convertTimeZone baseTime sourceTimeZone destinationTimeZone formatString",
    "addtotime": "addToTime baseTime interval timeUnit",
    "subtractfromtime": "subtractFromTime baseTime interval timeUnit",
    "getpasttime": "getPastTime interval timeUnit",
    "getfuturetime": "getFutureTime interval timeUnit",
    "indexof": "indexOf text searchText",
    "substring": "substring text startPosition length",
}
# The types of variables, each with its values and the first one of a variable that has none.
_TYPES: dict[str, tuple[type, Json]] = {
    "string": (str, ""),
    "array": (list, []),
    "integer": (int, 0),
    "float": (float, 0.0),
    "boolean": (bool, False),
    "object": (dict, None),
}
_SAME_TYPES = {"int": "integer", "bool": "boolean"}
Variable = tuple["Value", str, str]
Operation = Literal["set", "append", "join", "add"]
_OPERATIONS: dict[str, Operation] = {
    "setvariable": "set",
    "appendtoarrayvariable": "append",
    "appendtostringvariable": "join",
    "incrementvariable": "add",
    "decrementvariable": "add",
}


def read_wait(action: Action) -> ir.Node:
    until = find(action.setting("until"), "timestamp")
    if until is not None:
        return ir.Wait(name=action.name, until=action.context.value(until))
    duration = action.context.interval(action.setting("interval") or action.inputs)
    return ir.Wait(name=action.name, duration=duration or ir.Constant(0))


def read_terminate(action: Action) -> ir.Node:
    """Ends the run, or the one that its workflow was called for: its caller goes on."""
    error, written = action.setting("runError"), action.setting("runStatus")
    status = _ENDS.get(text_of(written).strip().lower() or "failed")
    if status is None:
        message = f"{text_of(written)[:60]!r} is not a status that a run can end with"
        advice = "write Succeeded, Failed or Cancelled"
        span = (written or action.fields).span
        action.context.report("W007", message, span, label="unknown status", help=advice)
    code, message_ = (action.context.value(find(error, name)) for name in ("code", "message"))
    return ir.Stop(
        name=action.name, status=status or "failed", message=message_, code=code, ends="workflow"
    )


def read_response(action: Action) -> ir.Node:
    """Answers whoever started the run; the first answer is the run's output."""
    action.context.responses.append(action.name)
    written = {name: find(action.inputs, name) for name in ("statusCode", "headers", "body")}
    entries = [(k, action.context.value(v)) for k, v in written.items() if v is not None]
    action.context.sends_headers |= written["headers"] is not None
    others = [name for name in action.context.answering if name != action.name]
    shape = texts.computed("answered_once", texts.IT, [*others]) if others else None
    return ir.Compute(name=action.name, value=ir.Fields(tuple(entries)), shape=shape)


def responses_in(value: Value | None, is_block: bool = False) -> Iterator[str]:
    """The names of the actions that answer whoever started the run."""
    for entry in value if isinstance(value, Mapping) else ():
        if is_block and text_at(entry.value, "type").lower() == "response":
            yield entry.name
        yield from responses_in(entry.value, entry.name.lower() == "actions")


def read_operation(action: Action) -> ir.Node:
    """An operation on data: what is computed, of which items, and what becomes of it."""
    over: ir.Value | None = None
    keep: ir.Expression | None = None
    become: ir.Value = texts.IT
    value: ir.Value = _expression(action, "@item()")
    if action.type == "parsejson":
        value = ir.Fields(tuple((name, action.value(name)) for name in ("content", "schema")))
        become = texts.computed("checked_content", texts.IT)
    elif action.type == "join":
        value = ir.Fields((("from", _items(action)), ("joinWith", action.value("joinWith"))))
        become = texts.computed("joined", texts.IT)
    elif action.type == "select":
        value, over = action.value("select"), _items(action)
    elif action.type == "query":
        where = action.setting("where")
        if not isinstance(where, Scalar):
            _missing(action, "where", '"@greater(item(), 1)"')
            where = Scalar("@true", action.span)
        over, keep = _items(action), action.context.expression(where)
    else:
        columns = action.setting("columns")
        if isinstance(columns, Sequence):
            written = [column for column in columns if isinstance(column, Mapping)]
            cells = [action.context.value(find(column, "value")) for column in written]
            headers = [text_at(column, "header") for column in written]
            value = ir.Fields(tuple(zip(headers, cells, strict=True)))
        form = "CSV" if text_of(action.setting("format")).upper() == "CSV" else "HTML"
        become = texts.jinja(f'table_of({{"rows": it, "format": "{form}"}})')
        over = _items(action)
    shape = texts.bodied(become)
    return ir.Compute(name=action.name, value=value, over=over, keep=keep, shape=shape)


def read_time(action: Action) -> ir.Node:
    call = _TIMES.get(text_at(action.fields, "kind").lower())
    if call is None:
        message = f"{action.name!r} has an unknown kind"
        advice = f"the kinds are {', '.join(_TIMES)}"
        action.context.report("W009", message, action.span, label="unknown kind", help=advice)
        return action.nothing()
    function, *names = call.split()
    given = [action.setting(name) for name in names]
    terms = ", ".join(texts.as_term(value) for value in given if isinstance(value, Scalar))
    source = f"@{function}({terms})"
    return ir.Compute(name=action.name, value=texts.bodied(_expression(action, source)))


def _items(action: Action) -> ir.Value:
    items = action.setting("from")
    if items is None:
        _missing(action, "from", "\"@body('Fetch')\"")
    return action.context.value(items)


def _missing(action: Action, name: str, example: str) -> None:
    advice = f'write "inputs": {{"{name}": {example}}}'
    action.missing(f"needs {name!r}", "missing", advice)


def _expression(action: Action, source: str) -> ir.Expression:
    """An expression that stands where the action stands."""
    return action.context.expression(Scalar("", action.span), source)


def declared(variables: Value | None) -> list[Variable]:
    """The variables of a list, each with its name and its type, which is empty if not known."""
    items = variables if isinstance(variables, Sequence) else ()
    named = [(item, text_at(item, "name"), text_at(item, "type").lower()) for item in items]
    return [
        (item, name, kind if (kind := _SAME_TYPES.get(written, written)) in _TYPES else "")
        for item, name, written in named
        if name
    ]


def variables_in(value: Value | None) -> Iterator[tuple[str, str | None]]:
    """The variables that actions somewhere in a value set or declare, these with their types."""
    queue = [value]
    for part in queue:
        if isinstance(part, Mapping):
            kind = text_at(part, "type").lower()
            if kind == "initializevariable":
                variables = find(part, "inputs", "variables") or find(part, "variables")
                yield from ((name, written) for _, name, written in declared(variables))
            elif kind in SETTING:
                yield variable_set(part), None
            queue.extend(entry.value for entry in part)


def variable_set(action: Mapping) -> str:
    name = text_at(action, "inputs", "name")
    return name or text_at(action, "variableName") or text_at(action, "name")


def read_initialize(action: Action) -> ir.Node:
    action.context.declaring.add(action.name)
    sets: list[tuple[str, ir.Value]] = []
    for item, name, kind in declared(action.setting("variables")):
        value, written = find(item, "value"), find(item, "type")
        if written is not None and not kind:
            message = f"variable {name!r} has the unknown type {text_of(written)[:60]!r}"
            advice = did_you_mean(text_of(written), _TYPES) or f"the types are {', '.join(_TYPES)}"
            action.context.report("W009", message, written.span, label="unknown type", help=advice)
        given = action.context.value(value)
        if given == ir.Constant(None) and kind:
            given = ir.Constant(_TYPES[kind][1])
        elif kind:
            given = _typed(action, name, value, given)
        sets.append((action.context.variable(name), given))
    if not sets:
        advice = 'write "inputs": {"variables": [{"name": "n", "type": "integer", "value": 0}]}'
        action.missing("names no variable", "no variables", advice)
    return _assign(action, sets, "set")


def read_set(action: Action) -> ir.Node:
    """Sets, increments or appends to a variable."""
    name = variable_set(action.fields)
    if not name:
        advice = 'write "inputs": {"name": "n", "value": 1}'
        action.missing("names no variable", "no name", advice)
    name = action.context.variable(name)
    value = action.setting("value")
    operation = _OPERATIONS[action.type]
    given = action.context.value(value)
    place = value if isinstance(value, Scalar) else Scalar("", action.span)
    if operation == "join" and isinstance(value, Scalar) and texts.is_expression(value):
        # What is appended to a text is printed by the rules of `@{}`.
        given = action.context.expression(value, f"@string({texts.text_term(value.text)})")
    elif operation == "add" and value is None:
        given = ir.Constant(1)
    elif operation in ("add", "set"):
        given = _typed(action, name, value, given)
    if action.type == "decrementvariable":
        given = _negative(action, place, given)
    if action.is_azure and name.lower() not in action.context.types:
        # In Azure's files a variable is declared before it is set, or given to the run.
        term = "1" if value is None else _term(value)
        given = action.context.expression(place, f"@$declared({texts.quote(name)}, {term})")
    return _assign(action, [(name, given)], operation)


def _typed(action: Action, name: str, value: Value | None, given: ir.Value) -> ir.Value:
    """A value that is checked against the type of its variable where it cannot be seen here."""
    context = action.context
    kind = context.types.get(name.lower(), "")
    if not kind or value is None:
        return given
    if isinstance(given, ir.Constant):
        is_typed = type(given.value) is _TYPES[kind][0] or (context.lenient and given.value is None)
    else:
        is_typed = (kind, type(given)) in (("array", ir.Items), ("object", ir.Fields))
    if is_typed:
        return given
    check = "$typedOrNull" if context.lenient else "$typed"
    place = value if isinstance(value, Scalar) else Scalar("", value.span)
    source = f"@{check}({texts.quote(name)}, {texts.quote(kind)}, {_term(value)})"
    return context.expression(place, source)


def _term(value: Value) -> str:
    if isinstance(value, Scalar):
        return texts.as_term(value)
    # Only its type counts: what is inside is of no interest to a variable of another type.
    return "json('[]')" if isinstance(value, Sequence) else "json('{}')"


def _negative(action: Action, place: Scalar, given: ir.Value) -> ir.Value:
    if isinstance(given, ir.Constant):
        is_number = isinstance(given.value, int | float) and not isinstance(given.value, bool)
        return ir.Constant(-given.value) if is_number else given  # type: ignore[operator]
    if not isinstance(given, ir.Expression):
        # An array or object: adding it fails, and says why.
        return given
    term = given.source[1:] if given.source.startswith("@$") else texts.text_term(place.text)
    return action.context.expression(place, f"@sub(0, {term})")


def _assign(action: Action, sets: list[tuple[str, ir.Value]], operation: Operation) -> ir.Node:
    """The node; what it gives is the variable's name and its value, or the item that was appended.

    An array that grows in a loop would otherwise be kept as often as it grows.
    """
    shape = texts.bodied(texts.IT)
    if len(sets) == 1:
        name = sets[0][0]
        value = texts.computed("last_of", texts.IT, [[name, True]])
        if operation == "append":
            value = texts.computed("appended", texts.IT, name)
        shape = texts.bodied(texts.fields(name=name, value=value))
    return ir.Assign(name=action.name, sets=tuple(sets), operation=operation, shape=shape)
