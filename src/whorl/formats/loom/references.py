"""The names of a file: its parameters, and what each reference in an expression may mean.

Parameters are those that a definition declares, with values around it or in a file beside it. Each
name that an expression reads must exist in the workflow, and be known at that place.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from whorl import ir
from whorl.dialects.reading import REPORTED_MAX
from whorl.dialects.reading.texts import read_tree
from whorl.errors import InvalidWorkflow, Span
from whorl.formats.loom import forms
from whorl.formats.loom.definitions import PARAMETERS
from whorl.formats.loom.forms import computed, find, find_mapping, is_deployed, scalars_in, text_at
from whorl.ir.checks.scopes import Use, suggest, uses_in, views_in
from whorl.ir.expressions import expressions_in
from whorl.ir.walk import blocks_of, walk
from whorl.language import LanguageError, free_names
from whorl.source import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.dialects.files import SourceFiles
    from whorl.formats.loom.definitions import Form
    from whorl.formats.loom.forms import LoomContext
    from whorl.ir.checks.scopes import View
    from whorl.ir.values import PortType
    from whorl.source import Mapping, Scalar, Value


_WORD = re.compile(r"[$\w]+")
_GIVEN = re.compile(r"\$given\('((?:[^']|'')+)'\)")
# The types of a template's parameters, as inputs have them.
_TYPES: dict[str, PortType] = {"string": "string", "int": "integer", "bool": "boolean"}
_TYPES |= {"array": "list", "object": "json"}
# The parameter of connectors; a run whose connectors are replaced does not need it.
CONNECTIONS = "$connections"
VARIABLES = ("variables", "$declared")
# The item of the for-each that holds the tools of an agent.
CALL = "$call"


def parameters_of(context: LoomContext, form: Form) -> dict[str, Value | None]:
    """Returns the parameters that the definition declares or that have values, with the values."""
    declared = find_mapping(form.definition, "parameters") or ()
    parameters = {e.name.lower(): (e.name, find(e.value, "defaultValue")) for e in declared}
    # A file beside a template has values for the template's own parameters.
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
    """Returns the inputs of the run, and the tables of the names that expressions read.

    Inputs are the parameters, app settings, undeclared variables, and values under other names.
    """
    parameters = parameters_of(context, form)
    lowered = lowered_names(parameters)
    read = lowered_names(r.name for r in references_in(workflow) if r.function == "parameters")
    hoisted = form.templates[0].meter.hoisted
    named = (name for low, name in read.items() if low not in lowered and name not in hoisted)
    mentioned = [e.name if (e := form.asked(name)) else name for name in named if name]
    # The variables that no action initialises may be given to the run.
    variables = (r.name for r in references_in(workflow) if r.function in VARIABLES)
    free_variables = [name for name in variables if name and not forms.is_of_a_loop(name)]
    spelled = {name.lower(): context.variable(name) for name in free_variables} | context.variables
    undeclared = [name for low, name in spelled.items() if low not in context.types]
    settings, ports = [*settings_in(form.definition), *context.settings], {}
    secrets = {low: kind for each in form.templates for low, kind in each.secrets.items()}
    secrets |= forms.secrets_in(find(form.definition, "parameters"))
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
    low = name.lower()
    kind, asked = secrets.get(low), form.asked(name) if value is None else None
    if kind is not None and value is None:
        known = (t.written(PARAMETERS, low) for t in form.templates if low in t.secrets)
        default = None if (secret := next(known, None)) is None else plain(secret)
    if asked is not None and name != CONNECTIONS:
        written = kind or _TYPES.get(text_at(asked.value, "type").lower(), "any")
        return ir.Port(name, written, default is None, default, secret=kind is not None)
    return ir.Port(name, kind or "any", required=False, default=default, secret=kind is not None)


def _formula(source: str, asked: list[str]) -> ir.Expression:
    """Returns an expression that a run computes from parameters; adds their names to `asked`."""
    asked += [name.replace("''", "'") for name in _GIVEN.findall(source)]
    return ir.Expression("logic", f"@{source}", "deployment")


def _with_formulas(form: Form, value: Value | None, asked: list[str]) -> ir.Value | None:
    """Returns a value whose formulas a run computes; None if it has no formulas."""

    def read(scalar: Scalar) -> ir.Value:
        text = scalar.text
        sources = (t.source(text) for t in form.templates if is_deployed(text))
        source = next(filter(None, sources), "")
        return _formula(source, asked) if source else ir.Constant(scalar.value)

    before = len(asked)
    made = read_tree(value, read)
    return made if len(asked) > before else None


def _facts(names: Iterable[str]) -> ir.Fields:
    return ir.Fields(tuple((name, computed("fact", name)) for name in names))


class Reference(NamedTuple):
    """A name that an expression passes to a function, such as `body('Fetch')`."""

    function: str
    name: str
    offset: int
    use: Use


def references_in(workflow: ir.Workflow) -> Iterator[Reference]:
    """Yields the references of all expressions whose names are literals."""
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
    """Yields the variables that actions set, each as if the action read it."""
    nothing = ir.Expression("logic", "")
    for path, view in views_in(workflow):
        _, node = view.scope.givers.get(path.rpartition("/")[2], (0, None))
        for name, _ in node.sets if isinstance(node, ir.Assign) else ():
            yield Reference("$set", name, 0, Use(nothing, view, path))


def lowered_names(names: Iterable[str]) -> dict[str, str]:
    return {name.lower(): name for name in names}


_ACTIONS = frozenset(
    {"body", "outputs", "actions", "actionbody", "actionoutputs"}
    | {"formdatavalue", "formdatamultivalues", "multipartbody"}
)


class Problem(NamedTuple):
    """A problem of a reference; an uncertain one is a warning."""

    message: str
    help: str
    is_certain: bool = True
    label: str = "unknown name"


def check_references(context: LoomContext, form: Form, workflow: ir.Workflow) -> None:
    """Reports references to missing names, and to actions that cannot have run before."""
    names = _Names(context, form, workflow)
    warned: set[Problem] = set()
    for reference in (*references_in(workflow), *variables_set_in(workflow)):
        problem = None if context.is_full else names.problem(reference)
        if problem is None or problem in warned:
            continue
        if not problem.is_certain:
            warned.add(problem)
        name, use = reference.name, reference.use
        place = max(use.expression.source.find(name, reference.offset), reference.offset)
        span = context.places.span(use.expression, place, len(name or reference.function))
        span = span or context.places.node(use.path)
        tell = context.report if problem.is_certain else context.warn
        tell("W005", problem.message, span, label=problem.label, help=problem.help)


class _Names:
    """All names of a workflow, each in lower case with its spelling."""

    def __init__(self, context: LoomContext, form: Form, workflow: ir.Workflow) -> None:
        written = [name for name, _ in forms.objects_in(form.definition) if name]
        self.context = context
        # Names of a deployment are known only after it.
        self.is_part = form.is_part or any(map(is_deployed, written))
        self.has_parameters = find(form.definition, "parameters") is not None
        hoisted = form.templates[0].meter.hoisted
        self.parameters = lowered_names((*parameters_of(context, form), *hoisted))
        self.asked_for = [template.is_asked_for for template in form.templates]
        self.chains: dict[str, list[tuple[ir.Node, ...]]] = {}
        # The actions that declare variables, which no other action may read before.
        self.declared: dict[str, list[tuple[ir.Node, ...]]] = {}
        for chain in _chains(workflow.body):
            self.chains.setdefault(chain[-1].name.lower(), []).append(chain)
            if isinstance(chain[-1], ir.Assign) and chain[-1].name in context.declaring:
                for name, _ in chain[-1].sets:
                    self.declared.setdefault(name.lower(), []).append(chain)
        # Actions that are not read, such as those of an agent's tools, are known by name only.
        self.actions = lowered_names([*written, *context.triggers])
        self.actions |= {lowered: chains[0][-1].name for lowered, chains in self.chains.items()}
        self.scopes = lowered_names(context.scopes)
        self.compared: dict[str, str] = {}
        self.itemised = {
            id(expression)
            for _, node in walk(workflow.body)
            if isinstance(node, ir.Compute) and node.over is not None
            for value in (node.value, node.keep)
            for expression in expressions_in(value)
        }

    def problem(self, reference: Reference) -> Problem | None:
        function, name, view = reference.function, reference.name, reference.use.view
        around = (node for node in _holders(view) if isinstance(node, ir.ForEach))
        each = [node.name for node in around if not _is_tool(node)]
        if function == "item" and not each and id(reference.use.expression) not in self.itemised:
            message = "item() is not inside a for-each, a Select or a Filter"
            return Problem(message, "move it there, or read the array itself", not self.is_part)
        if function == "agentparameters" and not any(map(_is_tool, _holders(view))):
            message = "agentParameters() is not inside a tool of an agent"
            return Problem(message, "move it there", not self.is_part)
        if not name:
            return None
        if function == "parameters":
            return self._parameter(name)
        if function in VARIABLES:
            return self._variable(reference)
        if function == "$set":
            # A variable is set after it was declared; what declares it sets it, too.
            setter = reference.use.path.rpartition("/")[2]
            is_declaring = self.context.lenient or setter in self.context.declaring
            return None if is_declaring else self._uninitialized(reference, "sets")
        if function == "items":
            return self._unknown("for-each", name, lowered_names(each), " around this place")
        if function == "iterationindexes":
            loops = lowered_names(_bound(view, "$iterations"))
            return self._unknown("loop", name, loops, " around this place")
        if function == "result":
            unknown = self._unknown("scope or loop", name, self.scopes)
        elif function in _ACTIONS:
            unknown = self._unknown("action", name, self.actions)
        else:
            return None
        # An action has a result once it has run: one on the way to where the result is read.
        chains = [] if unknown else self.chains.get(name.lower(), [])
        early = [_too_early(reference, chain, self.context.lenient) for chain in chains]
        return unknown or (early[0] if early and all(early) else None)

    def _unknown(
        self, noun: str, name: str, names: dict[str, str], where: str = ""
    ) -> Problem | None:
        if name.lower() in names:
            return None
        advice = self._advice(name, names.values()) or f"add one{where}, or remove this"
        return Problem(f"there is no {noun} {name!r}{where}", advice, not self.is_part)

    def _advice(self, name: str, names: Iterable[str]) -> str:
        """Returns the nearest name, or a short list of the names that exist."""
        if name not in self.compared and len(self.compared) < REPORTED_MAX:
            self.compared[name] = suggest(name, names)
        return self.compared.get(name, "")

    def _nearest(self, name: str, names: Iterable[str]) -> str:
        advice = self._advice(name, names)
        return advice if advice.startswith("did you mean") else ""

    def _parameter(self, name: str) -> Problem | None:
        """Checks a parameter; one that resembles no other may be in a file that is missing here."""
        if name.lower() in self.parameters or any(is_one(name) for is_one in self.asked_for):
            return None
        nearest = self._nearest(name, self.parameters.values())
        is_certain = bool(nearest) or (self.has_parameters and not self.parameters)
        message = f"there is no parameter {name!r}"
        if not is_certain or self.is_part:
            message += f"; without `-i {name}=VALUE` actions that read it fail"
        declaration = f'declare it: "parameters": {{"{name}": {{"type": "String"}}}}'
        return Problem(message, nearest or declaration, is_certain and not self.is_part)

    def _variable(self, reference: Reference) -> Problem | None:
        """Checks a variable; a run may receive its value, unless an Azure file misspells it."""
        name, lenient = reference.name, self.context.lenient
        names = self.context.variables
        if not lenient:
            names = {lowered: names[lowered] for lowered in self.context.types}
        if name.lower() in names:
            return None if lenient else self._uninitialized(reference)
        loops = _bound(reference.use.view, "$loop")
        if lenient and forms.is_of_a_loop(name):
            where = " of a loop around this place"
            return self._unknown("variable", name, lowered_names(loops), where)
        nearest = self._nearest(name, [*names.values(), *loops])
        if nearest and not lenient and not self.is_part:
            return Problem(f"there is no variable {name!r}", nearest)
        otherwise = "it is null" if lenient else "actions that read it fail"
        message = f"variable {name!r} is never set; without `-i {name}=VALUE` {otherwise}"
        declaration = (
            'declare it: {"type": "InitializeVariable", "inputs": {"variables": '
            f'[{{"name": "{name}", "type": "string", "value": ""}}]}}}}'
        )
        return Problem(message, nearest or declaration, is_certain=False)

    def _uninitialized(self, reference: Reference, verb: str = "reads") -> Problem | None:
        """Reports a variable that is read before the action that declares it."""
        name = reference.name
        chains = self.declared.get(name.lower(), [])
        early = [_too_early(reference, chain, lenient=False) for chain in chains]
        if not early or not all(early) or self.is_part:
            return None
        declaring, reader = chains[0][-1].name, reference.use.path.rpartition("/")[2]
        message = (
            f"variable {name!r} is not initialized yet: {declaring!r} may not have run yet when "
        )
        advice = f'add "runAfter": {{"{chains[0][0].name}": ["Succeeded"]}}'
        return Problem(f"{message}{reader!r} {verb} it", advice, label="no value yet")


def _is_tool(node: ir.Node) -> bool:
    return isinstance(node, ir.ForEach) and node.item_name == CALL


def _too_early(reference: Reference, chain: tuple[ir.Node, ...], lenient: bool) -> Problem | None:
    view: View | None = reference.use.view
    while view is not None:
        for node in chain:
            giver = view.scope.givers.get(node.name)
            if giver is not None and giver[1] is node:
                return _unseen(reference, view, giver[0], chain, lenient)
        view = view.around
    return None


def _unseen(
    reference: Reference, view: View, index: int, chain: tuple[ir.Node, ...], lenient: bool
) -> Problem | None:
    """Returns why a result is missing, in the block in which the paths of both actions part."""
    meeting = next(node for node in chain if view.scope.givers.get(node.name, (-1,))[0] == index)
    if view.index is None or view.find(meeting.name)[0]:
        return None
    if lenient and any(isinstance(node, ir.Loop) for node in _holders(view)):
        # The iteration before may have left it.
        return None
    name, reader = chain[-1].name, reference.use.path.rpartition("/")[2]
    label, advice, is_certain = "no result yet", "read the result of another action", True
    if index == view.index and meeting is chain[-1]:
        message = f"{name!r} has not ended yet when its result is read"
    elif index == view.index and view is not reference.use.view:
        # A result of another branch is null if that branch was not chosen.
        return None
    elif index == view.index or view.scope.before[index] >> view.index & 1:
        message = f"{name!r} runs only after {reader!r} has read it"
    else:
        message = f"{name!r} may not have run yet when {reader!r} reads it"
        advice, is_certain = f'add "runAfter": {{"{meeting.name}": ["Succeeded"]}}', not lenient
    return Problem(message, advice, is_certain, label)


def _chains(block: ir.Block, holders: tuple[ir.Node, ...] = ()) -> Iterator[tuple[ir.Node, ...]]:
    """Yields each node after those that hold it."""
    for node in block.nodes:
        yield (*holders, node)
        for _, inner in blocks_of(node):
            yield from _chains(inner, (*holders, node))


def _holders(view: View | None) -> Iterator[ir.Node]:
    while view is not None:
        if view.holder is not None:
            yield view.holder
        view = view.around


def _bound(view: View, table: str) -> list[str]:
    """Returns the names in a table that the nearest loop binds."""
    for node in _holders(view):
        for name, value in node.bind if isinstance(node, ir.Loop) else ():
            if name == table and isinstance(value, ir.Fields):
                return [key for key, _ in value.entries if isinstance(key, str)]
    return []


# The files of a project beside its definitions: parameters and app settings.

_SETTING = re.compile(r"\bappsetting\(\s*'((?:[^']|'')*)'\s*\)", re.IGNORECASE)
# The names of settings with secret values.
_KEY_LIKE = re.compile(r"key|secret|password|token|connectionstring|signature", re.IGNORECASE)


def name_of(context: LoomContext) -> str:
    """Returns the name of an unnamed definition: of its file, or of `workflow.json`'s folder."""
    folder = context.files.path.replace("\\", "/").rpartition("/")[0].rpartition("/")[2]
    is_named = context.stem.lower() == "workflow" and not context.lenient
    return folder if is_named and folder not in ("", ".", "..") else context.stem


def find_named(name: str, files: SourceFiles, base: str) -> list[str]:
    """Returns the file of a workflow in a folder of that name, as in a project of Logic Apps."""
    path = f"{name.rstrip('/')}/workflow.json"
    with suppress(InvalidWorkflow):
        files.open(base, path, Span(path, 1, 1))
        return [path]
    return []


def open_beside(context: LoomContext, *names: str, is_kept: bool = False) -> Mapping | None:
    """Opens the first of these files that is beside the definition; the last may be a folder up."""
    file = context.file.replace("\\", "/").rpartition("/")[2]
    listed = [name for name in (*names, f"../{names[-1]}") if name != file]
    reference = None if context.lenient else context.files.find(listed)
    # A file of that name further below belongs to another project.
    if reference not in listed:
        return None
    document = context.files.open(reference, context.document.root.span)
    if is_kept:
        context.sources[document.file] = document.text
    return find_mapping(document.root)


def setting_ports(context: LoomContext, settings: list[str]) -> dict[str, ir.Port]:
    """Returns the inputs for app settings: the run must receive those that the project lacks.

    The text of `local.settings.json` is not kept: people write keys into it.
    """
    root = open_beside(context, "local.settings.json") if settings else None
    values = find_mapping(root, "Values")
    local = {entry.name.lower(): plain(entry.value) for entry in values or ()}
    ports: dict[str, ir.Port] = {}
    for name in settings:
        value, is_key = local.get(name.lower()), _KEY_LIKE.search(name) is not None
        is_needed = value is None and not context.lenient
        kind: PortType = "string" if is_key else "any"
        ports[name] = ir.Port(name, kind, required=is_needed, default=value, secret=is_key)
    return ports


def settings_in(value: Value | None) -> list[str]:
    """Returns the names of the app settings that a value mentions."""
    settings: dict[str, str] = {}
    for scalar in scalars_in(value):
        for name in _SETTING.findall(scalar.text):
            settings.setdefault(name.lower(), name.replace("''", "'"))
    return list(settings.values())
