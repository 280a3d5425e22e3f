"""The forms that a file may have: a definition, something around it, or bare actions.

Around a definition may be a deployment template: `[parameters('x')]` is replaced before anything
runs. What can be computed from the template's own parameters and variables is; what only a
deployment knows (subscriptions, resource groups, keys) stays as it is written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.dialects.loom.words import CONNECTORS, OWN, TYPES
from whorl.dialects.reading.fields import text_of
from whorl.language import Expression, LanguageError, MappingScope, evaluate_metered, to_text
from whorl.source import Entry, Mapping, Scalar, Sequence, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.values import PortType
    from whorl.language import Json
    from whorl.source import Value


_DEPTH_MAX = 30
# A whole string in brackets that begins with a call is computed when a template is deployed.
_CALL = re.compile(r"\[\s*+[A-Za-z][\w.]*+\(")
_ROUNDS_MAX = 4
# All strings of a file are computed on this much: what its author wrote is far below it.
_FUEL_MAX = 500_000
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


@dataclass(frozen=True, slots=True)
class Form:
    """A definition, and the values of parameters that stand around it.

    Actions without a definition are a part of one: the rest may have what they refer to.
    """

    definition: Mapping
    name: str = ""
    parameters: Mapping | None = None
    is_part: bool = False


def form_of(root: Value) -> Form | None:
    """The definition in a file; None where there is none."""
    if not isinstance(root, Mapping) or "whorl" in root:
        return None
    if _is_action(root):
        name = text_at(root, "name") or text_at(root, "type")
        return Form(_around("actions", _around(name, root)), name, is_part=True)
    if find_mapping(root, "actions") is not None:
        return Form(root, text_at(root, "name"))
    resources = _resources(find(root, "resources"), 0)
    holders = [(root, root), *((each, find(each, "properties")) for each in (root, *resources))]
    for named, holder in holders:
        definition = find_mapping(holder, "definition")
        if definition is not None and find_mapping(definition, "actions") is not None:
            return Form(definition, text_at(named, "name"), find_mapping(holder, "parameters"))
    if len(root) > 0 and all(_is_action(entry.value) for entry in root):
        return Form(_around("actions", root), is_part=True)
    return None


def _resources(listed: Value | None, depth: int) -> Iterator[Mapping]:
    """The resources of a template, nested templates included."""
    if not isinstance(listed, Sequence) or depth > _DEPTH_MAX:
        return
    for resource in listed:
        if isinstance(resource, Mapping):
            yield resource
            yield from _resources(find(resource, "resources"), depth + 1)
            for name in ("template", "mainTemplate"):
                inner = find(resource, "properties", name, "resources")
                yield from _resources(inner, depth + 1)


def _is_action(value: Value) -> bool:
    if not isinstance(value, Mapping) or "$schema" in value or "nodes" in value:
        return False
    kind = find(value, "type")
    if not isinstance(kind, Scalar) or kind.text.lower() not in TYPES:
        return False
    names = ("actions", "action", "inputs", "condition", "expression", "foreach", "on")
    return any(find(value, name) is not None for name in names)


def _around(name: str, value: Mapping) -> Mapping:
    return Mapping((Entry(Scalar(name, value.span), value),), value.span)


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


def is_deployed(text: str) -> bool:
    """Whether a string is computed at deployment."""
    called = _CALL.match(text)
    if called is None or text[-1] != "]":
        return False
    close = text.rfind(")")
    rest = text[close + 1 : -1]
    return close >= called.end() and "[" not in rest and "]" not in rest


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


@dataclass(slots=True)
class Template:
    """What a template says about its own names; `kept` counts what only a deployment knows.

    Its secrets are parameters of the definition, too: their values stand nowhere else.
    """

    parameters: dict[str, Json] = field(default_factory=dict)
    secrets: dict[str, PortType] = field(default_factory=dict)
    secret_values: dict[str, Json] = field(default_factory=dict)
    variables: dict[str, Json] = field(default_factory=dict)
    kept: int = 0
    fuel: int = _FUEL_MAX

    def deployed(self, text: str) -> str:
        """A string as it is after the deployment, or as it stands where that is not known."""
        for _ in range(_ROUNDS_MAX):
            if not is_deployed(text):
                return text
            if name := self.secret_name(text):
                return f"@parameters('{name}')"
            computed = Expression("logic", f"@{text[1:-1].strip()}")
            names = MappingScope({"$parameters": self.parameters, "$variables": self.variables})
            value, used = evaluate_metered(computed, names, self.fuel)
            self.fuel -= used
            if isinstance(value, LanguageError):
                self.kept += 1
                return text
            text = to_text(value)
        return text

    def secret_name(self, text: str) -> str:
        """The secret parameter that a string stands for; empty: none."""
        match = _PARAMETER.fullmatch(text)
        return match[1] if match and match[1].lower() in self.secrets else ""


def template_of(root: Value, beside: Mapping | None = None) -> Template:
    """The template that a file is; without any names where it is none.

    The values of a file beside it take the place of its defaults.
    """
    template = Template()
    if not isinstance(root, Mapping) or find(root, "resources") is None:
        return template
    declared = find_mapping(root, "parameters")
    template.secrets = secrets_in(declared)
    for values, field_name in ((declared, "defaultValue"), (beside, "value")):
        for entry in values or ():
            value = find(entry.value, field_name)
            if value is None:
                continue
            if entry.name.lower() in template.secrets:
                template.secret_values[entry.name.lower()] = plain(value)
            else:
                template.parameters[entry.name] = plain(value)
    for entry in find_mapping(root, "variables") or ():
        template.variables[entry.name] = plain(entry.value)
    return template
