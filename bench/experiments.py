"""What experiments take: facts of runs, a sweep of 200 rules, a report, conducting; CPU time.

python -m bench experiments
"""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

from bench.trials import measured
from whorl.interfaces.python.loading import build
from whorl.ir import Loop
from whorl.runtimes.journal.journal import RunId
from whorl.wings.experiments import statistics
from whorl.wings.experiments.document import Case, Grader
from whorl.wings.experiments.report import report_of
from whorl.wings.experiments.trials import Grade, Graded, Outcome, Trial
from whorl.wings.experiments.what_if.loop_facts import (
    IterationFacts,
    LoopFacts,
    RecordedCall,
    Subject,
    atoms_in,
    facts_of,
)
from whorl.wings.experiments.what_if.sweep import default_rules, sweep_of

RUNS, ITERATIONS, RULES = 1_000, 10, 200
# Trials whose CPU is compared, how often, and those whose memory is measured.
COMPARED, TIMES, MANY = 100, 5, 10_000


def _loop() -> Loop:
    until = [{"score": {"from": "{{ review.score }}", "at_least": 0.9}}, {"plateau": 2}]
    steps = {
        "write": {"ask": "Write."},
        "review": {"ask": "Review.", "returns": {"score": "number"}},
    }
    repeat = {"until": until, "at_most": 5, "steps": steps}
    node = build("bench", {"polish": {"repeat": repeat}}).ir.body.nodes[0]
    assert isinstance(node, Loop)
    return node


def _subjects(loop: Loop) -> list[Subject]:
    draw, atom = random.Random(3), next(iter(atoms_in([loop.until])))
    subjects = []
    for number in range(RUNS):
        rows = []
        for count in range(1, ITERATIONS + 1):
            calls = [
                RecordedCall("", {"cost_usd": 0.003 + 0.001 * draw.random()}) for _ in range(2)
            ]
            atoms = {atom: round(draw.random(), 2)}
            row = IterationFacts(count, "succeeded", is_judged=True, atoms=atoms, calls=calls)
            rows.append(row)
        facts = LoopFacts(f"r{number}", loop.name, rows)
        grades = {n: draw.random() for n in range(1, ITERATIONS + 1)}
        subjects.append(Subject(facts, grades, f"case {number}", solved=frozenset({3})))
    return subjects


def _folding(runs: int) -> float:
    """The CPU seconds of folding the facts of one run of ten iterations, from a real journal."""
    from whorl import run_sync
    from whorl.runtimes.sqlite import SqliteStore

    loop = _loop()
    with tempfile.TemporaryDirectory() as folder:
        repeat = {
            "until": [{"score": {"from": "{{ review }}", "at_least": 2, "low": 0, "high": 3}}],
            "at_most": ITERATIONS,
            "steps": {"write": {"value": "{{ iteration }}"}, "review": {"value": "{{ 0.5 }}"}},
        }
        flow = build("bench", {"polish": {"repeat": repeat}})
        for _ in range(runs):
            run_sync(flow, store=Path(folder))
        store = SqliteStore(Path(folder) / "whorl.db")
        names = [row.id for row in store.runs(limit=runs)]
        start = time.process_time()
        for name in names:
            facts_of(store, name, atoms_in([loop.until]))
        used = time.process_time() - start
        store.close()
    return used / runs


def _reporting() -> float:
    """The CPU seconds of the statistics of a report: 3 variants, 1,000 cases."""
    draw = random.Random(5)
    experiment = SimpleNamespace(
        name="bench",
        cases=[Case(str(n), {}, str(n)) for n in range(1_000)],
        variants=dict.fromkeys(("base", "large", "terse")),
        graders={"grade": Grader("grade", "expression", {})},
        main_grader="grade",
        solved="",
        baseline="base",
        repeat=1,
        margin=0.02,
        is_grouped=False,
        on_failure="zero",
    )
    blocks = []
    for case in experiment.cases:
        block = []
        for name in experiment.variants:
            outcome = Outcome(Trial(case, name, 1, {}, ""), RunId("r"), "succeeded")
            outcome.cost_usd, outcome.iterations = 0.02 + 0.01 * draw.random(), 3
            grade = draw.random()
            block.append(Graded(outcome, {"grade": Grade(grade)}, grade >= 0.5))
        blocks.append(block)
    start = time.process_time()
    report_of(experiment, blocks, 0.0)  # type: ignore[arg-type]
    return time.process_time() - start


def measure(full: bool) -> None:
    """What-if over recorded runs."""
    print("What-if over recorded runs, CPU seconds")
    loop = _loop()
    subjects = _subjects(loop)
    rules = default_rules(loop, subjects)[:RULES]
    start = time.process_time()
    sweep_of(loop, subjects, rules)
    used = time.process_time() - start
    print(f"{len(rules)} rules over {RUNS:,} runs of {ITERATIONS} iterations, with frontier,")
    print(f"  recommended rule and ten folds: {used:.2f} s CPU (goal 2 s)")
    values = [random.Random(n).random() for n in range(1_000)]
    start = time.process_time()
    statistics.difference_estimate(values, seed="bench")
    print(f"a bootstrap of 1,000 cases: {time.process_time() - start:.2f} s CPU (goal 0.5 s)")
    print(f"a report of 3 variants over 1,000 cases: {_reporting():.2f} s CPU (goal 2 s)")
    each = _folding(20)
    print(f"facts by a fold: {1_000 * each:.1f} ms CPU a run, {1_000 * each:.1f} s for 1,000 runs")
    _conducting()


def _conducting() -> None:
    """What an experiment takes beside its runs, and the memory of many trials."""
    used: dict[str, list[float]] = {"runs": [], "experiment": []}
    for side in (*used,) * TIMES:
        used[side].append(measured(side, COMPARED, ITERATIONS)["cpu_s"])
    runs, experiment = (min(each) for each in used.values())
    calls = f"{COMPARED} runs of {ITERATIONS} iterations of 2 calls: {runs:.2f} s CPU"
    print(f"{calls}, as an experiment {100 * (experiment / runs - 1):+.1f} % (goal 5 %)")
    peak = measured("experiment", MANY, 1)["peak_mb"]
    print(f"{MANY:,} trials, run and reported: {peak:.0f} MB at most (goal 300 MB)")
