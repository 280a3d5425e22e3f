"""The project that a command works in: its folder, its configuration, its store, its workflows."""

from __future__ import annotations

import os
import re
import stat
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from whorl.errors import Diagnostic, InvalidWorkflow, StoreError, UsageError, safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from whorl.dialects import Reading
    from whorl.ir import Workflow
    from whorl.providers.settings import Settings
    from whorl.runtimes.sqlite import SqliteStore

CONFIG_NAME = "whorl.toml"
STORE_FOLDER = ".whorl"
STORE_NAME = "whorl.db"
CONFIG_BYTES_MAX = 1_000_000
FILES_MAX = 500
FOLDERS_MAX = 2_000
BYTES_MAX = 200_000
DEPTH_MAX = 4
# A folder that is no project may hold anything; what is not read in this time is read next time.
READING_S = 5.0
_SUFFIXES = (".yaml", ".yml", ".json")
_LEFT_OUT = frozenset({"node_modules", "__pycache__", "site-packages", "dist", "build"})
Stamp: TypeAlias = tuple[int, int]
# A text that is not even YAML or JSON may be anything; it is listed where people keep workflows.
_SYNTAX = frozenset({"W001", "W002", "W003"})

_NAMED = re.compile(r"has no '([^']+)'|\] (\w+) must")
_PLACE = re.compile(
    r"\s*\(at (?:line (?P<line>[0-9]+), column (?P<column>[0-9]+)|end of document)\)$"
)


@dataclass(frozen=True, slots=True)
class Project:
    """Where a command works. `config` is the file with the settings, if there is one.

    A store that the person named has to be there when it is looked into; the project's own one
    is made by the first run.
    """

    root: Path
    config: Path | None
    store: Path
    environment: Mapping[str, str]
    is_store_named: bool = False

    def settings(self) -> Settings:
        from whorl.providers.settings.sections import settings_from

        table = self._table()
        try:
            return settings_from(table, self.environment, project_root=str(self.root))
        except UsageError as fault:
            if self.config is None:
                raise
            place = f"{self.config}{_line_of(self.config, str(fault))}"
            raise UsageError(f"{place}: {fault}", help=fault.help, code="W901") from fault

    def read(self, file: str) -> Reading:
        from whorl.source.paths import open_file

        return self.read_text(open_file(file), file)

    def read_text(self, text: str, file: str) -> Reading:
        from whorl.dialects import ProjectFiles, read_workflow

        # A file inside the project may name all files of it, another one those beside it.
        try:
            path = Path(file).resolve()
            root = self.root if path.is_relative_to(self.root) else path.parent
        except (OSError, RuntimeError, ValueError):
            root = self.root
        files = ProjectFiles(str(root), self._folders())
        # The limits of loops that have none of their own.
        limits = self.settings().limits if "limits" in self._table() else {}
        return read_workflow(text, file, files, limits=limits)

    def _table(self) -> dict[str, object]:
        return {} if self.config is None else _read_config(self.config)

    def _folders(self) -> tuple[str, ...]:
        section = self._table().get("workflows")
        folders = section.get("folders", []) if isinstance(section, dict) else []
        if not isinstance(folders, list) or not all(isinstance(folder, str) for folder in folders):
            message = f"{self.config}: [workflows] folders must be a list of texts"
            raise UsageError(message, code="W901")
        return tuple(folders)

    def texts(self, diagnostics: Iterable[Diagnostic]) -> dict[str, str]:
        from whorl.source.paths import open_file

        texts: dict[str, str] = {}
        for name in {each.span.file for each in diagnostics if each.span is not None}:
            for path in (str(self.root / name), name):
                with suppress(InvalidWorkflow):
                    texts[name] = open_file(path)
        return texts

    def has_runs(self) -> bool:
        """Whether there is a store to look into. Raises UsageError W902 for one that was named."""
        if self.is_store_named and not self.store.exists():
            raise self._no_store()
        return self.store.exists()

    def _no_store(self) -> UsageError:
        words, advice = f"there is no store at {str(self.store)!r}", "look at --store"
        if not self.is_store_named:
            words = f"there are no runs yet: {str(self.store)!r} does not exist"
            advice = "start one with `whorl run FILE`, or name another place with --store"
        return UsageError(words, help=advice, code="W902")

    def open_store(self, *, create: bool = False) -> SqliteStore:
        """The store; without `create`, one that is not there has no runs to speak of."""
        from whorl.runtimes.sqlite import SqliteStore

        if not create and not self.store.exists():
            raise self._no_store()
        folder, is_named = (
            self.store.parent,
            self.is_store_named or self.environment.get("WHORL_HOME"),
        )
        if not is_named and folder.is_symlink():
            words, advice = f"{str(folder)!r} is a symbolic link", f"--store {folder.resolve()}"
            raise StoreError(words, code="R908", help=f"name the folder itself: {advice}")
        # A file that is still empty is a store that another process is about to fill.
        return SqliteStore(self.store, create=True)


def find_project(
    environment: Mapping[str, str],
    *,
    folder: Path | None = None,
    config: str | None = None,
    store: str | None = None,
    is_checked: bool = True,
) -> Project:
    """The project around a folder; `is_checked`: its configuration has to be there."""
    current = (folder or Path.cwd()).resolve()
    root = next((p for p in (current, *current.parents) if (p / CONFIG_NAME).is_file()), current)
    chosen = root / CONFIG_NAME if (root / CONFIG_NAME).is_file() else None
    if config:
        chosen = current / Path(config).expanduser()
        if is_checked and not chosen.is_file():
            raise UsageError(f"the configuration {config!r} does not exist", code="W901")
    home = environment.get("WHORL_HOME", "")
    place = (current / Path(home).expanduser() if home else root / STORE_FOLDER) / STORE_NAME
    if store:
        place = current / Path(store).expanduser()
        place = place if place.suffix == ".db" or place.is_file() else place / STORE_NAME
    if (store or home) and place.is_symlink():
        # Where the person has named it, a link is meant; a folder's own store is none.
        place = place.resolve()
    return Project(root, chosen, place, environment, is_store_named=bool(store))


def _read_config(path: Path) -> dict[str, object]:
    table = _read_toml(path)
    providers = table.get("providers")
    for provider in providers.values() if isinstance(providers, dict) else ():
        if isinstance(provider, dict) and isinstance(provider.get("replies"), str):
            provider["replies"] = _read_toml(path.parent / provider["replies"])
    connectors = table.get("connectors")
    if isinstance(connectors, dict) and isinstance(connectors.get("replies"), str):
        connectors["replies"] = _read_replies(path.parent / connectors["replies"])
    return table


def _read_replies(path: Path) -> object:
    """Replies by the names of actions, or a cassette, whose calls are replies by address."""
    import json

    try:
        replies = json.loads(path.read_text("utf-8"))
    except OSError as error:
        words = f"{path}: replies of [connectors] cannot be read: {error.strerror or error}"
        advice = "the path is seen from the folder of whorl.toml"
        raise UsageError(words, help=advice, code="W901") from error
    except ValueError as error:
        words = f"{path}: is no JSON file of replies: {error}"
        advice = 'replies by action: {"Send_mail": [{"statusCode": 200, "body": {}}]}'
        raise UsageError(words, help=advice, code="W901") from error
    return replies["calls"] if isinstance(replies, dict) and "cassette" in replies else replies


def _read_toml(path: Path) -> dict[str, object]:
    import tomllib

    try:
        content = path.read_bytes()
        if len(content) > CONFIG_BYTES_MAX:
            raise _bad_config(str(path), f"has more than {CONFIG_BYTES_MAX:,} bytes")
        return tomllib.loads(content.decode("utf-8"))
    except OSError as error:
        words = f"{path}: cannot be read: {error.strerror}"
        raise UsageError(words, help="look at --config", code="W901") from error
    except UnicodeDecodeError as error:
        raise _bad_config(str(path), "is not UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        at = _PLACE.search(message)
        place = f":{at['line']}:{at['column']}" if at and at["line"] else ""
        words = _PLACE.sub("", message)
        raise _bad_config(f"{path}{place}", words[:1].lower() + words[1:]) from error


def _line_of(path: Path, message: str) -> str:
    named = [name for names in _NAMED.findall(message) for name in names if name]
    for number, text in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if any(re.match(rf"\s*(\[+.*\.)?{re.escape(name)}\b", text) for name in named):
            return f":{number}"
    return ""


def _bad_config(place: str, words: str) -> UsageError:
    advice = 'texts stand in quotes: base_url = "https://..."'
    return UsageError(f"{place}: {words}", help=advice, code="W901")


@dataclass(frozen=True, slots=True)
class Listed:
    """A workflow file; of one with mistakes only their number and the first of them."""

    file: str
    workflow: Workflow | None = None
    errors: int = 0
    trouble: str = ""


@dataclass(eq=False)
class Catalogue:
    """The workflow files below a project's folder."""

    project: Project
    _files: dict[str, tuple[Stamp, Listed | None]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def listed(self) -> list[Listed]:
        files: dict[str, tuple[Stamp, Listed | None]] = {}
        deadline = time.monotonic() + READING_S
        with self._lock:
            for path, stamp in sorted(_candidates(str(self.project.root))):
                before = self._files.get(path)
                if before is not None and before[0] == stamp:
                    files[path] = before
                elif time.monotonic() < deadline:
                    files[path] = (stamp, self._read(path))
            self._files = files
        return [listed for _, listed in files.values() if listed is not None]

    def _read(self, path: str) -> Listed | None:
        name = os.path.relpath(path, self.project.root).replace(os.sep, "/")
        try:
            return Listed(name, self.project.read(path).workflow)
        except InvalidWorkflow as fault:
            codes = {diagnostic.code for diagnostic in fault.diagnostics}
            # W018: the file is of no dialect.
            if "W018" in codes or (codes <= _SYNTAX and name.count("/") > 1):
                return None
            first = safe(fault.diagnostics[0].message) if fault.diagnostics else ""
            return Listed(name, None, max(1, len(fault.diagnostics)), first)


def _candidates(root: str) -> Iterator[tuple[str, Stamp]]:
    """Files that may be workflows, with what tells whether they have changed."""
    files = folders = 0
    waiting = deque([(root, 0)])
    while waiting and files < FILES_MAX and folders < FOLDERS_MAX:
        folder, depth = waiting.popleft()
        folders += 1
        try:
            with os.scandir(folder) as scanned:
                entries = sorted(scanned, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if depth < DEPTH_MAX and entry.name not in _LEFT_OUT:
                    waiting.append((entry.path, depth + 1))
            elif entry.name.endswith(_SUFFIXES) and files < FILES_MAX:
                with suppress(OSError):
                    about = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(about.st_mode) and about.st_size <= BYTES_MAX:
                        files += 1
                        yield entry.path, (about.st_mtime_ns, about.st_size)
