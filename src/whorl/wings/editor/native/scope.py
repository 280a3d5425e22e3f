"""What the texts of a step may read, by the reader's own scopes."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from whorl import ir
from whorl.dialects.native.context import FACTS
from whorl.dialects.reader import files_beside
from whorl.ir.checks.scopes import views_in
from whorl.ir.walk import blocks_of, names_given
from whorl.wings.editor.kit.names import Name, Rewired, field_words, line_of, owner_of
from whorl.wings.editor.native.names import Names, spelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.checks.scopes import Shape, View
    from whorl.ir.nodes import Fact
    from whorl.source import Json
    from whorl.wings.editor.kit.changes import Changes

_FACTS = cast("list[tuple[str, Fact]]", list(FACTS.items()))
_DEEP_MAX = 3
_WORDS = {"string": "text", "integer": "number", "array": "list", "plain": "any"}


def names_at(changes: Changes, path: str) -> list[Name]:
    """The names that a step sees, those nearest to it first; of a loop, those that its body sees.

    An empty path is the end of the workflow, where its outputs are.
    """
    names = Names(changes.editor.now.document, files_beside(changes.files, changes.file))
    workflow = names.workflow
    view = None if workflow is None else dict(views_in(workflow)).get(path)
    if workflow is None or view is None:
        return []
    types = {port.name: _WORDS.get(port.type, port.type) for port in workflow.inputs}
    readers = _readers(changes, names)
    found: dict[str, Name] = {}
    for name, node, shape in _seen(view):
        is_step = node is not None and node.name == name
        step = names.paths.get(id(node), "") if is_step else ""
        known: Json = {"type": types.get(name)} if node is None else None
        known = _schema(node) if is_step else known
        for parts, word in _parts([name], shape, node, known):
            text = spelled(parts, is_first=True)
            whole = step if len(parts) == 1 else "/".join([step, *parts[1:]])
            found.setdefault(text, Name(text, word, step, tuple(readers.get(whole, ()))))
    return list(found.values())


def _seen(view: View) -> Iterator[tuple[str, ir.Node | None, Shape | None]]:
    for name in dict.fromkeys(view.names()):
        yield name, view.origin(name), view.find(name)[1]
    for loop in view.holders():
        # The facts of a loop are bound where they are read; all of them can be.
        if isinstance(loop, ir.Loop):
            yield from ((name, loop, view.shapes.of_fact(loop, fact)) for name, fact in _FACTS)


def _schema(node: ir.Node | None) -> Json:
    return node.returns if isinstance(node, ir.Task) else None


def _parts(
    parts: list[str], shape: Shape | None, node: ir.Node | None, schema: Json
) -> Iterator[tuple[list[str], str]]:
    """A name and what is known to be inside of it, each with its type."""
    known = schema if isinstance(schema, dict) else {}
    word = known.get("type") or (shape.kind if shape is not None else "any")
    yield parts, _WORDS.get(str(word), str(word))
    if shape is None or shape.kind != "object" or len(parts) > _DEEP_MAX:
        return
    properties = known.get("properties")
    steps = (
        {} if node is None else dict(pair for _, b in blocks_of(node) for pair in names_given(b))
    )
    for name, inner in shape.fields.items():
        step = steps.get(name)
        part = properties.get(name) if isinstance(properties, dict) else _schema(step)
        yield from _parts([*parts, name], inner, step, part)


def _readers(changes: Changes, names: Names) -> dict[str, list[Rewired]]:
    """Who reads each step, by the path of the step."""
    found: dict[str, list[Rewired]] = {}
    for reader in names.readers:
        owner = owner_of(changes.sketch, reader.where)
        line = line_of(changes.editor.now, reader.where)
        note = Rewired(owner.path if owner else "", field_words(owner, reader.where), line)
        for step in reader.chain:
            if note not in found.setdefault(step, []):
                found[step].append(note)
    return found
