"""Editing over HTTP: pictures of texts, operations, saving (if the operator allows it), and tries.

The server keeps no texts: they come in and go out. It fetches nothing, and only tries run steps.
"""

import asyncio
import logging
import posixpath
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from pydantic import Field, model_validator
from pydantic import StringConstraints as Text

from whorl import templates
from whorl.errors import UsageError, safe
from whorl.interfaces.http import models
from whorl.interfaces.http.problems import Refusal, finding
from whorl.interfaces.http.state import Asking, ServerState, State, check_query
from whorl.interfaces.http.workflows import File
from whorl.ir import Workflow
from whorl.runtimes.start_options import Start
from whorl.services.files.preflight import permitted
from whorl.wings.editor import files as editing
from whorl.wings.editor import single_step
from whorl.wings.editor.kit.changes import palette

# What goes over HTTP about editing: closed models; the shapes of operations are in the guide.

Source = Annotated[str, Text(max_length=1_000_000)]
Others = Annotated[dict[models.FileName, Source], Field(max_length=10)]
UNSAVED = "files beside it that are not saved either"


class Unsaved(models.Closed):
    """A text that need not be saved; `name` is the file that it would be in."""

    name: models.FileName
    text: Source
    others: Others = Field(default_factory=dict, description=UNSAVED)


class Edit(Unsaved):
    """Operations on a text, in this order, all or none."""

    operations: list[dict[str, models.JsonValue]] = Field(max_length=200)
    readers: Literal["rewire", "leave"] = "rewire"
    checked: models.Flag = Field(
        default=True, alias="validate", description="whether it is validated"
    )


class Saving(models.Closed):
    """A text to be saved; `etag` is that of the version that it was made from."""

    file: models.FileName
    text: Source
    etag: str | None = Field(max_length=200, description="null: the file must not exist")
    others: Others = Field(default_factory=dict, description="new files beside it, saved before it")


class NewFile(models.Closed):
    """A new file, made from exactly one of the four sources."""

    file: models.FileName
    template: str | None = None
    copy_of: models.FileName | None = None
    convert: models.FileName | None = None
    empty: str | None = Field(default=None, description="the format of an empty file")

    @model_validator(mode="after")
    def one_of_them(self) -> "NewFile":
        given = [self.template, self.copy_of, self.convert, self.empty]
        if sum(part is not None for part in given) != 1:
            raise ValueError("one of template, copy_of, convert and empty is needed")
        return self


class Sketched(models.Closed):
    """The picture of a text, if it can be read; diagnostics only on request."""

    file: str
    dialect: str
    text: str
    etag: str | None
    sketch: dict[str, Any] | None
    diagnostics: list[models.Diagnostic] | None


class Patch(models.Closed):
    """What is replaced; offsets count UTF-16 units of the text that was sent."""

    start: int
    end: int
    text: str


class Rewired(models.Closed):
    """A place that reads a step and was changed with it, or was left as it is on request."""

    path: str
    field: str
    line: int


class Place(Unsaved):
    """A step of a text that need not be saved."""

    at: str = Field(default="", max_length=2_000, description="its path; empty: the workflow")


class Name(models.Closed):
    """What the texts of a step may read, spelled as it is written there."""

    name: str
    type: str = Field(description="text, number, boolean, object, list or any, where it is known")
    step: str = Field(description="the path of the step that gives it; empty: no step does")
    readers: list[Rewired] = Field(description="who reads it already")


class NameList(models.Closed):
    """The names in scope at a step, those nearest to it first."""

    names: list[Name]


class Edited(models.Closed):
    """A text after operations. Nothing is saved."""

    text: str
    patches: list[Patch]
    sketch: dict[str, Any]
    rewired: list[Rewired]
    select: list[str]
    others: dict[str, dict[str, str | None]]
    diagnostics: list[models.Diagnostic] | None = None


class Iteration(models.Closed):
    """An iteration of a run."""

    run: str = Field(pattern=r"^[A-Za-z0-9_-]{1,128}$")
    at: str = Field(max_length=4_000, description="its loop, such as `polish`")
    iteration: models.Number


class Try(Unsaved):
    """A step of a text that is run alone, or a loop whose body is run once."""

    at: str = Field(max_length=2_000, description="its path")
    inputs: dict[str, models.JsonValue] = Field(default_factory=dict)
    values: dict[str, models.JsonValue] = Field(
        default_factory=dict,
        description="results instead of steps, by path; values of an iteration, by LOOP/NAME",
    )
    source: Iteration | None = Field(
        default=None, alias="from", description="gives the values that are not given here"
    )
    budget_usd: models.Dollars | None = Field(default=None, description="default 0.25")
    pins: models.Flag = Field(default=True, description="whether pinned steps are left out")
    effects: models.Flag = Field(
        default=False, description="whether it may run commands, call and write"
    )


class StepTrial(models.Closed):
    """The run of a try, and the paths of pins that do not count, since their steps changed."""

    run: str
    stale: list[str]


class Pin(models.Closed):
    """A result that tries use instead of a step; a stale one is not used."""

    value: models.JsonValue
    stale: bool = False


class PinList(models.Closed):
    """The pins of a file, by path."""

    file: str
    pins: dict[str, Pin]


class Pinned(PinList):
    """Pins to be kept; `text` is the draft, if the file does not have the steps yet."""

    file: models.FileName
    text: Source | None = None
    others: Others = Field(default_factory=dict, description=UNSAVED)


class Etag(models.Closed):
    """Identifies a version of a file."""

    etag: str


class Saved(models.Closed):
    """A file was saved; it may have mistakes."""

    file: str
    etag: str
    diagnostics: list[models.Diagnostic]


class TemplateItem(models.Closed):
    """A workflow to begin with."""

    name: str
    dialects: list[str]
    description: str
    needs: str = ""


class TemplateList(models.Closed):
    """What a new file can be made from."""

    templates: list[TemplateItem]
    empty: list[str] = Field(description="the formats that have an empty file")


class Palette(models.Closed):
    """The kinds of steps that can be added."""

    groups: list[dict[str, Any]]


router = APIRouter(prefix="/api", tags=["editing"], dependencies=[Depends(check_query)])
log = logging.getLogger("whorl.http")


def _may_write(state: State) -> None:
    if not state.saves.allows():
        raise Refusal(429, "C112", "more than 10 files were saved within a second", "try again")


def _findings(state: State, text: str, file: str, others: editing.Others = None) -> list[Any]:
    root = str(state.project.root)
    return [finding(each, root) for each in editing.diagnose(state.project, text, file, others)]


def _sketched(
    state: State, unsaved: Unsaved, etag: str | None = None, *, checked: bool = True
) -> Sketched:
    path = str(state.file(unsaved.name))
    dialect, sketch = editing.sketch_text(state.project, unsaved.text, path)
    # The reasons are always sent if there is no picture.
    is_checked = checked or sketch is None
    found = _findings(state, unsaved.text, path, unsaved.others) if is_checked else None
    return Sketched(file=unsaved.name, dialect=dialect, text=unsaved.text, etag=etag, sketch=sketch,
                    diagnostics=found)  # fmt: skip


_REFUSED: dict[int | str, dict[str, Any]] = {
    422: {"model": models.ErrorAnswer, "description": "an operation is refused"}
}


@router.get("/workflows/sketch")
def show_sketch(
    state: State,
    asking: Asking,
    file: File,
    checked: Annotated[bool, Query(alias="validate", description="whether it is validated")] = True,
) -> Sketched:
    """A workflow file as it is drawn to be edited, valid or not."""
    text, etag = editing.read_file(state.project, file, broken=asking.sees_broken)
    return _sketched(state, Unsaved(name=file, text=text), etag, checked=checked)


@router.post("/workflows/sketch")
def sketch(state: State, request: Unsaved) -> Sketched:
    """The same for a text that is not saved."""
    return _sketched(state, request)


@router.post("/workflows/edit", responses=_REFUSED)
def edit(state: State, request: Edit) -> Edited:
    """A text after operations; 422: an operation is refused. Nothing is saved."""
    path = str(state.file(request.name))
    edited = editing.edit_text(
        state.project,
        request.text,
        path,
        request.operations,
        rewires=request.readers == "rewire",
        others=request.others,
    )
    answer, others = editing.answer(request.text, edited), request.others | edited.others
    found = _findings(state, edited.text, path, others) if request.checked else None
    return Edited(**answer, diagnostics=found)


@router.post("/workflows/names", responses=_REFUSED)
def list_names(state: State, request: Place) -> NameList:
    """The names that the texts of a step may read, for completion."""
    path = str(state.file(request.name))
    found = editing.names_at(state.project, request.text, path, request.at)
    return NameList(names=[Name(**name) for name in found])


@router.get("/workflows/etag")
def show_etag(state: State, asking: Asking, file: File) -> Etag:
    """Which version of a file is on the disk."""
    found = editing.read_file(state.project, file, broken=asking.sees_broken)
    return Etag(etag=found[1])


@router.put("/workflows/source", dependencies=[Depends(_may_write)])
def save(state: State, request: Saving) -> Saved:
    """Saves a file; 409, with the current text, if the file has changed in the meantime."""
    for name, text in request.others.items():
        _save_new(state, posixpath.join(posixpath.dirname(request.file), name), text)
    return _save(state, request.file, request.text, request.etag)


def _save_new(state: State, file: str, text: str) -> None:
    """Saves a new file beside another one. An existing file with the same text is also right."""
    try:
        _save(state, file, text, None)
    except editing.Changed as fault:
        if fault.text != text:
            message = f"there is a file {safe(file)!r} already, and it says something else"
            raise Refusal(422, "W012", message, "undo, and choose another name") from None


def _save(state: State, file: str, text: str, etag: str | None) -> Saved:
    state.file(file)
    before, after = editing.save(state.project, file, text, etag)
    log.warning("saved %s: %s -> %s", safe(file), before or "new", after)
    found = _findings(state, text, str(state.file(file)))
    return Saved(file=file, etag=after, diagnostics=found)


@router.post("/workflows", dependencies=[Depends(_may_write)])
def new_file(state: State, request: NewFile) -> Saved:
    """A new workflow file: from a template, a copy, a native copy, or empty."""
    return _save(state, request.file, _new_text(state, request), None)


def _new_text(state: State, request: NewFile) -> str:
    if request.template is not None:
        found, endings = templates.find(request.template), templates.forms()
        known = found.dialects if found else ()
        forms = [form for form in known if request.file.endswith(endings[form])]
        if not forms:
            raise UsageError(f"there is no template {request.template[:60]!r} for this file")
        return templates.read(request.template, forms[0])
    if request.copy_of is not None:
        return editing.read_file(state.project, request.copy_of)[0]
    if request.convert is not None:
        from whorl.dialects.native import writing

        path = str(state.file(request.convert))
        reading = state.project.read(path)
        return writing.convert(reading.workflow, reading.sources, path)[0]
    return editing.empty_text(request.empty or "")[0]


@router.get("/templates")
def list_templates() -> TemplateList:
    """The templates for new workflow files."""
    listed = [TemplateItem.from_row(one) for one in templates.TEMPLATES]
    return TemplateList(templates=listed, empty=editing.edited_dialects())


@router.get("/palette")
def show_palette(dialect: str) -> Palette:
    """The kinds of steps that can be added to files of a format, with their forms."""
    return Palette(**palette(dialect))


@router.post("/tries", status_code=201)
async def start_try(state: State, request: Try) -> StepTrial:
    """Runs a step, or one iteration of a loop, from a draft; 409: it would do something outside."""
    workflow, start, stale = await asyncio.to_thread(_prepared, state, request)
    run, _ = await state.runtime.start(workflow, start)
    state.driving.drive(run)
    return StepTrial(run=run, stale=stale)


def _prepared(state: ServerState, request: Try) -> tuple[Workflow, Start, list[str]]:
    path, given = str(state.file(request.name)), request.source
    run = given and state.store.run(given.run).id
    unsaved = request.name, request.text, request.others
    pins = single_step.pins_of(state.project, *unsaved) if request.pins else {}
    wanted = single_step.Wanted(
        **request.model_dump(include={"text", "at", "inputs", "values", "others"}),
        file=path,
        pins={at: pin.value for at, pin in pins.items() if not pin.is_stale},
        source=single_step.Source(run, given.at, given.iteration) if given and run else None,
        budget_usd=single_step.BUDGET_USD if request.budget_usd is None else request.budget_usd,
    )
    workflow, start = single_step.prepare(state.project, state.store, wanted)
    if not request.effects:
        single_step.check_effects(workflow, state.providers.settings)
    start, _ = permitted(workflow, state.providers, start)
    return workflow, start, [at for at, pin in pins.items() if pin.is_stale]


@router.get("/pins")
def list_pins(state: State, file: File) -> PinList:
    """The results that tries use instead of steps of a file."""
    state.file(file)
    pins = single_step.pins_of(state.project, file)
    shown = {at: Pin(value=pin.value, stale=pin.is_stale) for at, pin in pins.items()}
    return PinList(file=file, pins=shown)


@router.put("/pins")
def save_pins(state: State, request: Pinned) -> PinList:
    """Keeps results for steps of a file, instead of those kept before; none: deletes them."""
    state.file(request.file)
    values = {at: pin.value for at, pin in request.pins.items()}
    single_step.save_pins(state.project, request.file, values, request.text, request.others)
    shown = {at: Pin(value=value) for at, value in values.items()}
    return PinList(file=request.file, pins=shown)
