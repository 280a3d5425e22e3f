"""A call in doubt is repeated, fails, or a person decides: as the step says."""

from __future__ import annotations

import pytest

from conformance.replies import Script, ScriptedWorkers
from crash.in_memory import Crash
from whorl.dialects import read_workflow
from whorl.interpreter.events import Event
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.simulated import MemoryJournal, SimulatedRuntime

pytestmark = pytest.mark.threat(row="T1")

_RUN = RunId("sim")


class _Interrupted:
    """A run of one call that crashes while the call is under way."""

    def __init__(self, delivery: str) -> None:
        self.script = Script({"send": {"json": "sent"}})
        self.journal = MemoryJournal(self._strike)
        self.runtime = SimulatedRuntime(ScriptedWorkers(self.script), self.journal)
        self._crashed = False
        text = f"whorl: 1\nsteps: {{send: {{http: 'https://a.example', delivery: {delivery}}}}}\n"
        self.runtime.start(read_workflow(text, "case.yaml").workflow, {})
        with pytest.raises(Crash):
            self.runtime.resume(_RUN)

    def _strike(self, point: str, run: str) -> None:
        replied = self.script.performed["send"] == 1
        if replied and not self._crashed:
            self._crashed = True
            raise Crash(point)

    def doubts(self) -> int:
        kinds = [entry.event.kind for entry in self.journal.read(_RUN)]
        return kinds.count("task.in_doubt")

    def decide(self, *, approved: bool) -> str:
        body = {"approved": approved}
        now = fold(self.journal, _RUN).machine.now
        return self.runtime.resume(_RUN, (Event("gate.decided", "send/:doubt", now, dict(body)),))


def test_usually_it_is_repeated_once() -> None:
    run = _Interrupted("at_least_once")

    assert run.runtime.resume(_RUN) == "succeeded"
    assert run.script.performed["send"] == 2
    assert run.doubts() == 1


def test_at_most_once_fails() -> None:
    run = _Interrupted("at_most_once")

    assert run.runtime.resume(_RUN) == "failed"
    assert run.script.performed["send"] == 1
    assert fold(run.journal, _RUN).machine.state["result"]["error"]["code"] == "R106"


@pytest.mark.parametrize(
    ("approved", "status", "calls"), [(True, "succeeded", 2), (False, "failed", 1)]
)
def test_a_person_may_decide(approved: bool, status: str, calls: int) -> None:
    run = _Interrupted("ask")

    assert run.runtime.resume(_RUN) == "waiting"
    assert run.decide(approved=approved) == status
    assert run.script.performed["send"] == calls
    assert run.doubts() == 1
