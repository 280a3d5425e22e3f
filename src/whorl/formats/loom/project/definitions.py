"""The definitions of a file: bare, with something around them, or in a deployment template.

A template may hold several definitions, also in templates inside of it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field, replace
from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import text_of
from whorl.formats.loom.forms import (
    find,
    find_mapping,
    is_deployed,
    parameter_in,
    secrets_in,
    text_at,
)
from whorl.formats.loom.project.deployment import Meter, Template
from whorl.formats.loom.words import TYPES
from whorl.lazily import dataclass
from whorl.source import Entry, Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.values import PortType
    from whorl.language import Json
    from whorl.source import Value


_DEPTH_MAX = 30


@dataclass(frozen=True, slots=True)
class Form:
    """A definition, and the values of parameters that stand around it.

    Actions without a definition are a part of one: the rest may have what they refer to. What
    stands in templates is as it is written until it is deployed by them, the outermost first.
    """

    definition: Value
    name: str = ""
    parameters: Mapping | None = None
    is_part: bool = False
    templates: tuple[Template, ...] = field(default_factory=lambda: (Template(),))

    @property
    def is_template(self) -> bool:
        return self.templates[0].is_template

    def deployed(self) -> Form:
        """The form after the deployment; its definition is an object, unless that is not known."""
        definition, parameters = self.definition, self.parameters
        for template in self.templates:
            if isinstance(definition, Mapping):
                # Only Azure computes with what parameters are given.
                entries = (
                    Entry(e.key, template.deploy(e.value, runs=e.name.lower() != "parameters"))
                    for e in definition
                )
                definition = Mapping(tuple(entries), definition.span)
            else:
                definition = template.deploy(definition, runs=True)
            if parameters is not None:
                values = template.deploy(parameters)
                parameters = values if isinstance(values, Mapping) else None
        return replace(self, definition=definition, parameters=parameters)

    @property
    def block(self) -> Mapping:
        """The definition of a form that was deployed."""
        assert isinstance(self.definition, Mapping)
        return self.definition

    @property
    def meter(self) -> Meter:
        """How many values only Azure knows, and one of them."""
        return self.templates[0].meter

    def source(self, text: str) -> str:
        """A formula that the run computes with what it is asked for; empty where it cannot."""
        return next(filter(None, (template.source(text) for template in self.templates)), "")

    def asked(self, name: str) -> Entry | None:
        """The parameter of a template that the run is asked for."""
        asking = (t for t in self.templates if t.is_asked_for(name))
        return next((t.declared[name.lower()] for t in asking), None)

    @property
    def secrets(self) -> dict[str, PortType]:
        return {
            name: kind for template in self.templates for name, kind in template.secrets.items()
        }

    def secret_value(self, name: str) -> Json:
        """The value that a template has for a secret; None where it has none."""
        values = (t.secret_value(name) for t in self.templates if name.lower() in t.secrets)
        return next(values, None)


def form_of(root: Value) -> Form | None:
    """The first definition in a file; None where there is none."""
    return next(forms_of(root), None)


def forms_of(root: Value, beside: Mapping | None = None) -> Iterator[Form]:
    """The definitions in a file, each under a name of its own, as they are written.

    The values of a file beside a template take the place of its defaults.
    """
    if not isinstance(root, Mapping) or "whorl" in root:
        return
    if _is_action(root):
        name = text_at(root, "name") or text_at(root, "type")
        yield Form(_around("actions", _around(name, root)), name, is_part=True)
        return
    if find_mapping(root, "actions") is not None:
        yield Form(root, text_at(root, "name"))
        return
    for holder in (root, find(root, "properties")):
        definition = find_mapping(holder, "definition")
        if definition is not None and find_mapping(definition, "actions") is not None:
            yield Form(definition, text_at(root, "name"), find_mapping(holder, "parameters"))
            return
    listed = find(root, "resources")
    if listed is not None:
        yield from _deployed_in(root, listed, beside)
    elif len(root) > 0 and all(_is_action(entry.value) for entry in root):
        yield Form(_around("actions", root), is_part=True)


def _deployed_in(root: Mapping, listed: Value, beside: Mapping | None) -> Iterator[Form]:
    given = {e.name.lower(): find(e.value, "value") for e in beside or ()}
    values = {name: value for name, value in given.items() if value is not None}
    names: Counter[str] = Counter()
    for resource, templates in _resources(listed, (_template(root, values),), 0):
        properties = find(resource, "properties")
        definition = find(properties, "definition")
        is_written = find_mapping(definition, "actions") is not None
        is_named = isinstance(definition, Scalar) and is_deployed(definition.text)
        is_workflow = text_at(resource, "type").lower() == "microsoft.logic/workflows"
        if definition is None or not (is_written or (is_named and is_workflow)):
            continue
        name = _name(find(resource, "name"), templates)
        names[name.lower()] += 1
        number = names[name.lower()]
        name += f" ({number})" * (number > 1)
        parameters = find_mapping(properties, "parameters")
        yield Form(definition, name, parameters, templates=templates)


def _name(written: Value | None, templates: tuple[Template, ...]) -> str:
    """The name of a resource; where only Azure knows it, of what it is made."""
    for template in templates:
        written = None if written is None else template.deploy(written)
    name = text_of(written)
    return parameter_in(name) or name or "workflow"


def _template(
    root: Value | None,
    given: dict[str, Value],
    around: Template | None = None,
    before: tuple[Template, ...] = (),
) -> Template:
    declared = find_mapping(root, "parameters")
    made = Template(
        is_template=True,
        declared={entry.name.lower(): entry for entry in declared or ()},
        variables={e.name.lower(): e for e in find_mapping(root, "variables") or ()},
        given=given,
        before=before,
        secrets=secrets_in(declared),
    )
    return made if around is None else replace(made, meter=around.meter)


def _resources(
    listed: Value | None, templates: tuple[Template, ...], depth: int
) -> Iterator[tuple[Mapping, tuple[Template, ...]]]:
    """The resources of a template, each with the templates that deploy it, nested ones included.

    A nested template is computed with the names around it, or with its own where it says so; one
    that is kept as content is computed with both, one after the other.
    """
    named = [entry.value for entry in listed] if isinstance(listed, Mapping) else None
    resources = named or (listed if isinstance(listed, Sequence) else ())
    if depth > _DEPTH_MAX:
        return
    for resource in resources:
        if not isinstance(resource, Mapping):
            continue
        yield resource, templates
        yield from _resources(find(resource, "resources"), templates, depth + 1)
        properties = find(resource, "properties")
        for key in ("template", "mainTemplate"):
            inner = find(properties, key)
            used = templates
            if key == "mainTemplate":
                used = (*templates, _template(inner, {}, templates[0], templates))
            elif text_at(properties, "expressionEvaluationOptions", "scope").lower() == "inner":
                used = (_inner(inner, properties, templates),)
            yield from _resources(find(inner, "resources"), used, depth + 1)


def _inner(
    root: Value | None, properties: Value | None, templates: tuple[Template, ...]
) -> Template:
    """A template that is computed with its own names, and given values by the one around it."""
    given: dict[str, Value] = {}
    for entry in find_mapping(properties, "parameters") or ():
        value = find(entry.value, "value")
        for template in templates:
            value = None if value is None else template.deploy(value)
        if value is not None and not is_deployed(text_of(value)):
            given[entry.name.lower()] = value
    return _template(root, given, templates[0])


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
