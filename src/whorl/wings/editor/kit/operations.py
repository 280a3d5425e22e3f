"""The operations, a closed list: their words, and the fields that each of them takes."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

from whorl.errors import Diagnostic, EditRefused, UsageError, did_you_mean
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

UNAVAILABLE, READ, CONNECTED = "C107", "C106", "C107"
_TEXT: tuple[type, ...] = (str,)
_PATHS: tuple[type, ...] = (str, list)
_MAYBE: tuple[type, ...] = (str, type(None))
_NUMBER: tuple[type, ...] = (int, float)
_PLACE = {"case": _MAYBE, "after": _MAYBE, "place": (dict,)}
_ENDS = {"from*": (dict,), "to*": (dict,), "kind": _TEXT, "field": (list,), "name": _TEXT}
# The fields of each operation with their types; those with a star are required.
_FIELDS: dict[str, dict[str, tuple[type, ...]]] = {
    "set": {"at*": _TEXT, "field*": (list,), "value*": (object,)},
    "unset": {"at*": _TEXT, "field*": (list,)},
    "rewrite": {"at*": _TEXT, "text*": _TEXT},
    "open": {"at*": _TEXT, "field": (list,)},
    "add": {"kind": _TEXT, "name": _TEXT, "fields": (dict,), "piece": _TEXT, "on_edge": (dict,)}
    | {"into*": _TEXT, **_PLACE},
    "remove": {"at*": _TEXT, "inside": _TEXT, "bridge": (bool,)},
    "move": {"at*": _PATHS, "into*": _TEXT, **_PLACE},
    "rename": {"at*": _TEXT, "name*": _TEXT, "port": _TEXT},
    "wrap": {"at*": _PATHS, "kind*": _TEXT, "name": _TEXT, "fields": (dict,)},
    "unwrap": {"at*": _TEXT},
    "connect": _ENDS,
    "disconnect": _ENDS,
    "place": {"at*": _TEXT, "x*": _NUMBER, "y*": _NUMBER, "width": _NUMBER, "height": _NUMBER},
    "extract": {"at*": _PATHS, "file*": _TEXT},
    "inline": {"at*": _TEXT},
}
OPERATIONS_MAX = 200


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation; `fields` has the given values, each of the right type."""

    word: str
    fields: dict[str, Any] = field(default_factory=dict)

    def get(self, name: str, usual: Any = None) -> Any:
        return self.fields.get(name, usual)

    @property
    def at(self) -> list[str]:
        """The paths of the steps that the operation changes."""
        written = self.fields.get("at", "")
        return [written] if isinstance(written, str) else written


class Kind(NamedTuple):
    """A kind of step that can be added: its group, name and looks, and the fields of a new one.

    `needs` is what the operator must allow.
    """

    group: str
    name: str
    icon: str
    colour: str
    new: dict[str, Any]
    needs: str = ""
    title: str = ""


def read_operations(written: Sequence[Mapping[str, Any]]) -> list[Operation]:
    """Checks operations from outside; raises UsageError at the first wrong one."""
    if len(written) > OPERATIONS_MAX:
        raise UsageError(f"at most {OPERATIONS_MAX} operations are applied at once")
    return [_read(number, operation) for number, operation in enumerate(written)]


def _read(number: int, written: Mapping[str, Any]) -> Operation:
    if not isinstance(written, dict):
        advice = 'write {"operation": "set", ...}'
        raise UsageError(f"operation {number} is not an object", help=advice)
    word = written.get("operation")
    if not isinstance(word, str) or word not in _FIELDS:
        near = did_you_mean(str(word)[:60], _FIELDS) or f"known: {', '.join(_FIELDS)}"
        raise UsageError(f"operation {number} is not known: {str(word)[:60]!r}", help=near)
    types = {name.rstrip("*"): kinds for name, kinds in _FIELDS[word].items()}
    given = {key: part for key, part in written.items() if key != "operation"}
    needed = [name[:-1] for name in _FIELDS[word] if name.endswith("*")]
    for name in (*needed, *given):
        if name not in types:
            advice = did_you_mean(name[:60], types) or f"known: {', '.join(types)}"
            raise UsageError(f"operation {number} ({word}) has no {name[:60]!r}", help=advice)
        if name not in given:
            raise UsageError(f"operation {number} ({word}) lacks {name!r}")
        if not _fits(given[name], types[name]):
            raise UsageError(f"{name!r} of operation {number} ({word}) has the wrong type")
    return Operation(word, given)


def _fits(value: Any, types: tuple[type, ...]) -> bool:
    if object in types:
        return True
    is_typed = isinstance(value, types) and (bool in types or not isinstance(value, bool))
    parts = value if isinstance(value, list) else ()
    return is_typed and all(isinstance(part, str | int) for part in parts)


def refuse(code: str, message: str, advice: str = "") -> EditRefused:
    """Returns the error to raise if the reason has no place in the text."""
    return EditRefused(Diagnostic(code, message, help=advice))
