"""What the writers of the parts of a file share: its losses, its other files, names in scope."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from whorl.dialects.writing import Spot
from whorl.dialects.writing.unsaid import lose_unsaid
from whorl.dialects.writing.writer import file_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from whorl.dialects.writing import Ledger
    from whorl.ir import Node

TARGET = "mcp-cli"


@dataclass(slots=True)
class Page:
    """One writing; `files` are the documents by name, that of the workflow first."""

    ledger: Ledger
    file: str
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    execution: dict[str, Any] = field(default_factory=dict)

    def add_file(self, name: str, document: dict[str, Any]) -> str:
        """Keeps another document; returns the name that a workflow calls it by."""
        stem = file_name(f"{self.file.rpartition('/')[2].partition('.')[0]}-{name}")
        free, number = stem, 2
        while f"{free}.yaml" in self.files:
            free, number = f"{stem}-{number}", number + 1
        self.files[f"{free}.yaml"] = document
        return free


@dataclass(frozen=True, slots=True)
class Here:
    """A place in the workflow, and how values are read there.

    `names` are placeholders by the path of names that reads the same value in the IR, such as
    `("polish", "write")`.
    """

    page: Page
    spot: Spot = field(default_factory=Spot)
    names: Mapping[tuple[str, ...], str] = field(default_factory=dict)

    def at(self, node: Node) -> Here:
        """The same at a node of the block."""
        path = f"{self.spot.path}/{node.name}" if self.spot.path else node.name
        return replace(self, spot=replace(self.spot, path=path, place=node.place))

    def lose(self, what: str, why: str) -> None:
        """Lists what the dialect cannot say here."""
        self.page.ledger.lose(self.spot, what, why)

    def lose_unsaid(self, item: Any, said: Collection[str]) -> None:
        """Lists whatever a part of the IR says beside the fields that are written."""
        lose_unsaid(self.page.ledger, self.spot, item, said, target=TARGET)
