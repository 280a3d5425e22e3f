"""Decides whether a folder's whorl.toml has rights, by the user's trust and the file's owner.

A trusted file is stored by its path and the hash of its content, in `trust.json` beside the user's
own configuration. The path is that of the file in its folder, before symlinks are followed: a link
to a trusted file does not make another folder trusted.
"""

from __future__ import annotations

import json
import os
import stat
import time
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from whorl.errors import UsageError
from whorl.lazily import dataclass
from whorl.source.paths import user_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whorl.interpreter.events import Event
    from whorl.providers.settings import Settings
    from whorl.providers.settings.rights import Right

CONFIG_NAME = "whorl.toml"
USER_CONFIG = "config.toml"
RECORDS = "trust.json"
VARIABLE = "WHORL_TRUST"
_FORMAT = 1
_RECORDS_BYTES_MAX = 10_000_000
_SHOWN_MAX = 3
# The requests that end running work, and start none.
ENDING = frozenset({"run.paused", "run.cancelled"})

# harmless: it gives no rights. foreign: another user owns it.
Standing: TypeAlias = Literal["harmless", "trusted", "new", "changed", "foreign"]


@dataclass(frozen=True, slots=True)
class Trusted:
    """A whorl.toml as it was when a person trusted it."""

    digest: str
    rights: tuple[Right, ...]
    at: float


@dataclass(frozen=True, slots=True)
class Judged:
    """A whorl.toml that was read once: its rights, its other settings, and its trust."""

    path: Path
    digest: str
    table: dict[str, object]
    standing: Standing
    rights: tuple[Right, ...] = ()
    harmless: dict[str, object] = field(default_factory=dict)
    before: tuple[Right, ...] = ()
    of_others: Path | None = None

    @property
    def is_trusted(self) -> bool:
        return self.standing in ("harmless", "trusted")

    @property
    def permitted(self) -> dict[str, object]:
        """The settings of the file that apply."""
        return self.table if self.is_trusted else self.harmless

    @property
    def added(self) -> tuple[Right, ...]:
        return tuple(right for right in self.rights if right not in self.before)

    @property
    def removed(self) -> tuple[Right, ...]:
        return tuple(right for right in self.before if right not in self.rights)

    def refusal(self) -> UsageError | None:
        """Returns why the file may not be used for runs, or None if it is trusted."""
        if self.is_trusted:
            return None
        if self.standing == "foreign":
            words = f"{str(self.of_others or self.path)!r} or its folder belongs to another user"
            advice = f"copy what you need into a folder of your own; in a container, {VARIABLE}=1"
            return UsageError(words, help=f"{advice} allows it", code="W909")
        why = "has changed since you trusted it" if self.standing == "changed" else "is not trusted"
        permits = "; ".join(f"{right.kind}: {right.text}" for right in self.rights[:_SHOWN_MAX])
        more = f"; and {len(self.rights) - _SHOWN_MAX} more" * (len(self.rights) > _SHOWN_MAX)
        advice = (
            "`whorl project trust` shows all of it and remembers your yes; for one call, or in CI "
        )
        advice += f"and containers, set {VARIABLE}=1 in the environment"
        words = f"{str(self.path)!r} {why}, and would permit {permits}{more}"
        return UsageError(words, help=advice, code="W908")


def judge(
    path: Path,
    content: bytes,
    table: dict[str, object],
    environment: Mapping[str, str],
    *,
    grants: Mapping[str, object],
    shown: dict[str, object] | None = None,
    files: Sequence[Path] = (),
) -> Judged:
    """Returns the trust in the whorl.toml of a folder; `grants` are those of the user's file.

    `content` is the text of `table`, so that the hash belongs to the settings that are used.
    `shown` is the table to show, if it differs. `files` are other files that it was read from.
    """
    import hashlib

    from whorl.providers.settings.rights import part_rights

    digest = hashlib.sha256(content).hexdigest()
    harmless, counting = part_rights(table)
    rights = counting if shown is None else part_rights(shown)[1]
    is_called_for = environment.get(VARIABLE) == "1"
    strange = None if is_called_for else next(filter(is_foreign, (path, *files)), None)
    if strange is not None:
        return Judged(path, digest, table, "foreign", rights, harmless, of_others=strange)
    if not rights and not counting:
        return Judged(path, digest, table, "harmless")
    named = [folder for grant in grants if (folder := Path(grant).expanduser()).is_absolute()]
    places = [place / path.name for folder in named for place in (folder, folder.resolve())]
    known = None
    if not is_called_for and path not in places:
        known = read_records(environment).get(str(path))
        if known is None or known.digest != digest:
            standing: Standing = "new" if known is None else "changed"
            before = () if known is None else known.rights
            return Judged(path, digest, table, standing, rights, harmless, before)
    return Judged(path, digest, table, "trusted", rights, harmless)


def is_foreign(path: Path) -> bool:
    """Returns whether another user owns a file, its folder, or a step of a symlink to it."""
    own = getattr(os, "geteuid", lambda: None)()
    if own is None:
        return False
    try:
        owners = {path.stat().st_uid}
        for place in _way(path):
            owners |= {place.lstat().st_uid, place.parent.stat().st_uid}
    except OSError:
        return True
    return owners != {own}


def _way(path: Path) -> Iterator[Path]:
    """Yields a file and the targets of its symlinks; circular links were refused before."""
    yield path
    while path.is_symlink():
        path = path.parent / path.readlink()
        yield path


def check_trusted(settings: Settings, requests: Sequence[Event] = ()) -> None:
    """Refuses to drive a run if its folder's whorl.toml wants rights that are not trusted.

    Raises UsageError W908 or W909. A run can still be paused and cancelled.
    """
    is_ending = bool(requests) and all(event.kind in ENDING for event in requests)
    if settings.untrusted is not None and not is_ending:
        fault = settings.untrusted
        raise UsageError(str(fault), help=fault.help, code=fault.code)


def check_grants(table: object, place: str) -> dict[str, object]:
    """Checks `[trust."PATH"]` of the user's file: the folders whose whorl.toml is trusted."""
    if not isinstance(table, dict) or any(grant != {} for grant in table.values()):
        words = f'{place}: [trust."PATH"] has no keys: the path of the folder is enough'
        raise UsageError(words, help='write [trust."/home/me/project"]', code="W901")
    return table


def read_records(environment: Mapping[str, str]) -> dict[str, Trusted]:
    """Reads the trusted files by path. Raises UsageError W901 if others own or can write it."""
    path = user_folder(environment) / RECORDS
    try:
        with path.open("rb") as file:
            about = os.fstat(file.fileno())
            content = file.read(_RECORDS_BYTES_MAX)
    except FileNotFoundError:
        return {}
    except OSError as fault:
        raise _bad_records(path, f"cannot be read: {fault.strerror}") from fault
    own = getattr(os, "geteuid", lambda: about.st_uid)()
    if about.st_uid != own or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _bad_records(path, "can be used by others: chmod 600, and chown if it is not yours")
    try:
        document: Any = json.loads(content)
        files = document["files"] if document["format"] == _FORMAT else {}
        return {name: _trusted(entry) for name, entry in files.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        raise _bad_records(path, "is damaged") from fault


def _trusted(entry: Any) -> Trusted:
    from whorl.providers.settings.rights import RIGHT_KINDS, Right

    rows = zip(entry["rights"], entry["values"], strict=True)
    rights = tuple(Right(k, str(text), str(value)) for (k, text), value in rows if k in RIGHT_KINDS)
    return Trusted(str(entry["sha256"]), rights, float(entry["at"]))


def _bad_records(path: Path, why: str) -> UsageError:
    advice = "delete it to be asked again about each folder"
    return UsageError(f"{path}: {why}", help=advice, code="W901")


def remember(environment: Mapping[str, str], judged: Judged) -> None:
    """Stores trust in a whorl.toml as it was read. Raises UsageError W909 for another user's."""
    if judged.standing == "foreign":
        fault = judged.refusal()
        assert fault is not None
        raise fault
    trusted = Trusted(judged.digest, judged.rights, time.time())
    _write(environment, {**read_records(environment), str(judged.path): trusted})


def forget(environment: Mapping[str, str], path: Path) -> bool:
    records = read_records(environment)
    if records.pop(str(path), None) is None:
        return False
    _write(environment, records)
    return True


def _write(environment: Mapping[str, str], records: Mapping[str, Trusted]) -> None:
    """Replaces the whole record; only its owner can read it."""
    import tempfile

    files = {
        name: {
            "sha256": entry.digest,
            "rights": [[right.kind, right.text] for right in entry.rights],
            "values": [right.values for right in entry.rights],
            "at": entry.at,
        }
        for name, entry in sorted(records.items())
    }
    folder = user_folder(environment)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        # Made with the mode 0600.
        number, part = tempfile.mkstemp(prefix=".trust-", dir=folder)
        with os.fdopen(number, "w", encoding="utf-8") as file:
            json.dump({"format": _FORMAT, "files": files}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, folder / RECORDS)
    except OSError as fault:
        words = f"{folder / RECORDS}: cannot be written: {fault.strerror or fault}"
        advice = f"{VARIABLE}=1 in the environment trusts it for one call, and writes nothing"
        raise UsageError(words, help=advice, code="W901") from fault
