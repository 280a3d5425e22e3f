"""What a dialect is, how that of a file is found, and how a file is read with all that it calls."""

from __future__ import annotations

import shlex
from dataclasses import field, replace
from typing import TYPE_CHECKING, Protocol, cast

from whorl.dialects.files import NamedFile, Names, NoFiles, SourceFiles
from whorl.errors import Diagnostic, InvalidWorkflow, SeveralWorkflows, Span, did_you_mean
from whorl.lazily import dataclass
from whorl.plugins import Plugins, formats, joined
from whorl.source import Document, Mapping, Sequence
from whorl.source.report import REPEATED, read_text
from whorl.source.yaml import read_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Mapping as MappingOf
    from typing import Literal

    from whorl import ir


CALLED_MAX = 100
CALL_DEPTH_MAX = 16
_NAMED_MAX = 30
_NATIVE = {"native": "whorl.dialects.native:NativeReader"}


@dataclass(frozen=True, slots=True)
class Reading:
    """A file that was read: the workflow, warnings, and the texts by file.

    `mentions` are the names that the file takes from its caller without declaring them, each where
    it is mentioned first; None if a file may take others as well. `included` are the files of the
    project that were read with it, because it or its called files name them.
    """

    workflow: ir.Workflow
    warnings: tuple[Diagnostic, ...] = ()
    sources: MappingOf[str, str] = field(default_factory=dict)
    mentions: MappingOf[str, Span] | None = None
    included: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Called:
    """A workflow file that another one calls, and its key in the IR."""

    key: str
    reading: Reading


class Reader(Protocol):
    """Reads the files of one dialect.

    `joined` names the keys that a file may repeat (their lists become one; in JSON any key may be
    repeated, and the last one counts). None means that a repeated key is a mistake. If a reader has
    `reaches_all_steps`, its files have no steps that are kept but never run. `editing` names the
    module that draws and changes its files (`editing.changes.Changes`). `linters` has, by the name
    of another system, what its files are called and the `module:name` that checks a document for
    it: returns diagnostics, and whether it is refused. `mocking` is the `module:name` of the words
    (`MockWords`) that tests have for its files.
    """

    name: str
    joined: frozenset[str] | None

    def claims(self, document: Document) -> bool:
        """Checks whether the file is of this dialect; reads the tree only."""

    def read(self, document: Document, files: Files) -> Reading:
        """Reads the file; raises InvalidWorkflow once, with all errors of the file."""


def dialects() -> Plugins:
    """Returns the readers by the names of their dialects, ours first."""
    return Plugins("whorl.dialects", _NATIVE | joined(each.readers for each in formats()))


def reaches_all_steps(dialect: str) -> bool:
    """Checks whether all steps of a dialect's files are meant to run; its reader says so."""
    plugins = dialects()
    return plugins.has(dialect) and bool(getattr(plugins.load(dialect), "reaches_all_steps", False))


def read_workflow(
    text: str | bytes,
    file: str,
    files: SourceFiles | None = None,
    *,
    dialect: str = "",
    limits: MappingOf[str, float] | None = None,
    workflow: str = "",
) -> Reading:
    """Reads a workflow file of any dialect; this runs and downloads nothing.

    `limits` are the operator's for loops without limits of their own: `iterations`, and `time` in
    seconds. `workflow` chooses one of a file with several; without it such a file raises
    SeveralWorkflows.
    """
    library = _Library(files or NoFiles(), dialect, limits or {}, workflow)
    if isinstance(text, bytes):
        text = read_text(text, file)
    reading = library.read(text, file, library.files.real_path(file))
    if workflow and workflow.lower() != reading.workflow.name.lower():
        span = Span(file, 1, 1)
        raise several_workflows([reading.workflow.name], workflow, span)
    return replace(reading, included=tuple(library.included))


def several_workflows(names: list[str], chosen: str, span: Span) -> SeveralWorkflows:
    """Makes the error that a file lacks the chosen workflow, or has several and none was chosen."""
    listed = ", ".join(map(repr, names[:_NAMED_MAX])) + ", ..." * (len(names) > _NAMED_MAX)
    message = f"there are {len(names)} workflows in this file: {listed}"
    if chosen:
        message = f"there is no workflow {chosen!r} in this file, only {listed}"
    advice = did_you_mean(chosen, names) if chosen else ""
    advice = advice or f"choose one: --workflow {shlex.quote(names[0])}"
    fault = Diagnostic("W903", message, span, "which one", advice)
    return SeveralWorkflows([fault], tuple(names))


class _Library:
    """The workflow files of one reading: each is read once, and a file may not call itself."""

    def __init__(
        self, files: SourceFiles, dialect: str, limits: MappingOf[str, float], chosen: str
    ) -> None:
        self.files = files
        self.limits = limits
        self.chosen = chosen
        self.names = Names(files)
        self.included: dict[str, None] = {}
        self._dialect = dialect
        self._plugins = dialects()
        self._readers: dict[str, Reader] = {}
        self._called: dict[str, Called | None] = {}
        self._open: list[str] = []

    def read(self, text: str, file: str, path: str) -> Reading:
        """Reads a file, given its name for people and its path."""
        try:
            document = parse(text, file)
            reader = self.reader_of(document)
        except InvalidWorkflow as fault:
            if any(diagnostic.code != REPEATED for diagnostic in fault.diagnostics):
                raise
            # Some dialects allow repeated keys, in some places.
            reader = self.reader_of(parse(text, file, lenient=True))
            if reader.joined is None:
                raise
            document = parse(text, file, joined=reader.joined)
        chosen = "" if self._open else self.chosen
        self._open.append(path)
        try:
            return reader.read(document, Files(self, path, chosen))
        finally:
            self._open.pop()

    def call(self, base: str, reference: str, span: Span) -> Called:
        """Reads a file that is called from another one."""
        opened = self.files.open(base, reference, span)
        self.included[opened.name] = None
        if opened.path in self._open:
            message = f"workflow {opened.name!r} calls itself, directly or through others"
            advice = "repeat steps with `repeat`, which has limits"
            raise InvalidWorkflow([Diagnostic("W011", message, span, "leads back", advice)])
        if len(self._open) > CALL_DEPTH_MAX or len(self._called) > CALLED_MAX:
            message = f"workflow {opened.name!r} makes too many calls: at most {CALLED_MAX} files, "
            message += f"{CALL_DEPTH_MAX} levels deep"
            advice = "put the steps into fewer files"
            raise InvalidWorkflow([Diagnostic("W002", message, span, "too many calls", advice)])
        if opened.path not in self._called:
            self._called[opened.path] = None
            reading = self.read(opened.text, opened.name, opened.path)
            self._called[opened.path] = Called(opened.name, reading)
        called = self._called[opened.path]
        if called is None:
            raise InvalidWorkflow([])
        return called

    def _names(self) -> Iterator[str]:
        ours = self._plugins.built_in
        yield from [self._dialect] if self._dialect else ours
        # Other packages are searched for only where a file is of none of ours.
        yield from () if self._dialect else self._plugins.names()[len(ours) :]

    def reader_of(self, document: Document) -> Reader:
        """Returns the first reader that knows a file, ours first; the others are not imported."""
        for name in self._names():
            if name not in self._readers:
                make = cast("Callable[[], Reader]", self._plugins.load(name))
                self._readers[name] = make()
            if self._readers[name].claims(document):
                return self._readers[name]
        raise InvalidWorkflow([_unknown(document)])


class Files:
    """The files beside the one that is read. Every method raises InvalidWorkflow.

    `path` is that of the file, `limits` are the operator's for loops without limits of their own.
    `chosen` is the name of the chosen workflow, if the file may have several.
    """

    def __init__(self, library: _Library, base: str, chosen: str) -> None:
        self._library = library
        self.path = base
        self.limits = library.limits
        self.chosen = chosen

    @property
    def is_cut(self) -> bool:
        """Checks whether there were too many files for `named` to search all of them."""
        return self._library.names.is_cut

    def text(self, reference: str, span: Span) -> tuple[str, str]:
        opened = self._library.files.open(self.path, reference, span)
        self._library.included[opened.name] = None
        return opened.name, opened.text

    def open(self, reference: str, span: Span) -> Document:
        name, text = self.text(reference, span)
        return parse(text, name)

    def workflow(self, reference: str, span: Span) -> Called:
        """Returns another workflow file, read by its own dialect."""
        return self._library.call(self.path, reference, span)

    def find(self, names: list[str] | tuple[str, ...]) -> str | None:
        """Returns the reference of the nearest file with one of these names, or None."""
        return self._library.files.find(self.path, names)

    def named(self, name_of: Callable[[str, str], str], span: Span) -> Iterator[list[NamedFile]]:
        """Returns the files around that have names of their own, the nearest place first.

        `name_of` finds the name in the text of a file; it also receives the file name.
        """
        return self._library.names.around(self.path, name_of, span)


def reader_of(document: Document) -> Reader:
    """Returns the first reader that knows a file; raises InvalidWorkflow if no reader does."""
    return _Library(NoFiles(), "", {}, "").reader_of(document)


def files_beside(files: SourceFiles, file: str) -> Files:
    """Returns the files beside a file, for its reader."""
    return Files(_Library(files, "", {}, ""), files.real_path(file), "")


# Files that people take for workflows: by their ending, or by the fields that all of them have.
_OTHER_ENDINGS = {
    ".toml": (
        "a configuration",
        "name a workflow file; `whorl project doctor` checks the configuration",
    ),
    ".py": (
        "a program",
        "name the function that has @whorl.workflow: `whorl run MODULE:NAME`; other programs are "
        "run by `python`",
    ),
}
_OTHER_FILES = (
    (
        frozenset({"nodes", "connections"}),
        "an export of n8n",
        "`whorl new` writes a loop to begin with; the guide `Coming from n8n` has one loop in both",
    ),
    (frozenset({"whorl_tests"}), "a file of tests", "`whorl test FILE` runs them"),
    (frozenset({"experiment"}), "an experiment", "`whorl experiment run FILE` runs it"),
)


def parse(
    text: str, file: str, *, lenient: bool = False, joined: frozenset[str] | None = None
) -> Document:
    """Reads YAML or JSON, told apart by the file's name or else by its beginning."""
    if what := next((words for end, words in _OTHER_ENDINGS.items() if file.endswith(end)), None):
        raise InvalidWorkflow(
            [Diagnostic("W018", f"this is {what[0]}, not a workflow", help=what[1])]
        )
    is_json = file.endswith(".json")
    if not file.endswith((".json", ".yaml", ".yml")):
        is_json = text.lstrip("\ufeff \t\r\n").startswith(("{", "["))
    if is_json:
        from whorl.source.json import read_json

        return read_json(text, file, repeated="error" if joined is None and not lenient else "warn")
    repeated: Literal["keep", "error"] = "keep" if lenient else "error"
    return read_yaml(text, file, repeated=repeated, joined=joined or frozenset())


def _unknown(document: Document) -> Diagnostic:
    keys = [entry.name for entry in document.root] if isinstance(document.root, Mapping) else []
    meant = next((key for key in keys if did_you_mean(key, ["whorl"])), None)
    if meant is not None:
        advice = f"did you mean 'whorl' where it says {meant!r}?"
    elif "steps" in keys:
        advice = "add `whorl: 1` as the first line"
    else:
        advice = "check that the file is complete; `whorl new` writes one from a template"
    message = "this is not a workflow file that Whorl knows; a native file begins with `whorl: 1`"
    # Some programs export a list of what they have.
    listed = document.root.items if isinstance(document.root, Sequence) else ()
    if listed and isinstance(listed[0], Mapping):
        keys = [entry.name for entry in listed[0]]
    for marks, what, instead in _OTHER_FILES:
        if marks <= set(keys):
            message, advice = f"this is {what}, not a workflow that Whorl reads", instead
    return Diagnostic("W018", message, document.root.span, "not recognised", advice)
