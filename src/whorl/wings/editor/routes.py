"""Editing: pictures of texts, operations on them, and saving, which the operator must allow.

The server keeps no texts: they come in and go out. Nothing is run and nothing is fetched.
"""

import logging
import posixpath
import time
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import Field

from whorl import templates
from whorl.errors import UsageError, safe
from whorl.interfaces.http.problems import Refusal, finding
from whorl.interfaces.http.routes.workflows import FileQuery
from whorl.interfaces.http.schemas.shared import Closed, ErrorAnswer
from whorl.interfaces.http.state import Asking, State, no_query
from whorl.wings.editor import files as editing
from whorl.wings.editor import schemas
from whorl.wings.editor.kit.palette import palette

router = APIRouter(prefix="/api", tags=["editing"])
log = logging.getLogger("whorl.http")


class SketchQuery(FileQuery):
    """Which file of the project, and whether its mistakes are wanted."""

    checked: bool = Field(default=True, alias="validate", description="whether it is validated")


class DialectQuery(Closed):
    """Which dialect."""

    dialect: str


def _may_write(state: State) -> None:
    if not state.may_save:
        raise Refusal(429, "C112", "more than 10 files were saved within a second", "try again")


def _findings(state: State, text: str, file: str, others: editing.Others = None) -> list[Any]:
    root = str(state.project.root)
    return [finding(each, root) for each in editing.diagnose(state.project, text, file, others)]


def _sketched(
    state: State,
    name: str,
    text: str,
    etag: str | None,
    others: editing.Others = None,
    *,
    checked: bool = True,
) -> schemas.Sketched:
    path = str(state.file(name))
    dialect, sketch = editing.sketch_text(state.project, text, path)
    # Why there is no picture is told in any case.
    found = _findings(state, text, path, others) if checked or sketch is None else None
    return schemas.Sketched(
        file=name,
        dialect=dialect,
        text=text,
        etag=etag,
        sketch=sketch,
        diagnostics=found,
    )


_REFUSED: dict[int | str, dict[str, Any]] = {
    422: {"model": ErrorAnswer, "description": "an operation is refused"}
}


@router.get("/workflows/sketch")
def show_sketch(
    state: State, asking: Asking, query: Annotated[SketchQuery, Query()]
) -> schemas.Sketched:
    """A workflow file as it is drawn to be edited, valid or not."""
    text, etag = editing.read_file(state.project, query.file, broken=asking.sees_broken)
    return _sketched(state, query.file, text, etag, checked=query.checked)


@router.post("/workflows/sketch", dependencies=[Depends(no_query)])
def sketch(state: State, request: schemas.Unsaved) -> schemas.Sketched:
    """The same for a text that is not saved."""
    return _sketched(state, request.name, request.text, None, request.others)


@router.post("/workflows/edit", dependencies=[Depends(no_query)], responses=_REFUSED)
def edit(state: State, request: schemas.Edit) -> schemas.Edited:
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
    return schemas.Edited(**answer, diagnostics=found)


@router.post("/workflows/names", dependencies=[Depends(no_query)], responses=_REFUSED)
def list_names(state: State, request: schemas.Place) -> schemas.NameList:
    """The names that the texts of a step may read, for completion."""
    path = str(state.file(request.name))
    found = editing.names_at(state.project, request.text, path, request.at)
    return schemas.NameList(names=[schemas.Name(**name) for name in found])


@router.get("/workflows/etag")
def show_etag(state: State, asking: Asking, query: Annotated[FileQuery, Query()]) -> schemas.Etag:
    """Which version of a file is on the disk."""
    found = editing.read_file(state.project, query.file, broken=asking.sees_broken)
    return schemas.Etag(etag=found[1])


@router.put("/workflows/source", dependencies=[Depends(no_query), Depends(_may_write)])
def save(state: State, request: schemas.Saving) -> schemas.Saved:
    """Saves a file; 409, with the current text, if the file has changed in the meantime."""
    for name, text in request.others.items():
        _save_new(state, posixpath.join(posixpath.dirname(request.file), name), text)
    return _save(state, request.file, request.text, request.etag)


def _save_new(state: State, file: str, text: str) -> None:
    """Saves a file beside another one; that it is there already, as it is wanted, is as good."""
    try:
        _save(state, file, text, None)
    except editing.Changed as fault:
        if fault.text != text:
            message = f"there is a file {safe(file)!r} already, and it says something else"
            raise Refusal(422, "C104", message, "undo, and choose another name") from None


def _save(state: State, file: str, text: str, etag: str | None) -> schemas.Saved:
    state.file(file)
    before, after = editing.save(state.project, file, text, etag)
    state.saved.append(time.monotonic())
    log.warning("saved %s: %s -> %s", safe(file), before or "new", after)
    found = _findings(state, text, str(state.file(file)))
    return schemas.Saved(file=file, etag=after, diagnostics=found)


@router.post("/workflows", dependencies=[Depends(no_query), Depends(_may_write)])
def new_file(state: State, request: schemas.NewFile) -> schemas.Saved:
    """A new workflow file: from a template, a copy, a native copy, or empty."""
    return _save(state, request.file, _new_text(state, request), None)


def _new_text(state: State, request: schemas.NewFile) -> str:
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


@router.get("/templates", dependencies=[Depends(no_query)])
def list_templates() -> schemas.TemplateList:
    """The templates for new workflow files."""
    listed = [
        schemas.TemplateItem(
            name=one.name, dialects=one.dialects, description=one.description, needs=one.needs
        )
        for one in templates.TEMPLATES
    ]
    return schemas.TemplateList(templates=listed, empty=editing.edited_dialects())


@router.get("/palette")
def show_palette(query: Annotated[DialectQuery, Query()]) -> schemas.Palette:
    """The kinds of steps that can be added to files of a dialect, with their forms."""
    return schemas.Palette(**palette(query.dialect))
