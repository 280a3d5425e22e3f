"""Crashes with the journal in memory: quick enough for every case and every entry."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from conformance.person import ASKED, events_for, fork_for
from conformance.reading import workflow_of
from conformance.replies import Script, ScriptedWorkers
from conformance.running import options_of, requests_of, result_of
from crash.promise import Trace, watch
from whorl.errors import UsageError
from whorl.interpreter.plan import Plan
from whorl.ir.values import parse_duration
from whorl.runtimes.journal import RunId
from whorl.runtimes.simulated import MemoryJournal, SimulatedRuntime

if TYPE_CHECKING:
    from conformance.literate import Case
    from whorl.interpreter.events import Event
    from whorl.ir import Workflow
    from whorl.runtimes.folding import Fork


class Crash(BaseException):
    """The process is gone."""


class CrashingCase:
    """A case that can be run again and again, with crashes at chosen appends."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._workflow: Workflow = workflow_of(case)
        self._plan = Plan(self._workflow)
        self.script = Script(case.blocks.get("replies"))
        self._resting, _ = requests_of(case)
        self._points: frozenset[int] = frozenset()
        self.struck = 0
        self.crashes = 0

    def run(self, points: frozenset[int] = frozenset()) -> Trace:
        """Runs the case; each point counts the strikes of the hook: two for every append."""
        self._points, self.struck, self.crashes = points, 0, 0
        journal = MemoryJournal(self._strike)
        runtime = SimulatedRuntime(ScriptedWorkers(self.script), journal)
        wrong: list[str] = []
        for number in range(self._case.options.get("runs", 1)):
            run = RunId(f"run{number}")
            self.script.forget_calls()
            self._start(runtime, run)
            watch(self.script, partial(journal.read, run), wrong)
            self._drive(runtime, run, [], 0)
            for request in self._resting:
                fork = fork_for(request)
                if fork is not None:
                    self.script.forget_calls()
                    run = self._fork(runtime, run, fork)
                    watch(self.script, partial(journal.read, run), wrong)
                self._request(runtime, run, request)
        result = result_of(journal, run, self._plan)
        return Trace(
            result,
            list(journal.read(run)),
            self.script.performed.copy(),
            wrong,
            frozenset(self.script.repeatable),
        )

    def _strike(self, point: str, run: str) -> None:
        self.struck += 1
        if self.struck in self._points:
            self.crashes += 1
            raise Crash(point)

    def _start(self, runtime: SimulatedRuntime, run: RunId) -> None:
        given = dict(self._case.blocks.get("input") or {})
        while True:
            try:
                runtime.start(self._workflow, given, run=run, **options_of(self._case))
                return
            except Crash:
                try:
                    runtime.journal.workflow(run)
                    return
                except UsageError:
                    continue

    def _fork(self, runtime: SimulatedRuntime, source: RunId, fork: Fork) -> RunId:
        while True:
            try:
                return runtime.fork(source, fork, run=f"fork-of-{source}")
            except Crash:
                continue

    def _request(self, runtime: SimulatedRuntime, run: RunId, request: dict[str, Any]) -> None:
        if "wait" in request or "fork" in request:
            self._drive(runtime, run, [], parse_duration(request.get("wait", 0)))
            return
        at = max(runtime.now(), *(entry.event.at for entry in runtime.journal.read(run)))
        self._drive(runtime, run, events_for(request, runtime.journal, run, at), 0)

    def _drive(
        self, runtime: SimulatedRuntime, run: RunId, events: list[Event], later_s: float
    ) -> None:
        """Drives until the run rests; after a crash, with the requests only if they were lost."""
        before = _asked(runtime.journal, run)
        while True:
            try:
                runtime.resume(run, tuple(events), plan=self._plan, later_s=later_s)
                return
            except Crash:
                later_s = 0.0
                if _asked(runtime.journal, run) > before:
                    events = []


def _asked(journal: MemoryJournal, run: RunId) -> int:
    return sum(entry.event.kind in ASKED for entry in journal.read(run))
