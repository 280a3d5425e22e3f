"""Files that nodes name in lists, opened by the one path rule, and the folder that they work in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.shodan.fields import scalar_of
from whorl.dialects.shodan.texts import read_text
from whorl.errors import InvalidWorkflow
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.shodan.draft import Draft
    from whorl.dialects.shodan.level import Level
    from whorl.dialects.shodan.parts import GraphNode


def named_files(level: Level, node: GraphNode, field: str) -> list[tuple[str, str]]:
    """The names and texts of the files that a field lists."""
    written = node.fields.get(field)
    found: list[tuple[str, str]] = []
    for item in written if isinstance(written, Sequence) else ():
        if isinstance(item, Mapping):
            name = scalar_of(item, "path") or scalar_of(item, "name")
        else:
            name = item if isinstance(item, Scalar) else None
        if name is None:
            level.draft.report("W007", f"{field!r} must be a list of paths", item.span)
            continue
        try:
            found.append(level.draft.files.text(level.draft.reference(name.text), name.span))
        except InvalidWorkflow as fault:
            level.draft.adopt(fault.diagnostics)
    return found


def read_folder(level: Level, node: GraphNode) -> ir.Value:
    """The folder that a command or an agent works in: its own, or that of the whole file."""
    path = scalar_of(node.fields, "path")
    if path is None or not path.text.strip():
        return ir.Constant(level.draft.folder or None)
    return read_text(level, node, path)


def root_folder(draft: Draft, header: Mapping) -> str:
    """The folder of the whole file, below the project's one: `rootDirectory`, seen from the file.

    One that is absolute belongs to the machine that the file was made on, and is left aside.
    """
    written = scalar_of(header, "rootDirectory")
    if written is None or not written.text.strip():
        return ""
    if written.text.startswith(("/", "~")) or "\\" in written.text or ":" in written.text:
        draft.warn(
            "W023",
            f"'rootDirectory' {written.text[:60]!r} is a folder of one machine; the project's "
            "folder is used",
            written.span,
            label="left aside",
            help="write it relative to the file, or leave it out",
        )
        return ""
    name = draft.document.file.rpartition("/")[2]
    try:
        place, _ = draft.files.text(name, written.span)
    except InvalidWorkflow:
        # A file that came alone, or from outside: the project's folder is all there is.
        place = name
    folder = _joined(place.rpartition("/")[0], written.text)
    if folder is None:
        draft.report(
            "W016",
            f"'rootDirectory' {written.text[:60]!r} leads out of the project",
            written.span,
            label="this folder",
            help="name a folder of the project",
        )
    return folder or ""


def _joined(base: str, path: str) -> str | None:
    """A path below the project's folder; None if it leads out."""
    found: list[str] = []
    for word in f"{base}/{path}".split("/"):
        if word == ".." and not found:
            return None
        if word == "..":
            found.pop()
        elif word not in ("", "."):
            found.append(word)
    return "/".join(found)
