"""The operations, closed: their words, and the fields that each of them takes."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from whorl.errors import Diagnostic, EditRefused, UsageError, did_you_mean
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

UNAVAILABLE, READ, CONNECTED = "C107", "C106", "C109"
_TEXT: tuple[type, ...] = (str,)
_PATHS: tuple[type, ...] = (str, list)
_ANY: tuple[type, ...] = (object,)
_PLACE = {"into": _TEXT, "case": (str, type(None)), "after": (str, type(None)), "place": (dict,)}
_END: dict[str, tuple[type, ...]] = {
    "from": (dict,),
    "to": (dict,),
    "kind": _TEXT,
    "field": (list,),
    "name": _TEXT,
}
# By operation: its fields with their types; those of `_NEEDED` must be given.
_FIELDS: dict[str, dict[str, tuple[type, ...]]] = {
    "set": {"at": _TEXT, "field": (list,), "value": _ANY},
    "unset": {"at": _TEXT, "field": (list,)},
    "rewrite": {"at": _TEXT, "text": _TEXT},
    "open": {"at": _TEXT, "field": (list,)},
    "add": {"kind": _TEXT, "name": _TEXT, "fields": (dict,), "piece": _TEXT, "on_edge": (dict,)}
    | _PLACE,
    "remove": {"at": _TEXT, "inside": _TEXT, "bridge": (bool,)},
    "move": {"at": _PATHS, **_PLACE},
    "rename": {"at": _TEXT, "name": _TEXT, "port": _TEXT},
    "wrap": {"at": _PATHS, "kind": _TEXT, "name": _TEXT, "fields": (dict,)},
    "unwrap": {"at": _TEXT},
    "connect": _END,
    "disconnect": _END,
    "place": {"at": _TEXT} | dict.fromkeys(("x", "y", "width", "height"), (int, float)),
    "extract": {"at": _PATHS, "file": _TEXT, "name": _TEXT},
    "inline": {"at": _TEXT},
}
_NEEDED = {
    "set": ("at", "field", "value"),
    "unset": ("at", "field"),
    "rewrite": ("at", "text"),
    "add": ("into",),
    "rename": ("at", "name"),
    "wrap": ("at", "kind"),
    "connect": ("from", "to"),
    "disconnect": ("from", "to"),
    "place": ("at", "x", "y"),
    "extract": ("at", "file"),
    "move": ("at", "into"),
}
OPERATIONS_MAX = 200


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation; `fields` has what was given, each of the type that it must have."""

    word: str
    fields: dict[str, Any] = field(default_factory=dict)

    def get(self, name: str, usual: Any = None) -> Any:
        return self.fields.get(name, usual)

    @property
    def at(self) -> list[str]:
        """The paths of the steps that it is about."""
        written = self.fields.get("at", "")
        return [written] if isinstance(written, str) else written


def read_operations(written: Sequence[Mapping[str, Any]]) -> list[Operation]:
    """Checks operations as they come from outside; raises UsageError at the first wrong one."""
    if len(written) > OPERATIONS_MAX:
        raise UsageError(f"at most {OPERATIONS_MAX} operations are applied at once")
    return [_read(number, operation) for number, operation in enumerate(written)]


def _read(number: int, written: Mapping[str, Any]) -> Operation:
    if not isinstance(written, dict):
        raise UsageError(
            f"operation {number} is not an object", help='write {"operation": "set", ...}'
        )
    word = written.get("operation")
    if not isinstance(word, str) or word not in _FIELDS:
        near = did_you_mean(str(word)[:60], _FIELDS) or f"known: {', '.join(_FIELDS)}"
        raise UsageError(f"operation {number} is not known: {str(word)[:60]!r}", help=near)
    types, given = _FIELDS[word], {key: part for key, part in written.items() if key != "operation"}
    for name in (*_NEEDED.get(word, ("at",)), *given):
        if name not in types:
            advice = did_you_mean(name[:60], types) or f"known: {', '.join(types)}"
            raise UsageError(f"operation {number} ({word}) has no {name[:60]!r}", help=advice)
        if name not in given:
            raise UsageError(f"operation {number} ({word}) lacks {name!r}")
        _check_type(f"{name!r} of operation {number} ({word})", given[name], types[name])
    return Operation(word, given)


def _check_type(what: str, value: Any, types: tuple[type, ...]) -> None:
    is_wrong = not isinstance(value, types) or (isinstance(value, bool) and bool not in types)
    if object in types:
        is_wrong = False
    if isinstance(value, list) and list in types and object not in types:
        is_wrong = is_wrong or not all(isinstance(part, str | int) for part in value)
    if is_wrong:
        raise UsageError(f"{what} has the wrong type")


def refuse(code: str, message: str, advice: str = "") -> EditRefused:
    """What is raised where the reason has no place in the text."""
    return EditRefused(Diagnostic(code, message, help=advice))
