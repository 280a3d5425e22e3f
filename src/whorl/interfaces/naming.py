"""Which run is meant: by its id, the beginning of one, its key, or `last`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import UsageError, nearest
from whorl.interfaces.wording import status_words

if TYPE_CHECKING:
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.local import Start
    from whorl.runtimes.sqlite import SqliteStore

# How many of the newest runs are looked through for a key or a name that is near.
RUNS_MAX = 10_000
# A shorter text is near to anything.
_HINT_LENGTH_MIN = 4


def run_meant(store: SqliteStore, text: str) -> RunId:
    """The run that a person means. Raises UsageError W902, or W903 where it may be several."""
    try:
        return store.resolve(text)
    except UsageError as fault:
        if fault.code != "W902":
            raise
        rows = store.runs(limit=RUNS_MAX)
        keyed = next((row.id for row in rows if text and row.key == text), None)
        if keyed is not None:
            return keyed
        if sum(row.id.startswith(text) for row in rows) > 1 and text:
            raise UsageError(str(fault), help=fault.help, code="W903") from None
        names = [name for row in rows for name in (row.id, row.key) if name]
        raise _unknown(text, names) from None


def check_key(store: SqliteStore, run: RunId, start: Start) -> None:
    """Refuses a key whose run was started with other files or inputs: it is another request."""
    row = store.run(run)
    before = next(iter(store.read(run, limit=1))).event.body.get("input")
    different = "other inputs" if before != start.input else ""
    if sorted(store.sources(run).values()) != sorted(start.sources.values()):
        different = f"another workflow ({row.name!r})"
    if different:
        raise UsageError(
            f"the key {start.key!r} belongs to run {run}, which {status_words(row.status)} "
            f"and was started with {different}",
            help=f"choose another key, or look at that run: `whorl show {run}`",
            code="W905",
        )


def _unknown(text: str, names: list[str]) -> UsageError:
    """The error for a run that is not there, with the name that is near, if one is."""
    hint = ""
    if len(text) >= _HINT_LENGTH_MIN:
        near = nearest(text, names) or nearest(text, [name[: len(text)] for name in names])
        hint = f"did you mean {near!r}? " if near else ""
    return UsageError(
        f"there is no run {text!r} in the store",
        help=f"{hint}`whorl ls` lists the runs",
        code="W902",
    )
