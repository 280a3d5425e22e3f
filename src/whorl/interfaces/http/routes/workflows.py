"""The project and its workflows: nothing here runs, starts or fetches anything."""

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import Field

from whorl import __version__
from whorl.errors import Diagnostic, InvalidWorkflow, UsageError, safe
from whorl.interfaces.http.problems import finding
from whorl.interfaces.http.schemas import workflows as schemas
from whorl.interfaces.http.schemas.shared import Closed, FileName, WorkflowName
from whorl.interfaces.http.state import Asking, KnownRun, State, no_query
from whorl.interfaces.http.views.graph import graph_of
from whorl.interfaces.operations import allowed, has_role
from whorl.interfaces.status_words import effects_words, forecast_words
from whorl.ir import Block, Workflow
from whorl.plugins import needed
from whorl.services.discovery import Listed
from whorl.services.files.forecasting import forecast
from whorl.services.files.preflight import SCRIPTED, TOY, refusal
from whorl.services.inspecting.results import workflow_of

if TYPE_CHECKING:
    from whorl.services.files import Editor

router = APIRouter(prefix="/api", tags=["workflows"])


class FileQuery(Closed):
    """Which file of the project."""

    file: FileName = Field(description="its path in the project")
    named: WorkflowName = ""


@router.get("/project", dependencies=[Depends(no_query)])
def show_project(state: State, asking: Asking) -> schemas.ProjectItem:
    """The project that is served, who answers its model steps, and what this token may do."""
    settings, may = state.providers.settings, allowed(asking.role, edits=state.edits)
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
        edit="save" in may,
        who=asking.name,
        role=asking.role,
        may=may,
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
    may_run = has_role(asking.role, "start")
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
def show_file_source(
    state: State, asking: Asking, query: Annotated[FileQuery, Query()]
) -> schemas.SourceItem:
    """A workflow file with the files that it is made of; one with mistakes alone."""
    path = str(state.file(query.file))
    try:
        reading = state.project.read(path, query.named)
    except InvalidWorkflow as fault:
        try:
            editor: Editor = needed("editor")
            text, _ = editor.read_file(state.project, query.file, broken=asking.sees_broken)
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
def validate(state: State, asking: Asking, request: schemas.Validation) -> schemas.Validated:
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
    worst = forecast(workflow, state.providers, included=reading.included)
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
