"""How operations change the text of a dialect: what all dialects can do, and what each may add."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn

from whorl.errors import Diagnostic, EditRefused, InvalidWorkflow, did_you_mean
from whorl.lazily import dataclass
from whorl.source.editing.text import UNKNOWN
from whorl.wings.editor.kit.operations import READ, UNAVAILABLE, Operation, refuse

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.dialects.files import SourceFiles
    from whorl.source import Document, Json
    from whorl.source.editing.editor import Editor
    from whorl.source.editing.rereading import Path
    from whorl.wings.editor.kit.names import Name, Rewired
    from whorl.wings.editor.kit.sketch import Keys, Sketch, SketchNode

AS_TEXT = "edit it as text, or make a native copy with `whorl convert`"


Widget = Literal["text", "long text", "number", "choice", "boolean", "expression", "json"]


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of a form: the keys that lead to it in the file, and how it is shown and filled in.

    `default` is what it is where the file does not say it; fields of the group `more` are rare.
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
    """What operations came to, beside the text: who was rewired, what to select, other files."""

    rewired: list[Rewired] = field(default_factory=list)
    select: list[str] = field(default_factory=list)
    others: dict[str, str] = field(default_factory=dict)


class Changes:
    """The operations of one dialect on one text. A dialect adds methods: `make_add` makes `add`.

    A method takes its operation, and raises EditRefused where it cannot be carried out.
    """

    # The palette: kinds of steps with the fields that a new one has, their groups and titles, what
    # the operator must allow for them, their icons and colours, and what they are connected by.
    new: ClassVar[dict[str, Any]] = {}
    groups: ClassVar[dict[str, tuple[str, ...]]] = {}
    titles: ClassVar[dict[str, str]] = {}
    needs: ClassVar[dict[str, str]] = {}
    looks: ClassVar[dict[str, tuple[str, str]]] = {}
    ports: ClassVar[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {}
    # What stands below all other fields of a step or of the file: what they hold.
    last: ClassVar[tuple[str, ...]] = ()
    # The text of a new file.
    empty: ClassVar[str] = ""
    # Whether files declare the ports of their steps by name.
    names_ports: ClassVar[bool] = False

    @classmethod
    def form_of(cls, kind: str) -> list[FormField]:
        """The fields of a kind of step, for forms; none where the dialect does not say."""
        return []

    def __init__(
        self,
        editor: Editor,
        file: str,
        files: SourceFiles,
        check: Callable[[str], list[Diagnostic]],
        *,
        rewires: bool = True,
    ) -> None:
        self.editor = editor
        self.file = file
        self.files = files
        self.check = check
        self.rewires = rewires
        self.outcome = Outcome()
        self._sketched: tuple[object, Sketch] | None = None

    @classmethod
    def draw(cls, document: Document) -> Sketch:
        """The sketch of a file; a dialect draws its own, and never raises."""
        raise NotImplementedError

    def names_at(self, path: str) -> list[Name]:
        """What the texts of a step may read; nothing where the dialect does not say."""
        return []

    @property
    def sketch(self) -> Sketch:
        """The picture of the text as it is by now."""
        now = self.editor.now
        if self._sketched is None or self._sketched[0] is not now:
            self._sketched = (now, self.draw(now.document))
        return self._sketched[1]

    def apply(self, operation: Operation) -> None:
        method = getattr(self, f"make_{operation.word}", None)
        is_port = "port" in operation.fields
        if method is None or (is_port and not self.names_ports):
            what = f"{operation.word!r}{' of a port' if is_port else ''}"
            what += " is not available for files of this dialect"
            raise refuse(UNAVAILABLE, what, AS_TEXT)
        method(operation)

    def node(self, path: str) -> SketchNode:
        node = self.sketch.node(path)
        if node is None:
            paths = [node.path for node in self.sketch.nodes]
            # People name a step inside of a loop by its last name.
            inside = next((known for known in paths if known.endswith(f"/{path}")), "")
            advice = f"did you mean {inside!r}?" if inside else did_you_mean(path, paths)
            raise refuse(UNKNOWN, f"there is no step {path[:120]!r}", advice)
        return node

    def keys(self, at: str) -> list[str | int]:
        """The keys that lead to a step's text; none for the workflow itself."""
        return list(self.node(at).where) if at else []

    def path(self, where: Keys) -> Path:
        path = self.editor.now.find(where)
        assert path is not None, where
        return path

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
        """Writes what stands in brackets over lines of its own."""
        keys = [*self.keys(operation.at[0]), *operation.get("field", [])]
        path = self.editor.now.find(keys)
        if not path:
            raise refuse(UNKNOWN, f"there is no {'.'.join(map(str, keys))!r}")
        self.editor.open(path)
        self.outcome.select = [path for path in operation.at if path]

    def free_name(self, wanted: str, taken: set[str]) -> str:
        """A name that nothing has yet: `ask`, `ask_2`, `ask_3`."""
        name, number = wanted, 2
        while name in taken:
            name, number = f"{wanted}_{number}", number + 1
        return name

    def soundly(self, change: Callable[[], None]) -> None:
        """A change that may add no mistake, unless readers are to be left alone."""
        if self.rewires:
            self.checked(change)
        else:
            change()

    def checked(self, change: Callable[[], None], *, is_strict: bool = False) -> None:
        """Makes a change that may add no error to the file; raises EditRefused where it does.

        A strict one may add no warning either: where texts that read nothing are only odd.
        """
        text = self.editor.text
        change()
        self.editor.verify()
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
    """A finding without the names and places that a change may change."""
    return diagnostic.severity, diagnostic.code, re.sub(r"'[^']*'|\d+", "", diagnostic.message)


def findings(read: Callable[[], object]) -> list[Diagnostic]:
    """What a reader has to say about a file: mistakes, or what is odd."""
    try:
        reading = read()
    except InvalidWorkflow as fault:
        return list(fault.diagnostics)
    return list(getattr(reading, "warnings", ()))
