"""Looking into the objects of a file: keys in any case, secrets, and whose rules it follows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import text_of
from whorl.formats.loom.words import CONNECTORS, OWN
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.values import PortType
    from whorl.source import Value


_DEPTH_MAX = 30
# A whole string in brackets that begins with a call is computed when a template is deployed.
_CALL = re.compile(r"\[\s*+[A-Za-z][\w.]*+\(")
_PARAMETER = re.compile(r"\[\s*parameters\(\s*'([^']+)'\s*\)\s*\]", re.IGNORECASE)
# The types of parameters whose values nobody is shown, with those of inputs.
_SECURE: dict[str, PortType] = {"securestring": "string", "secureobject": "json"}
# The keys under which actions hold others.
INNER = ("actions", "then", "else", "cases", "default", "action")


def find(value: Value | None, *names: str) -> Value | None:
    """The value at the end of a path of keys, case aside where no key has this very name."""
    for name in names:
        if not isinstance(value, Mapping):
            return None
        inner = value.get(name)
        if inner is None:
            lowered = name.lower()
            inner = next((e.value for e in value.entries if e.name.lower() == lowered), None)
        value = inner
    return value


def find_mapping(value: Value | None, *names: str) -> Mapping | None:
    """The object at the end of a path of keys."""
    inner = find(value, *names)
    return inner if isinstance(inner, Mapping) else None


def text_at(value: Value | None, *names: str) -> str:
    """The text at the end of a path of keys; empty where there is none."""
    return text_of(find(value, *names))


def is_deployed(text: str) -> bool:
    """Whether a string is computed at deployment."""
    return text[-1:] == "]" and _CALL.match(text) is not None


def parameter_in(text: str) -> str:
    """The name in `[parameters('name')]`; empty where a string is anything else."""
    match = _PARAMETER.fullmatch(text)
    return match[1] if match else ""


def is_lenient(definition: Mapping) -> bool:
    """Whether a file follows the seed's rules.

    It does where it says `condition` or has a type of its own; it does not where it says
    `expression` or calls a connector. A file that says none of it is known by its small letters.
    """
    actions = list(_actions_in(definition, 0))
    if any(map(_is_own, actions)):
        return True
    kinds = [text_at(action, "type") for action in actions]
    azure = CONNECTORS | {"workflow"}
    if any(kind.lower() in azure for kind in kinds) or any(
        find(action, "expression") is not None for action in actions
    ):
        return False
    return any(kind[:1].islower() for kind in kinds)


def _is_own(action: Mapping) -> bool:
    kind = text_at(action, "type").lower()
    if kind not in ("until", "if", "switch"):
        return kind in OWN
    holders = (action, find(action, "inputs"))
    return any(find(holder, key) is not None for holder in holders for key in ("condition", "on"))


def _actions_in(part: Value | None, depth: int) -> Iterator[Mapping]:
    """The actions of a part, which is one of them, has `actions` or is such a block itself."""
    if not isinstance(part, Mapping) or depth > _DEPTH_MAX:
        return
    inner = find_mapping(part, "actions")
    block = [entry.value for entry in (part if inner is None else inner)]
    for action in [part] if isinstance(find(part, "type"), Scalar) else block:
        if isinstance(find(action, "type"), Scalar) and isinstance(action, Mapping):
            yield action
        for holder in (action, find(action, "inputs")):
            for name in INNER:
                held = find(holder, name)
                cases = held if name == "cases" else None
                parts = [c.value for c in cases] if isinstance(cases, Mapping) else [held]
                for each in parts:
                    yield from _actions_in(each, depth + 1)


def secured(holder: Value | None) -> set[str]:
    """What of an action or a trigger must be shown to nobody: `inputs`, `outputs`."""
    secure = find(holder, "runtimeConfiguration", "secureData")
    listed = find(secure, "properties")
    if secure is None:
        return set()
    if not isinstance(listed, Sequence):
        return {"inputs", "outputs"}
    return {item.text.lower() for item in listed if isinstance(item, Scalar)}


def secrets_in(parameters: Value | None) -> dict[str, PortType]:
    """The parameters whose values nobody is shown, by their names in lower case."""
    entries = parameters if isinstance(parameters, Mapping) else ()
    kinds = {e.name.lower(): _SECURE.get(text_at(e.value, "type").lower()) for e in entries}
    return {name: kind for name, kind in kinds.items() if kind is not None}
