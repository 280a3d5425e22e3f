"""A dialect of another package: songs of verses, with a syntax, functions and printing of its own.

`<name>` in a verse stands for a value, `<shout name>` for what a function makes of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from whorl import ir
from whorl.dialects import Reading
from whorl.errors import Diagnostic, InvalidWorkflow
from whorl.ir.checks import check
from whorl.ir.walk import Places
from whorl.language import FunctionEntry, LanguageError, Library, Semantics, tree
from whorl.source import Mapping

if TYPE_CHECKING:
    from whorl.dialects import Files
    from whorl.language.calls import Run
    from whorl.source import Document

_COUNTED: dict[object, str] = {1: "one", 2: "two", 3: "three"}
_PLACE = re.compile(r"<(?:(?P<function>\w+) )?(?P<name>\w+)>")


class BalladReader:
    """Reads files with `ballad` and `verses`."""

    name = "ballad"
    joined: frozenset[str] | None = None
    linters: ClassVar = {"tavern": ("songs", "ballad:lint_for_taverns")}

    def claims(self, document: Document) -> bool:
        """Whether the file is a song."""
        return isinstance(document.root, Mapping) and "ballad" in {
            entry.name for entry in document.root
        }

    def read(self, document: Document, files: Files) -> Reading:
        """Each verse is a step; the last one is the output."""
        song = {entry.name: entry.value for entry in document.root}
        library = str(song["library"].value) if "library" in song else self.name
        places = Places()
        steps: list[ir.Compute] = []
        for number, verse in enumerate(song["verses"], 1):
            value = ir.Expression("ballad", str(verse.value), library)
            places.remember(value, verse)
            steps.append(ir.Compute(name=f"verse_{number}", value=value))
        joined = " ~ ".join(f"(verse_{number} | refrain(2))" for number in range(1, len(steps) + 1))
        workflow = ir.Workflow(
            name=str(song["ballad"].value),
            body=ir.Block(tuple(steps)),
            inputs=(ir.Port("hero"), ir.Port("years")),
            outputs=(("song", ir.Expression("jinja", joined, "ballad")),),
            dialect=self.name,
        )
        diagnostics = check(workflow, places)
        if diagnostics:
            raise InvalidWorkflow(diagnostics)
        return Reading(workflow, sources={document.file: document.text})


def lint_for_taverns(document: Document) -> tuple[list[Diagnostic], bool]:
    """Taverns take no sad songs."""
    if "tears" not in document.text:
        return [], False
    return [Diagnostic("W023", "it is too sad", document.root.span, severity="warning")], True


def read_verse(source: str, library: str) -> tree.Tree:
    """The syntax: text with places in angle brackets."""
    body: list[tree.Stmt] = []
    end = 0
    for place in _PLACE.finditer(source):
        body.append(tree.Text(source[end : place.start()]))
        value: tree.Expr = tree.Name(place["name"], place.start("name"))
        if place["function"] is not None:
            if place["function"] != SHOUT.name:
                message = f"a ballad has no function {place['function']!r}"
                raise LanguageError(message, place.start("function"))
            value = tree.Apply(SHOUT, (value,), (), (), place.start("function"))
        body.append(tree.Emit(value, place.start()))
        end = place.end()
    body.append(tree.Text(source[end:]))
    return tree.Tree("ballad", library, None, tuple(body), frozenset())


def sung(run: Run, value: object) -> str:
    """How values are printed: numbers in words, as far as singers count."""
    return _COUNTED.get(value, "many") if isinstance(value, int) else run.text(value)


def shout(run: Run, value: object) -> str:
    return sung(run, value).upper() + "!"


def refrain(run: Run, value: object, times: object) -> str:
    text = run.text(value)
    assert isinstance(times, int)
    run.check_text(len(text) * times, "refrain")
    return f"{text}\n" * times


SHOUT = FunctionEntry("function", "ballad", "shout", shout, "in capital letters")
REFRAIN = FunctionEntry("filter", "ballad", "refrain", refrain, "sung again", ("times",))
LIBRARY = Library(
    functions=(SHOUT, REFRAIN),
    read=read_verse,
    semantics=Semantics(text=sung),
    title="verses: <...>",
)
