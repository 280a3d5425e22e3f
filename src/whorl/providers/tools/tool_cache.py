"""The descriptions of MCP tools that this project knows from earlier runs.

A model trusts these descriptions, so the first ones of a server are kept. A changed description and
that of a new tool are stored beside them; models receive these only after a person has accepted
them.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from whorl.errors import UsageError
from whorl.lazily import dataclass
from whorl.providers.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from whorl.providers.models.conversation import ToolOffer
    from whorl.providers.redaction import Secret

FILE_NAME = "tools.json"
_FORMAT = 1
_KNOWN, _OFFERED = "known", "offered"


@dataclass(frozen=True, slots=True)
class ChangedTool:
    """A new or changed tool; `difference` compares the lines of both descriptions."""

    name: str
    difference: list[str]
    offered: dict[str, Any]


class KnownTools:
    """The descriptions by `server/tool`, without secrets, in a file that only its owner reads."""

    def __init__(self, path: Path, secrets: tuple[Secret, ...]) -> None:
        self._path = path
        self._secrets = secrets

    def changed(
        self, server: str, tools: Iterable[ToolOffer], *, are_named: bool = False
    ) -> dict[str, str]:
        """Returns why tools wait for a person; new ones do unless the operator named all."""
        offered = ((t.name, {"description": t.description, "schema": t.schema}) for t in tools)
        described = {f"{server}/{name}": self._shown(words) for name, words in offered}
        known = self._read()
        if all(n in known and known[n][_KNOWN] == w for n, w in described.items()):
            return {}
        with self._writing() as stored:
            takes_new = are_named or not any(name.startswith(f"{server}/") for name in stored)
            for name, words in described.items():
                entry = stored.setdefault(name, {_KNOWN: words if takes_new else None})
                if entry[_KNOWN] != words:
                    entry[_OFFERED] = words
            waiting = [name for name, words in described.items() if stored[name][_KNOWN] != words]
            new = "is new: its server did not have it in earlier runs"
            other = "has another description than in earlier runs"
            return {name: other if stored[name][_KNOWN] else new for name in waiting}

    def names(self) -> list[str]:
        return sorted(self._read())

    def changes(self) -> list[ChangedTool]:
        """Returns the tools that wait for a person."""
        entries = sorted(self._read().items())
        changed = [(name, entry) for name, entry in entries if _OFFERED in entry]
        parts = ((name, entry[_KNOWN], entry[_OFFERED]) for name, entry in changed)
        return [ChangedTool(name, _difference(old, new), new) for name, old, new in parts]

    def accept(self, shown: Iterable[ChangedTool]) -> list[str]:
        """Accepts the shown descriptions; returns the tools that have changed again since."""
        with self._writing() as stored:
            for tool in shown:
                entry = stored[tool.name] = {**stored.get(tool.name, {}), _KNOWN: tool.offered}
                if entry.get(_OFFERED) == tool.offered:
                    del entry[_OFFERED]
            return [tool.name for tool in shown if _OFFERED in stored[tool.name]]

    def _shown(self, words: dict[str, Any]) -> dict[str, Any]:
        return cast("dict[str, Any]", redact(words, self._secrets))

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            content = json.loads(self._path.read_text("utf-8"))
            tools: dict[str, dict[str, Any]] = content["tools"]
            if content["format"] == _FORMAT and all(_KNOWN in entry for entry in tools.values()):
                return {name: self._shown(entry) for name, entry in tools.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass
        words = f"{str(self._path)!r}, which holds the known tool descriptions, cannot be read"
        advice = "restore it from a backup; or delete it, and check what the tools say"
        raise UsageError(words, help=advice, code="W901")

    @contextmanager
    def _writing(self) -> Iterator[dict[str, dict[str, Any]]]:
        """Locks the tools for a change; other writers wait."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside = self._path.with_name(f".{self._path.name}.lock")
        lock = os.open(beside, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            tools = self._read()
            yield tools
            made = self._path.with_name(f".{self._path.name}.{os.getpid()}")
            content = {"format": _FORMAT, "tools": tools}
            handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
                json.dump(content, file, indent=1, ensure_ascii=False)
            os.replace(made, self._path)
        finally:
            os.close(lock)


def _difference(known: dict[str, Any] | None, offered: dict[str, Any]) -> list[str]:
    from difflib import unified_diff

    before, after = (_lines(words) if words else [] for words in (known, offered))
    return [line for line in unified_diff(before, after, n=1, lineterm="") if line[:3] not in _HEAD]


_HEAD = ("---", "+++")


def _lines(words: dict[str, Any]) -> list[str]:
    schema = json.dumps(words["schema"], indent=1, ensure_ascii=False, sort_keys=True)
    return [*str(words["description"]).splitlines(), *schema.splitlines()]
