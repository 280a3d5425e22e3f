"""The project that a command works in: its folder, its configuration, its store, its files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from whorl.errors import InvalidWorkflow, UsageError, WhorlError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whorl.dialects import Reading
    from whorl.errors import Diagnostic
    from whorl.providers.settings import Settings
    from whorl.runtimes.sqlite import SqliteStore


CONFIG_NAME = "whorl.toml"
STORE_FOLDER = ".whorl"
STORE_NAME = "whorl.db"
CONFIG_BYTES_MAX = 1_000_000

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
        """What the operator configured, in the file and in the environment."""
        from whorl.providers.settings.sections import settings_from

        table = {} if self.config is None else _read_config(self.config)
        try:
            return settings_from(table, self.environment, project_root=str(self.root))
        except UsageError as fault:
            if self.config is None:
                raise
            place = f"{self.config}{_line_of(self.config, str(fault))}"
            raise UsageError(f"{place}: {fault}", help=fault.help, code="W901") from fault

    def read(self, file: str) -> Reading:
        """Reads a workflow file; the files that it names lie in the project, or beside it."""
        from whorl.source.paths import open_file

        return self.read_text(open_file(file), file)

    def read_text(self, text: str, file: str) -> Reading:
        """Reads a text as if it were the workflow file of that name."""
        from whorl.dialects import ProjectFiles, read_workflow

        root = _files_root(self.root, file)
        files = ProjectFiles(str(root), self._folders())
        return read_workflow(text, file, files, limits=self._limits())

    def _limits(self) -> Mapping[str, float]:
        """The limits of loops that have none of their own."""
        if self.config is None or "limits" not in _read_config(self.config):
            return {}
        return self.settings().limits

    def _folders(self) -> tuple[str, ...]:
        """The folders of the project in which workflows are looked for by name."""
        table = {} if self.config is None else _read_config(self.config)
        section = table.get("workflows")
        folders = section.get("folders", []) if isinstance(section, dict) else []
        if not isinstance(folders, list) or not all(isinstance(folder, str) for folder in folders):
            message = f"{self.config}: [workflows] folders must be a list of texts"
            raise UsageError(message, code="W901")
        return tuple(folders)

    def texts(self, diagnostics: Iterable[Diagnostic]) -> dict[str, str]:
        """The texts of the files that diagnostics point into, as far as they can be read."""
        from whorl.source.paths import open_file

        texts: dict[str, str] = {}
        for name in {
            diagnostic.span.file for diagnostic in diagnostics if diagnostic.span is not None
        }:
            for path in (name, str(self.root / name)):
                try:
                    texts[name] = open_file(path)
                except InvalidWorkflow:
                    continue
                break
        return texts

    def has_runs(self) -> bool:
        """Whether there is a store to look into. Raises UsageError W902 for one that was named."""
        if self.store.exists():
            return True
        if self.is_store_named:
            raise self._no_store()
        return False

    def _no_store(self) -> UsageError:
        if self.is_store_named:
            words, advice = f"there is no store at {str(self.store)!r}", "look at --store"
        else:
            words = f"there are no runs yet: {str(self.store)!r} does not exist"
            advice = "start one with `whorl run FILE`, or name another place with --store"
        return UsageError(words, help=advice, code="W902")

    def open_store(self, *, create: bool = False) -> SqliteStore:
        """The store; without `create`, one that is not there has no runs to speak of."""
        from whorl.runtimes.sqlite import SqliteStore

        if not create and not self.store.exists():
            raise self._no_store()
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
    """The project around a folder: the nearest one upwards that holds a whorl.toml, or itself.

    Unless `is_checked`, a configuration that is not there is found out when it is read.
    """
    current = (folder or Path.cwd()).resolve()
    root = next((p for p in (current, *current.parents) if (p / CONFIG_NAME).is_file()), current)
    chosen = root / CONFIG_NAME if (root / CONFIG_NAME).is_file() else None
    if config:
        chosen = current / Path(config).expanduser()
        if is_checked and not chosen.is_file():
            raise UsageError(f"the configuration {config!r} does not exist", code="W901")
    place = _store_path(root, current, store, environment)
    return Project(root, chosen, place, environment, is_store_named=bool(store))


def _store_path(
    root: Path, current: Path, store: str | None, environment: Mapping[str, str]
) -> Path:
    if store:
        path = current / Path(store).expanduser()
        return path if path.suffix == ".db" or path.is_file() else path / STORE_NAME
    home = environment.get("WHORL_HOME", "")
    folder = current / Path(home).expanduser() if home else root / STORE_FOLDER
    return folder / STORE_NAME


def _files_root(root: Path, file: str) -> Path:
    """A file inside the project may name all files of the project, another one those beside it."""
    try:
        path = Path(file).resolve()
    except (OSError, RuntimeError, ValueError):
        return root
    return root if path.is_relative_to(root) else path.parent


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
        message = f"{path}: replies of [connectors] cannot be read: {error.strerror or error}"
        help_text = "the path is seen from the folder of whorl.toml"
        raise UsageError(message, help=help_text, code="W901") from error
    except ValueError as error:
        help_text = 'replies by action: {"Send_mail": [{"statusCode": 200, "body": {}}]}'
        message = f"{path}: is no JSON file of replies: {error}"
        raise UsageError(message, help=help_text, code="W901") from error
    return replies["calls"] if isinstance(replies, dict) and "cassette" in replies else replies


def _read_toml(path: Path) -> dict[str, object]:
    import tomllib

    try:
        content = path.read_bytes()
        if len(content) > CONFIG_BYTES_MAX:
            raise _bad_config(str(path), f"has more than {CONFIG_BYTES_MAX:,} bytes")
        return tomllib.loads(content.decode("utf-8"))
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read: {error.strerror}", help="look at --config", code="W901"
        ) from error
    except UnicodeDecodeError as error:
        raise _bad_config(str(path), "is not UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place_match = _PLACE.search(message)
        place = (
            f":{place_match['line']}:{place_match['column']}"
            if place_match and place_match["line"]
            else ""
        )
        words = _PLACE.sub("", message)
        raise _bad_config(f"{path}{place}", words[:1].lower() + words[1:]) from error


def _line_of(path: Path, message: str) -> str:
    """Where the setting that a message is about probably stands."""
    named = [name for names in _NAMED.findall(message) for name in names if name]
    for number, text in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if any(re.match(rf"\s*(\[+.*\.)?{re.escape(name)}\b", text) for name in named):
            return f":{number}"
    return ""


def _bad_config(place: str, words: str) -> WhorlError:
    help_text = 'texts stand in quotes: base_url = "https://..."'
    return UsageError(f"{place}: {words}", help=help_text, code="W901")
