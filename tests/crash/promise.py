"""What must hold of a run, however often and wherever it was interrupted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whorl.interpreter.events import NOTE_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from conformance.expecting import Result
    from conformance.replies import Script
    from whorl.runtimes.journal.journal import Entry

_TIMES = ("seconds", "usage", "due", "at", "remember")


@dataclass(slots=True)
class Trace:
    """What a run left behind: its result, its journal, and the calls that reached the world."""

    result: Result
    entries: list[Entry]
    performed: Counter[str]
    wrong: list[str] = field(default_factory=list)
    repeatable: frozenset[str] = frozenset()


def watch(
    script: Script,
    read: Callable[[], Iterable[Entry]],
    wrong: list[str],
    note: Callable[[str], None] | None = None,
) -> None:
    """Makes the script tell of calls that the journal does not allow.

    A call with an effect may only be made when its intent is written, and with it all that was
    used before; no call may be made when its reply is written.
    """

    def look(address: str) -> None:
        if note is not None:
            note(address)
        entries = list(read())
        if address in _told(entries, "task.finished", "task.failed"):
            wrong.append(f"{address} was called again after its reply")
        if address not in script.repeatable and address not in _told(entries, "task.started"):
            wrong.append(f"{address} was called before its intent was written")

    script.on_perform = look


def _told(entries: list[Entry], *kinds: str) -> set[str]:
    return {entry.event.address for entry in entries if entry.event.kind in kinds}


def broken(clean: Trace, crashed: Trace, *, crashes: int, comparable: bool) -> list[str]:
    """Which parts of the promise do not hold."""
    found = [*crashed.wrong, *_doubts(crashed, crashes)]
    if not comparable:
        return found
    if _timeless(clean.result.document) != _timeless(crashed.result.document):
        found.append(
            f"the outcome is {_timeless(crashed.result.document)}, "
            f"not {_timeless(clean.result.document)}"
        )
    for address, notes in _notes(clean.entries).items():
        told = _notes(crashed.entries).get(address, [])
        if told != notes:
            found.append(f"the notes of {address!r} are {told}, not {notes}")
    lost = set(clean.performed) ^ set(crashed.performed)
    if lost:
        found.append(f"only one of the two runs called {sorted(lost)}")
    return found


def _doubts(crashed: Trace, crashes: int) -> list[str]:
    kinds = Counter((e.event.kind, e.event.address) for e in _own(crashed.entries))
    doubts = {address: n for (kind, address), n in kinds.items() if kind == "task.in_doubt"}
    found = [
        f"{address} was called {times} times, but only {doubts.get(address, 0)} doubts are noted"
        for address, times in crashed.performed.items()
        if address not in crashed.repeatable and times > 1 + doubts.get(address, 0)
    ]
    found += [
        f"{address} was in doubt {times} times in {crashes} crashes"
        for address, times in doubts.items()
        if times > crashes
    ]
    counted = crashed.result.document["usage"]["in_doubt"]
    noted = sum(doubts.values()) + _without_answer(crashed)
    if counted != noted:
        found.append(f"{counted} doubts are counted, {noted} are noted")
    return found


def _without_answer(crashed: Trace) -> int:
    """How many calls are in doubt although nothing crashed, as no answer came in time.

    An answer that comes after all takes the doubt away.
    """
    count, open_calls = 0, set()
    for entry in _own(crashed.entries):
        event = entry.event
        usage: Any = event.body.get("usage")
        in_doubt = usage.get("in_doubt", 0) if isinstance(usage, dict) else 0
        if event.kind == "node.finished" and in_doubt:
            open_calls.add(event.address)
        elif event.kind in ("task.finished", "task.failed"):
            open_calls.discard(event.address)
            count += in_doubt if event.kind == "task.failed" else 0
    return count + len(open_calls)


def _own(entries: list[Entry]) -> list[Entry]:
    """What a run has done itself, and not the one that it is a fork of."""
    forks = [entry.seq for entry in entries if entry.event.kind == "run.forked"]
    return entries[forks[-1] :] if forks else entries


def _timeless(document: dict[str, Any]) -> dict[str, Any]:
    loops = [{k: v for k, v in loop.items() if k != "usage"} for loop in document["loops"]]
    kept = {k: v for k, v in document.items() if k not in ("run", "usage", "loops")}
    # Loops that run side by side may begin in another order.
    return kept | {"loops": sorted(loops, key=lambda loop: str(loop["path"]))}


def _notes(entries: Iterable[Entry]) -> dict[str, list[tuple[str, Any]]]:
    """What was said, by address: things side by side may happen in another order."""
    found: dict[str, list[tuple[str, Any]]] = {}
    for entry in entries:
        event = entry.event
        if event.kind in NOTE_KINDS and event.kind != "run.waiting":
            body = {key: value for key, value in event.body.items() if key not in _TIMES}
            found.setdefault(event.address, []).append((event.kind, body))
    return found
