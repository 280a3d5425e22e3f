"""A call in doubt is repeated, fails, or a person decides: as the step says."""

from __future__ import annotations

import pytest

from conformance.replies import Script, ScriptedWorkers
from crash.in_memory import Crash
from strikes import StruckJournal
from whorl.dialects import read_workflow
from whorl.interpreter.events import Event
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.simulated import SimulatedRuntime

pytestmark = pytest.mark.threat(row="T1")


@pytest.mark.parametrize(
    ("delivery", "approved", "status", "calls"),
    [
        ("at_least_once", None, "succeeded", 2),
        ("at_most_once", None, "failed", 1),
        ("ask", True, "succeeded", 2),
        ("ask", False, "failed", 1),
    ],
)
def test_an_open_call_in_a_crash_is_delivered_as_its_step_says(
    delivery: str, approved: bool | None, status: str, calls: int
) -> None:
    script, has_crashed = Script({"send": {"json": "sent"}}), False

    def strike(point: str, run: str) -> None:
        nonlocal has_crashed
        if script.performed["send"] == 1 and not has_crashed:
            has_crashed = True
            raise Crash(point)

    journal = StruckJournal(strike=strike)
    runtime = SimulatedRuntime(ScriptedWorkers(script), journal)
    text = f"whorl: 1\nsteps: {{send: {{http: 'https://a.example', delivery: {delivery}}}}}\n"
    run = runtime.start(read_workflow(text, "case.yaml").workflow, {})
    with pytest.raises(Crash):
        runtime.resume(run)
    ended = runtime.resume(run)
    if approved is not None:
        assert ended == "waiting"
        now = fold(journal, run).machine.now
        decision = Event("gate.decided", "send/:doubt", now, {"approved": approved})
        ended = runtime.resume(run, (decision,))

    assert (ended, script.performed["send"]) == (status, calls)
    assert [e.event.kind for e in journal.read(run)].count("task.in_doubt") == 1
    if delivery == "at_most_once":
        assert fold(journal, run).machine.state["result"]["error"]["code"] == "R106"
