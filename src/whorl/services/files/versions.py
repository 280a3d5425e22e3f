"""What became of the files that a run was read from; it keeps what it began with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from whorl.dialects import read_workflow
from whorl.errors import InvalidWorkflow, SeveralWorkflows, StoreError
from whorl.ir import from_json
from whorl.providers.redaction import HIDDEN
from whorl.runtimes.journal.sealed_secrets import opened, redaction_of, secrets_of, shown_sources
from whorl.runtimes.sqlite.listing import EXPERIMENT
from whorl.source.paths import open_file

if TYPE_CHECKING:
    from whorl.providers.redaction import Redaction
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore


def changed_file(store: SqliteStore, run: RunId) -> str:
    """The path of a file that is not any more as the run knows it; none where nobody can tell."""
    file, kept = Path(store.run(run).file), store.sources(run)
    own = _text(file)
    if own is None:
        return ""
    try:
        redaction = _redaction(store, run) if any(HIDDEN in t for t in kept.values()) else None
    except StoreError:
        # Its secrets cannot be opened, so that its files cannot be compared.
        return ""
    own = shown_sources({"": own}, redaction)[""]
    # A run of an experiment is named after its file, which is none of its sources.
    if own not in kept.values() and not store.run(run).key.startswith(EXPERIMENT):
        return str(file)
    # The others are named as they are seen from the project, which lies around the file.
    for name, text in kept.items():
        found = {str(folder / name): _text(folder / name) for folder in file.parents}
        there = {path: now for path, now in found.items() if now is not None}
        if there and text not in shown_sources(there, redaction).values() and text != own:
            return next(iter(there))
    return ""


def one_of_several(store: SqliteStore, run: RunId) -> str:
    """The name of a run's workflow, where its file has several now and needs to be told which."""
    row = store.run(run)
    try:
        read_workflow(open_file(row.file), row.file)
    except SeveralWorkflows as fault:
        return row.name if row.name.lower() in map(str.lower, fault.names) else ""
    except InvalidWorkflow:
        pass
    return ""


def _redaction(store: SqliteStore, run: RunId) -> Redaction | None:
    """What hides the secrets that the run was given in the texts of its files."""
    first = next(iter(store.read(run, limit=1))).event
    given: Any = opened(first, run, store.seals).body.get("input")
    return redaction_of(secrets_of(from_json(store.workflow(run)), given))


def _text(path: Path) -> str | None:
    try:
        return open_file(str(path))
    except InvalidWorkflow:
        return None
