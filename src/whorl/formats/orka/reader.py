"""Reads a file of agents into the IR, and checks the agents that its templates read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reading.fields import text_of, words
from whorl.errors import Span, did_you_mean
from whorl.formats.orka import agents
from whorl.formats.orka.agents import FileContext, texts_within
from whorl.formats.orka.flow import read_block
from whorl.formats.orka.loops import flow_constant
from whorl.formats.orka.outputs import FLOW, OUTPUTS, PAST
from whorl.formats.orka.tasks import computed, literal
from whorl.ir.checks import check
from whorl.ir.checks.scopes import Use, uses_in
from whorl.ir.walk import walk
from whorl.language import LanguageError, NameUse
from whorl.source import Document, Mapping, Scalar

if TYPE_CHECKING:
    from whorl.dialects.reader import Files, Reading

MAIN_OUTPUT = "response"
# The functions by which templates read the history of the run.
_ASKS_BACK = "get_execution_artifacts"
_METHODS = ("get", "items", "keys", "values")
# The members of a loop's result.
_FIGURES = words("response result output loops_completed final_score threshold_met past_loops")
# Members that results have in the public system: here they are empty, but spelt correctly.
_ELSEWHERE = words(
    "input status confidence internal_reasoning formatted_prompt _metrics insights improvements "
    "mistakes"
)


class OrkaReader:
    """Reads files with an `orchestrator` and `agents`, and bare lists of agents."""

    name = "orka"
    joined: frozenset[str] | None = None
    editing = "whorl.formats.orka.sketch:OrkaChanges"

    def claims(self, document: Document) -> bool:
        """Returns whether the file has an orchestrator, or agents with an id and a known type."""
        root = document.root
        if isinstance(root, Mapping) and "orchestrator" in root:
            return True
        written = root.get("agents") if isinstance(root, Mapping) else root
        items = (item for item in agents.items_of(written) if isinstance(item, Mapping))
        # An item with its fields in `data` is a node of a graph.
        named = (i for i in items if isinstance(i.get("id"), Scalar) and "data" not in i)
        types = [text_of(item.get("type")) for item in named]
        return any(kind in agents.FIELDS or kind in agents.UNSUPPORTED for kind in types)

    def read(self, document: Document, files: Files) -> Reading:
        context = FileContext(document, files)
        section = agents.read_section(context, document.root)
        if section is None or not section.order:
            if not context.diagnostics:
                advice = "name them: orchestrator: {agents: [...]}"
                context.report("W006", "the file names no agents", document.root.span, help=advice)
            return context.finish(None)
        root = document.root
        title = text_of(root.get("name")) if isinstance(root, Mapping) else ""
        context.name = section.name or title or context.stem
        context.recorded = any(_ASKS_BACK in text for text in texts_within(root))
        section.enter({})
        names = section.flow["here"]
        speaking = [name for name in names if not section.is_of(name, agents.SILENT)]
        main = MAIN_OUTPUT if MAIN_OUTPUT not in names else "answer"
        # Agents that a path may run also have results.
        given = dict.fromkeys((*names, *section.flow["chosen"]))
        results = ((name, computed("orka_value", literal(name))) for name in given)
        workflow = ir.Workflow(
            name=context.name,
            dialect=self.name,
            body=read_block(section),
            inputs=(ir.Port("input", "any", required=False, default=""),),
            main_input="input",
            outputs=((main, computed("orka_answer", literal(speaking or names))), *results),
            variables=((FLOW, flow_constant(section)),),
            open_inputs=True,
            recorder=self.name if context.chosen or context.recorded else "",
        )
        context.adopt(check(workflow, context.places, context.names))
        _check_references(context, workflow)
        return context.finish(workflow)


def _check_references(context: FileContext, workflow: ir.Workflow) -> None:
    """Reports results that cannot exist; if a template handles that case, it warns."""
    run: set[str] = set()
    # The names that templates have besides agents and inputs, wherever they have them.
    bound = {OUTPUTS, "at"}
    for _, node in walk(workflow.body):
        run.add(node.name)
        if isinstance(node, ir.Loop) and node.memory is not None:
            bound.update(name for name, _ in (*node.memory.bind, *node.facts))
    for use in uses_in(workflow):
        try:
            names = context.names.uses(use.expression)
        except LanguageError:
            continue
        for name in names:
            # The agent whose result is read, or "" if that is unknown.
            first = name.path[0] if name.name == OUTPUTS and name.path else None
            agent = first if isinstance(first, str) and first not in (*_METHODS, PAST) else ""
            if _is_function(use, name) and agent not in run:
                # The functions take 'agent.member', too.
                agent = agent.partition(".")[0]
            if agent in context.chosen:
                # Whether it runs before this is known only when a path is chosen.
                continue
            if agent and not (agent in run and use.view.find(agent)[0]):
                _report_agent(context, use, name, agent, run)
            elif name.name not in bound and not use.view.find(name.name)[0]:
                # Others may be inputs that a run is given.
                advice = did_you_mean(name.name, sorted({*bound, *use.view.names()}))
                if advice and not name.guarded and not name.name.startswith("$"):
                    span = _span(context, use, name.offset, name.name)
                    message = f"unknown name {name.name[:60]!r}: it is empty unless a run is given "
                    message += "it as an input"
                    context.warn("W005", message, span, label="unknown name", help=advice)
            else:
                _check_member(context, use, name, agent)


def _span(context: FileContext, use: Use, offset: int, text: str) -> Span | None:
    return context.places.span(use.expression, offset, len(text)) or context.places.node(use.path)


def _is_function(use: Use, name: NameUse) -> bool:
    """Returns whether a function that receives the agent's name reads the result."""
    return name.name == OUTPUTS and not use.expression.source.startswith(OUTPUTS, name.offset)


def _is_provided(use: Use, name: NameUse) -> bool:
    """Returns whether a template handles a missing result."""
    return name.guarded or use.expression.source.startswith("safe_get_response", name.offset)


def _report_agent(context: FileContext, use: Use, name: NameUse, agent: str, run: set[str]) -> None:
    shown, severe = agent[:60], not _is_provided(use, name)
    if agent in run:
        message = f"agent {shown!r} has not run before this, so its result is empty here"
        advice = f"let {shown!r} run first, or remove it from the template"
    elif agent in context.agents:
        message = f"agent {shown!r} is never run, so its result is empty"
        advice = f"add {shown!r} to the agents of its orchestrator"
        severe = False
    else:
        message = f"there is no agent {shown!r}, so this is empty"
        before = sorted(run.intersection(use.view.names()))
        advice = did_you_mean(agent, before) or f"agents before: {', '.join(before[:20]) or 'none'}"
    offset = max(use.expression.source.find(agent, name.offset), name.offset)
    report = context.report if severe else context.warn
    report("W005", message, _span(context, use, offset, agent), label="empty", help=advice)


def _check_member(context: FileContext, use: Use, name: NameUse, agent: str) -> None:
    """Reports a member that the result of a loop does not have."""
    path, holder = name.path[1:] if agent else name.path, agent or name.name
    key = path[0] if path and isinstance(path[0], str) else ""
    is_loop = isinstance(use.view.origin(holder), ir.Loop)
    if not is_loop or _is_function(use, name) or key in ("", *_FIGURES, *_METHODS):
        return
    after = use.expression.source.find(holder, name.offset) + len(holder)
    span = _span(context, use, max(use.expression.source.find(key, after), name.offset), key)
    message = f"{holder[:60]!r} has no {key[:60]!r}, so this is empty"
    advice = did_you_mean(key, _FIGURES) or f"members: {', '.join(_FIGURES)}"
    report = context.warn if key in _ELSEWHERE or _is_provided(use, name) else context.report
    report("W005", message, span, label="empty", help=advice)
