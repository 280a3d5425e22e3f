"""Looking back: a run as it was when an iteration began, and what iterations of it gave."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from whorl.interpreter.events import numbered, split_iteration
from whorl.interpreter.state import Observer
from whorl.runtimes.journal.folding import Replay, as_far_as_open, begins, stored_in
from whorl.runtimes.journal.sealed_secrets import hide, redacted, redaction_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whorl.interpreter.machine import Machine
    from whorl.interpreter.state import State
    from whorl.language import Json
    from whorl.runtimes.journal.journal import Entry, Journal, RunId
    from whorl.runtimes.journal.keys import Seals


def moment(journal: Journal, run: RunId, iteration: str) -> Machine | None:
    """The machine as it was when an iteration began, for people to look at."""

    def look(seals: Seals | None) -> Machine | None:
        stored = stored_before(journal, run, iteration, seals)
        replay = Replay(journal, run, until=iteration, seals=seals, stored=stored)
        for entry in journal.read(run, after=replay.folded.seq):
            replay.take(entry)
            if begins(entry.event, iteration):
                replay.catch_up()
            if replay.has_arrived:
                hide(replay.folded.machine)
                return replay.folded.machine
        return None

    return as_far_as_open(journal, look)


def stored_before(
    journal: Journal, run: RunId, iteration: str, seals: Seals | None
) -> tuple[int, str] | None:
    """The newest snapshot from before an iteration began; none: only the whole journal will do."""
    loop, number = split_iteration(iteration)
    if number is None:
        return None
    if number == 1:
        earlier = journal.loop_start(run, loop)
    else:
        before = numbered(loop, number - 1)
        earlier = journal.iteration_ends(run, (before,)).get(before)
    return stored_in(journal, run, seals, before=earlier - 1) if earlier is not None else None


def look_into(
    journal: Journal, run: RunId, iterations: frozenset[str], *, to_drive: bool = False
) -> dict[str, dict[str, Json]]:
    """The results and scores of iterations of a run, by replaying it from snapshots on.

    Only what is `to_drive` a run has secrets in it.
    """

    def look(seals: Seals | None) -> dict[str, dict[str, Json]]:
        return _observations(journal, run, iterations, seals, to_drive=to_drive)

    return look(journal.seals) if to_drive else as_far_as_open(journal, look)


def _observations(
    journal: Journal,
    run: RunId,
    iterations: frozenset[str],
    seals: Seals | None,
    *,
    to_drive: bool,
) -> dict[str, dict[str, Json]]:
    ends = journal.iteration_ends(run, iterations)
    for iteration in iterations - set(ends):
        ends[iteration] = _end_of_unfinished(journal, run, iteration, seals)
    observer = _Results(iterations)
    replay: Replay | None = None
    for iteration in sorted(iterations, key=ends.__getitem__):
        at = 0 if replay is None else replay.folded.seq
        stored = stored_in(journal, run, seals, after=at, before=ends[iteration] - 1)
        if replay is None or stored is not None:
            replay = Replay(journal, run, seals=seals, stored=stored)
            replay.folded.machine.observer = observer
            entries = journal.read(run, after=replay.folded.seq)
        if iteration not in observer.results:
            _observe(replay, entries, iteration, observer.results)
    redaction = None
    if replay is not None and not to_drive:
        redaction = redaction_of(replay.folded.machine.state.get("secrets", ()))
    if redaction is None:
        return observer.results
    return {place: redacted(given, redaction) for place, given in observer.results.items()}


class _Results(Observer):
    """What iterations gave, whichever attempt at each went through."""

    def __init__(self, iterations: frozenset[str]) -> None:
        self._iterations = iterations
        self.results: dict[str, dict[str, Json]] = {}

    def closed(self, machine: State, key: str, note: dict[str, Json]) -> None:
        frame = machine.loop_frames[key]
        address = numbered(frame["address"], frame["count"])
        if note["status"] != "succeeded" or address not in self._iterations:
            return
        last = {collect.name for collect in machine.loop(key).collect if collect.take == "last"}
        collected = frame.get("collected", {})
        self.results[address] = {
            "results": frame["previous"],
            "score": frame.get("score"),
            "collected": {name: value for name, value in collected.items() if name in last},
        }


def _end_of_unfinished(journal: Journal, run: RunId, iteration: str, seals: Seals | None) -> int:
    """An entry before which what an iteration gave is not known; 1: nobody can tell."""
    stored = stored_in(journal, run, seals)
    loop, number = split_iteration(iteration)
    frames = json.loads(stored[1])["frames"].values() if stored is not None else ()
    at = (f["count"] for f in frames if f["kind"] == "loop" and f["address"] == loop)
    # It is under way, or about to begin.
    return stored[0] + 1 if stored and next(at, math.inf) <= (number or 0) else 1


def _observe(
    replay: Replay, entries: Iterator[Entry], iteration: str, results: Mapping[str, Json]
) -> None:
    """Replays until an iteration has succeeded, or the next but one begins."""
    loop, number = split_iteration(iteration)
    after_next = numbered(loop, (number or 0) + 2)
    for entry in entries:
        replay.take(entry)
        replay.folded.forget_journaled()
        if begins(entry.event, after_next):
            break
        if iteration in results:
            return
    replay.catch_up()
