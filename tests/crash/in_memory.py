"""Crashes with the journal in memory: quick enough for every case and every entry.

A case is run once without a crash, and what a crash would leave is kept at each append; what
happens after a crash goes on from there.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from conformance.person import ASKED, events_for, fork_for
from conformance.reading import workflow_of
from conformance.replies import Script, ScriptedWorkers
from conformance.running import options_of, requests_of, result_of
from crash.promise import Trace, watch
from strikes import StruckJournal
from whorl.errors import UsageError
from whorl.interpreter.plan import Plan
from whorl.ir.values import parse_duration
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.simulated import EPOCH, SimulatedRuntime

if TYPE_CHECKING:
    from collections import Counter

    from conformance.literate import Case
    from whorl.interpreter.events import Event
    from whorl.ir import Workflow


class Crash(BaseException):
    """The process is gone."""


@dataclass(frozen=True, slots=True)
class _Place:
    """How far a case has come: which step, of which run, and what a person asks there."""

    step: int = 0
    run: RunId = RunId("")
    is_begun: bool = False
    events: tuple[Event, ...] = ()
    later_s: float = 0.0
    # How many requests the journal held before this step.
    asked: int = 0


@dataclass(frozen=True, slots=True)
class Moment:
    """What a crash would leave behind: all that the rest of a run depends on."""

    journal: StruckJournal
    performed: Counter[str]
    passed_s: float
    place: _Place
    run: RunId
    # Whether all that was written until then has left: the next append is about to begin.
    is_before: bool

    @property
    def left(self) -> tuple[object, ...]:
        """What tells it apart from other moments of its case."""
        try:
            written = sum(1 for _ in self.journal.read(self.run))
        except UsageError:
            written = 0
        return (self.run, written, self.place.step, self.passed_s, *self.performed.items())


class CrashingCase:
    """A case that can be run again and again, with crashes at chosen appends."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._workflow: Workflow = workflow_of(case)
        self._plan = Plan(self._workflow)
        self.script = Script(case.blocks.get("replies"))
        self._steps = _steps_of(case)
        self._runtime = SimulatedRuntime(ScriptedWorkers(self.script))
        self._place = _Place()
        self._moments: list[Moment] | None = None
        self._second: int | None = None
        self.crashes = 0

    def run(self) -> tuple[Trace, list[Moment]]:
        """Runs the case without a crash; gives the moments before and after each append, too."""
        self._moments = moments = []
        self._begin(StruckJournal(strike=self._strike), 0.0)
        trace = self._go_on(_Place())
        self._moments = None
        return trace, moments

    def crashed(self, moment: Moment, second: int | None = None) -> Trace:
        """Goes on after a crash, perhaps with another one so many strikes later."""
        self._second, self.crashes = second, 1
        self._begin(moment.journal.copy(self._strike), moment.passed_s)
        self.script.forget_calls()
        self.script.performed.update(moment.performed)
        return self._go_on(self._left(moment.place))

    def _begin(self, journal: StruckJournal, passed_s: float) -> None:
        workers, self._journal = ScriptedWorkers(self.script), journal
        self._runtime = SimulatedRuntime(workers, journal, passed_s=passed_s)

    def _strike(self, point: str, run: RunId) -> None:
        if self._moments is not None:
            is_driving = self._steps[self._place.step][0] == "drive"
            now = asyncio.get_running_loop().time() if is_driving else self._runtime.now() - EPOCH
            journal, performed = self._journal.copy(), self.script.performed.copy()
            is_before = point == "before"
            self._moments.append(Moment(journal, performed, now, self._place, run, is_before))
        elif self._second is not None:
            self._second -= 1
            if self._second == 0:
                self.crashes += 1
                raise Crash(point)

    def _go_on(self, place: _Place) -> Trace:
        journal, wrong = self._journal, list[str]()
        while place.step < len(self._steps):
            self._place = self._begun(place)
            try:
                place = self._taken(wrong)
            except Crash:
                place = self._left(self._place)
        return Trace(
            result_of(journal, place.run, self._plan),
            list(journal.read(place.run)),
            self.script.performed.copy(),
            wrong,
            frozenset(self.script.repeatable),
        )

    def _begun(self, place: _Place) -> _Place:
        """The place with what a person asks there; after a crash that is known already."""
        if place.is_begun:
            return place
        begun = replace(place, is_begun=True)
        what, request = self._steps[place.step]
        if what != "drive":
            self.script.forget_calls()
            number = sum(before == "start" for before, _ in self._steps[: place.step])
            return begun if what == "fork" else replace(begun, run=RunId(f"run{number}"))
        journal, run = self._journal, place.run
        begun = replace(begun, asked=_asked(journal, run))
        if not request or "wait" in request or "fork" in request:
            return replace(begun, later_s=parse_duration(request.get("wait", 0)))
        at = max(self._runtime.now(), *(entry.event.at for entry in journal.read(run)))
        return replace(begun, events=tuple(events_for(request, journal, run, at)))

    def _taken(self, wrong: list[str]) -> _Place:
        """Takes a step; gives the place of the next one."""
        place, runtime = self._place, self._runtime
        what, request = self._steps[place.step]
        run = place.run
        fork = fork_for(request) if what == "fork" else None
        if what == "start":
            given = dict(self._case.blocks.get("input") or {})
            runtime.start(self._workflow, given, run=run, **options_of(self._case))
        elif fork is not None:
            run = runtime.fork(run, fork, run=f"fork-of-{run}")
        else:
            watch(self.script, partial(runtime.journal.read, run), wrong)
            runtime.resume(run, place.events, plan=self._plan, later_s=place.later_s)
        return _Place(place.step + 1, run)

    def _left(self, place: _Place) -> _Place:
        """Where a crash leaves a case: requests are made again only if they were lost."""
        journal = self._journal
        what, _ = self._steps[place.step]
        if what == "start":
            try:
                journal.workflow(place.run)
            except UsageError:
                return place
            return _Place(place.step + 1, place.run)
        if what == "fork":
            return place
        is_asked = _asked(journal, place.run) > place.asked
        return replace(place, later_s=0.0, events=() if is_asked else place.events)


def _steps_of(case: Case) -> list[tuple[str, dict[str, Any]]]:
    """What a person does, one after the other: `start`, `fork`, or `drive` with a request."""
    steps: list[tuple[str, dict[str, Any]]] = []
    for _ in range(case.options.get("runs", 1)):
        steps += [("start", {}), ("drive", {})]
        for request in requests_of(case)[0]:
            steps += [("fork", request)] if fork_for(request) is not None else []
            steps.append(("drive", request))
    return steps


def _asked(journal: StruckJournal, run: RunId) -> int:
    return sum(entry.event.kind in ASKED for entry in journal.read(run))
