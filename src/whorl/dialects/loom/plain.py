"""Actions that compute, wait, answer or end the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.loom.action import find, find_deep, text_at
from whorl.dialects.loom.durations import interval
from whorl.dialects.loom.texts import (
    LIBRARY,
    as_term,
    computed,
    expression,
    has_expression,
    quote,
    value_of,
)
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from typing import Literal

    from whorl.dialects.loom.action import Action
    from whorl.source import Value

IT = ir.Expression("jinja", "it", LIBRARY)
_ITEM = "@item()"
_ENDS: dict[str, Literal["succeeded", "failed", "cancelled"]] = {
    "succeeded": "succeeded",
    "failed": "failed",
    "cancelled": "cancelled",
    "canceled": "cancelled",
}
# The kinds of an action that computes a time, with the settings that it hands to its function.
_TIMES = {
    "currenttime": ("utcNow", ()),
    "converttimezone": (
        "convertTimeZone",
        ("baseTime", "sourceTimeZone", "destinationTimeZone", "formatString"),
    ),
    "addtotime": ("addToTime", ("baseTime", "interval", "timeUnit")),
    "subtractfromtime": ("subtractFromTime", ("baseTime", "interval", "timeUnit")),
    "getpasttime": ("getPastTime", ("interval", "timeUnit")),
    "getfuturetime": ("getFutureTime", ("interval", "timeUnit")),
    "indexof": ("indexOf", ("text", "searchText")),
    "substring": ("substring", ("text", "startPosition", "length")),
}


def bodied(value: ir.Value) -> ir.Value:
    """Outputs that have nothing but a body."""
    return ir.Fields((("body", value),))


def read_compose(action: Action) -> ir.Node:
    """Its inputs, evaluated."""
    return ir.Compute(name=action.name, value=value_of(action.draft, action.inputs))


def read_wait(action: Action) -> ir.Node:
    """Waits for an interval, or until a time."""
    until = find_deep(action.setting("until"), "timestamp")
    if until is not None:
        return ir.Wait(name=action.name, until=value_of(action.draft, until))
    duration = interval(action.draft, action.setting("interval") or action.inputs)
    return ir.Wait(name=action.name, duration=duration or ir.Constant(0))


def read_terminate(action: Action) -> ir.Node:
    """Ends the run."""
    status = _ENDS.get(action.text("runStatus").lower(), "failed")
    error = action.setting("runError")
    message = find(error, "message") or find(error, "code")
    return ir.Stop(name=action.name, status=status, message=value_of(action.draft, message))


def read_response(action: Action) -> ir.Node:
    """Answers whoever started the run; the first answer is the run's output."""
    action.draft.responses.append(action.name)
    inputs = action.inputs
    entries: list[tuple[str | ir.Expression, ir.Value]] = [
        (name, value_of(action.draft, find(inputs, name)))
        for name in ("statusCode", "headers", "body")
        if find(inputs, name) is not None
    ]
    return ir.Compute(name=action.name, value=ir.Fields(tuple(entries)))


def read_parse_json(action: Action) -> ir.Node:
    """JSON text as a value that fits its schema."""
    entries = (
        ("content", value_of(action.draft, action.setting("content"))),
        ("schema", value_of(action.draft, action.setting("schema"))),
    )
    shape = bodied(computed("checked_content", IT))
    return ir.Compute(name=action.name, value=ir.Fields(entries), shape=shape)


def read_query(action: Action) -> ir.Node:
    """The items of an array that a condition is true of."""
    where = action.setting("where")
    if not isinstance(where, Scalar):
        _missing(action, "where", '"@greater(item(), 1)"')
        where = Scalar("@true", action.span)
    return ir.Compute(
        name=action.name,
        value=_expression(action, _ITEM),
        over=_items(action),
        keep=expression(action.draft, where),
        shape=bodied(IT),
    )


def read_select(action: Action) -> ir.Node:
    """A value for each item of an array."""
    return ir.Compute(
        name=action.name,
        value=value_of(action.draft, action.setting("select")),
        over=_items(action),
        shape=bodied(IT),
    )


def read_join(action: Action) -> ir.Node:
    """The items of an array as one text."""
    entries = (
        ("from", _items(action)),
        ("joinWith", value_of(action.draft, action.setting("joinWith"))),
    )
    return ir.Compute(
        name=action.name, value=ir.Fields(entries), shape=bodied(computed("joined", IT))
    )


def read_table(action: Action) -> ir.Node:
    """An array of objects as a table."""
    columns = action.setting("columns")
    row: ir.Value = _expression(action, _ITEM)
    if isinstance(columns, Sequence):
        row = ir.Fields(
            tuple(
                (text_at(column, "header"), value_of(action.draft, find(column, "value")))
                for column in columns
                if isinstance(column, Mapping)
            )
        )
    form = "CSV" if action.text("format").upper() == "CSV" else "HTML"
    table = ir.Expression("jinja", f'table_of({{"rows": it, "format": "{form}"}})', LIBRARY)
    return ir.Compute(name=action.name, value=row, over=_items(action), shape=bodied(table))


def read_time(action: Action) -> ir.Node:
    """A computed time."""
    known = _TIMES.get(text_at(action.fields, "kind").lower())
    if known is None:
        action.draft.report(
            "W009",
            f"{action.name!r} is of a kind that there is not",
            action.span,
            label="unknown kind",
            help=f"the kinds are {', '.join(_TIMES)}",
        )
        return ir.Compute(name=action.name, value=ir.Constant(None))
    function, names = known
    given = [action.setting(name) for name in names]
    terms = [as_term(value) for value in given if isinstance(value, Scalar)]
    source = f"@{function}({', '.join(terms)})"
    return ir.Compute(name=action.name, value=bodied(_expression(action, source)))


def _items(action: Action) -> ir.Value:
    items = action.setting("from")
    if items is None:
        _missing(action, "from", "\"@body('Fetch')\"")
    return value_of(action.draft, items)


def _missing(action: Action, name: str, example: str) -> None:
    action.draft.report(
        "W006",
        f"{action.name!r} needs {name!r}",
        action.span,
        label="missing",
        help=f'write "inputs": {{"{name}": {example}}}',
    )


def _expression(action: Action, source: str) -> ir.Expression:
    return expression(action.draft, Scalar("", action.span), source)


def literal_or_term(value: Value | None) -> str:
    """A text of the file as a part of an expression."""
    if isinstance(value, Scalar) and isinstance(value.value, str) and has_expression(value.value):
        return as_term(value)
    return quote(value.text if isinstance(value, Scalar) else "")
