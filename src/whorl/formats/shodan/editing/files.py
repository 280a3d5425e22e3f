"""The inside of a loop goes to a file of its own, and comes back from one: two texts change."""

from __future__ import annotations

import json
from textwrap import dedent
from typing import TYPE_CHECKING

from whorl.dialects.reader import parse
from whorl.errors import Diagnostic, EditRefused, InvalidWorkflow
from whorl.formats.shodan.editing.sketch import INLINE
from whorl.source import Mapping, plain
from whorl.source.editing import spelling
from whorl.source.editing.text import UNEXACT, UNREADABLE
from whorl.wings.editor.kit.bodies import check_new_file, give_file, text_of_file
from whorl.wings.editor.kit.operations import UNAVAILABLE, refuse
from whorl.wings.editor.kit.sketch import SketchNode, at

if TYPE_CHECKING:
    from whorl.source import Json
    from whorl.wings.editor.kit.changes import Changes

_REF = ("data", "workflowRef")


def extract(changes: Changes, loop: SketchNode, file: str) -> None:
    """Writes the inside of a loop to a new file, which the loop names instead."""
    where = (*loop.where, *INLINE)
    inside = at(changes.editor.now.root, *where)
    if not isinstance(inside, Mapping):
        changes.refuse_at(UNAVAILABLE, f"{loop.path!r} is not an inline loop", loop.where)
    check_new_file(changes, loop, file)
    text = _written(changes, inside, file)
    changes.editor.cut(changes.path(where))
    changes.editor.set([*loop.where, *_REF], file)
    give_file(changes, file, text)
    changes.outcome.select = [loop.path]


def _written(changes: Changes, inside: Mapping, file: str) -> str:
    """The new file: the lines of the inside as they are, or its values where they do not fit."""
    now, name = changes.editor.now, file.rpartition("/")[2].rpartition(".")[0]
    head: dict[str, Json] = {"version": 1, "metadata": {"name": name}}
    whole: dict[str, Json] = {**head, **{entry.name: plain(entry.value) for entry in inside}}
    if file.endswith(".json"):
        return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    indent = spelling.Indent()
    ways = ["\n".join([*spelling.block(whole, 0, indent), ""])]
    if not now.is_json and not inside.layout.flow:
        start, end = inside.layout.extent
        lines = dedent(now.text[now.line_start(start) : now.line_end(end)])
        ways.insert(0, "\n".join(spelling.block(head, 0, indent)) + "\n" + lines)
    for text in ways:
        try:
            if plain(parse(text, file).root) == whole:
                return text
        except InvalidWorkflow:
            continue
    raise refuse(UNEXACT, "this cannot be moved to a file without a change of its meaning")


def inline(changes: Changes, loop: SketchNode) -> None:
    """Puts what a loop names in a file right into the loop; the file stays as it is."""
    text = text_of_file(changes, loop, loop.file) if loop.body == "file" else None
    if text is None or loop.kind != "loop":
        message = f"{loop.path!r} does not name a file that can be read"
        changes.refuse_at(UNAVAILABLE, message, loop.where)
    try:
        root = parse(text, loop.file).root
    except InvalidWorkflow as fault:
        first = fault.diagnostics[0]
        message = f"{loop.file!r} cannot be read: {first.message}"
        raise EditRefused(Diagnostic(UNREADABLE, message, first.span)) from None
    parts = {name: value for name in ("nodes", "edges") if (value := at(root, name)) is not None}
    body: dict[str, Json] = {name: plain(value) for name, value in parts.items()}

    def change() -> None:
        changes.editor.unset([*loop.where, *_REF], keeps=len(loop.where) + 1)
        changes.editor.set([*loop.where, *INLINE], {"nodes": [], "edges": [], **body})

    changes.soundly(change)
    changes.outcome.select = [loop.path]
