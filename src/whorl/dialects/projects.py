"""Projects of other systems: what their folders are known by, and how they name workflows.

Nothing of a dialect is imported here: what a mark or a name leads to is written `module:name`.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from whorl.lazily import dataclass, regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from whorl.dialects.files import SourceFiles

# Finds the files that a name may mean, seen from the project's folder.
FindNamed: TypeAlias = "Callable[[str, SourceFiles, str], Iterable[str]]"
# Makes sections of whorl.toml of a configuration that is written otherwise.
ReadSections: TypeAlias = "Callable[[ConfigurationFiles], Sections]"


@dataclass(frozen=True, slots=True)
class Mark:
    """A file or folder by which a project is known; `pattern` must be in a file that is one.

    `sections`, where the mark is a configuration, is the `ReadSections` for it.
    """

    name: str
    pattern: re.Pattern[bytes] | None = None
    sections: str = ""


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


@dataclass(frozen=True, slots=True)
class Database:
    """A database with workflows in it: the tables that it is known by, and all that are read."""

    known_by: frozenset[str]
    tables: tuple[str, ...]
    take_over: str


DATABASES = (
    Database(
        frozenset(("_meta", "workflows")),
        ("_meta", "workflows", "settings", "mcp_servers", "triggers"),
        "whorl.formats.studio.database:take_over",
    ),
)
# Many programs have a file of this name: a section of it must hold what only this one has.
_CONFIGURED = (
    rb"^(?:%s)[ \t]*:[ \t]*"
    rb"(?:\{[^}\n]*|(?:#.*)?\n(?:[ \t].*\n|#.*\n|\n)*?[ \t]+)(?:%s)[ \t]*:"
)
_CONFIGURATION = b"|".join(
    (
        _CONFIGURED % (b"includes", b"settings|providers|servers|workflows"),
        _CONFIGURED % (b"ai", b"default_provider|interfaces"),
    )
)
MARKS = (
    Mark(".robomesh"),
    Mark("host.json", regex(rb"ExtensionBundle\.Workflows")),
    Mark(
        "config.yaml",
        regex(_CONFIGURATION, re.MULTILINE),
        "whorl.formats.mcp_cli.configuration:read_sections",
    ),
)
NAMES = (
    "whorl.formats.shodan.reader:find_named",
    "whorl.formats.mcp_cli.calls:find_named",
    "whorl.formats.loom.project.settings:find_named",
)
