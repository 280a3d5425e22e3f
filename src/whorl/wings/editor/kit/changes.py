"""How operations change the text of a dialect: those of all dialects, and what each dialect adds.

Operations are applied in their order, all or none. They read only the text.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, cast

from whorl.dialects.reader import dialects, files_beside, parse, read_workflow, reader_of
from whorl.dialects.reading.fields import text_of
from whorl.errors import Diagnostic, EditRefused, InvalidWorkflow, UsageError, did_you_mean
from whorl.lazily import dataclass
from whorl.plugins import load_reference
from whorl.source import Mapping
from whorl.source.editing.editor import Editor
from whorl.source.editing.text import UNKNOWN
from whorl.wings.editor.kit.operations import READ, UNAVAILABLE, Kind, Operation, refuse
from whorl.wings.editor.kit.sketch import Rewired, at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from whorl.dialects.files import SourceFiles
    from whorl.dialects.reader import Files, Reading
    from whorl.source import Document, Json
    from whorl.source.editing.shapes import Path
    from whorl.source.editing.text import Patch, Text
    from whorl.wings.editor.kit.sketch import Keys, Name, Sketch, SketchNode

AS_TEXT = "edit it as text, or make a native copy with `whorl file convert`"
# How many texts are kept parsed, since the result of one operation is the input of the next.
_PARSED_MAX = 8
Widget = Literal["text", "long text", "number", "choice", "boolean", "expression", "json"]


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of a form: the keys that lead to it in the file, and how it is shown and filled in.

    `default` is its value if the file has none. The group `more` is for rare fields.
    """

    field: tuple[str, ...]
    type: Widget
    help: str
    choices: tuple[str, ...]
    required: bool
    label: str
    default: Json = None
    group: str = ""


@dataclass(slots=True)
class Outcome:
    """What operations did beside the text: the rewired places, what to select, and other files."""

    rewired: list[Rewired] = field(default_factory=list)
    select: list[str] = field(default_factory=list)
    others: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Edited:
    """A text after operations, with the patches that led to it and other results."""

    text: str
    patches: list[Patch]
    dialect: str
    sketch: Sketch
    now: Text
    rewired: list[Rewired]
    select: list[str]
    others: dict[str, str]


@dataclass(eq=False, repr=False)
class Changes:
    """The operations of one dialect on one text. A dialect adds methods: `make_add` makes `add`.

    A method takes its operation, and raises EditRefused if it cannot be carried out.
    """

    editor: Editor
    file: str
    files: SourceFiles
    check: Callable[[str], list[Diagnostic]]
    rewires: bool = True
    outcome: Outcome = field(default_factory=Outcome)
    _sketched: tuple[object, Sketch] | None = None

    # The palette, group by group; the fields of a new step and its ports, by kind.
    kinds: ClassVar[tuple[Kind, ...]] = ()
    new: ClassVar[dict[str, Any]] = {}
    ports: ClassVar[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {}
    # The fields that come last in a step or in the file: those that hold steps.
    last: ClassVar[tuple[str, ...]] = ()
    # The text of a new file.
    empty: ClassVar[str] = ""
    # Whether files declare the ports of their steps by name.
    names_ports: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        cls.new = {kind.name: kind.new for kind in cls.kinds}

    @classmethod
    def form_of(cls, kind: str) -> list[FormField]:
        """Returns the form fields of a kind of step; none if the dialect does not define them."""
        return []

    @classmethod
    def draw(cls, document: Document) -> Sketch:
        """Returns the sketch of a file. Each dialect draws its own, and never raises."""
        raise NotImplementedError

    def names_at(self, path: str) -> list[Name]:
        """Returns the names that the texts of a step may read; none if the dialect has none."""
        return []

    @property
    def files_beside(self) -> Files:
        """The files that this one may name."""
        return files_beside(self.files, self.file)

    @property
    def sketch(self) -> Sketch:
        """The picture of the current text."""
        now = self.editor.now
        if self._sketched is None or self._sketched[0] is not now:
            self._sketched = (now, self.draw(now.document))
        return self._sketched[1]

    def apply(self, operation: Operation) -> None:
        method = getattr(self, f"make_{operation.word}", None)
        is_port = "port" in operation.fields
        if method is None or (is_port and not self.names_ports):
            what = f"{operation.word!r}{' of a port' if is_port else ''}"
            what += " is not available for files of this format"
            raise refuse(UNAVAILABLE, what, AS_TEXT)
        method(operation)

    def node(self, path: str) -> SketchNode:
        node = self.sketch.node(path)
        if node is None:
            paths = [node.path for node in self.sketch.nodes]
            # Users often name a step inside a loop by its last name.
            inside = next((known for known in paths if known.endswith(f"/{path}")), "")
            advice = f"did you mean {inside!r}?" if inside else did_you_mean(path, paths)
            raise refuse(UNKNOWN, f"there is no step {path[:120]!r}", advice)
        return node

    def keys(self, at: str) -> list[str | int]:
        """Returns the keys that lead to a step's text; empty for the workflow itself."""
        return list(self.node(at).where) if at else []

    def path(self, where: Keys) -> Path:
        path = self.editor.now.find(where)
        assert path is not None, where
        return path

    def names_in(self, where: Keys) -> list[str]:
        """Returns the keys of the mapping at `where`."""
        found = at(self.editor.now.root, *where)
        return [entry.name for entry in found] if isinstance(found, Mapping) else []

    def place_of(self, where: Keys) -> Rewired:
        """Returns the step that contains a text, its field with dots between keys, and its line."""
        now, owner = self.editor.now, self.sketch.owner(where)
        path = now.find(where) or now.find(where[:-1])
        line = now.lines.line(now.place(path).start) if path else 1
        rest = where[len(owner.where) :] if owner else where
        return Rewired(owner.path if owner else "", ".".join(map(str, rest)), line)

    def respell(self, spellings: Iterable[tuple[Keys, int, int, str]]) -> None:
        """Replaces parts of texts, each from one offset to another."""
        texts: dict[Keys, str] = {}
        # From the last part of a text to the first, so that offsets stay valid.
        for where, start, end, new in sorted(spellings, key=lambda one: one[1], reverse=True):
            text = texts.get(where) or text_of(at(self.editor.now.root, *where))
            texts[where] = text[:start] + new + text[end:]
        for where, text in texts.items():
            self.editor.set(list(where), text)

    def refuse_at(self, code: str, message: str, where: Keys, advice: str = "") -> NoReturn:
        path = self.editor.now.find(where)
        at = self.editor.now.place(path).at if path else 0
        self.editor.now.refuse(code, message, at, advice)

    def make_set(self, operation: Operation) -> None:
        keys = self.keys(operation.at[0])
        if not operation.get("field") and not keys:
            raise refuse(UNKNOWN, "'field' is empty: name a field of the workflow")
        field = [*keys, *operation.get("field")]
        self.editor.set(field, operation.get("value"), before=self.last)
        self.outcome.select = [path for path in operation.at if path]

    def make_unset(self, operation: Operation) -> None:
        keys = self.keys(operation.at[0])
        if not operation.get("field"):
            raise refuse(UNKNOWN, "'field' is empty", "use remove for a whole step")
        self.editor.unset([*keys, *operation.get("field")], keeps=len(keys))
        self.outcome.select = [path for path in operation.at if path]

    def make_rewrite(self, operation: Operation) -> None:
        node = self.node(operation.at[0])
        self.editor.rewrite(self.path(node.where), operation.get("text"))
        self.outcome.select = [node.path]

    def make_open(self, operation: Operation) -> None:
        """Writes a value in brackets over several lines."""
        keys = [*self.keys(operation.at[0]), *operation.get("field", [])]
        path = self.editor.now.find(keys)
        if not path:
            raise refuse(UNKNOWN, f"there is no {'.'.join(map(str, keys))!r}")
        self.editor.open(path)
        self.outcome.select = [path for path in operation.at if path]

    def free_name(self, wanted: str, taken: set[str]) -> str:
        """Returns a free name: `ask`, `ask_2`, `ask_3`."""
        name, number = wanted, 2
        while name in taken:
            name, number = f"{wanted}_{number}", number + 1
        return name

    def new_fields(self, operation: Operation, what: str = "step") -> dict[str, Json]:
        """Returns the fields of a new step of the palette, with those that were given."""
        kind = operation.get("kind", "")
        if kind not in self.new:
            known = ", ".join(self.new)
            raise refuse(UNKNOWN, f"there is no kind of {what} {kind!r}", f"known: {known}")
        return {**self.new[kind], **operation.get("fields", {})}

    def soundly(self, change: Callable[[], None], *, is_strict: bool = False) -> None:
        """Makes a change that may add no error to the file, unless readers are left alone.

        A strict change may also add no warning, for example about a text that reads nothing.
        """
        text = self.editor.text
        change()
        if not self.rewires:
            return
        found = self.check(self.editor.text)
        counted = [each for each in found if is_strict or each.severity == "error"]
        before = Counter(map(_gist, self.check(text) if counted else ()))
        for each in counted:
            before[_gist(each)] -= 1
            if before[_gist(each)] < 0:
                message = f"the file would have a mistake: {each.message}"
                span = each.span and self.editor.first_span(each.span)
                advice = "change the readers first, or use `readers: leave`"
                raise EditRefused(Diagnostic(READ, message, span, each.label, advice))


def _gist(diagnostic: Diagnostic) -> tuple[str, str, str]:
    """Returns a finding without the names and places that a change may change."""
    return diagnostic.severity, diagnostic.code, re.sub(r"'[^']*'|\d+", "", diagnostic.message)


def findings(read: Callable[[], Reading]) -> list[Diagnostic]:
    """Returns the errors or warnings of a reader on a file."""
    try:
        return list(read().warnings)
    except InvalidWorkflow as fault:
        return list(fault.diagnostics)


def edit(
    text: str,
    file: str,
    operations: Sequence[Operation],
    files: SourceFiles,
    *,
    rewires: bool = True,
) -> Edited:
    """Returns the text after all operations. If it raises EditRefused, nothing changed."""
    dialect, changes = open_text(text, file, files, rewires=rewires)
    for number, operation in enumerate(operations):
        try:
            changes.apply(operation)
        except EditRefused as fault:
            raise EditRefused(fault.diagnostic, number) from None
        except RecursionError:
            deep = refuse("W002", "the file is nested too deeply").diagnostic
            raise EditRefused(deep, number) from None
    editor, outcome = changes.editor, changes.outcome
    results = outcome.rewired, outcome.select, outcome.others
    return Edited(editor.text, editor.patches(), dialect, changes.sketch, editor.now, *results)


def open_text(
    text: str, file: str, files: SourceFiles, *, rewires: bool = True
) -> tuple[str, Changes]:
    """Returns the dialect and the changes of a text; raises EditRefused if it cannot be read."""
    try:
        is_json = file.endswith(".json")
        editor = Editor(text, lambda source: parsed(source, file), is_json=is_json)
        reader = reader_of(editor.now.document)
    except InvalidWorkflow as fault:
        first = fault.diagnostics[0]
        message = f"the text cannot be read: {first.message}"
        wrong = Diagnostic(first.code, message, first.span, first.label, first.help)
        raise EditRefused(wrong) from None
    reference = getattr(reader, "editing", "")
    if not reference:
        raise refuse(UNAVAILABLE, f"files of the format {reader.name!r} are edited as text")

    def check(source: str) -> list[Diagnostic]:
        if source == editor.text:
            # The text is parsed already, which takes most of the time.
            return findings(lambda: reader.read(editor.now.document, changes.files_beside))
        return findings(lambda: read_workflow(source, file, changes.files))

    made = cast("type[Changes]", load_reference(reference))
    changes = made(editor, file, files, check, rewires=rewires)
    return reader.name, changes


@lru_cache(maxsize=_PARSED_MAX)
def parsed(text: str, file: str) -> Document:
    return parse(text, file, lenient=True)


# What can be added to a file: the kinds of steps of a dialect, in groups, with their forms.


def changes_of(dialect: str) -> type[Changes]:
    """Returns the class that changes files of a dialect; raises UsageError if it has no class."""
    plugins = dialects()
    reference = _editing(dialect) if plugins.has(dialect) else ""
    if not reference:
        known = ", ".join(filter(_editing, plugins.names()))
        words = f"files of a format {dialect[:60]!r} are not edited"
        raise UsageError(words, help=f"known: {known}")
    return cast("type[Changes]", load_reference(reference))


def _editing(dialect: str) -> str:
    return getattr(dialects().load(dialect), "editing", "")


def palette(dialect: str) -> dict[str, Any]:
    """Returns the palette of a dialect as JSON for the page."""
    changes = changes_of(dialect)
    groups: dict[str, list[dict[str, Any]]] = {}
    for kind in changes.kinds:
        groups.setdefault(kind.group, []).append(_kind(changes, kind))
    return {"groups": [{"title": title, "kinds": kinds} for title, kinds in groups.items()]}


def _kind(changes: type[Changes], kind: Kind) -> dict[str, Any]:
    inputs, outputs = changes.ports.get(kind.name, ((), ()))
    usual = kind.name.replace("_", " ").replace("-", " ").capitalize()
    return {
        "kind": kind.name,
        "title": kind.title or usual,
        "icon": kind.icon,
        "colour": kind.colour,
        "needs": kind.needs,
        "ports": {"inputs": list(inputs), "outputs": list(outputs)},
        "fields": kind.new,
        "form": [asdict(one) for one in changes.form_of(kind.name)],
    }
