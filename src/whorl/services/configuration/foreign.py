"""Reads the configurations of other systems: their files, and the variables they name.

A file of the folder sets most variables, and Whorl shows their values before a person trusts them.
Variables of the user's environment are shown by name, since their values may be secret. A value
is shown only if it sets an address or a program; if it changes, Whorl asks again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from whorl.errors import InvalidWorkflow, UsageError
from whorl.lazily import dataclass, regex
from whorl.plugins import formats, load_reference
from whorl.providers.settings import BROUGHT, SECRET_NAME, YOURS
from whorl.source.paths import fits_glob, read_start, reason_of, resolve_beside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whorl.dialects.files import ReadSections, Sections
    from whorl.plugins import Mark

_FILES_MAX = 500
_BYTES_MAX = 1_000_000
_DEPTH_MAX = 6
_LOOKED_AT = 100_000
_COPY = "copy it into the folder of the configuration"
# A dollar sign counts before braces, and before a name that stands alone.
_VARIABLE = regex(r"\$\{(\w+)(?::-([^}]*))?\}|(?<!\S)\$(\w+)")
_REFERENCE = "env:"
Table: TypeAlias = "dict[str, object]"


@dataclass(frozen=True, slots=True)
class Foreign:
    """A configuration of another system: its sections, and the files that they come from."""

    path: Path
    sections: Sections
    content: bytes
    files: frozenset[str]
    paths: tuple[Path, ...]


def find_foreign(folder: Path) -> Path | None:
    """Returns the configuration of another system in a folder, or None."""
    for mark in marks():
        if mark.sections and is_marked(folder, mark):
            return folder / mark.name
    return None


def marks() -> Iterator[Mark]:
    """Yields the files or folders that mark projects of other systems."""
    return (mark for each in formats() for mark in each.marks)


def is_marked(folder: Path, mark: Mark) -> bool:
    """Returns whether a mark exists in a folder, with the expected beginning."""
    path = folder / mark.name
    if not mark.pattern:
        return path.exists()
    try:
        return re.search(mark.pattern, read_start(path, _LOOKED_AT), re.MULTILINE) is not None
    except OSError:
        return False


def read_foreign(path: Path) -> Foreign:
    """Reads a configuration of another system. Raises UsageError W901."""
    mark = next(mark for mark in marks() if mark.sections)
    files = _Files(path.parent, path.name)
    sections = cast("ReadSections", load_reference(mark.sections))(files)
    digest = hashlib.sha256()
    for name in sorted(files.read):
        digest.update(f"{name}\0{len(files.read[name])}\0".encode())
        digest.update(files.read[name])
    names = frozenset(map(str.casefold, files.read))
    return Foreign(path, sections, digest.digest(), names, tuple(files.places()))


@dataclass(slots=True)
class _Files:
    """Implements `ConfigurationFiles` in a folder; paths outside of it are refused."""

    root: Path
    name: str
    read: dict[str, bytes] = field(default_factory=dict)
    found: list[str] = field(default_factory=list)

    def text(self, path: str) -> str | None:
        self.read[path] = b""
        try:
            real = resolve_beside(f"{self.root}/-", path, root=str(self.root))
            content = read_start(real, _BYTES_MAX + 1)
        except InvalidWorkflow as fault:
            raise UsageError(fault.diagnostics[0].message, help=_COPY, code="W901") from fault
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as fault:
            raise UsageError(f"{path}: {reason_of(fault)}", code="W901") from fault
        if len(content) > _BYTES_MAX or len(self.read) >= _FILES_MAX:
            words = f"{path}: is too large, or one of more than {_FILES_MAX} files"
            raise UsageError(words, code="W901")
        self.read[path] = content
        self.found.append(path)
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UsageError(f"{path}: is not UTF-8", code="W901") from error

    def places(self) -> Iterator[Path]:
        """Yields the existing files, and the folders that lead to them."""
        files = [Path(name) for name in self.found]
        places = {place for file in files for place in (file, *file.parents)} - {Path()}
        return (self.root / place for place in sorted(places))

    def matching(self, glob: str) -> list[str]:
        glob = glob.removeprefix("./")
        if glob.startswith(("/", "~")) or ".." in glob.split("/"):
            words = f"{self.name}: {glob!r} is outside of the folder of the configuration"
            raise UsageError(words, help=_COPY.replace("it", "the files", 1), code="W901")
        start = glob.partition("*")[0].rpartition("/")[0]
        return sorted(path for path in self._below(start, 0) if fits_glob(path.split("/"), glob))

    def _below(self, folder: str, depth: int) -> Iterator[str]:
        try:
            entries = sorted(os.scandir(self.root / folder), key=lambda entry: entry.name)
        except OSError:
            return
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                if depth < _DEPTH_MAX:
                    yield from self._below(path, depth + 1)
            else:
                yield path


# What counts in the places of variables, and what is shown there.


@dataclass(frozen=True, slots=True)
class Expanded:
    """Sections with their values, and as they are shown.

    `decided` is the part of the environment that sets addresses and programs.
    """

    table: Table
    shown: Table
    decided: bytes


def expand(sections: Table, own: Mapping[str, str], environment: Mapping[str, str]) -> Expanded:
    """Returns the sections with the values of variables; `own` are those of the folder."""
    reading = _Reading(own, environment)
    table, shown = dict(sections), dict(sections)
    for section, make in (("providers", reading.provider), ("mcp", reading.server)):
        entries = sections.get(section)
        if isinstance(entries, dict):
            made = {name: make(entry) for name, entry in entries.items()}
            table[section] = {name: counts for name, (counts, _) in made.items()}
            shown[section] = {name: seen for name, (_, seen) in made.items()}
    allow = sections.get("allow")
    if isinstance(allow, dict):
        both = [reading.program(str(name)) for name in allow.get("commands", [])]
        table["allow"] = allow | {"commands": sorted({counts for counts, _ in both})}
        shown["allow"] = allow | {"commands": sorted({seen for _, seen in both})}
    decided = json.dumps(sorted(reading.decided.items())).encode() if reading.decided else b""
    return Expanded(table, shown, decided)


def bring(table: Table, own: Mapping[str, str], *, is_shown: bool = False) -> Table:
    """Returns a table whose `env:NAME` refer to variables of the folder, if the folder sets them.

    These variables are renamed to names that no environment has, so that nothing else reads them.
    """
    return {name: _brought(name, value, own, is_shown=is_shown) for name, value in table.items()}


def brought(own: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables by their names from `bring`."""
    return {f"{BROUGHT}{name}": text for name, text in own.items()}


def _brought(key: str, value: object, own: Mapping[str, str], *, is_shown: bool) -> object:
    if isinstance(value, dict):
        inner = {name: _brought(name, each, own, is_shown=is_shown) for name, each in value.items()}
        # What programs find in their variables may be code: it is shown as if it stood there.
        if key == "env" and is_shown:
            return {name: own.get(_named(text), text) for name, text in value.items()}
        return inner
    name = _named(value)
    if name not in own:
        return value
    return own[name] if key == "url" else f"{_REFERENCE}{BROUGHT}{name}"


def _named(value: object) -> str:
    is_reference = isinstance(value, str) and value.startswith(_REFERENCE)
    return str(value)[len(_REFERENCE) :].strip() if is_reference else ""


@dataclass(slots=True)
class _Reading:
    own: Mapping[str, str]
    environment: Mapping[str, str]
    decided: dict[str, str] = field(default_factory=dict)
    yours: set[str] = field(default_factory=set)

    def provider(self, entry: Table) -> tuple[Table, Table]:
        self.yours = set()
        url = entry.get("base_url")
        if not isinstance(url, str):
            return entry, entry
        counts, seen = self._both(url, is_place=True)
        made = entry | {"base_url": counts}
        missing = self._missing(url)
        if missing:
            # A call of it fails with the name of the variable.
            made |= {"base_url": "https://address.invalid", "api_key": f"{_REFERENCE}{missing}"}
        return made, self._with_names(entry | {"base_url": seen})

    def server(self, entry: Table) -> tuple[Table, Table]:
        self.yours = set()
        command, env = entry.get("command"), entry.get("env", {})
        if not isinstance(command, list) or not isinstance(env, dict):
            return entry, entry
        first = [self.program(str(each)) for each in command[:1]]
        words = [*first, *(self._both(str(each)) for each in command[1:])]
        values = {name: self._both(str(text)) for name, text in env.items()}
        made, shown = (
            {"command": [each[at] for each in words]}
            | ({"env": {name: each[at] for name, each in values.items()}} if env else {})
            for at in (0, 1)
        )
        return entry | made, self._with_names(entry | shown)

    def program(self, text: str) -> tuple[str, str]:
        """Returns the program; the name of an unset variable stays in it, so that it is shown."""
        both = self._both(text, is_place=True)
        return (text, text) if self._missing(text) else both

    def _with_names(self, shown: Table) -> Table:
        return shown | {YOURS: sorted(self.yours)} if self.yours else shown

    def _both(self, text: str, *, is_place: bool = False) -> tuple[str, str]:
        """Returns a text with its values, and as it is shown."""
        if text.startswith(_REFERENCE):
            return text, text

        def counts(at: re.Match[str]) -> str:
            return self._value(at[1] or at[3]) or at[2] or ""

        def seen(at: re.Match[str]) -> str:
            name = at[1] or at[3]
            if name in self.own:
                return self.own[name]
            is_secret = SECRET_NAME.search(name) is not None
            if is_place and not is_secret:
                self.decided[name] = self.environment.get(name, "")
            if not self.environment.get(name):
                return at[2] if at[2] is not None else at[0]
            self.yours.add(name)
            return self.environment[name] if is_place and not is_secret else f"${{{name}}}"

        made = (_VARIABLE.sub(each, text) for each in (counts, seen))
        first, second = (os.path.expanduser(each) for each in made)
        return first, second

    def _value(self, name: str) -> str:
        return self.own.get(name, "") or self.environment.get(name, "")

    def _missing(self, text: str) -> str:
        """Returns the first variable in a text that has neither a value nor a default."""
        for found in _VARIABLE.finditer(text):
            name = found[1] or found[3]
            if not self._value(name) and found[2] is None:
                return name
        return ""
