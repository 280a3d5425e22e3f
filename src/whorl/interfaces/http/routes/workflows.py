"""The project and its workflows: nothing here runs, starts or fetches anything.

The events of a run fall onto its graph: a node's path is its address in a run without the numbers
of iterations and attempts, and workflows that are called lie inside of the node that calls them.
"""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import Field

from whorl import __version__
from whorl.errors import Diagnostic, InvalidWorkflow, UsageError, safe
from whorl.interfaces.diagrams.svg import reduced
from whorl.interfaces.diagrams.text import detail_words
from whorl.interfaces.figures import line
from whorl.interfaces.http.faults import finding
from whorl.interfaces.http.schemas import shared as schemas
from whorl.interfaces.http.state import Asking, KnownRun, State, no_query
from whorl.interfaces.wording import condition_words, effects_words, forecast_words, target_of
from whorl.interpreter.events import join
from whorl.ir import (
    Block,
    Call,
    Compute,
    Constant,
    Expression,
    Fields,
    ForEach,
    Gate,
    Items,
    Loop,
    Node,
    Task,
    Value,
    Workflow,
)
from whorl.ir.walk import blocks_of
from whorl.services.files.editing import read_file
from whorl.services.files.preflight import SCRIPTED, TOY, forecast, refusal
from whorl.services.inspecting.results import workflow_of
from whorl.services.project import Listed

NODES_MAX = 5_000
CALLS_MAX = 16
_SETTING_MAX = 20_000
_USUAL = (("passed",), ("succeeded",))
_LIMITS = ("iterations", "time_s", "iteration_time_s", "cost_usd", "tokens", "calls")

router = APIRouter(prefix="/api", tags=["workflows"])


class FileQuery(schemas.Closed):
    """Which file of the project."""

    file: schemas.FileName = Field(description="its path in the project")
    named: schemas.WorkflowName = ""


@router.get("/project", dependencies=[Depends(no_query)])
def show_project(state: State, asking: Asking) -> schemas.ProjectItem:
    """The project that is served, who answers its model steps, and what this token may do."""
    settings = state.providers.settings
    default = settings.providers.get(settings.default_provider)
    note = TOY
    if default is not None:
        kinds = {provider.kind for provider in settings.providers.values()}
        note = SCRIPTED if kinds == {"scripted"} else ""
    return schemas.ProjectItem(
        name=state.project.root.name or "/",
        root=str(state.project.root),
        version=__version__,
        provider=schemas.ProviderItem(name=settings.default_provider or "local", note=note),
        workflows=len(state.catalogue.listed()),
        edit=state.edits and asking.may("admin"),
        who=asking.name,
        role=asking.role,
    )


@router.post("/session", status_code=204, dependencies=[Depends(no_query)])
def open_session(_: schemas.NewSession) -> None:
    """Opens a session of the page: the answer sets a cookie that no script can read.

    The cookie counts like the token, for requests with the header `X-Whorl-Page`, which only the
    page of this very server can send from a browser. It ends with the browser, or with the token.
    """


@router.get("/workflows", dependencies=[Depends(no_query)])
def list_workflows(state: State, asking: Asking) -> schemas.WorkflowList:
    """The workflow files of the project, of any dialect."""
    may_run = asking.may("run")
    items = [
        _item(listed, _trigger(state, listed.workflow, may_run=may_run))
        for listed in state.catalogue.listed()
    ]
    return schemas.WorkflowList(workflows=items)


def _trigger(
    state: State, workflow: Workflow | None, *, may_run: bool
) -> schemas.TriggerItem | None:
    if workflow is None or (trigger := workflow.trigger) is None:
        return None
    # The address itself starts runs, whoever has it.
    url = state.trigger_url(workflow.name, trigger.name) if may_run else ""
    return schemas.TriggerItem(name=safe(trigger.name), kind=trigger.kind, url=url)


@router.get("/workflows/graph")
def show_file_graph(state: State, query: Annotated[FileQuery, Query()]) -> schemas.Graph:
    """A workflow file as nodes and edges."""
    return graph_of(state.project.read(str(state.file(query.file)), query.named).workflow)


@router.get("/workflows/source")
def show_file_source(state: State, query: Annotated[FileQuery, Query()]) -> schemas.SourceItem:
    """A workflow file with the files that it is made of; one with mistakes alone."""
    path = str(state.file(query.file))
    try:
        reading = state.project.read(path, query.named)
    except InvalidWorkflow as fault:
        try:
            text, _ = read_file(state.project, query.file)
        except UsageError:
            raise fault from None
        return _source(state, "", path, {path: text})
    return _source(state, reading.workflow.dialect, path, dict(reading.sources))


@router.get("/runs/{run}/graph", dependencies=[Depends(no_query)])
def show_run_graph(state: State, run: KnownRun) -> schemas.Graph:
    """The version of the workflow that the run pins, as nodes and edges."""
    return graph_of(workflow_of(state.store, run))


@router.get("/runs/{run}/source", dependencies=[Depends(no_query)])
def show_run_source(state: State, run: KnownRun) -> schemas.SourceItem:
    """The texts of the version that the run pins."""
    row = state.store.run(run)
    return _source(state, row.dialect, row.file, state.store.sources(run))


@router.post("/validate", dependencies=[Depends(no_query)])
def validate(state: State, request: schemas.Validation) -> schemas.Validated:
    """Checks a file of the project, or a text. Nothing is run and nothing is fetched."""
    root = str(state.project.root)
    try:
        if request.workflow is not None:
            reading = state.project.read(str(state.file(request.workflow)), request.named)
        else:
            name = str(state.file(request.name or "workflow.yaml"))
            reading = state.project.read_text(request.text or "", name, request.named)
    except InvalidWorkflow as fault:
        missing = (mistake.code == "W016" and mistake.span is None for mistake in fault.diagnostics)
        if request.workflow is not None and all(missing):
            raise
        findings: Any = [finding(diagnostic, root) for diagnostic in fault.diagnostics]
        nothing = {"name": None, "dialect": None, "worst_case": None}
        return schemas.Validated(ok=False, diagnostics=findings, **nothing)
    workflow, warnings = reading.workflow, list(reading.warnings)
    refused = refusal(workflow, state.providers.settings)
    if refused is not None:
        code, message = str(refused["code"]), str(refused["message"])
        warnings.append(Diagnostic(code, message, severity="warning"))
    if (untrusted := state.providers.settings.untrusted) is not None:
        help_, words = untrusted.help, str(untrusted)
        warnings.append(Diagnostic(untrusted.code, words, help=help_, severity="warning"))
    findings = [finding(diagnostic, root) for diagnostic in warnings]
    worst = forecast(workflow, state.providers)
    costs = {"calls": worst.calls, "cost_usd": worst.cost_usd, "bound_usd": worst.bound_usd}
    words = "; ".join(filter(None, (forecast_words(worst), effects_words(worst.effects))))
    case: Any = {**costs, "words": words}
    name, dialect = safe(workflow.name), workflow.dialect
    return schemas.Validated(
        ok=True, diagnostics=findings, name=name, dialect=dialect, worst_case=case
    )


def _item(listed: Listed, trigger: schemas.TriggerItem | None) -> schemas.WorkflowItem:
    unread = Workflow(name=listed.file, body=Block(nodes=()), description=listed.trouble)
    workflow = listed.workflow or unread
    return schemas.WorkflowItem(
        file=listed.file,
        name=safe(workflow.name),
        dialect=workflow.dialect if listed.workflow else "",
        description=safe(workflow.description),
        inputs=[
            schemas.InputItem(
                name=port.name,
                type="secret" if port.secret and port.type == "string" else port.type,
                required=port.required and port.default is None,
                default=None if port.secret else port.default,
                description=safe(port.description),
            )
            for port in workflow.inputs
        ],
        main_input=workflow.main_input or None,
        open_inputs=workflow.open_inputs,
        errors=listed.errors,
        named=safe(listed.named),
        trigger=trigger,
    )


def _source(state: State, dialect: str, main: str, texts: dict[str, str]) -> schemas.SourceItem:
    shown = {state.shown_file(name): text for name, text in texts.items()}
    main = state.shown_file(main)
    if main not in shown and shown:
        # A file may be known by another name than the one that it was started with.
        same = [name for name in shown if name.rpartition("/")[2] == main.rpartition("/")[2]]
        main = (same or list(shown))[0]
    return schemas.SourceItem(dialect=dialect, main=main, files=shown)


def graph_of(workflow: Workflow) -> schemas.Graph:
    drawing = _Drawing(workflow)
    drawing.block(workflow.body, workflow, "", "")
    name, dialect = safe(workflow.name), workflow.dialect
    return schemas.Graph(name=name, dialect=dialect, nodes=drawing.nodes, edges=drawing.edges)


class _Drawing:
    """Nodes and edges as they are found, outermost first."""

    def __init__(self, workflow: Workflow) -> None:
        self.nodes: list[schemas.GraphNode] = []
        self.edges: list[schemas.GraphEdge] = []
        self._workflows = dict(workflow.workflows)
        self._paths: set[str] = set()
        self._calls = 0

    def block(
        self, block: Block, workflow: Workflow, address: str, parent: str, case: str | None = None
    ) -> None:
        paths: list[str] = []
        for node in block.nodes:
            if isinstance(node, Call) and node.unnamed:
                paths.append("")
                self._called(node, address, parent)
                continue
            # Two cases of a branch may have steps of one name, which events cannot tell apart.
            path = location = join(address, node.name)
            number = 2
            while path in self._paths:
                path, number = f"{location}~{number}", number + 1
            self._paths.add(path)
            paths.append(path)
            if len(self.nodes) >= NODES_MAX:
                continue
            self.nodes.append(_node(node, workflow, path, parent, case))
            if isinstance(node, Call):
                self._called(node, location, path)
            for slot, inner in blocks_of(node):
                named = None if slot == "body" else slot.removeprefix("case.")
                self.block(inner, workflow, location, path, named)
            if isinstance(node, Loop) and node.body.nodes:
                self._feedback(node, location)
        self._order(block, paths)

    def _called(self, node: Call, address: str, parent: str) -> None:
        called = self._workflows.get(node.workflow)
        if called is None or self._calls >= CALLS_MAX:
            return
        self._calls += 1
        self.block(called.body, called, address, parent)
        self._calls -= 1

    def _order(self, block: Block, paths: list[str]) -> None:
        places = {node.name: at for at, node in enumerate(block.nodes)}
        labels: dict[tuple[int, int], str] = {}
        for at, node in enumerate(block.nodes):
            for after in node.after:
                if after.node in places:
                    usual = after.statuses in _USUAL
                    label = "" if usual else line(", ".join(after.statuses), 60)
                    labels[places[after.node], at] = label
        plain = {link for link, label in labels.items() if not label}
        kept = set(reduced(len(block.nodes), sorted(plain))) | (set(labels) - plain)
        for source, target in sorted(kept):
            if paths[source] and paths[target]:
                self._edge(paths[source], paths[target], labels[source, target], "order")

    def _feedback(self, node: Loop, address: str) -> None:
        nodes = node.body.nodes
        followed = {after.node for inner in nodes for after in inner.after}
        first = next((inner for inner in nodes if not inner.after), nodes[0])
        last = [inner for inner in nodes if inner.name not in followed] or [nodes[-1]]
        names = ", ".join(carry.name for carry in node.carry)
        ends = [join(address, inner.name) for inner in (last[-1], first)]
        if all(end in self._paths for end in ends):
            self._edge(ends[0], ends[1], line(names, 60), "feedback")

    def _edge(self, source: str, target: str, label: str, kind: str) -> None:
        edge = {"from": source, "to": target, "label": label, "kind": kind}
        self.edges.append(schemas.GraphEdge.model_validate(edge))


def _node(
    node: Node, workflow: Workflow, path: str, parent: str, case: str | None
) -> schemas.GraphNode:
    return schemas.GraphNode(
        path=path,
        name=safe(node.name),
        kind=type(node).__name__.lower(),
        title=line(node.name, 80),
        detail=safe(detail_words(node)),
        task=node.kind if isinstance(node, Task) else None,
        model=_model(node, workflow) if isinstance(node, Task) else None,
        parent=parent,
        case=case,
        when=line(node.when.source, 200) if node.when is not None else None,
        loop=_loop(node) if isinstance(node, Loop) else None,
        ports=_ports(node) if isinstance(node, Loop | ForEach) else None,
        settings=_settings(node),
    )


def _ports(loop: Loop | ForEach) -> schemas.GraphPorts | None:
    words: Any = loop.words or {}
    ports = words.get("ports")
    if not ports or not any(ports.values()):
        return None
    sides = {side: [line(name, 80) for name in names] for side, names in ports.items()}
    return schemas.GraphPorts.model_validate(sides)


def _settings(node: Node) -> dict[str, str]:
    """What a step is given, as the file writes it."""
    given: list[tuple[str, Value]] = []
    match node:
        case Task() | Call():
            given = [(str(name), value) for name, value in node.inputs.entries]
        case Gate():
            given = [("message", node.message), ("show", node.show)]
        case Compute():
            given = [("value", node.value)]
        case ForEach():
            given = [("items", node.items)]
    return {name: safe(words)[:_SETTING_MAX] for name, value in given if (words := _written(value))}


def _written(value: Value) -> str:
    match value:
        case Constant():
            plain = value.value
            return plain if isinstance(plain, str) else "" if plain is None else json.dumps(plain)
        case Expression():
            return value.source
        case Items():
            return f"[{', '.join(_written(item) for item in value.items)}]"
        case Fields():
            parts = (f"{name}: {_written(part)}" for name, part in value.entries)
            return f"{{{', '.join(parts)}}}"


def _model(task: Task, workflow: Workflow) -> str | None:
    usual = (fields.entries for kind, fields in workflow.defaults if kind == task.kind)
    model = dict(task.inputs.entries).get("model") or dict(next(usual, ())).get("model")
    words = ""
    if isinstance(model, Constant) and model.value is not None:
        plain = model.value
        words = ", ".join(map(str, plain)) if isinstance(plain, list) else str(plain)
    elif isinstance(model, Expression):
        words = model.source
    return line(words, 80) or None


def _loop(loop: Loop) -> schemas.GraphLoop:
    limits = {name: getattr(loop.limits, name) for name in _LIMITS}
    return schemas.GraphLoop(
        until=condition_words(loop.until),
        target=target_of(loop.until),
        limits={
            name: line(limit.source, 80) if isinstance(limit, Expression) else limit
            for name, limit in limits.items()
            if limit is not None
        },
        carry=[carry.name for carry in loop.carry],
        **{name: getattr(loop, name) for name in ("on_limit", "check", "returns", "ask")},
    )
