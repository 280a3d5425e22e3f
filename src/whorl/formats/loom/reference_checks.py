"""Checks of references: names that nothing has, and results that are not there yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whorl import ir
from whorl.dialects.reading.context import REPORTED_MAX
from whorl.formats.loom.forms import find, is_deployed
from whorl.formats.loom.references import (
    CALL,
    VARIABLES,
    Reference,
    lowered_names,
    parameters_of,
    references_in,
    variables_set_in,
)
from whorl.formats.loom.words import is_of_a_loop
from whorl.ir.checks.scopes import suggest
from whorl.ir.expressions import expressions_in
from whorl.ir.walk import blocks_of, walk
from whorl.source import Mapping, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.formats.loom.project.definitions import Form
    from whorl.formats.loom.texts import LoomContext
    from whorl.ir.checks.scopes import View
    from whorl.source import Value


_ACTIONS = frozenset(
    {"body", "outputs", "actions", "actionbody", "actionoutputs"}
    | {"formdatavalue", "formdatamultivalues", "multipartbody"}
)


class Problem(NamedTuple):
    """What is wrong about a reference; one that is not certain is a warning."""

    message: str
    help: str
    is_certain: bool = True
    label: str = "unknown name"


def check_references(context: LoomContext, form: Form, workflow: ir.Workflow) -> None:
    """Reports the references to nothing, and those to what cannot have run before."""
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
        written = list(_action_names(form.definition))
        self.context = context
        # What a deployment names is known after it only.
        self.is_part = form.is_part or any(map(is_deployed, written))
        self.has_parameters = find(form.definition, "parameters") is not None
        self.parameters = lowered_names((*parameters_of(context, form), *form.meter.hoisted))
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
            return self._set_early(reference)
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
        advice = self._advice(name, names.values()) or f"there is no {noun}{where}"
        return Problem(f"there is no {noun} {name!r}{where}", advice, not self.is_part)

    def _advice(self, name: str, names: Iterable[str]) -> str:
        """The nearest name, or what there is, for as many names as anybody reads about."""
        if name not in self.compared and len(self.compared) < REPORTED_MAX:
            self.compared[name] = suggest(name, names)
        return self.compared.get(name, "")

    def _nearest(self, name: str, names: Iterable[str]) -> str:
        advice = self._advice(name, names)
        return advice if advice.startswith("did you mean") else ""

    def _parameter(self, name: str) -> Problem | None:
        """A parameter that is like no other may be one of a file that is not at hand."""
        if name.lower() in self.parameters or any(is_one(name) for is_one in self.asked_for):
            return None
        nearest = self._nearest(name, self.parameters.values())
        is_certain = bool(nearest) or (self.has_parameters and not self.parameters)
        message = f"there is no parameter {name!r}"
        if not is_certain or self.is_part:
            message += f"; without `-i {name}=VALUE` what reads it fails"
        declaration = f'declare it: "parameters": {{"{name}": {{"type": "String"}}}}'
        return Problem(message, nearest or declaration, is_certain and not self.is_part)

    def _variable(self, reference: Reference) -> Problem | None:
        """A variable may be given to the run; in Azure's files not one that is only misspelt."""
        name, lenient = reference.name, self.context.lenient
        names = self.context.variables
        if not lenient:
            names = {lowered: names[lowered] for lowered in self.context.types}
        if name.lower() in names:
            return None if lenient else self._uninitialized(reference)
        loops = _bound(reference.use.view, "$loop")
        if lenient and is_of_a_loop(name):
            return self._unknown(
                "variable", name, lowered_names(loops), " of a loop around this place"
            )
        nearest = self._nearest(name, [*names.values(), *loops])
        if nearest and not lenient and not self.is_part:
            return Problem(f"there is no variable {name!r}", nearest)
        otherwise = "it is null" if lenient else "what reads it fails"
        message = f"variable {name!r} is never set; without `-i {name}=VALUE` {otherwise}"
        declaration = (
            'declare it: {"type": "InitializeVariable", "inputs": {"variables": '
            f'[{{"name": "{name}", "type": "string", "value": ""}}]}}}}'
        )
        return Problem(message, nearest or declaration, is_certain=False)

    def _set_early(self, reference: Reference) -> Problem | None:
        """A variable is set after it was declared; what declares it sets it, too."""
        setter = reference.use.path.rpartition("/")[2]
        is_declaring = self.context.lenient or setter in self.context.declaring
        return None if is_declaring else self._uninitialized(reference, "sets")

    def _uninitialized(self, reference: Reference, verb: str = "reads") -> Problem | None:
        """A variable has a value once the action that declares it has run."""
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
    """Why a result is not there, in the block where the ways of reader and read action part."""
    meeting = next(node for node in chain if view.scope.givers.get(node.name, (-1,))[0] == index)
    if view.index is None or view.find(meeting.name)[0]:
        return None
    if lenient and any(isinstance(node, ir.Loop) for node in _holders(view)):
        # The iteration before may have left it.
        return None
    name, reader = chain[-1].name, reference.use.path.rpartition("/")[2]
    label, advice, is_certain = "no result yet", "read another action", True
    if index == view.index and meeting is chain[-1]:
        message = f"{name!r} has not ended where its result is read"
    elif index == view.index and view is not reference.use.view:
        # What stands in another branch is null where that was not taken.
        return None
    elif index == view.index or view.scope.before[index] >> view.index & 1:
        message = f"{name!r} runs only after {reader!r} has read it"
    else:
        message = f"{name!r} may not have run yet when {reader!r} reads it"
        advice, is_certain = f'add "runAfter": {{"{meeting.name}": ["Succeeded"]}}', not lenient
    return Problem(message, advice, is_certain, label)


def _chains(block: ir.Block, holders: tuple[ir.Node, ...] = ()) -> Iterator[tuple[ir.Node, ...]]:
    """Each node behind those that hold it."""
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
    """The names in a table that the nearest loop binds."""
    for node in _holders(view):
        for name, value in node.bind if isinstance(node, ir.Loop) else ():
            if name == table and isinstance(value, ir.Fields):
                return [key for key, _ in value.entries if isinstance(key, str)]
    return []


def _action_names(value: Value | None, is_block: bool = False) -> Iterator[str]:
    """The names of actions as they are written, whether they are read or not."""
    if isinstance(value, Sequence):
        for item in value:
            yield from _action_names(item)
    if isinstance(value, Mapping):
        for entry in value:
            if is_block:
                yield entry.name
            yield from _action_names(entry.value, entry.name.lower() == "actions")
