"""Operations are applied to a text in their order, all or none; nothing is read but the text."""

from __future__ import annotations

from dataclasses import asdict, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from whorl.dialects.reader import dialects, files_beside, parse, read_workflow, reader_of
from whorl.errors import Diagnostic, EditRefused, InvalidWorkflow, UsageError
from whorl.lazily import dataclass
from whorl.plugins import load_reference
from whorl.source.editing.editor import Editor
from whorl.source.editing.text import UNREADABLE, Text
from whorl.wings.editor.kit.changes import Changes, findings
from whorl.wings.editor.kit.operations import UNAVAILABLE, Operation, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.dialects.files import SourceFiles
    from whorl.dialects.reader import Reading
    from whorl.source import Document
    from whorl.source.editing.editor import Step
    from whorl.source.editing.patches import Patch
    from whorl.wings.editor.kit.names import Rewired
    from whorl.wings.editor.kit.sketch import Sketch

# How many texts are kept as they were read: what one operation gives is what the next one takes.
_PARSED_MAX = 8


@dataclass(frozen=True, slots=True)
class Edited:
    """A text after operations: the patches that they came to, and what else is to be known.

    `inverse` takes the operations back by their opposites, for those who hold no older text.
    """

    text: str
    patches: list[Patch]
    dialect: str
    sketch: Sketch
    now: Text
    rewired: list[Rewired] = field(default_factory=list)
    select: list[str] = field(default_factory=list)
    others: dict[str, str] = field(default_factory=dict)
    inverse: tuple[Step, ...] = ()


def edit(
    text: str,
    file: str,
    operations: Sequence[Operation],
    files: SourceFiles,
    *,
    rewires: bool = True,
) -> Edited:
    """The text with all operations applied; raises EditRefused, and then nothing has changed."""
    dialect, changes = open_text(text, file, files, rewires=rewires)
    for number, operation in enumerate(operations):
        try:
            changes.apply(operation)
            if number == len(operations) - 1:
                changes.editor.verify()
        except EditRefused as fault:
            raise EditRefused(fault.diagnostic, number) from None
        except RecursionError:
            deep = refuse(UNREADABLE, "the file is nested too deeply").diagnostic
            raise EditRefused(deep, number) from None
    editor, outcome = changes.editor, changes.outcome
    return Edited(
        editor.text,
        editor.patches(),
        dialect,
        changes.sketch,
        editor.now,
        outcome.rewired,
        outcome.select,
        outcome.others,
        tuple(editor.inverse),
    )


def open_text(
    text: str, file: str, files: SourceFiles, *, rewires: bool = True
) -> tuple[str, Changes]:
    """The dialect of a text, and what changes it; raises EditRefused where it cannot be read."""
    is_json = file.endswith(".json")
    try:
        editor = Editor(
            text,
            lambda source: parse(source, file, lenient=True),
            is_json=is_json,
            parse_whole=lambda source: parsed(source, file),
        )
        reader = reader_of(editor.now.document)
    except InvalidWorkflow as fault:
        first = fault.diagnostics[0]
        message = f"the text cannot be read: {first.message}"
        wrong = Diagnostic(UNREADABLE, message, first.span, first.label, first.help)
        raise EditRefused(wrong) from None
    reference = getattr(reader, "editing", "")
    if not reference:
        raise refuse(UNAVAILABLE, f"files of the dialect {reader.name!r} are edited as text")
    made = cast("type[Changes]", load_reference(reference))

    def check(source: str) -> list[Diagnostic]:
        if source == editor.text:
            # It is read already, which takes most of the time.
            document = editor.now.document
            return findings(lambda: reader.read(document, files_beside(changes.files, file)))
        return findings(lambda: read(source, file, changes.files))

    changes = made(editor, file, files, check, rewires=rewires)
    return reader.name, changes


@lru_cache(maxsize=_PARSED_MAX)
def parsed(text: str, file: str) -> Document:
    return parse(text, file, lenient=True)


def read(text: str, file: str, files: SourceFiles) -> Reading:
    return read_workflow(text, file, files)


# What can be added to a file: the kinds of steps of a dialect, in groups, with their forms.


def changes_of(dialect: str) -> type[Changes]:
    """What changes the files of a dialect; raises UsageError where nothing does."""
    plugins = dialects()
    reference = getattr(plugins.load(dialect), "editing", "") if plugins.has(dialect) else ""
    if not reference:
        known = ", ".join(name for name in plugins.names() if name == dialect or _is_edited(name))
        raise UsageError(
            f"files of a dialect {dialect[:60]!r} are not edited", help=f"known: {known}"
        )
    return cast("type[Changes]", load_reference(reference))


def _is_edited(name: str) -> bool:
    return bool(getattr(dialects().load(name), "editing", ""))


def palette(dialect: str) -> dict[str, Any]:
    """The palette of a dialect, as the page gets it."""
    changes = changes_of(dialect)
    return {
        "groups": [
            {"title": title, "kinds": [_kind(changes, kind) for kind in kinds]}
            for title, kinds in changes.groups.items()
        ]
    }


def _kind(changes: type[Changes], kind: str) -> dict[str, Any]:
    icon, colour = changes.looks.get(kind, ("", ""))
    inputs, outputs = changes.ports.get(kind, ((), ()))
    return {
        "kind": kind,
        "title": changes.titles.get(kind, kind.replace("_", " ").replace("-", " ").capitalize()),
        "icon": icon,
        "colour": colour,
        "needs": changes.needs.get(kind, ""),
        "ports": {"inputs": list(inputs), "outputs": list(outputs)},
        "fields": changes.new[kind],
        "form": [asdict(one) for one in changes.form_of(kind)],
    }
