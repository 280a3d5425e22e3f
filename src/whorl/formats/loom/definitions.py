"""The definitions of a file: bare, inside another object, or in a deployment template.

A template may hold several definitions, also in nested templates.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import text_of
from whorl.errors import Diagnostic, InvalidWorkflow
from whorl.formats.loom import forms
from whorl.formats.loom.forms import find, find_mapping, is_deployed, quote, secrets_in, text_at
from whorl.language import Expression, LanguageError, MappingScope, evaluate_metered, free_names
from whorl.lazily import dataclass
from whorl.source import Entry, Mapping, Scalar, Sequence, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.errors import Span
    from whorl.ir.values import PortType
    from whorl.language import Json
    from whorl.source import Value


# Deployment templates: `[parameters('x')]` is computed before anything runs, and keeps its type.
#
# A value that a template does not have (a parameter without a value, a secret) becomes an input of
# the run: `[parameters('x')]` is then `@parameters('x')`. A value that only Azure knows stays as it
# is written.

_LIBRARY = "deployment"
# All strings of a file are computed on this much: what its author wrote is far below it.
_FUEL_MAX = 1_000_000
_MEMBERS_DEPTH_MAX = 40
_VARIABLE = re.compile(
    r"\[\s*variables\(\s*'((?:[^']|'')+)'\s*\)((?:\.\w+|\[\s*'[^']+'\s*\])*)\s*\]", re.IGNORECASE
)
_PARAMETER = re.compile(r"\[\s*parameters\(\s*'([^']+)'\s*\)\s*\]", re.IGNORECASE)
# What a name means in an expression; a text has its quotes doubled, and no such names.
_NAMED = re.compile(r"\b(parameters|variables)\(\s*'([^']+)'\s*\)", re.IGNORECASE)
_KEY = re.compile(r"\w[^.\[\]']*")
PARAMETERS, _VARIABLES = "$parameters", "$variables"
_GIVEN = "$given("
# Azure takes no longer expressions.
_SOURCE_MAX = 8_192
_MAKES_EXPRESSION = re.compile(r"@\{|^(?:concat\(\s*)*'@", re.IGNORECASE)


@dataclass(slots=True)
class Meter:
    """Counts what all templates of a file share: remaining steps, and unknown values."""

    fuel: int = _FUEL_MAX
    kept: list[str] = field(default_factory=list)
    depth: int = 0
    # Formulas that are parameters of the run, since it cannot write them itself.
    hoisted: list[str] = field(default_factory=list)

    @contextmanager
    def deeper(self, span: Span) -> Iterator[None]:
        """Counts one more level of names while a name is being computed."""
        self.depth += 1
        self.spend(_FUEL_MAX if self.depth > _MEMBERS_DEPTH_MAX else 0, span)
        yield
        self.depth -= 1

    def spend(self, steps: int, span: Span) -> None:
        self.fuel -= steps
        if self.fuel < 0:
            message = "the values of this template take too many steps to compute"
            advice = "let variables refer to each other less often"
            raise InvalidWorkflow([Diagnostic("W002", message, span, "one too many", advice)])


@dataclass(slots=True, kw_only=True)
class Template:
    """The parameters and variables of a template, each computed when it is first used.

    `given` are the values of parameters from outside, `before` the outer templates, which are
    deployed first. Names are kept in lower case. Without `is_template` there are no names, and
    strings in brackets are left as unknown parts of a template.
    """

    is_template: bool = False
    declared: dict[str, Entry] = field(default_factory=dict)
    variables: dict[str, Entry] = field(default_factory=dict)
    given: dict[str, Value] = field(default_factory=dict)
    before: tuple[Template, ...] = ()
    secrets: dict[str, PortType] = field(default_factory=dict)
    meter: Meter = field(default_factory=Meter)
    _sources: dict[str, str] = field(default_factory=dict)
    _values: dict[tuple[str, str], Json | LanguageError] = field(default_factory=dict)

    def deploy(self, value: Value, *, runs: bool = False) -> Value:
        """Returns a value after the deployment. Raises InvalidWorkflow if it would be endless.

        `runs`: the value is in a place where a run evaluates expressions and receives unknown
        values.
        """
        self.meter.spend(1, value.span)
        if isinstance(value, Sequence):
            return Sequence(tuple(self.deploy(i, runs=runs) for i in value), value.span)
        if isinstance(value, Mapping):
            entries = (Entry(e.key, self.deploy(e.value, runs=runs)) for e in value)
            return Mapping(tuple(entries), value.span)
        return self._deploy_text(value, runs) if isinstance(value.value, str) else value

    def _deploy_text(self, scalar: Scalar, runs: bool) -> Value:
        text = scalar.text
        if self.is_template and text[:2] == "[[" and text[-1] == "]":
            return Scalar(text[1:], scalar.span)
        if not is_deployed(text):
            return scalar
        if (written := self._variable_part(text)) is not None:
            with self.meter.deeper(scalar.span):
                return self.deploy(written, runs=runs)
        value = self._compute(text, scalar.span)
        if not isinstance(value, LanguageError):
            return self._tree(value, scalar.span)
        if runs and (later := self._later(text)):
            return Scalar(later, scalar.span)
        if runs or not self.source(text):
            self.meter.kept.append(text)
        return scalar

    def _variable_part(self, text: str) -> Value | None:
        """Returns the part of the file that a string names, `[variables('x').y]`, with spans."""
        match = _VARIABLE.fullmatch(text)
        value = self.written(_VARIABLES, match[1].replace("''", "'").lower()) if match else None
        for key in _KEY.findall(match[2]) if match else ():
            value = value.get(key) if isinstance(value, Mapping) else None
        return value if isinstance(value, Mapping | Sequence) else None

    def written(self, table: str, name: str) -> Value | None:
        """Returns the value of a name in the file, before this template computes it."""
        if table == PARAMETERS and name in self.given:
            return self.given[name]
        entry = (self.declared if table == PARAMETERS else self.variables).get(name)
        value = None if entry is None else entry.value
        if table == PARAMETERS and isinstance(value, Mapping):
            value = value.get("defaultValue")
        return _deployed(value, self.before)

    def _compute(self, text: str, span: Span) -> Json | LanguageError:
        expression = Expression("logic", f"@{text[1:-1].strip()}", _LIBRARY)
        try:
            names = free_names(expression)
        except LanguageError as error:
            return error
        tables: dict[str, dict[str, Json]] = {PARAMETERS: {}, _VARIABLES: {}}
        for used in names:
            if used.name in tables and used.path and isinstance(used.path[0], str):
                name = used.path[0]
                value = self._value(used.name, name.lower(), span)
                if not isinstance(value, LanguageError):
                    tables[used.name][name] = value
        value, steps = evaluate_metered(expression, MappingScope(dict(tables)), self.meter.fuel)
        self.meter.spend(steps, span)
        return value

    def _value(self, table: str, name: str, span: Span) -> Json | LanguageError:
        """Returns the value of a name; an error if it is unknown, or refers to itself."""
        key = (table, name)
        if key not in self._values:
            self._values[key] = LanguageError("has no value, or leads back to itself")
            written = self.written(table, name)
            if written is not None and not (table == PARAMETERS and name in self.secrets):
                text = written.text if isinstance(written, Scalar) else ""
                is_formula = is_deployed(text) and self._variable_part(text) is None
                with self.meter.deeper(written.span):
                    self._values[key] = (
                        self._compute(text, written.span)
                        if is_formula
                        else plain(self.deploy(written))
                    )
        value = self._values[key]
        if isinstance(value, list | dict | str):
            self.meter.spend(1 + len(value) // 64, span)
        return value

    def source(self, text: str) -> str:
        """Returns a formula that a run can compute from its inputs; "" if it cannot.

        Known values are written into it, inputs of the run are `$given('name')`.
        """
        if text not in self._sources:
            # A formula that refers to itself has no source.
            self._sources[text] = ""
            self.meter.depth += 1
            source = _NAMED.sub(self._inlined, text[1:-1].strip())
            self.meter.depth -= 1
            is_asking = self.is_template and _GIVEN in source and len(source) <= _SOURCE_MAX
            names = _names_of(source, _LIBRARY) if is_asking else None
            if names is not None and not {PARAMETERS, _VARIABLES} & names:
                self._sources[text] = source
        return self._sources[text]

    def _inlined(self, match: re.Match[str]) -> str:
        table, name = f"${match[1].lower()}", match[2].lower()
        value = self._values.get((table, name), LanguageError("is not known"))
        if table == PARAMETERS and self.is_asked_for(name):
            return f"{_GIVEN}{quote(self.declared[name].name)})"
        if isinstance(value, LanguageError):
            written = self.written(table, name) if self.meter.depth < _MEMBERS_DEPTH_MAX else None
            inner = written.text if isinstance(written, Scalar) else ""
            return (self.source(inner) if is_deployed(inner) else "") or match[0]
        return quote(value) if isinstance(value, str) else f"json({quote(json.dumps(value))})"

    def _later(self, text: str) -> str:
        """Returns the string that a run evaluates in place of a formula; "" if only Azure can.

        A text that holds expressions is known only after a deployment.
        """
        source = self.source(text)
        if not source or _MAKES_EXPRESSION.search(source):
            return ""
        own = source.replace(_GIVEN, "parameters(")
        if _names_of(own, "") is not None:
            return f"@{own}"
        # A value that the run cannot compute becomes a parameter with the formula as its name.
        self.meter.hoisted.append(source)
        return f"@parameters({quote(source)})"

    def is_asked_for(self, name: str) -> bool:
        """Returns whether a parameter is an input of the run: it is secret or has no value."""
        lowered = name.lower()
        return lowered in self.secrets or (
            lowered in self.declared and self.written(PARAMETERS, lowered) is None
        )

    def _tree(self, value: Json, span: Span) -> Value:
        self.meter.spend(1, span)
        if isinstance(value, list):
            return Sequence(tuple(self._tree(item, span) for item in value), span)
        if isinstance(value, dict):
            entries = (Entry(Scalar(k, span), self._tree(v, span)) for k, v in value.items())
            return Mapping(tuple(entries), span)
        return Scalar(value, span)


def _deployed(value: Value | None, templates: Iterable[Template]) -> Value | None:
    """Returns a value after the deployment of templates, one after the other."""
    for template in templates:
        value = None if value is None else template.deploy(value)
    return value


def _names_of(source: str, library: str) -> set[str] | None:
    """Returns the tables that a formula reads; None if no library can compute it."""
    try:
        return {used.name for used in free_names(Expression("logic", f"@{source}", library))}
    except LanguageError:
        return None


@dataclass(frozen=True, slots=True)
class Form:
    """A definition, and the values of parameters that are written around it.

    Actions without a definition are a part of one: the rest may have what they refer to. Values in
    templates stay as written until the templates deploy them, the outermost first.
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
        """Returns the form after the deployment; its definition is an object if it is known."""
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

    def asked(self, name: str) -> Entry | None:
        """Returns the parameter of the template that is an input of the run."""
        asking = (t for t in self.templates if t.is_asked_for(name))
        return next((t.declared[name.lower()] for t in asking), None)


def form_of(root: Value) -> Form | None:
    """Returns the first definition in a file, or None."""
    return next(forms_of(root), None)


def forms_of(root: Value, beside: Mapping | None = None) -> Iterator[Form]:
    """Yields the definitions in a file as written, each under its own name.

    The values of a file beside a template replace its defaults.
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
    for resource, templates in _resources(listed, (_template(root, values),)):
        properties = find(resource, "properties")
        definition = find(properties, "definition")
        is_written = find_mapping(definition, "actions") is not None
        is_named = isinstance(definition, Scalar) and is_deployed(definition.text)
        is_workflow = text_at(resource, "type").lower() == "microsoft.logic/workflows"
        if definition is None or not (is_written or (is_named and is_workflow)):
            continue
        # If only Azure knows the name, that of its parameter is used.
        name = text_of(_deployed(find(resource, "name"), templates))
        made_of = _PARAMETER.fullmatch(name)
        name = made_of[1] if made_of else name or "workflow"
        names[name.lower()] += 1
        number = names[name.lower()]
        name += f" ({number})" * (number > 1)
        yield Form(definition, name, find_mapping(properties, "parameters"), templates=templates)


def _template(
    root: Value | None,
    given: dict[str, Value],
    around: Template | None = None,
    before: tuple[Template, ...] = (),
) -> Template:
    declared = find_mapping(root, "parameters")
    return Template(
        is_template=True,
        declared={entry.name.lower(): entry for entry in declared or ()},
        variables={e.name.lower(): e for e in find_mapping(root, "variables") or ()},
        given=given,
        before=before,
        secrets=secrets_in(declared),
        meter=Meter() if around is None else around.meter,
    )


def _resources(
    listed: Value | None, templates: tuple[Template, ...]
) -> Iterator[tuple[Mapping, tuple[Template, ...]]]:
    """Yields the resources of a template, each with the templates that deploy it, also nested.

    A nested template uses the names around it, or its own if it says so. A nested template that is
    kept as content uses both, one after the other.
    """
    named = [entry.value for entry in listed] if isinstance(listed, Mapping) else None
    resources = named or (listed if isinstance(listed, Sequence) else ())
    for resource in resources:
        if not isinstance(resource, Mapping):
            continue
        yield resource, templates
        yield from _resources(find(resource, "resources"), templates)
        properties = find(resource, "properties")
        for key in ("template", "mainTemplate"):
            inner = find(properties, key)
            used = templates
            if key == "mainTemplate":
                used = (*templates, _template(inner, {}, templates[0], templates))
            elif text_at(properties, "expressionEvaluationOptions", "scope").lower() == "inner":
                used = (_inner(inner, properties, templates),)
            yield from _resources(find(inner, "resources"), used)


def _inner(
    root: Value | None, properties: Value | None, templates: tuple[Template, ...]
) -> Template:
    """Returns a template that uses its own names and receives values from the one around it."""
    given: dict[str, Value] = {}
    for entry in find_mapping(properties, "parameters") or ():
        value = _deployed(find(entry.value, "value"), templates)
        if value is not None and not is_deployed(text_of(value)):
            given[entry.name.lower()] = value
    return _template(root, given, templates[0])


def _is_action(value: Value) -> bool:
    if not isinstance(value, Mapping) or "$schema" in value or "nodes" in value:
        return False
    kind = find(value, "type")
    if not isinstance(kind, Scalar) or kind.text.lower() not in forms.TYPES:
        return False
    names = ("actions", "action", "inputs", "condition", "expression", "foreach", "on")
    return any(find(value, name) is not None for name in names)


def _around(name: str, value: Mapping) -> Mapping:
    return Mapping((Entry(Scalar(name, value.span), value),), value.span)
