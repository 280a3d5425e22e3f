"""The sweep over rules: masks equal the walk, the frontier, the choice, what noise does to it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from campaign import amount, seeds
from experiments.programs import EVERYTHING, Answers, draw_shape, drawn, loop_in, program, run
from whorl.interfaces.cli.printing.what_if_words import plot_lines
from whorl.ir import Constant, Loop, Score
from whorl.services.experiments.what_if.answering import Prepared, fast_answer
from whorl.services.experiments.what_if.facts import (
    Call,
    IterationFacts,
    LoopFacts,
    Subject,
    atom_of,
    atoms_in,
    from_document,
)
from whorl.services.experiments.what_if.folding import facts_of
from whorl.services.experiments.what_if.rules import Rule
from whorl.services.experiments.what_if.sweep import default_rules, frontier_of, sweep_of
from whorl.services.experiments.what_if.walking import answer

SCORE = Score(source=Constant(None))


def made_loop() -> Loop:
    shape = draw_shape(drawn("plain", 3))
    rule = {"until": [{"score": {"from": "{{ review.score }}", "at_least": 0.9}}], "at_most": 5}
    return loop_in(program(shape, rule))


def made_facts(loop: Loop, number: int, iterations: int, draw: random.Random) -> LoopFacts:
    score = next(iter(atoms_in([loop.until])))
    rows = []
    for count in range(1, iterations + 1):
        calls = [Call("", {}, {"cost_usd": 0.003 + 0.001 * draw.random(), "calls": 1})] * 2
        atoms: dict[str, Any] = {score: round(draw.random(), 2)}
        row = IterationFacts(count, "succeeded", "", is_judged=True, atoms=atoms, calls=calls)
        rows.append(row)
    return LoopFacts(f"r{number}", loop.name, loop.name, rows)


def made_subjects(loop: Loop, runs: int, seed: object, *, noise: bool) -> list[Subject]:
    draw = random.Random(str(seed))
    subjects = []
    for number in range(runs):
        facts = made_facts(loop, number, 8, draw)
        level = [0.5 if noise else 0.3 + 0.08 * k for k in range(8)]
        grades = {k + 1: min(1.0, max(0.0, draw.gauss(level[k], 0.2))) for k in range(8)}
        solved = frozenset(k for k, grade in grades.items() if grade >= 0.5)
        subjects.append(Subject(facts, grades, f"case {number}", solved=solved))
    return subjects


@pytest.mark.campaign
def test_masks_answer_as_the_walk_does() -> None:
    """On every pair of a random program and a rule of the grid, from exploring runs."""
    same = left = 0
    for seed in seeds(12, 100):
        shape = draw_shape(drawn("program", seed))
        file = program(shape, {"until": EVERYTHING[:1] + EVERYTHING[2:], "at_most": 3})
        runtime, name = run(file, Answers(seed, shape.failing), explore={"polish": 8})
        loop = loop_in(file)
        facts = facts_of(runtime.journal, name, atoms_in([loop.until]))[0]
        assert from_document(facts.document()).document() == facts.document()
        ready = Prepared(facts)
        for rule in default_rules(loop, [Subject(facts, {})]):
            quick = fast_answer(loop, rule)
            found = quick(ready) if quick is not None else None
            if found is None:
                left += 1
                continue
            slow = answer(facts, loop, rule)
            cost = round(slow.usage.get("cost_usd", 0), 9)
            assert slow.exact, (seed, rule)
            assert (found[0], found[1], round(found[2], 9)) == (
                slow.iterations,
                slow.returned,
                cost,
            ), (seed, rule)
            same += 1

    assert same > 500


def test_the_frontier_has_what_nothing_beats() -> None:
    points = [(1.0, 0.5), (2.0, 0.4), (3.0, 0.7), (3.0, 0.6), (4.0, 0.7), (0.5, 0.1)]

    assert frontier_of(points) == [5, 0, 2]


def test_a_better_rule_is_recommended_and_nothing_unknown_is_ranked() -> None:
    loop = made_loop()
    subjects = made_subjects(loop, 40, "growing", noise=False)

    found = sweep_of(loop, subjects)
    long = sweep_of(loop, subjects, [Rule(loop.until, 20), Rule(None, 3)])

    assert found.recommended is not None
    assert found.own is not None
    assert found.recommended.grade > found.own.grade
    assert found.honest["of"] == 10
    assert "iterating helps" in found.words[0]
    assert found.curve["last"][-1] > found.curve["last"][0]
    assert [result.words for result in long.rules] == [
        "at_most 3, last",
        "score 0.9, at_most 5, last",
    ]
    assert long.not_ranked[0].unknown > 0
    assert "would have gone on after iteration 8" in long.not_ranked[0].why
    assert long.not_ranked[0].bounds is not None


def test_what_later_iterations_spoil_is_told_and_cost_against_grade_is_drawn() -> None:
    """The grade grows for eight iterations; then two are worse than any."""
    loop = made_loop()
    subjects = made_subjects(loop, 40, "spoiled", noise=False)
    for subject in subjects:
        subject.grades[7] = subject.grades[8] = 0.1

    found = sweep_of(loop, subjects)
    drawn, narrow = plot_lines(found, 80), plot_lines(found, 69)

    assert any("iteration 8 is worse than 6 by" in words for words in found.words)
    low, high = found.bands["last"][0]
    assert low < found.curve["last"][0] < high
    assert narrow == []
    assert "★" in "".join(drawn)
    assert "◆" in "".join(drawn)
    assert max(map(len, drawn)) <= 80


@pytest.mark.campaign
def test_what_is_held_out_is_honest_where_all_rules_are_alike() -> None:
    """The best of many rules looks better than it is; on cases that it was not chosen with, not."""
    loop = made_loop()
    naive, honest = [], []
    for number in range(amount(12, 100)):
        found = sweep_of(loop, made_subjects(loop, 20, f"noise {number}", noise=True), margin=0.0)
        assert found.recommended is not None
        naive.append(max(result.grade for result in found.rules))
        honest.append(found.honest["grade"])
    error = 0.2 / (20 * len(naive)) ** 0.5

    assert sum(naive) / len(naive) > 0.5 + 2 * error
    assert abs(sum(honest) / len(honest) - 0.5) < 3 * error


def test_atoms_leave_thresholds_out() -> None:
    low, high = Score(source=Constant(1), at_least=0.1), Score(source=Constant(1), at_least=0.9)

    assert atom_of(low) == atom_of(high)
    assert atom_of(low) != atom_of(Score(source=Constant(2)))
