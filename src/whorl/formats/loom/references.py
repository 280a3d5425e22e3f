"""The names of a file: its parameters, and what each reference in an expression may stand for.

Parameters are those that a definition declares, with values around it or in a file beside it. Each
name that an expression reads is one of the workflow, and known where it is read.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from whorl import ir
from whorl.dialects.reading.texts import read_tree
from whorl.formats.loom.forms import find, find_mapping, is_deployed, secrets_in, text_at
from whorl.formats.loom.project.settings import setting_ports, settings_in
from whorl.formats.loom.texts import computed
from whorl.formats.loom.words import is_of_a_loop
from whorl.ir.checks.scopes import Use, uses_in, views_in
from whorl.ir.expressions import expressions_in
from whorl.ir.walk import walk
from whorl.language import LanguageError, free_names
from whorl.source import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.formats.loom.project.definitions import Form
    from whorl.formats.loom.texts import LoomContext
    from whorl.ir.values import PortType
    from whorl.source import Scalar, Value


_WORD = re.compile(r"[$\w]+")
_GIVEN = re.compile(r"\$given\('((?:[^']|'')+)'\)")
# The types of a template's parameters, as inputs have them.
_TYPES: dict[str, PortType] = {"string": "string", "int": "integer", "bool": "boolean"}
_TYPES |= {"array": "list", "object": "json"}
# What connectors need; a run whose connectors are answered by others does without.
CONNECTIONS = "$connections"
VARIABLES = ("variables", "$declared")
# The item of the for-each in which the tools of an agent stand.
CALL = "$call"


def parameters_of(context: LoomContext, form: Form) -> dict[str, Value | None]:
    """The parameters that the definition declares or that have values, with these."""
    declared = find_mapping(form.definition, "parameters") or ()
    parameters = {e.name.lower(): (e.name, find(e.value, "defaultValue")) for e in declared}
    # What is beside a template has values for the template's own parameters.
    beside = () if form.is_template or context.beside is None else context.beside
    for entry in (*beside, *(form.parameters or ())):
        given = find(entry.value, "value")
        if given is not None:
            name = parameters.get(entry.name.lower(), (entry.name, None))[0]
            parameters[entry.name.lower()] = (name, given)
    return dict(parameters.values())


def read_names(
    context: LoomContext, form: Form, workflow: ir.Workflow, given: Iterable[str]
) -> tuple[tuple[ir.Port, ...], tuple[tuple[str, ir.Value], ...]]:
    """The inputs of the run, and the tables of the names that expressions read.

    Inputs are the parameters, app settings, undeclared variables, and what is given by other names.
    """
    parameters = parameters_of(context, form)
    lowered = lowered_names(parameters)
    read = lowered_names(r.name for r in references_in(workflow) if r.function == "parameters")
    hoisted = form.meter.hoisted
    named = (name for low, name in read.items() if low not in lowered and name not in hoisted)
    mentioned = [e.name if (e := form.asked(name)) else name for name in named if name]
    # The variables that no action initialises may be given to the run.
    variables = (r.name for r in references_in(workflow) if r.function in VARIABLES)
    free_variables = [name for name in variables if name and not is_of_a_loop(name)]
    spelled = {name.lower(): context.variable(name) for name in free_variables} | context.variables
    undeclared = [name for low, name in spelled.items() if low not in context.types]
    settings, ports = [*settings_in(form.definition), *context.settings], {}
    secrets = form.secrets | secrets_in(find(form.definition, "parameters"))
    if context.is_trigger_secret:
        secrets |= dict.fromkeys((name.lower() for name in given), "any")
    values: dict[str | ir.Expression, ir.Value] = {}
    asked: list[str] = []
    values |= {source: _formula(source, asked) for source in hoisted}
    for name, value in parameters.items():
        is_read = form.is_template and name.lower() in read and name != CONNECTIONS
        # Some parameters are expressions over app settings instead.
        own, before = settings_in(value), len(asked)
        if own:
            values[name] = context.value(value)
            settings += [setting for setting in own if setting not in settings]
        elif is_read and (made := _with_formulas(form, value, asked)) is not None:
            values[name] = made
            if (kind := secrets.get(name.lower())) is not None:
                secrets |= dict.fromkeys(map(str.lower, asked[before:]), kind)
        else:
            ports[name] = _port(form, name, secrets, value)
            if is_read and value is None and ports[name].default is None:
                ports[name] = replace(ports[name], required=True)
    table = ir.Fields((*_facts(ports).entries, *values.items()))
    ports |= setting_ports(context, settings)
    tables: list[tuple[str, ir.Value]] = [("$settings", _facts(settings)), ("$parameters", table)]
    if mentioned:
        # Parameters that are only mentioned are in the table if they are given.
        joined = computed("given_beside", "$declared", [*mentioned])
        tables[1:] = [("$declared", table), ("$parameters", joined)]
    # Variables that nothing declares are null unless given; in Azure's files they must be given.
    free = _facts(undeclared) if context.lenient else computed("given_of", [*undeclared])
    for name in (*mentioned, *asked, *undeclared, *given):
        ports.setdefault(name, _port(form, name, secrets))
    return tuple(ports.values()), (*tables, ("$variables", free))


def _port(
    form: Form, name: str, secrets: dict[str, PortType], value: Value | None = None
) -> ir.Port:
    default = None if value is None else plain(value)
    if form.is_template and isinstance(default, str) and is_deployed(default):
        # Only Azure knows it, or nothing reads it.
        default = None
    kind, asked = secrets.get(name.lower()), form.asked(name) if value is None else None
    if kind is not None and value is None:
        default = form.secret_value(name)
    if asked is not None and name != CONNECTIONS:
        written = kind or _TYPES.get(text_at(asked.value, "type").lower(), "any")
        return ir.Port(name, written, default is None, default, secret=kind is not None)
    return ir.Port(name, kind or "any", required=False, default=default, secret=kind is not None)


def _formula(source: str, asked: list[str]) -> ir.Expression:
    """What a run computes of the parameters of a template that it is asked for."""
    asked += [name.replace("''", "'") for name in _GIVEN.findall(source)]
    return ir.Expression("logic", f"@{source}", "deployment")


def _with_formulas(form: Form, value: Value | None, asked: list[str]) -> ir.Value | None:
    """A value whose formulas a run computes; None where there are none."""

    def read(scalar: Scalar) -> ir.Value:
        source = form.source(scalar.text) if is_deployed(scalar.text) else ""
        return _formula(source, asked) if source else ir.Constant(scalar.value)

    before = len(asked)
    made = read_tree(value, read)
    return made if len(asked) > before else None


def _facts(names: Iterable[str]) -> ir.Fields:
    return ir.Fields(tuple((name, computed("fact", name)) for name in names))


class Reference(NamedTuple):
    """A name that an expression hands to a function, such as `body('Fetch')`."""

    function: str
    name: str
    offset: int
    use: Use


def references_in(workflow: ir.Workflow) -> Iterator[Reference]:
    """The references of all expressions, as far as their names are written down."""
    # An echo repeats what an action is given anyway.
    echoes = {id(e) for _, node in walk(workflow.body) for e in expressions_in(node.echo)}
    for use in uses_in(workflow):
        source = use.expression.source
        if not use.expression.syntax.startswith("logic") or id(use.expression) in echoes:
            continue
        try:
            names = free_names(use.expression)
        except LanguageError:
            continue
        for used in names:
            word = _WORD.match(source, used.offset)
            name = used.path[0] if used.path else ""
            if word is not None and isinstance(name, str):
                yield Reference(word[0].lower(), name, used.offset, use)


def variables_set_in(workflow: ir.Workflow) -> Iterator[Reference]:
    """The variables that actions set, each as if the action read it."""
    nothing = ir.Expression("logic", "")
    for path, view in views_in(workflow):
        _, node = view.scope.givers.get(path.rpartition("/")[2], (0, None))
        for name, _ in node.sets if isinstance(node, ir.Assign) else ():
            yield Reference("$set", name, 0, Use(nothing, view, path))


def lowered_names(names: Iterable[str]) -> dict[str, str]:
    return {name.lower(): name for name in names}
