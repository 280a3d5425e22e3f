"""Finds the dialect of a file and reads it, with every workflow that it calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from whorl.dialects.files import Names, NoFiles
from whorl.dialects.reader import Called
from whorl.errors import Diagnostic, InvalidWorkflow, did_you_mean
from whorl.plugins import Plugins
from whorl.source import Mapping
from whorl.source.reading import read_text
from whorl.source.yaml import read_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from collections.abc import Mapping as MappingOf
    from typing import Literal

    from whorl.dialects.files import NamedFile, SourceFiles
    from whorl.dialects.reader import Reader, Reading
    from whorl.errors import Span
    from whorl.source import Document


CALLED_MAX = 100
CALL_DEPTH_MAX = 16
_BUILT_IN = {
    "native": "whorl.dialects.native:NativeReader",
    "mcp-cli": "whorl.dialects.mcp_cli.reader:McpCliReader",
    "orka": "whorl.dialects.orka.reader:OrkaReader",
    "studio": "whorl.dialects.studio:StudioReader",
    "shodan": "whorl.dialects.shodan.reader:ShodanReader",
    "loom": "whorl.dialects.loom:LoomReader",
}


def dialects() -> Plugins:
    """The readers by the names of their dialects, ours first."""
    return Plugins("whorl.dialects", _BUILT_IN)


def read_workflow(
    text: str | bytes,
    file: str,
    files: SourceFiles | None = None,
    *,
    dialect: str = "",
    limits: MappingOf[str, float] | None = None,
) -> Reading:
    """Reads a workflow file of any dialect; loading it runs nothing and fetches nothing.

    `limits` are the operator's for loops that have none of their own: `iterations`, and `time` in
    seconds.
    """
    library = _Library(files or NoFiles(), _Readers(dialect), limits or {})
    if isinstance(text, bytes):
        text = read_text(text, file)
    return library.read(text, file, library.files.real_path(file))


class _Readers:
    """The readers, ours first, each imported when the ones before it do not know a file."""

    def __init__(self, dialect: str) -> None:
        self._plugins = dialects()
        self._names = self._named(dialect)
        self._loaded: list[Reader] = []

    def __iter__(self) -> Iterator[Reader]:
        yield from list(self._loaded)
        for name in self._names:
            make = cast("Callable[[], Reader]", self._plugins.load(name))
            self._loaded.append(make())
            yield self._loaded[-1]

    def _named(self, dialect: str) -> Iterator[str]:
        if dialect:
            yield dialect
            return
        yield from _BUILT_IN
        yield from (name for name in self._plugins.names() if name not in _BUILT_IN)


class _Library:
    """The workflow files of one reading: each is read once, and none may call itself."""

    def __init__(
        self, files: SourceFiles, readers: _Readers, limits: MappingOf[str, float]
    ) -> None:
        self.files = files
        self.limits = limits
        self.names = Names(files)
        self._readers = readers
        self._called: dict[str, Called | None] = {}
        self._open: list[str] = []

    def read(self, text: str, file: str, path: str) -> Reading:
        """Reads a file, given its name for people and its path."""
        document, reader = self._recognise(text, file)
        self._open.append(path)
        try:
            return reader.read(document, _Beside(self, path))
        finally:
            self._open.pop()

    def call(self, base: str, reference: str, span: Span) -> Called:
        """Reads a file that is called from another one."""
        opened = self.files.open(base, reference, span)
        if opened.path in self._open:
            raise InvalidWorkflow([_circle(opened.name, span)])
        if len(self._open) > CALL_DEPTH_MAX or len(self._called) > CALLED_MAX:
            raise InvalidWorkflow([_too_many(opened.name, span)])
        if opened.path not in self._called:
            self._called[opened.path] = None
            reading = self.read(opened.text, opened.name, opened.path)
            self._called[opened.path] = Called(opened.name, reading)
        called = self._called[opened.path]
        if called is None:
            raise InvalidWorkflow([])
        return called

    def _recognise(self, text: str, file: str) -> tuple[Document, Reader]:
        try:
            document = parse(text, file)
        except InvalidWorkflow as fault:
            if any(diagnostic.code != "W003" for diagnostic in fault.diagnostics):
                raise
            return self._recognise_repeated(text, file, fault)
        return document, self._reader_of(document)

    def _recognise_repeated(
        self, text: str, file: str, fault: InvalidWorkflow
    ) -> tuple[Document, Reader]:
        """A file with repeated keys: some dialects allow that, in some places."""
        reader = self._reader_of(parse(text, file, lenient=True))
        if reader.joined is None:
            raise fault
        return parse(text, file, joined=reader.joined), reader

    def _reader_of(self, document: Document) -> Reader:
        for reader in self._readers:
            if reader.claims(document):
                return reader
        raise InvalidWorkflow([_unknown(document, list(self._readers))])


class _Beside:
    """The files beside one file."""

    def __init__(self, library: _Library, base: str) -> None:
        self._library = library
        self._base = base
        self.limits = library.limits

    def text(self, reference: str, span: Span) -> tuple[str, str]:
        """Returns the name and the text of a file."""
        opened = self._library.files.open(self._base, reference, span)
        return opened.name, opened.text

    def open(self, reference: str, span: Span) -> Document:
        """Returns a YAML or JSON file as a tree."""
        name, text = self.text(reference, span)
        return parse(text, name)

    def workflow(self, reference: str, span: Span) -> Called:
        """Returns another workflow file, read by its own dialect."""
        return self._library.call(self._base, reference, span)

    def find(self, names: Sequence[str]) -> str | None:
        """Returns the reference of the nearest file with one of these names."""
        return self._library.files.find(self._base, names)

    def named(self, name_of: Callable[[str, str], str], span: Span) -> Iterator[list[NamedFile]]:
        """Returns the files around that have names of their own, the nearest place first."""
        return self._library.names.around(self._base, name_of, span)

    @property
    def is_cut(self) -> bool:
        """Whether there were too many files to look at all of them."""
        return self._library.names.is_cut


def parse(
    text: str, file: str, *, lenient: bool = False, joined: frozenset[str] | None = None
) -> Document:
    """Reads YAML or JSON, told apart by the file's name or else by its beginning."""
    is_json = file.endswith(".json")
    if not file.endswith((".json", ".yaml", ".yml")):
        is_json = text.lstrip("\ufeff \t\r\n").startswith(("{", "["))
    if is_json:
        from whorl.source.json import read_json

        return read_json(text, file, repeated="error" if joined is None and not lenient else "warn")
    repeated: Literal["keep", "error"] = "keep" if lenient else "error"
    return read_yaml(text, file, repeated=repeated, joined=joined or frozenset())


def _unknown(document: Document, readers: list[Reader]) -> Diagnostic:
    keys = [entry.name for entry in document.root] if isinstance(document.root, Mapping) else []
    looked_for = "; ".join(f"{reader.name}: {reader.looks_for}" for reader in readers)
    meant = next((key for key in keys if did_you_mean(key, ["whorl"])), None)
    if meant is not None:
        advice = f"did you mean 'whorl' where it says {meant!r}?"
    elif "steps" in keys:
        advice = "add `whorl: 1` at the top"
    else:
        advice = "check that the file is complete, or write a new one with `whorl new`"
    message = f"no dialect knows this file; looked for {looked_for}"
    return Diagnostic("W018", message, document.root.span, "not recognised", advice)


def _circle(name: str, span: Span) -> Diagnostic:
    message = f"workflow {name!r} calls itself, directly or through others"
    advice = "repeat steps with `repeat`, which has limits"
    return Diagnostic("W017", message, span, "leads back", advice)


def _too_many(name: str, span: Span) -> Diagnostic:
    message = (
        f"workflow {name!r} is one call too many: at most {CALLED_MAX} files, {CALL_DEPTH_MAX} deep"
    )
    return Diagnostic("W017", message, span, "too many calls", "put the steps into fewer files")
