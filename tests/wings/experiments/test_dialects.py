"""What-if equals the run in all dialects: the loops of the conformance cases, with other rules."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from conformance.literate import load_cases
from conformance.reading import workflow_of
from conformance.replies import Script, ScriptedWorkers
from conformance.running import options_of
from whorl.errors import UsageError
from whorl.ir import Loop, Score
from whorl.ir.expressions import conditions_in
from whorl.runtimes.simulated import SimulatedRuntime
from whorl.wings.experiments.what_if.evaluate import Rule, answer, own_rule
from whorl.wings.experiments.what_if.loop_facts import atoms_in, facts_of
from whorl.wings.experiments.what_if.query import with_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.literate import Case
    from whorl.ir import Workflow
    from whorl.runtimes.journal.journal import RunId

DIALECTS = ("native", "loom", "mcp-cli", "orka", "shodan", "studio")
# What a case needs beside its workflow and its replies is another subject.
_OTHER = ("runs", "not_yet", "iterations", "explore", "interrupted", "slice_s", "cpu_max_s")


def _cases(dialect: str) -> Iterator[tuple[Case, Workflow, Loop]]:
    for case in load_cases():
        is_plain = "outcome" in case.blocks and "requests" not in case.blocks
        if case.dialect != dialect or not is_plain or any(name in case.options for name in _OTHER):
            continue
        workflow = workflow_of(case)
        for node in workflow.body.nodes:
            if isinstance(node, Loop):
                yield case, workflow, node


def _run(case: Case, workflow: Workflow, script: Script) -> tuple[SimulatedRuntime, RunId]:
    runtime = SimulatedRuntime(ScriptedWorkers(script))
    given = dict(case.blocks.get("input") or {})
    script.on_perform = lambda address: None
    run = runtime.start(workflow, given, run="run", **options_of(case))
    runtime.resume(run)
    return runtime, run


def _rules(loop: Loop, longest: int) -> Iterator[Rule]:
    """Shorter ones, those that stop at nothing but their limit, and other returns."""
    own = own_rule(loop)
    has_score = any(isinstance(part, Score) for part in conditions_in(loop.until))
    for at_most in range(1, longest + 1):
        for until in (loop.until, None):
            for returns in ("last", "first", *(["best"] if has_score and until else [])):
                yield Rule(until, at_most, returns, names=loop.facts)
    if own is not None:
        yield own


def _end(runtime: SimulatedRuntime, run: RunId, address: str) -> dict[str, Any] | None:
    entries = runtime.journal.read(run, kinds=frozenset({"loop.finished"}))
    found = [e.event.body for e in entries if e.event.address == address]
    return found[-1] if found else None


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_if_equals_the_run_in_every_dialect(dialect: str) -> None:
    counts: Counter[str] = Counter()
    for case, workflow, loop in _cases(dialect):
        script = Script(case.blocks.get("replies"))
        try:
            runtime, run = _run(case, workflow, script)
        except UsageError:
            continue
        facts = facts_of(runtime.journal, run, atoms_in([loop.until]), loop=loop.name)
        if not facts or _end(runtime, run, facts[0].address) is None:
            continue
        for rule in _rules(loop, len(facts[0].iterations)):
            found = answer(facts[0], loop, rule)
            counts["answered" if found.exact else "not known"] += 1
            if not found.exact:
                assert found.why
                continue
            again, name = _run(case, with_rule(workflow, loop, rule), script)
            real = _end(again, name, facts[0].address)
            assert real is not None
            names = ("iterations", "exit_reason", "stopped_by", "returned_iteration")
            used = {n: real["usage"].get(n, 0) for n in ("calls", "cost_usd")}
            told = (found.iterations, found.exit_reason, found.stopped_by or None, found.returned)
            assert told == tuple(real[n] for n in names), (case.id, rule)
            assert {n: found.usage.get(n, 0) for n in used} == pytest.approx(used), (case.id, rule)

    print(f"{dialect}: {dict(counts)}")
    assert counts["answered"] >= 10
