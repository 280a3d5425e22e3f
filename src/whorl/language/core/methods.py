"""Methods of texts, lists and objects, and functions that make objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language.calls import Family, FunctionEntry, Run, paid_items, text
from whorl.language.core import lists
from whorl.language.core import text as filters
from whorl.language.faults import EvaluationError
from whorl.language.operators import equal
from whorl.language.values import UNDEFINED, Namespace, Value, item_of, key_text, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable


def _own(name: str) -> Callable[[Run, str], Value]:
    """Return the method of Python's text with the same name, without arguments."""
    call = getattr(str, name)
    return lambda run, value: call(value)


def _stripping(**ends: bool) -> Callable[[Run, str, Value], str]:
    return lambda run, value, chars: filters.stripped(
        value, None if chars is None else text(chars, "strip", "chars"), **ends
    )


def _with_affix(operation: str) -> Callable[[Run, str, Value], bool]:
    holds = getattr(str, operation)

    def has_affix(run: Run, value: str, affix: Value) -> bool:
        parts = affix if isinstance(affix, list) else [affix]
        affixes = tuple(text(part, operation, "affix") for part in parts)
        run.spend(sum(1 + (len(part) >> 8) for part in affixes if len(part) <= len(value)))
        return bool(holds(value, affixes))

    return has_affix


def split_lines(run: Run, value: str, keepends: Value) -> list[str]:
    run.limit_text(len(value), "splitlines")
    lines = value.splitlines(bool(keepends))
    run.check_items(len(lines), "splitlines")
    return lines


def join_items(run: Run, value: str, items: Value) -> str:
    for item in paid_items(run, items, "join"):
        text(item, "join", "items")
    return lists.join(run, items, value, None)


def find(run: Run, value: str, part: Value) -> int:
    return value.find(text(part, "find", "part"))


def index_of_text(run: Run, value: str, part: Value) -> int:
    position = find(run, value, part)
    if position < 0:
        raise EvaluationError(f"index: the text does not contain {part!r}")
    return position


def index_of(run: Run, value: list[Value], item: Value) -> int:
    for position, part in enumerate(paid_items(run, value, "index")):
        if equal(run, part, item):
            return position
    raise EvaluationError("index: the list does not contain the item")


def count_items(run: Run, value: list[Value], item: Value) -> int:
    return sum(equal(run, part, item) for part in paid_items(run, value, "count"))


def _listing(parts: str) -> Callable[[Run, dict[str, Value]], list[Value]]:
    take = getattr(dict, parts)

    def listed(run: Run, value: dict[str, Value]) -> list[Value]:
        run.check_items(len(value), parts)
        return list(take(value))

    return listed


def get(run: Run, value: Value, key: Value, default: Value) -> Value:
    item = item_of(value, key)
    return default if item is UNDEFINED else item


_text, _list, _object = (Family("method", owner) for owner in ("text", "list", "object"))

METHODS: tuple[FunctionEntry, ...] = (
    _text("upper", _own("upper"), "the text in capital letters"),
    _text("lower", _own("lower"), "the text in small letters"),
    _text("strip(chars=none)", _stripping(), "without white space at both ends"),
    _text("lstrip(chars=none)", _stripping(right=False), "without white space at its start"),
    _text("rstrip(chars=none)", _stripping(left=False), "without white space at its end"),
    _text("split(sep=none, maxsplit=-1)", filters.split, "the parts in a list"),
    _text("splitlines(keepends=false)", split_lines, "a list of the lines"),
    _text("replace(old, new, count=none)", filters.replace, "`old` replaced"),
    _text("startswith(prefix)", _with_affix("startswith"), "true if it begins with `prefix`"),
    _text("endswith(suffix)", _with_affix("endswith"), "true if it ends with `suffix`"),
    _text("join(items)", join_items, "the items joined, with this text in between"),
    _text("title", _own("title"), "every word begins with a capital"),
    _text("capitalize", _own("capitalize"), "the first letter as a capital"),
    _text(
        "count(part)",
        lambda run, value, part: value.count(text(part, "count", "part")),
        "how often `part` occurs",
    ),
    _text("find(part)", find, "where `part` begins, or -1"),
    _text("index(part)", index_of_text, "where `part` begins"),
    _text("isdigit", _own("isdigit"), "true if all are digits"),
    _text("isalpha", _own("isalpha"), "true if all are letters"),
    _text("isalnum", _own("isalnum"), "true if all are letters or digits"),
    _text("isspace", _own("isspace"), "true if all are white space"),
    _text("isupper", _own("isupper"), "true if all letters are capital"),
    _text("islower", _own("islower"), "true if all letters are small"),
    _list("index(item)", index_of, "the position of an item"),
    _list("count(item)", count_items, "how often an item occurs"),
    _object("items", lists.pairs, "a list of [key, value]"),
    _object("keys", _listing("keys"), "a list of the keys"),
    _object("values", _listing("values"), "a list of the values"),
    _object("get(key, default=none)", get, "the value of a key, or the default"),
)


_OWNERS: tuple[tuple[type, str], ...] = ((str, "text"), (list, "list"), (dict, "object"))


def owner_of(value: Value) -> str:
    """Name the table in which the methods of a value are."""
    return next((owner for kind, owner in _OWNERS if isinstance(value, kind)), "")


def make_object(run: Run, values: tuple[Value, ...], named: dict[str, Value]) -> dict[str, Value]:
    if len(values) > 1:
        raise EvaluationError("dict takes one object or list of pairs, and named values")
    given = values[0] if values else {}
    if isinstance(given, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in given):
        given = {key_text(pair[0]): pair[1] for pair in given}
    if not isinstance(given, dict):
        raise EvaluationError(f"dict needs an object or a list of pairs, not {kind_of(given)}")
    run.check_items(len(given) + len(named), "dict")
    return {**given, **named}


def make_namespace(run: Run, values: tuple[Value, ...], named: dict[str, Value]) -> Namespace:
    """An object whose members can be set from inside a loop."""
    return Namespace(make_object(run, values, named))


_objects = Family("function", "objects")

OBJECTS: tuple[FunctionEntry, ...] = (
    _objects("dict(**values)", make_object, "an object of the named values"),
    _objects("namespace(**values)", make_namespace),
)
