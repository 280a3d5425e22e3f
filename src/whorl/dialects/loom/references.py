"""References: each name in an expression is one of the workflow, and known where it is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.loom.action import find
from whorl.dialects.loom.loops import is_of_a_loop
from whorl.dialects.loom.parameters import known_parameters
from whorl.dialects.loom.templates import is_deployed
from whorl.dialects.reading.context import REPORTED_MAX
from whorl.ir.checks.scopes import uses_in
from whorl.ir.checks.suggest import suggest
from whorl.ir.expressions import expressions_in
from whorl.ir.walk import blocks_of, walk
from whorl.language import LanguageError, free_names
from whorl.source import Mapping, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.dialects.loom.draft import Draft
    from whorl.dialects.loom.forms import Form
    from whorl.ir.checks.scopes import Use, View
    from whorl.source import Value

_WORD = re.compile(r"[$\w]+")
_VARIABLES = ("variables", "$declared")
_ACTIONS = frozenset(
    {
        "body",
        "outputs",
        "actions",
        "actionbody",
        "actionoutputs",
        "formdatavalue",
        "formdatamultivalues",
        "multipartbody",
    }
)


@dataclass(frozen=True, slots=True)
class Reference:
    """A name that an expression hands to a function, such as `body('Fetch')`."""

    function: str
    name: str
    offset: int
    use: Use


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong about a reference; one that is not certain is a warning."""

    message: str
    help: str
    is_certain: bool = True
    label: str = "unknown name"


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
        for found in names:
            word = _WORD.match(source, found.offset)
            name = found.path[0] if found.path else ""
            if word is not None and isinstance(name, str):
                yield Reference(word[0].lower(), name, found.offset, use)


def undeclared_variables(draft: Draft, workflow: ir.Workflow) -> list[str]:
    """The variables that no action initialises: they may be given to the run."""
    found = {
        one.name.lower(): draft.variable(one.name)
        for one in references_in(workflow)
        if one.function in _VARIABLES and one.name and not is_of_a_loop(one.name)
    }
    found |= draft.variables
    return [name for lowered, name in found.items() if lowered not in draft.types]


def undeclared_parameters(draft: Draft, form: Form, workflow: ir.Workflow) -> list[str]:
    """The parameters that are only mentioned."""
    known = _lowered(known_parameters(draft, form))
    found = (one.name for one in references_in(workflow) if one.function == "parameters")
    return [name for lowered, name in _lowered(found).items() if name and lowered not in known]


def check_references(draft: Draft, form: Form, workflow: ir.Workflow) -> None:
    """Reports the references to nothing, and those to what cannot have run before."""
    known = _Known(draft, form, workflow)
    warned: set[Finding] = set()
    for one in references_in(workflow):
        found = None if draft.is_full else known.finding(one)
        if found is None or found in warned:
            continue
        if not found.is_certain:
            warned.add(found)
        place = max(one.use.expression.source.find(one.name, one.offset), one.offset)
        span = draft.places.span(one.use.expression, place, len(one.name or one.function))
        tell = draft.report if found.is_certain else draft.warn
        tell(
            "W005",
            found.message,
            span or draft.places.node(one.use.path),
            label=found.label,
            help=found.help,
        )


class _Known:
    """All names of a workflow, each in lower case with its spelling."""

    def __init__(self, draft: Draft, form: Form, workflow: ir.Workflow) -> None:
        written = list(_action_names(form.definition))
        self.draft = draft
        # What a deployment names is known after it only.
        self.is_part = form.is_part or any(map(is_deployed, written))
        self.has_parameters = find(form.definition, "parameters") is not None
        self.parameters = _lowered(known_parameters(draft, form))
        self.chains: dict[str, list[tuple[ir.Node, ...]]] = {}
        for chain in _chains(workflow.body):
            self.chains.setdefault(chain[-1].name.lower(), []).append(chain)
        # Actions that are not read, such as those of an agent's tools, are known by name only.
        self.actions = _lowered([*written, *draft.triggers])
        self.actions |= {lowered: found[0][-1].name for lowered, found in self.chains.items()}
        self.scopes = _lowered(draft.scopes)
        self.compared: dict[str, str] = {}
        self.itemised = {
            id(found)
            for _, node in walk(workflow.body)
            if isinstance(node, ir.Compute) and node.over is not None
            for value in (node.value, node.keep)
            for found in expressions_in(value)
        }

    def finding(self, one: Reference) -> Finding | None:
        """What is wrong about a reference."""
        if one.function == "item":
            return self._item(one)
        if not one.name:
            return None
        if one.function == "parameters":
            return self._parameter(one.name)
        if one.function in _VARIABLES:
            return self._variable(one)
        if one.function == "items":
            each = (n.name for n in _holders(one.use.view) if isinstance(n, ir.ForEach))
            return self._unknown("for-each", one.name, _lowered(each), " around this place")
        if one.function == "iterationindexes":
            loops = _lowered(_bound(one.use.view, "$iterations"))
            return self._unknown("loop", one.name, loops, " around this place")
        if one.function == "result":
            unknown = self._unknown("scope or loop", one.name, self.scopes)
            return unknown or self._order(one)
        if one.function in _ACTIONS:
            return self._unknown("action", one.name, self.actions) or self._order(one)
        return None

    def _unknown(
        self, noun: str, name: str, known: dict[str, str], where: str = ""
    ) -> Finding | None:
        if name.lower() in known:
            return None
        advice = self._advice(name, known.values()) or f"there is no {noun}{where} at all"
        return Finding(f"there is no {noun} {name!r}{where}", advice, not self.is_part)

    def _advice(self, name: str, known: Iterable[str]) -> str:
        """The nearest name, or what there is, for as many names as anybody reads about."""
        if name not in self.compared and len(self.compared) < REPORTED_MAX:
            self.compared[name] = suggest(name, known)
        return self.compared.get(name, "")

    def _nearest(self, name: str, known: Iterable[str]) -> str:
        advice = self._advice(name, known)
        return advice if advice.startswith("did you mean") else ""

    def _item(self, one: Reference) -> Finding | None:
        is_in_each = any(isinstance(node, ir.ForEach) for node in _holders(one.use.view))
        if is_in_each or id(one.use.expression) in self.itemised:
            return None
        message = "item() stands in no for-each, and in no Select or Filter"
        return Finding(message, "move it there, or read the array itself", not self.is_part)

    def _parameter(self, name: str) -> Finding | None:
        """A parameter that is like no other may be one of a file that is not at hand."""
        if name.lower() in self.parameters:
            return None
        nearest = self._nearest(name, self.parameters.values())
        is_certain = bool(nearest) or (self.has_parameters and not self.parameters)
        message = f"there is no parameter {name!r}"
        if not is_certain or self.is_part:
            message += f"; without `-i {name}=VALUE` what reads it fails"
        declaration = f'declare it: "parameters": {{"{name}": {{"type": "String"}}}}'
        return Finding(message, nearest or declaration, is_certain and not self.is_part)

    def _variable(self, one: Reference) -> Finding | None:
        """A variable may be given to the run; in Azure's files not one that is only misspelt."""
        name, draft = one.name, self.draft
        known = draft.variables
        if not draft.lenient:
            known = {lowered: known[lowered] for lowered in draft.types}
        if name.lower() in known:
            return None
        loops = _bound(one.use.view, "$loop")
        if draft.lenient and is_of_a_loop(name):
            known = _lowered(loops)
            return self._unknown("variable", name, known, " of a loop around this place")
        nearest = self._nearest(name, [*known.values(), *loops])
        if nearest and not draft.lenient and not self.is_part:
            return Finding(f"there is no variable {name!r}", nearest)
        otherwise = "it is null" if draft.lenient else "what reads it fails"
        message = f"variable {name!r} is set nowhere; without `-i {name}=VALUE` {otherwise}"
        return Finding(message, nearest or _declaration(name), is_certain=False)

    def _order(self, one: Reference) -> Finding | None:
        """An action has a result once it has run: one on the way to where the result is read."""
        chains = self.chains.get(one.name.lower(), [])
        found = [_too_early(one, chain, self.draft.lenient) for chain in chains]
        return found[0] if found and all(found) else None


def _too_early(one: Reference, chain: tuple[ir.Node, ...], lenient: bool) -> Finding | None:
    view: View | None = one.use.view
    while view is not None:
        for node in chain:
            giver = view.scope.givers.get(node.name)
            if giver is not None and giver[1] is node:
                return _unseen(one, view, giver[0], chain, lenient)
        view = view.around
    return None


def _unseen(
    one: Reference, view: View, index: int, chain: tuple[ir.Node, ...], lenient: bool
) -> Finding | None:
    """Why a result is not there, in the block where the ways of reader and read action part."""
    meeting = next(node for node in chain if view.scope.givers.get(node.name, (-1,))[0] == index)
    if view.index is None or view.find(meeting.name)[0]:
        return None
    if lenient and any(isinstance(node, ir.Loop) for node in _holders(view)):
        # The iteration before may have left it.
        return None
    name, here = chain[-1].name, one.use.path.rpartition("/")[2]
    label = "no result yet"
    is_later = view.scope.before[index] >> view.index & 1
    if index == view.index and meeting is not chain[-1]:
        # What stands in another branch is null where that was not taken.
        is_later = view is one.use.view
        if not is_later:
            return None
    elif index == view.index:
        message = f"{name!r} has not ended where its result is read"
        return Finding(message, "read another action", label=label)
    if is_later:
        message = f"{name!r} runs only after {here!r} has read it"
        return Finding(message, "read another action", label=label)
    advice = f'add "runAfter": {{"{meeting.name}": ["Succeeded"]}}'
    return Finding(f"{name!r} need not have run when {here!r} reads it", advice, not lenient, label)


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


def _lowered(names: Iterable[str]) -> dict[str, str]:
    return {name.lower(): name for name in names}


def _declaration(name: str) -> str:
    return (
        'declare it: {"type": "InitializeVariable", "inputs": {"variables": '
        f'[{{"name": "{name}", "type": "string", "value": ""}}]}}}}'
    )
