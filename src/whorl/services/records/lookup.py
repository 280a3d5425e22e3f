"""Finds records in a journal: the fold begins at a snapshot before the wanted place.

Entries that are not wanted are skipped: if only one loop or one for-each is running, the fold
continues from the last snapshot inside it.
"""

from __future__ import annotations

import json
import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

from whorl.interpreter.constructs.task import is_unsubscribing
from whorl.interpreter.events import FED_KINDS, split_iteration
from whorl.interpreter.plan import Plan
from whorl.ir import from_json
from whorl.lazily import dataclass
from whorl.runtimes.journal.folding import Replay, catch_up, come_to_rest, stored_in
from whorl.services.records.recorder import STEERING, is_inside

if TYPE_CHECKING:
    from whorl.interpreter.frames import RunState
    from whorl.interpreter.machine import Machine
    from whorl.runtimes.journal.journal import Journal, RunId
    from whorl.runtimes.journal.keys import Seals
    from whorl.services.records.recorder import Focus, Recorder

# So many entries are read before leaving some out is looked into.
_ENTRIES = 500
_SETTLING = FED_KINDS - STEERING | {"iteration.started"}


class RecordLookup:
    """Folds a journal as far as the records of a place need it."""

    def __init__(
        self, journal: Journal, run: RunId, recorder: Recorder, seals: Seals | None
    ) -> None:
        self._journal, self._run, self._seals = journal, run, seals
        self._recorder = recorder
        self._sought: _Until | None = None
        self._plan = Plan(from_json(journal.workflow(run)))
        self._replay = self._from(self._before(recorder.focus.at))

    @cached_property
    def _steering(self) -> list[int]:
        return [entry.seq for entry in self._journal.read(self._run, kinds=STEERING)]

    def seek(self) -> Machine:
        """Folds until the recorder has the wanted records; returns the machine at that point."""
        while (stored := self._fold()) is not None:
            self._replay = self._from(stored)
        return self._replay.folded.machine

    def _fold(self) -> tuple[int, str] | None:
        """Folds until the wanted records are complete; or returns a snapshot to continue from."""
        look_at = _ENTRIES
        for read, entry in enumerate(self._journal.read(self._run, after=self._replay.folded.seq)):
            self._replay.take(entry)
            catch_up(self._replay.folded)
            self._replay.folded.forget_journaled()
            # When an event comes, all that the one before it led to is done. A run that only
            # computes gets no events; an iteration is done when the next begins.
            if entry.event.kind in _SETTLING:
                machine = self._replay.folded.machine
                # Steps that have ended may still be unsubscribing.
                if self._recorder.is_passed(machine) and not is_unsubscribing(machine):
                    return None
            if read >= look_at:
                look_at *= 4
                if (ahead := self._ahead()) is not None:
                    return ahead
        come_to_rest(self._replay.folded)
        return None

    def _from(self, stored: tuple[int, str] | None) -> Replay:
        replay = Replay(self._journal, self._run, self._plan, seals=self._seals, stored=stored)
        replay.folded.machine.observer = self._recorder
        return replay

    def _before(self, at: str) -> tuple[int, str] | None:
        """Returns the last snapshot before the innermost iteration around a place."""
        for end in range(len(at), 0, -1):
            loop, number = split_iteration(at[:end]) if at[end - 1] == "]" else ("", None)
            started = self._journal.loop_start(self._run, loop) if number is not None else None
            if number is not None and started is not None:
                inside = self._last(started, None, _Until(loop, number))
                before = {"before": started - 1}
                return inside or stored_in(self._journal, self._run, self._seals, **before)
        return None

    def _ahead(self) -> tuple[int, str] | None:
        """Returns the last snapshot before the next wanted event, if entries can be skipped."""
        machine, seq = self._replay.folded.machine, self._replay.folded.seq
        chosen = _passed(machine, self._recorder)
        if chosen is None or chosen[1] == self._sought:
            return None
        key, until = chosen
        steered = next((later for later in self._steering if later > seq), None)
        found = self._last(seq, None if steered is None else steered - 1, until)
        if found is not None:
            self._recorder.moved(machine.state, json.loads(found[1]), key)
        return found

    def _last(self, low: int, high: int | None, until: _Until) -> tuple[int, str] | None:
        """Returns the last snapshot between two entries at which `until` still holds."""
        self._sought = until
        chosen: tuple[int, str] | None = None
        middle = high
        while high is None or low < high:
            stored = stored_in(self._journal, self._run, self._seals, after=low, before=middle)
            if stored is None:
                if middle is None or middle == high:
                    return chosen
                low = middle
            elif until.holds(json.loads(stored[1])):
                chosen, low = stored, stored[0]
                if high is None:
                    return chosen
            else:
                high = stored[0] - 1
            middle = low + (high - low + 1) // 2 if high is not None else None
        return chosen


@dataclass(frozen=True, slots=True)
class _Until:
    """The condition that the loop or for-each at an address runs and has not begun a number."""

    address: str
    number: float = math.inf

    def holds(self, state: RunState) -> bool:
        at = (f for f in state["frames"].values() if f["address"] == self.address)
        found = [f for f in at if f["kind"] in ("loop", "foreach") and "ended" not in f]
        return bool(found) and _count(found[0]) < self.number


def _passed(machine: Machine, recorder: Recorder) -> tuple[str, _Until] | None:
    """Returns the key of a running loop or for-each, and until when its records are unwanted."""
    frames, focus = machine.frames, recorder.focus
    key: str | None = machine.state["root"]
    while key is not None:
        frame: Any = frames[key]
        if frame["kind"] == "block":
            key = _only_child(frame, frames, focus)
        elif frame["kind"] not in ("loop", "foreach"):
            key = frame.get("body")
        elif not focus.at.startswith(f"{frame['address']}["):
            is_wanted = focus.wants(f"{frame['address']}[0]") and not recorder.is_full
            return None if is_wanted else (key, _Until(frame["address"]))
        else:
            number = int(focus.at[len(frame["address"]) + 1 :].partition("]")[0])
            if _count(frame) < number:
                return key, _Until(frame["address"], number)
            inside = frame.get("children", {}).get(str(number - 1))
            key = frame.get("body") if frame.get("count") == number else inside
    return None


def _count(frame: Any) -> int:
    """Returns how many iterations or items have begun."""
    return int(frame["count" if frame["kind"] == "loop" else "next"])


def _only_child(frame: Any, frames: Any, focus: Focus) -> str | None:
    """Returns the only child of a block that is running, or the only one that is wanted."""
    under_way = [key for key in frame["children"].values() if "ended" not in frames[key]]
    places = {key: frames[key]["address"] for key in under_way}
    around = [key for key, place in places.items() if is_inside(place, focus.at)]
    chosen = around if focus.at and around else under_way
    return chosen[0] if len(chosen) == 1 and not frame.get("waits") else None
