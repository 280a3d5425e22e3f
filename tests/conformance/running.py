"""Runs a case from beginning to end: the workflow, then what people ask for, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.expecting import Result
from conformance.person import check_refusal, during, events_for, fork_for
from conformance.reading import workflow_of
from conformance.recording import contradictions, records_in
from conformance.replies import ScriptedWorkers
from whorl.ir.values import parse_duration
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.simulated import MemoryJournal, SimulatedRuntime
from whorl.services.inspecting.results import document, usage_document

if TYPE_CHECKING:
    from conformance.literate import Case
    from conformance.replies import Script
    from whorl.interpreter.events import Event
    from whorl.interpreter.plan import Plan
    from whorl.runtimes.journal.journal import RunId


def options_of(case: Case) -> dict[str, Any]:
    """How the run of a case is started, beside its input."""
    names = ("limits", "iterations", "explore")
    return {key: case.options[key] for key in names if key in case.options}


def requests_of(case: Case) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The requests that are made when the run rests, and those made during calls."""
    requests = case.blocks.get("requests") or []
    return (
        [request for request in requests if during(request) is None],
        [request for request in requests if during(request) is not None],
    )


def run_simulated(case: Case, script: Script, *, has_records: bool = True) -> Result:
    """Runs a case on the simulated runtime; records are derived from what else is compared."""
    workflow = workflow_of(case)
    journal = MemoryJournal()
    runtime = SimulatedRuntime(ScriptedWorkers(script), journal)
    run: RunId
    for number in range(case.options.get("runs", 1)):
        script.forget_calls()
        given = dict(case.blocks.get("input") or {})
        run = runtime.start(workflow, given, run=f"run{number}", **options_of(case))
        run = drive(case, runtime, run, script)
    result = result_of(journal, run)
    if has_records:
        result.records = records_in(journal, run)
        result.contradictions = contradictions(journal, run, result.records)
    return result


def drive(
    case: Case, runtime: SimulatedRuntime, run: RunId, script: Script, plan: Plan | None = None
) -> RunId:
    """Drives a run, and makes the requests of its case; gives the run that is left at the end."""
    resting, busy = requests_of(case)
    script.on_perform = lambda address: _ask_during(busy, address, runtime, run)
    runtime.resume(run, plan=plan)
    for request in resting:
        if check_refusal(request, runtime.journal, run):
            continue
        later_s = parse_duration(request["wait"]) if "wait" in request else 0.0
        events: list[Event] = []
        fork = fork_for(request)
        if fork is not None:
            script.forget_calls()
            run = runtime.fork(run, fork, run=f"fork-of-{run}")
        elif not later_s:
            at = max(runtime.now(), fold(runtime.journal, run, plan).machine.now)
            events = events_for(request, runtime.journal, run, at)
        runtime.resume(run, tuple(events), plan=plan, later_s=later_s)
    return run


def _ask_during(
    requests: list[dict[str, Any]], address: str, runtime: SimulatedRuntime, run: RunId
) -> None:
    for request in requests:
        if during(request) == address:
            for event in events_for(request, runtime.journal, run, 0.0):
                runtime.deliver(event)


def result_of(journal: Any, run: RunId, plan: Plan | None = None) -> Result:
    """What a journal says that came of a run."""
    folded = fold(journal, run, plan)
    final = None
    for entry in journal.read(run):
        if entry.event.kind == "run.finished":
            final = entry.event
    machine = folded.machine
    told = document(run, machine.status, final if machine.done else None, journal)
    told["usage"] = usage_document(machine.state["usage"])
    questions = [
        str(entry.event.body["message"])
        for entry in journal.read(run)
        if entry.event.kind == "gate.waiting" and entry.event.address in machine.pending
    ]
    return Result(told, questions, [entry.event for entry in journal.read(run)])
