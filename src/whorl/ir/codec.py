"""The IR as JSON and back, so that a run can pin the version that it started with.

Every dataclass becomes an object with its class name under `is`. Fields that hold an author's own
JSON are copied without inspection, so their values cannot pose as nodes.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from whorl.errors import InternalError
from whorl.ir import nodes, values

if TYPE_CHECKING:
    from whorl.language import Json

_ALL = [kind for kind in (vars(values) | vars(nodes)).values() if isinstance(kind, type)]
_CLASSES = {kind.__name__: kind for kind in _ALL if "__dataclass_fields__" in vars(kind)}
_RAW = {("Constant", "value"), ("Port", "default"), ("Task", "returns"), ("Task", "example")}
_RAW |= {(name, "words") for name in ("Loop", "ForEach", "Workflow")}
_RAW |= {("Trigger", "schema"), ("Trigger", "recurrence")}


def to_json(item: object) -> Json:
    if is_dataclass(item) and not isinstance(item, type):
        name = type(item).__name__
        encoded: dict[str, Json] = {"is": name}
        for field in _fields(name):
            value = getattr(item, field)
            encoded[field] = value if (name, field) in _RAW else to_json(value)
        return encoded
    if isinstance(item, tuple):
        return [to_json(part) for part in item]
    assert item is None or isinstance(item, bool | int | float | str), type(item)
    return item


@cache
def _fields(name: str) -> tuple[str, ...]:
    return tuple(field.name for field in fields(_CLASSES[name]))


def from_json(encoded: Json) -> nodes.Workflow:
    decoded = _decode(encoded)
    if not isinstance(decoded, nodes.Workflow):
        raise InternalError("the stored value is not a workflow")
    return decoded


def node_from_json(encoded: Json) -> nodes.Node:
    """Returns a node alone; fields that are missing have their usual values."""
    node: nodes.Node = _decode(encoded)
    return node


def _decode(encoded: Json) -> Any:
    if isinstance(encoded, list):
        return tuple(_decode(part) for part in encoded)
    if isinstance(encoded, dict):
        name: Any = encoded.get("is")
        if name not in _CLASSES:
            raise InternalError(f"the stored workflow holds an unknown {name!r}")
        arguments = {key: encoded[key] for key in _fields(name) if key in encoded}
        for key, value in arguments.items():
            if (name, key) not in _RAW:
                arguments[key] = _decode(value)
        return _CLASSES[name](**arguments)
    return encoded


def content_hash(encoded: Json) -> str:
    """Returns a short name for exactly this version of a workflow, which `to_json` has encoded."""
    text = json.dumps(encoded, sort_keys=True, separators=(",", ":"))
    return str(sha256(text.encode()).hexdigest())[:32]
