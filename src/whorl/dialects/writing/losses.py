"""What a target cannot say: kept with its place while a workflow is written."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a workflow: the path of a node (empty: the whole), and where its file has it."""

    path: str = ""
    place: str = ""
    key: str = ""

    @property
    def address(self) -> str:
        """The path, behind the key of a workflow that is called."""
        return f"{self.key}:{self.path}" if self.key else self.path


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that a workflow says and its target cannot.

    `place` is the path of a node; `at` is `line:column` of it, in the file of the workflow or in
    that of the called workflow `key`.
    """

    place: str
    what: str
    why: str
    at: str = ""
    key: str = ""

    def words(self, file: str = "") -> str:
        """The loss in one line; `file` is the file of the workflow."""
        named = self.key or file
        where = f"{named}:{self.at}" if named and self.at else named
        # The file says already which of the workflows it is.
        path = self.place.removeprefix(f"{self.key}:") if self.key else self.place
        return f"{where + ': ' if where else ''}{path or 'the workflow'}: {self.what}: {self.why}"


@dataclass(slots=True)
class Ledger:
    """The losses of one writing, each of them once."""

    losses: list[Loss] = field(default_factory=list)

    def lose(self, spot: Spot, what: str, why: str) -> None:
        """Keeps a loss."""
        loss = Loss(spot.address, what, why, spot.place, spot.key)
        if loss not in self.losses:
            self.losses.append(loss)
