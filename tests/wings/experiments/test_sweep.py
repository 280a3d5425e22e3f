"""The sweep over rules: answers at once equal each alone, the choice, what noise does to it."""

from __future__ import annotations

import random
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from campaign import amount, seeds
from experiments.programs import EVERYTHING, Answers, draw_shape, drawn, loop_in, program, run
from whorl.wings.experiments.what_if.evaluate import AlikeRules, Rule
from whorl.wings.experiments.what_if.loop_facts import (
    IterationFacts,
    LoopFacts,
    RecordedCall,
    Subject,
    atoms_in,
    facts_of,
)
from whorl.wings.experiments.what_if.sweep import default_rules, sweep_of

if TYPE_CHECKING:
    from whorl.ir import Loop


def made_loop() -> Loop:
    shape = draw_shape(drawn("plain", 3))
    rule = {"until": [{"score": {"from": "{{ review.score }}", "at_least": 0.9}}], "at_most": 5}
    return loop_in(program(shape, rule))


def made_facts(loop: Loop, number: int, iterations: int, draw: random.Random) -> LoopFacts:
    score = next(iter(atoms_in([loop.until])))
    rows = []
    for count in range(1, iterations + 1):
        calls = [RecordedCall("", {"cost_usd": 0.003 + 0.001 * draw.random(), "calls": 1})] * 2
        atoms: dict[str, Any] = {score: round(draw.random(), 2)}
        row = IterationFacts(count, "succeeded", "", is_judged=True, atoms=atoms, calls=calls)
        rows.append(row)
    return LoopFacts(f"r{number}", loop.name, rows)


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
def test_rules_that_are_answered_at_once_are_answered_as_each_alone() -> None:
    """On every pair of a random program and a rule of the grid, from exploring runs."""
    known = 0
    for seed in seeds(6, 100):
        shape = draw_shape(drawn("program", seed))
        file = program(shape, {"until": EVERYTHING[:1] + EVERYTHING[2:], "at_most": 3})
        runtime, name = run(file, Answers(seed, shape.failing), explore={"polish": 8})
        loop = loop_in(file)
        facts = facts_of(runtime.journal, name, atoms_in([loop.until]))[0]
        rules = default_rules(loop, [Subject(facts, {})])
        alike: dict[str, list[Rule]] = {}
        for rule in rules:
            alike.setdefault(repr(rule.until), []).append(rule)
        for group in alike.values():
            found = AlikeRules(loop, group).answers(facts)
            alone = [AlikeRules(loop, [rule]).answers(facts)[0] for rule in group]
            assert [asdict(each) for each in found] == [asdict(each) for each in alone], seed
            known += sum(each.exact for each in found)

    assert known > 500


def flat_subjects(loop: Loop, runs: int, grades: list[float]) -> list[Subject]:
    """Runs whose iterations all have these grades, and a score that never ends the loop."""
    draw, subjects = random.Random("flat"), []
    for number in range(runs):
        facts = made_facts(loop, number, len(grades), draw)
        for row in facts.iterations:
            row.atoms.update(dict.fromkeys(row.atoms, 0.1))
        subjects.append(Subject(facts, dict(enumerate(grades, 1)), f"case {number}"))
    return subjects


def test_nothing_is_recommended_that_is_not_seen_to_be_better() -> None:
    loop, same = made_loop(), "no rule is seen to be better than yours"
    first = Rule(loop.until, 1)

    tied = sweep_of(loop, flat_subjects(loop, 20, [0.5] * 6), [Rule(None, 5), Rule(None, 6)])
    worse = sweep_of(loop, flat_subjects(loop, 20, [0.4, 0.4, 0.4, 0.4, 0.5]), [first])
    few = sweep_of(loop, flat_subjects(loop, 1, [0.0] * 6))
    nothing = sweep_of(loop, flat_subjects(loop, 20, [0.0] * 6))
    luck = flat_subjects(loop, 20, [0.5] * 6)
    luck[0].grades[6] = 1.0
    unsure = sweep_of(loop, luck, [Rule(None, 6)], margin=0.0)
    cheaper = sweep_of(loop, flat_subjects(loop, 20, [0.5] * 6), [first])

    for found in (tied, worse, unsure):
        assert found.recommended is None
        assert found.not_recommended.startswith(same)
    assert unsure.not_recommended == (
        f"{same}: on cases that it was not chosen with, the choice gives +0.00 (+0.00 to +0.00)"
    )
    assert nothing.not_recommended == "no rule is recommended: all grades are 0"
    assert (few.recommended, few.not_recommended) == (None, "1 case is too few to recommend a rule")
    assert cheaper.recommended is not None
    assert (cheaper.recommended.rule, cheaper.not_recommended) == (first, "")


def test_the_words_on_iterating_say_what_they_are_about() -> None:
    """One of the later iterations is better than the first, and its score says so."""
    loop = made_loop()
    score = next(iter(atoms_in([loop.until])))
    best, flat = made_subjects(loop, 20, "best", noise=True), flat_subjects(loop, 20, [0.5] * 6)
    for number, subject in enumerate(best):
        good = number % 6 + 2
        for row in subject.facts.iterations:
            row.atoms[score] = 0.8 if row.number == good else 0.1
            subject.grades[row.number] = 1.0 if row.number == good else 0.4
        subject.grades[1] = 0.6

    helps, same = sweep_of(loop, best).words, sweep_of(loop, flat).words

    assert helps[0].startswith("iterating helps if the best by score is returned: +0.40 (")
    assert helps[0].endswith("the last iteration is not seen to be better than the first")
    assert same[0] == (
        "iterating is not seen to help: neither the last iteration nor the best by score is seen "
        "to be better than the first"
    )


def test_what_later_iterations_spoil_is_reported_and_ones_own_rule_is_drawn() -> None:
    """The grade grows for eight iterations; then two are worse than any."""
    loop = made_loop()
    subjects = made_subjects(loop, 40, "spoiled", noise=False)
    for subject in subjects:
        subject.grades[7] = subject.grades[8] = 0.1

    found = sweep_of(loop, subjects)

    assert any("iteration 8 is worse than 6 by" in words for words in found.words)
    low, high = found.bands["last"][0]
    assert low < found.curve["last"][0] < high


@pytest.mark.slow
@pytest.mark.campaign
def test_what_is_held_out_is_honest_where_all_rules_are_alike() -> None:
    """The best of many rules looks better than it is; on cases that it was not chosen with, not."""
    loop = made_loop()
    naive, honest = [], []
    for number in range(amount(12, 100)):
        found = sweep_of(loop, made_subjects(loop, 20, f"noise {number}", noise=True), margin=0.0)
        naive.append(max(result.grade for result in found.rules))
        honest.append(found.honest["grade"])
    error = 0.2 / (20 * len(naive)) ** 0.5

    assert sum(naive) / len(naive) > 0.5 + 2 * error
    assert abs(sum(honest) / len(honest) - 0.5) < 3 * error
