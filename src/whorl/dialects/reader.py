"""What a dialect is: something that claims a file and reads it into the IR."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from whorl import ir
    from whorl.dialects.files import NamedFile
    from whorl.errors import Diagnostic, Span
    from whorl.source import Document


@dataclass(frozen=True, slots=True)
class Reading:
    """A file that was read: the workflow, what is odd but allowed, and the texts by file.

    `mentions` are the names that the file takes from whoever calls it without declaring them, each
    where it is mentioned first; None where a file may take others as well.
    """

    workflow: ir.Workflow
    warnings: tuple[Diagnostic, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    mentions: Mapping[str, Span] | None = None


@dataclass(frozen=True, slots=True)
class Called:
    """A workflow file that another one calls, and the key that the IR knows it by."""

    key: str
    reading: Reading


class Files(Protocol):
    """The files beside the one that is read. Every method raises InvalidWorkflow.

    `limits` are the operator's for loops that have none of their own. `is_cut` says that there
    were too many files for `named` to look at all of them.
    """

    limits: Mapping[str, float]

    @property
    def is_cut(self) -> bool:
        """Whether `named` left files out."""

    def text(self, reference: str, span: Span) -> tuple[str, str]:
        """Returns the name and the text of a file."""

    def open(self, reference: str, span: Span) -> Document:
        """Returns a YAML or JSON file as a tree."""

    def workflow(self, reference: str, span: Span) -> Called:
        """Returns another workflow file, read by its own dialect."""

    def find(self, names: Sequence[str]) -> str | None:
        """Returns the reference of the nearest file with one of these names; None if none is."""

    def named(self, name_of: Callable[[str, str], str], span: Span) -> Iterator[list[NamedFile]]:
        """Returns the files around that have names of their own, the nearest place first.

        `name_of` finds the name in the text of a file, given its file name, too.
        """


class Reader(Protocol):
    """Reads the files of one dialect.

    `joined` names the keys that a file may repeat (their lists become one; in JSON any key may be
    repeated, and the last one counts); None means that a repeated key is a mistake. A reader that
    has `reaches_all_steps` says that its files have no steps that are kept and never reached.
    A reader may also have `linters`: by the name of another system, what its files are called, and
    `module:name` of what checks a document for it: gives diagnostics, and whether it is refused.
    """

    name: str
    looks_for: str
    joined: frozenset[str] | None

    def claims(self, document: Document) -> bool:
        """Whether the file is of this dialect; looks at the tree only."""

    def read(self, document: Document, files: Files) -> Reading:
        """Reads the file; raises InvalidWorkflow once, with everything that is wrong in it."""
