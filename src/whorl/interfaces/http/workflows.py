"""The project and its workflows: nothing here runs, starts or fetches anything."""

from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from fastapi import APIRouter, Depends, Query
from pydantic import Field, model_validator

from whorl import __version__, ir
from whorl.errors import Diagnostic as Finding
from whorl.errors import InvalidWorkflow, UsageError, safe
from whorl.interfaces.diagrams.svg import reduced
from whorl.interfaces.diagrams.text import after_words, detail_words
from whorl.interfaces.formatting import line
from whorl.interfaces.http.models import (
    Closed,
    Diagnostic,
    FileName,
    JsonValue,
    Shown,
    WorkflowName,
)
from whorl.interfaces.http.problems import finding
from whorl.interfaces.http.state import Asking, KnownRun, ServerState, State, check_query
from whorl.interfaces.operations import allowed, has_role
from whorl.interfaces.status_words import condition_words, effects_words, forecast_words, target_of
from whorl.interpreter.events import join
from whorl.ir.walk import blocks_of
from whorl.plugins import needed
from whorl.runtimes.service.tables import Role
from whorl.services.files.forecasting import Forecast, forecast
from whorl.services.files.preflight import SCRIPTED, TOY, refusal
from whorl.services.inspecting.results import shown_workflow
from whorl.services.project import Listed
from whorl.services.replay import as_rehearsed

if TYPE_CHECKING:
    from whorl.services.files import Editor

NODES_MAX = 5_000
CALLS_MAX = 16
_SETTING_MAX = 20_000
_LIMITS = ("iterations", "time_s", "iteration_time_s", "cost_usd", "tokens", "calls")
# The constructs of the IR, as its graph names them.
_NODES: list[Any] = [kind.__name__.lower() for kind in get_args(ir.Node)]

router = APIRouter(prefix="/api", tags=["workflows"], dependencies=[Depends(check_query)])


class ProviderItem(Closed):
    """Who answers the model steps."""

    name: str
    note: str


class ProjectItem(Closed):
    """The project that is served."""

    name: str
    root: str
    version: str
    provider: ProviderItem
    workflows: int
    edit: bool = Field(default=False, description="whether this server saves files")
    who: str = Field(default="", description="the name of the token that asks")
    role: Role = Field("admin", description="each role includes those before it")
    may: list[str] = Field([], description="the operations that this token may use here")


@router.get("/project")
def show_project(state: State, asking: Asking) -> ProjectItem:
    """The project that is served, who answers its model steps, and what this token may do."""
    settings, may = state.providers.settings, allowed(asking.role, edits=state.edits)
    note = TOY
    if settings.default_provider in settings.providers:
        kinds = {provider.kind for provider in settings.providers.values()}
        note = SCRIPTED if kinds == {"scripted"} else ""
    return ProjectItem(
        name=state.project.root.name or "/",
        root=str(state.project.root),
        version=__version__,
        provider=ProviderItem(name=settings.default_provider or "local", note=note),
        workflows=len(state.catalogue.listed()),
        edit="save" in may,
        who=asking.name,
        role=asking.role,
        may=may,
    )


class NewSession(Closed):
    """A session of the page; it has no fields."""


@router.post("/session", status_code=204)
def open_session(_: NewSession) -> None:
    """Opens a session of the page: the answer sets a cookie that no script can read.

    The cookie counts like the token, for requests with the header `X-Whorl-Page`, which only the
    page of this very server can send from a browser. It ends with the browser, or with the token.
    """


class InputItem(Closed):
    """An input of a workflow."""

    name: str
    type: str
    required: bool
    default: JsonValue
    description: Shown


class TriggerItem(Closed):
    """What starts a workflow, other than a person."""

    name: Shown
    kind: str = Field(description="request, recurrence, poll, callback or other")
    url: str = Field(description="anyone who has this address may start the workflow")


class WorkflowItem(Closed):
    """A workflow file of the project."""

    file: str
    name: Shown
    dialect: str
    description: Shown
    inputs: list[InputItem]
    main_input: str | None
    open_inputs: bool = Field(description="whether it takes inputs that it does not declare")
    errors: int
    named: Shown = Field(default="", description="which workflow, if the file has several")
    trigger: TriggerItem | None = None


class WorkflowList(Closed):
    """The workflow files of the project."""

    workflows: list[WorkflowItem]


@router.get("/workflows")
def list_workflows(state: State, asking: Asking) -> WorkflowList:
    """The workflow files of the project, of any format."""
    # Anyone who has the address of a trigger can start runs.
    may_run = has_role(asking.role, "start")
    items = [_item(state, listed, may_run=may_run) for listed in state.catalogue.listed()]
    return WorkflowList(workflows=items)


def _item(state: ServerState, listed: Listed, *, may_run: bool) -> WorkflowItem:
    unread = ir.Workflow(
        name=listed.file, body=ir.Block(nodes=()), description=listed.trouble, dialect=""
    )
    workflow = listed.workflow or unread
    shown = None
    if (trigger := workflow.trigger) is not None:
        url = state.trigger_url(workflow.name, trigger.name) if may_run else ""
        shown = TriggerItem(name=trigger.name, kind=trigger.kind, url=url)
    inputs = [
        InputItem.from_row(
            port,
            type="secret" if port.secret and port.type == "string" else port.type,
            required=port.required and port.default is None,
            default=None if port.secret else port.default,
        )
        for port in workflow.inputs
    ]
    return WorkflowItem.from_row(
        workflow,
        file=listed.file,
        inputs=inputs,
        main_input=workflow.main_input or None,
        errors=listed.errors,
        named=listed.named,
        trigger=shown,
    )


File = Annotated[FileName, Query(description="its path in the project")]


class SourceItem(Closed):
    """The texts that a workflow is made of."""

    dialect: str
    main: str
    files: dict[str, str]


@router.get("/workflows/source")
def show_file_source(
    state: State, asking: Asking, file: File, named: WorkflowName = ""
) -> SourceItem:
    """A workflow file with the files that it is made of; one with mistakes alone."""
    path = str(state.file(file))
    try:
        reading = state.project.read(path, named)
    except InvalidWorkflow as fault:
        try:
            editor: Editor = needed("editor")
            text, _ = editor.read_file(state.project, file, broken=asking.sees_broken)
        except UsageError:
            raise fault from None
        return _source(state, "", path, {path: text})
    return _source(state, reading.workflow.dialect, path, dict(reading.sources))


@router.get("/runs/{run}/source")
def show_run_source(state: State, run: KnownRun) -> SourceItem:
    """The texts of the version that the run pins."""
    row = state.store.run(run)
    return _source(state, row.dialect, row.file, state.store.sources(run))


def _source(state: ServerState, dialect: str, main: str, texts: dict[str, str]) -> SourceItem:
    shown = {state.shown_file(name): text for name, text in texts.items()}
    main = state.shown_file(main)
    if main not in shown and shown:
        # A file may be known by another name than the one that it was started with.
        same = [name for name in shown if name.rpartition("/")[2] == main.rpartition("/")[2]]
        main = (same or list(shown))[0]
    return SourceItem(dialect=dialect, main=main, files=shown)


class Validation(Closed):
    """A file of the project, or a text with the name that it would have."""

    workflow: FileName | None = None
    named: WorkflowName = ""
    text: str | None = Field(default=None, max_length=2_000_000)
    name: FileName | None = None

    @model_validator(mode="after")
    def _is_one_of_both(self) -> "Validation":
        if (self.workflow is None) == (self.text is None):
            raise ValueError("give either workflow, the path of a file, or text")
        if self.name is not None and self.text is None:
            raise ValueError("name belongs to text")
        return self


class WorstCase(Closed):
    """What a run may do and cost; null if it depends on a value, or no price is known."""

    calls: int | None = Field(description="the most")
    cost_usd: float | None = Field(description="an estimate")
    bound_usd: float | None = Field(description="the most, if there is a limit")
    words: str


class Validated(Closed):
    """Everything that was found; a file without errors has a name and a worst case."""

    ok: bool
    diagnostics: list[Diagnostic]
    name: Shown | None
    dialect: str | None
    worst_case: WorstCase | None


@router.post("/validate")
def validate(state: State, asking: Asking, request: Validation) -> Validated:
    """Checks a file of the project, or a draft. Nothing is run and nothing is fetched."""
    if request.text is not None:
        asking.check("draft", edits=state.edits)
    root = str(state.project.root)
    try:
        if request.workflow is not None:
            reading = state.project.read(str(state.file(request.workflow)), request.named)
        else:
            name = str(state.file(request.name or "workflow.yaml"))
            reading = state.project.read_text(request.text or "", name, request.named)
    except InvalidWorkflow as fault:
        kinds = {(mistake.code, mistake.span) for mistake in fault.diagnostics}
        if request.workflow is not None and kinds <= {("W016", None), ("W027", None)}:
            raise
        findings: Any = [finding(mistake, root) for mistake in fault.diagnostics]
        return Validated(ok=False, diagnostics=findings, name=None, dialect=None, worst_case=None)
    workflow, warnings = reading.workflow, list(reading.warnings)
    settings = state.providers.settings
    if (refused := refusal(workflow, settings)) is not None:
        warnings.append(Finding(str(refused["code"]), str(refused["message"]), severity="warning"))
    if (why := settings.untrusted) is not None:
        warnings.append(Finding(why.code, str(why), help=why.help, severity="warning"))
    findings = [finding(warning, root) for warning in warnings]
    worst = forecast(workflow, state.providers, included=reading.included)
    worst_case = WorstCase.from_row(worst, words=foreseen_words(worst))
    return Validated.from_row(workflow, ok=True, diagnostics=findings, worst_case=worst_case)


def foreseen_words(worst: Forecast) -> str:
    """What a run may do and cost, in words."""
    return "; ".join(filter(None, (forecast_words(worst), effects_words(worst.effects))))


# Workflows as nodes and edges, for a page to draw.
#
# The events of a run fall onto its graph: a node's path is its address in a run without the numbers
# of iterations and attempts, and called workflows are inside the node that calls them.


class GraphLoop(Closed):
    """What a loop is made of, in words and numbers."""

    until: str
    target: float | None
    limits: dict[str, JsonValue]
    on_limit: str
    carry: list[str]
    returns: str
    ask: str


class GraphPorts(Closed):
    """The ports of a step, as its file names them."""

    inputs: list[str]
    outputs: list[str]


class GraphNode(Closed):
    """A step. Its `path` is the address of its events without `[n]` and `#n`."""

    path: str
    name: Shown
    kind: str = Field(json_schema_extra={"enum": _NODES})
    title: str
    detail: Shown
    task: str | None
    model: str | None
    parent: str = Field(description="the path of the step around it; empty at the top")
    case: str | None = Field(description="inside of a branch: its case")
    when: str | None = Field(description="a condition under which it runs")
    loop: GraphLoop | None
    ports: GraphPorts | None = Field(None, description="of a loop that is drawn with ports")
    settings: dict[str, str] = Field(default_factory=dict, description="its prompt, as written")


class GraphEdge(Closed):
    """An arrow between two steps of the same parent."""

    from_: str = Field(alias="from", serialization_alias="from")
    to: str
    label: str
    kind: Literal["order", "feedback"]


class Graph(Closed):
    """A workflow as a picture; workflows that it calls are inside the steps that call them."""

    name: Shown
    dialect: str
    nodes: list[GraphNode] = Field(description="each node after its parent")
    edges: list[GraphEdge]


@router.get("/workflows/graph")
def show_file_graph(state: State, file: File, named: WorkflowName = "") -> Graph:
    """A workflow file as nodes and edges; a program as a dry run requests them."""
    return graph_of(as_rehearsed(state.project.read(str(state.file(file)), named).workflow))


@router.get("/runs/{run}/graph")
def show_run_graph(state: State, run: KnownRun) -> Graph:
    """The version of the workflow that the run pins, as nodes and edges."""
    return graph_of(shown_workflow(state.store, run))


def graph_of(workflow: ir.Workflow) -> Graph:
    drawing = _Drawing(workflow)
    drawing.block(workflow.body, workflow, "", "")
    return Graph.from_row(workflow, nodes=drawing.nodes, edges=drawing.edges)


class _Drawing:
    """Nodes and edges as they are found, outermost first."""

    def __init__(self, workflow: ir.Workflow) -> None:
        self.nodes: list[GraphNode] = []
        self.edges: list[GraphEdge] = []
        self._workflows = dict(workflow.workflows)
        self._paths: set[str] = set()
        self._calls = 0

    def block(
        self,
        block: ir.Block,
        workflow: ir.Workflow,
        address: str,
        parent: str,
        case: str | None = None,
    ) -> None:
        paths: list[str] = []
        for node in block.nodes:
            if isinstance(node, ir.Call) and node.unnamed:
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
            if isinstance(node, ir.Call):
                self._called(node, location, path)
            for slot, inner in blocks_of(node):
                named = None if slot == "body" else slot.removeprefix("case.")
                self.block(inner, workflow, location, path, named)
            if isinstance(node, ir.Loop) and node.body.nodes:
                self._feedback(node, location)
        self._order(block, paths)

    def _called(self, node: ir.Call, address: str, parent: str) -> None:
        called = self._workflows.get(node.workflow)
        if called is None or self._calls >= CALLS_MAX:
            return
        self._calls += 1
        self.block(called.body, called, address, parent)
        self._calls -= 1

    def _order(self, block: ir.Block, paths: list[str]) -> None:
        places = {node.name: at for at, node in enumerate(block.nodes)}
        labels: dict[tuple[int, int], str] = {}
        for at, node in enumerate(block.nodes):
            for after in node.after:
                if after.node in places:
                    labels[places[after.node], at] = line(after_words(after.statuses), 60)
        plain = {link for link, label in labels.items() if not label}
        kept = set(reduced(len(block.nodes), sorted(plain))) | (set(labels) - plain)
        for source, target in sorted(kept):
            if paths[source] and paths[target]:
                self._edge(paths[source], paths[target], labels[source, target], "order")

    def _feedback(self, node: ir.Loop, address: str) -> None:
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
        self.edges.append(GraphEdge.model_validate(edge))


def _node(
    node: ir.Node, workflow: ir.Workflow, path: str, parent: str, case: str | None
) -> GraphNode:
    inputs = dict(node.inputs.entries) if isinstance(node, ir.Task) else {}
    prompt = safe(_written(inputs.get("prompt")))[:_SETTING_MAX]
    return GraphNode(
        path=path,
        name=node.name,
        kind=type(node).__name__.lower(),
        title=line(node.name, 80),
        detail=detail_words(node),
        task=node.kind if isinstance(node, ir.Task) else None,
        model=_model(node, workflow) if isinstance(node, ir.Task) else None,
        parent=parent,
        case=case,
        when=line(node.when.source, 200) if node.when is not None else None,
        loop=_loop(node) if isinstance(node, ir.Loop) else None,
        ports=_ports(node) if isinstance(node, ir.Loop | ir.ForEach) else None,
        settings={"prompt": prompt} if prompt else {},
    )


def _ports(loop: ir.Loop | ir.ForEach) -> GraphPorts | None:
    words: Any = loop.words or {}
    ports = words.get("ports")
    if not ports or not any(ports.values()):
        return None
    sides = {side: [line(name, 80) for name in names] for side, names in ports.items()}
    return GraphPorts.model_validate(sides)


def _model(task: ir.Task, workflow: ir.Workflow) -> str | None:
    usual = (fields.entries for kind, fields in workflow.defaults if kind == task.kind)
    model = dict(task.inputs.entries).get("model") or dict(next(usual, ())).get("model")
    return line(_written(model), 80) or None


def _written(value: ir.Value | None) -> str:
    """A text, a list of texts or an expression, as the file writes it."""
    match value:
        case ir.Constant(list() as texts):
            return ", ".join(map(str, texts))
        case ir.Constant(str() as text) | ir.Expression(source=text):
            return text
    return ""


def _loop(loop: ir.Loop) -> GraphLoop:
    limits = {name: getattr(loop.limits, name) for name in _LIMITS}
    return GraphLoop.from_row(
        loop,
        until=condition_words(loop.until),
        target=target_of(loop.until),
        limits={
            name: line(limit.source, 80) if isinstance(limit, ir.Expression) else limit
            for name, limit in limits.items()
            if limit is not None
        },
        carry=[carry.name for carry in loop.carry],
    )
