"""Parts of a file that go to a file of their own, and come back from one: two texts change."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from whorl.dialects.files import ENDINGS, UnsavedFiles
from whorl.errors import Diagnostic, EditRefused, InvalidWorkflow
from whorl.source.editing.text import TAKEN
from whorl.wings.editor.kit.edit import open_text
from whorl.wings.editor.kit.operations import READ, UNAVAILABLE, refuse
from whorl.wings.editor.kit.sketch import SketchNode, at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.wings.editor.kit.changes import Changes
    from whorl.wings.editor.kit.sketch import Keys


def check_new_file(changes: Changes, node: SketchNode, file: str) -> None:
    """Refuses a name that is no new file beside the one that is edited."""
    if not file.endswith(ENDINGS) or file.startswith("/") or ".." in file.split("/"):
        raise refuse(
            UNAVAILABLE, f"{file[:120]!r} is not a valid name for a new file", "such as body.yaml"
        )
    if text_of_file(changes, node, file) is not None:
        raise refuse(TAKEN, f"there is a file {file[:120]!r} already", "choose another name")


def text_of_file(changes: Changes, node: SketchNode, file: str) -> str | None:
    """The text of a file beside the one that is edited; None where it cannot be read."""
    value = at(changes.editor.now.root, *node.where)
    assert value is not None
    try:
        return changes.files.open(changes.files.real_path(changes.file), file, value.span).text
    except InvalidWorkflow:
        return None


def give_file(changes: Changes, file: str, text: str) -> None:
    """Another text that comes of an operation; what follows reads the file with it."""
    others = changes.outcome.others
    others[file] = text
    changes.files = UnsavedFiles(changes.files, changes.file, {file: text})


def opened_file(changes: Changes, node: SketchNode, file: str) -> Changes:
    """The changes of a file that a step names, which are never kept: its parts are taken out."""
    text = text_of_file(changes, node, file) if file else None
    if text is None:
        message = f"{node.path!r} does not name a file that can be read"
        changes.refuse_at(UNAVAILABLE, message, node.where)
    folder = changes.file.rpartition("/")[0]
    path = f"{folder}/{file}" if folder else file
    try:
        _, found = open_text(text, path, changes.files)
    except EditRefused as fault:
        message = f"{file!r} cannot be read: {fault.diagnostic.message}"
        raise EditRefused(
            Diagnostic(fault.diagnostic.code, message, fault.diagnostic.span)
        ) from None
    if type(found) is not type(changes):
        changes.refuse_at(UNAVAILABLE, f"{file!r} is a file of another dialect", node.where)
    return found


def refuse_body(changes: Changes, where: Keys, why: str) -> NoReturn:
    """What cannot go to another file, or come from one, without being another thing there."""
    changes.refuse_at(READ, why, where, "change that part first, or copy it as text")


def inside_of(changes: Changes, path: str) -> Iterator[SketchNode]:
    """A step and all steps inside of it."""
    for node in changes.sketch.nodes:
        if node.path == path or node.path.startswith(f"{path}/"):
            yield node
