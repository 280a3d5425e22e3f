"""Projects of other systems: what is read of their configurations and databases."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from whorl.dialects.files import SourceFiles

# Finds the files that a name may mean, seen from the project's folder.
FindNamed: TypeAlias = "Callable[[str, SourceFiles, str], Iterable[str]]"
# Makes sections of whorl.toml of a configuration that is written otherwise.
ReadSections: TypeAlias = "Callable[[ConfigurationFiles], Sections]"


class ConfigurationFiles(Protocol):
    """The files of a configuration, by paths that are seen from its own folder."""

    name: str

    def text(self, path: str) -> str | None:
        """The text of a file; None where there is none."""

    def matching(self, glob: str) -> list[str]:
        """The files that fit a pattern, by name; `**` stands for any folders."""


@dataclass(frozen=True, slots=True)
class Sections:
    """A configuration as sections of whorl.toml. Its texts may name variables: `${NAME}`.

    `variables` are those that it brings itself, which win over those of the environment. `notes`
    say what of it has no effect.
    """

    table: dict[str, object]
    variables: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Taken:
    """What is taken over from another program: workflow files by name, and what to know of them.

    `lines` are offered for whorl.toml: they name variables, and hold no key.
    """

    files: Mapping[str, str]
    lines: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


# Makes files of the rows of a database, which are given by table.
TakeOver: TypeAlias = "Callable[[Mapping[str, list[Row]], bool], Taken]"
Row: TypeAlias = "dict[str, str | int | float | None]"
