"""Actions that set variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.loom.action import find, text_at
from whorl.dialects.loom.texts import (
    LIBRARY,
    as_term,
    computed,
    expression,
    has_expression,
    quote,
    text_term,
    value_of,
)
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from typing import Literal

    from whorl.dialects.loom.action import Action
    from whorl.language import Json
    from whorl.source import Value

SETTING = frozenset(
    {
        "setvariable",
        "incrementvariable",
        "decrementvariable",
        "appendtoarrayvariable",
        "appendtostringvariable",
    }
)
_EMPTY: dict[str, Json] = {
    "string": "",
    "array": [],
    "integer": 0,
    "float": 0.0,
    "boolean": False,
    "object": None,
}


_TYPES = {
    "string": str,
    "array": list,
    "integer": int,
    "float": float,
    "boolean": bool,
    "object": dict,
}
_SAME = {"int": "integer", "bool": "boolean"}


def type_of(item: Mapping) -> str:
    """The type of a variable that is declared; empty where it has none that is known."""
    kind = text_at(item, "type").lower()
    kind = _SAME.get(kind, kind)
    return kind if kind in _TYPES else ""


def read_initialize(action: Action) -> ir.Node:
    """Declares variables and gives them their first values."""
    sets: list[tuple[str, ir.Value]] = []
    for item in declared(action.setting("variables")):
        name = text_at(item, "name")
        value = find(item, "value")
        kind = type_of(item)
        given = value_of(action.draft, value)
        if given == ir.Constant(None) and kind in _EMPTY:
            given = ir.Constant(_EMPTY[kind])
        elif kind in _TYPES:
            given = _typed(action, name, value, given)
        sets.append((action.draft.variable(name), given))
    if not sets:
        action.draft.report(
            "W006",
            f"{action.name!r} names no variable",
            action.span,
            label="no variables",
            help='write "inputs": {"variables": [{"name": "n", "type": "integer", "value": 0}]}',
        )
    return ir.Assign(name=action.name, sets=tuple(sets), shape=_shape(sets, "set"))


def declared(variables: Value | None) -> list[Mapping]:
    """The variables that an action declares."""
    items = variables if isinstance(variables, Sequence) else ()
    return [item for item in items if isinstance(item, Mapping) and text_at(item, "name")]


def read_set(action: Action) -> ir.Node:
    """Sets, increments or appends to a variable."""
    name = _name(action)
    value = action.setting("value")
    operation: Literal["set", "append", "join", "add"] = "set"
    given = value_of(action.draft, value)
    match action.type:
        case "appendtoarrayvariable":
            operation = "append"
        case "appendtostringvariable":
            operation = "join"
            given = _as_text(action, value, given)
        case "incrementvariable" | "decrementvariable":
            operation = "add"
            given = ir.Constant(1) if value is None else _typed(action, name, value, given)
            if action.type == "decrementvariable":
                given = _negative(action, value, given)
        case _:
            given = _typed(action, name, value, given)
    sets = [(name, _declared(action, name, value, given))]
    return ir.Assign(
        name=action.name, sets=tuple(sets), operation=operation, shape=_shape(sets, operation)
    )


def _typed(action: Action, name: str, value: Value | None, given: ir.Value) -> ir.Value:
    """A value that is checked against the type of its variable where it cannot be seen here."""
    draft = action.draft
    kind = draft.types.get(name.lower(), "")
    if not kind or value is None:
        return given
    if isinstance(given, ir.Constant):
        wanted = _TYPES[kind]
        found = type(given.value)
        if found is wanted or (draft.lenient and given.value is None):
            return given
    is_whole = {"array": ir.Items, "object": ir.Fields}.get(kind)
    if is_whole is not None and isinstance(given, is_whole):
        return given
    check = "$typedOrNull" if draft.lenient else "$typed"
    source = f"@{check}({quote(name)}, {quote(kind)}, {_term(value)})"
    place = value if isinstance(value, Scalar) else Scalar("", value.span)
    return expression(draft, place, source)


def _declared(action: Action, name: str, value: Value | None, given: ir.Value) -> ir.Value:
    """In Azure's files a variable is declared before it is set, or given to the run."""
    draft = action.draft
    if draft.lenient or name.lower() in draft.types:
        return given
    term = "1" if value is None else _term(value)
    place = value if isinstance(value, Scalar) else Scalar("", action.span)
    return expression(draft, place, f"@$declared({quote(name)}, {term})")


def _term(value: Value) -> str:
    if isinstance(value, Scalar):
        return as_term(value)
    # Only its type counts: what is inside is of no interest to a variable of another type.
    return "json('[]')" if isinstance(value, Sequence) else "json('{}')"


def name_of(action: Mapping) -> str:
    """The name of the variable that an action sets."""
    name = text_at(action, "inputs", "name")
    return name or text_at(action, "variableName") or text_at(action, "name")


def _name(action: Action) -> str:
    name = name_of(action.fields)
    if not name:
        action.draft.report(
            "W006",
            f"{action.name!r} names no variable",
            action.span,
            label="no name",
            help='write "inputs": {"name": "n", "value": 1}',
        )
    return action.draft.variable(name)


def _as_text(action: Action, value: Value | None, given: ir.Value) -> ir.Value:
    """What is appended to a text is printed by the rules of `@{}`."""
    if isinstance(value, Scalar) and isinstance(value.value, str) and has_expression(value.value):
        return expression(action.draft, value, f"@string({text_term(value.value)})")
    return given


def _negative(action: Action, value: Value | None, given: ir.Value) -> ir.Value:
    if isinstance(given, ir.Constant):
        is_number = isinstance(given.value, int | float) and not isinstance(given.value, bool)
        return ir.Constant(-given.value) if is_number else given  # type: ignore[operator]
    if not isinstance(given, ir.Expression):
        # An array or object: adding it fails, and says why.
        return given
    place = value if isinstance(value, Scalar) else Scalar("", action.span)
    source = given.source
    term = source[1:] if source.startswith("@$") else text_term(place.text)
    return expression(action.draft, place, f"@sub(0, {term})")


def _shape(sets: list[tuple[str, ir.Value]], operation: str) -> ir.Value:
    """What the action gives: the variable's name and its value, or the item that was appended.

    An array that grows in a loop would otherwise be kept as often as it grows.
    """
    it = ir.Expression("jinja", "it", LIBRARY)
    if len(sets) != 1:
        return ir.Fields((("body", it),))
    name = sets[0][0]
    value = (
        computed("appended", it, name)
        if operation == "append"
        else computed("last_of", it, [[name, True]])
    )
    body = ir.Fields((("name", ir.Constant(name)), ("value", value)))
    return ir.Fields((("body", body),))
