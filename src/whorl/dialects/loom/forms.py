"""The forms that a file may have: a definition, something around it, or bare actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.dialects.loom.action import find, find_deep, text_at
from whorl.dialects.loom.block import CONNECTORS, OWN, TYPES
from whorl.source import Entry, Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.source import Value

_DEPTH_MAX = 30


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
        actions = Mapping((Entry(Scalar(name, root.span), root),), root.span)
        return Form(_around(actions), name, is_part=True)
    for path in ((), ("definition",), ("properties", "definition")):
        holder = find_deep(root, *path) if path else root
        if isinstance(holder, Mapping) and isinstance(find(holder, "actions"), Mapping):
            around = find_deep(root, *path[:-1]) if path else None
            given = find(around if isinstance(around, Mapping) else root, "parameters")
            is_given = bool(path) and isinstance(given, Mapping)
            return Form(holder, text_at(root, "name"), given if is_given else None)  # type: ignore[arg-type]
    resource = _resource(root)
    if resource is not None:
        return resource
    if len(root) > 0 and all(_is_action(entry.value) for entry in root):
        return Form(_around(root), is_part=True)
    return None


def _resource(root: Mapping) -> Form | None:
    """The first workflow among the resources of a template, nested templates included."""
    for resource in _resources(find(root, "resources"), 0):
        definition = find_deep(resource, "properties", "definition")
        if isinstance(definition, Mapping) and isinstance(find(definition, "actions"), Mapping):
            given = find_deep(resource, "properties", "parameters")
            return Form(
                definition,
                text_at(resource, "name"),
                given if isinstance(given, Mapping) else None,
            )
    return None


def _resources(listed: Value | None, depth: int) -> Iterator[Mapping]:
    if not isinstance(listed, Sequence) or depth > _DEPTH_MAX:
        return
    for resource in listed:
        if isinstance(resource, Mapping):
            yield resource
            yield from _resources(find(resource, "resources"), depth + 1)
            inner = find_deep(resource, "properties", "template", "resources")
            yield from _resources(inner, depth + 1)
            template = find_deep(resource, "properties", "mainTemplate", "resources")
            yield from _resources(template, depth + 1)


def _is_action(value: Value) -> bool:
    if not isinstance(value, Mapping) or "$schema" in value or "nodes" in value:
        return False
    kind = find(value, "type")
    if not isinstance(kind, Scalar) or kind.text.lower() not in TYPES:
        return False
    return any(
        find(value, name) is not None
        for name in ("actions", "action", "inputs", "condition", "expression", "foreach", "on")
    )


def _around(actions: Mapping) -> Mapping:
    return Mapping((Entry(Scalar("actions", actions.span), actions),), actions.span)


def is_lenient(definition: Mapping) -> bool:
    """Whether a file follows the seed's rules.

    It does where it says `condition` or has a type of its own; it does not where it says
    `expression` or calls a connector. A file that says none of it is known by its small letters.
    """
    actions = list(_actions_in(find(definition, "actions"), 0))
    if any(map(_is_own, actions)):
        return True
    if any(map(_is_azure, actions)):
        return False
    return any(text_at(action, "type")[:1].islower() for action in actions)


def _is_own(action: Mapping) -> bool:
    kind = text_at(action, "type").lower()
    return kind in OWN or (
        kind in ("until", "if", "switch")
        and any(
            find(holder, key) is not None
            for holder in (action, find(action, "inputs"))
            for key in ("condition", "on")
        )
    )


def _is_azure(action: Mapping) -> bool:
    kind = text_at(action, "type").lower()
    return kind in CONNECTORS or kind == "workflow" or find(action, "expression") is not None


def _actions_in(actions: Value | None, depth: int) -> Iterator[Mapping]:
    if not isinstance(actions, Mapping) or depth > _DEPTH_MAX:
        return
    for entry in actions:
        action = entry.value
        if not isinstance(action, Mapping):
            continue
        if isinstance(find(action, "type"), Scalar):
            yield action
        for holder in (action, find(action, "inputs")):
            for name in ("actions", "else", "then", "default", "cases", "action"):
                part = find(holder, name)
                if name == "action":
                    yield from _actions_in(_single(part), depth + 1)
                elif name == "cases" and isinstance(part, Mapping):
                    for case in part:
                        yield from _parts(case.value, depth + 1)
                else:
                    yield from _parts(part, depth + 1)


def _parts(part: Value | None, depth: int) -> Iterator[Mapping]:
    if isinstance(find(part, "type"), Scalar):
        yield from _actions_in(_single(part), depth)
    elif isinstance(find(part, "actions"), Mapping):
        yield from _actions_in(find(part, "actions"), depth)
    else:
        yield from _actions_in(part, depth)


def _single(part: Value | None) -> Mapping | None:
    if not isinstance(part, Mapping):
        return None
    return Mapping((Entry(Scalar("action", part.span), part),), part.span)
