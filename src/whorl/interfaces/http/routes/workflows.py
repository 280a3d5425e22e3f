"""The project and its workflows: nothing here runs, starts or fetches anything."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import Field

from whorl import __version__
from whorl.errors import Diagnostic, InvalidWorkflow, safe
from whorl.interfaces.http.access import AtDesk, TheRun, no_query
from whorl.interfaces.http.faults import finding
from whorl.interfaces.http.schemas.shape import Closed, FileName
from whorl.interfaces.http.schemas.workflows import (
    Graph,
    InputItem,
    ProjectItem,
    ProviderItem,
    SourceItem,
    Validated,
    Validation,
    WorkflowItem,
    WorkflowList,
    WorstCase,
)
from whorl.interfaces.http.views.graph import graph_of
from whorl.interfaces.wording import forecast_words
from whorl.ir import Port
from whorl.services.catalogue import Listed
from whorl.services.preflight import TOY, forecast, refusal
from whorl.services.results import workflow_of

router = APIRouter(prefix="/api", tags=["workflows"])


class FileQuery(Closed):
    """Which file of the project."""

    file: FileName = Field(description="its path in the project")


@router.get("/project", dependencies=[Depends(no_query)])
def show_project(desk: AtDesk) -> ProjectItem:
    """The project that is served, and who answers its model steps."""
    settings = desk.providers.settings
    default = settings.providers.get(settings.default_provider)
    name, note = settings.default_provider or "local", "" if default is not None else TOY
    if default is not None and default.kind == "scripted":
        note = "no model is asked: the replies are scripted"
    return ProjectItem(
        name=desk.project.root.name or "/",
        root=str(desk.project.root),
        version=__version__,
        provider=ProviderItem(name=name, note=note),
        workflows=len(desk.catalogue.listed()),
    )


@router.get("/workflows", dependencies=[Depends(no_query)])
def list_workflows(desk: AtDesk) -> WorkflowList:
    """The workflow files of the project, of any dialect."""
    return WorkflowList(workflows=[_item(one) for one in desk.catalogue.listed()])


@router.get("/workflows/graph")
def show_file_graph(desk: AtDesk, query: Annotated[FileQuery, Query()]) -> Graph:
    """A workflow file as nodes and edges."""
    return graph_of(desk.project.read(str(desk.file(query.file))).workflow)


@router.get("/workflows/source")
def show_file_source(desk: AtDesk, query: Annotated[FileQuery, Query()]) -> SourceItem:
    """A workflow file with the files that it is made of."""
    path = str(desk.file(query.file))
    reading = desk.project.read(path)
    return _source(desk, reading.workflow.dialect, path, dict(reading.sources))


@router.get("/runs/{run}/graph", dependencies=[Depends(no_query)])
def show_run_graph(desk: AtDesk, run: TheRun) -> Graph:
    """The version of the workflow that the run pins, as nodes and edges."""
    return graph_of(workflow_of(desk.store, run))


@router.get("/runs/{run}/source", dependencies=[Depends(no_query)])
def show_run_source(desk: AtDesk, run: TheRun) -> SourceItem:
    """The texts of the version that the run pins."""
    row = desk.store.run(run)
    return _source(desk, row.dialect, row.file, desk.store.sources(run))


@router.post("/validate", dependencies=[Depends(no_query)])
def validate(desk: AtDesk, request: Validation) -> Validated:
    """Checks a file of the project, or a text. Nothing is run and nothing is fetched."""
    root = str(desk.project.root)
    try:
        if request.workflow is not None:
            reading = desk.project.read(str(desk.file(request.workflow)))
        else:
            name = str(desk.file(request.name or "workflow.yaml"))
            reading = desk.project.read_text(request.text or "", name)
    except InvalidWorkflow as fault:
        if request.workflow is not None and _is_missing(fault):
            raise
        found = [finding(one, root) for one in fault.diagnostics]
        return Validated(ok=False, diagnostics=found, name=None, dialect=None, worst_case=None)  # type: ignore[arg-type]
    workflow, settings = reading.workflow, desk.providers.settings
    warnings = list(reading.warnings)
    refused = refusal(workflow, settings)
    if refused is not None:
        warnings.append(Diagnostic("R110", str(refused["message"]), severity="warning"))
    worst = forecast(workflow, desk.providers)
    return Validated(
        ok=True,
        diagnostics=[finding(one, root) for one in warnings],  # type: ignore[misc]
        name=safe(workflow.name),
        dialect=workflow.dialect,
        worst_case=WorstCase(
            calls=worst.calls,
            cost_usd=worst.cost_usd,
            bound_usd=worst.bound_usd,
            words=forecast_words(worst),
        ),
    )


def _is_missing(fault: InvalidWorkflow) -> bool:
    return all(one.code == "W016" and one.span is None for one in fault.diagnostics)


def _item(listed: Listed) -> WorkflowItem:
    workflow = listed.workflow
    return WorkflowItem(
        file=listed.file,
        name=safe(workflow.name) if workflow else listed.file,
        dialect=workflow.dialect if workflow else "",
        description=safe(workflow.description) if workflow else listed.trouble,
        inputs=[_input(port) for port in workflow.inputs] if workflow else [],
        main_input=(workflow.main_input or None) if workflow else None,
        open_inputs=workflow.open_inputs if workflow else False,
        errors=listed.errors,
    )


def _input(port: Port) -> InputItem:
    return InputItem(
        name=port.name,
        type=port.type,
        required=port.required and port.default is None,
        default=port.default,
        description=safe(port.description),
    )


def _source(desk: AtDesk, dialect: str, main: str, texts: dict[str, str]) -> SourceItem:
    shown = {desk.shown_file(name): text for name, text in texts.items()}
    main = desk.shown_file(main)
    if main not in shown and shown:
        # A file may be known by another name than the one that it was started with.
        same = [name for name in shown if name.rpartition("/")[2] == main.rpartition("/")[2]]
        main = (same or list(shown))[0]
    return SourceItem(dialect=dialect, main=main, files=shown)
