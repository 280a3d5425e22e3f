"""The sweep: what many rules would have given and cost, the frontier, and the recommended rule.

A rule is ranked only if all runs answer it: runs that stopped early are the easy cases, and to drop
what is not known would flatter long rules. Rules of simple shape are answered by bit masks and
sums; all others, and all that masks do not tell, by the walk in `walking`.
"""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from whorl.ir import AllOf, AnyOf, Judge, Plateau, Score
from whorl.ir.expressions import conditions_in
from whorl.lazily import dataclass
from whorl.wings.experiments.reporting import statistics
from whorl.wings.experiments.what_if.evaluate import (
    Rule,
    leaf_words,
    obstacle,
    own_rule,
    reads_best,
)
from whorl.wings.experiments.what_if.gain_by_iteration import (
    Units,
    bands_of,
    by_iteration,
    failure_words,
    growth_words,
    ideal_rows,
    ungraded_words,
)
from whorl.wings.experiments.what_if.loop_facts import (
    HANDED_OVER,
    Subject,
    atom_of,
    atoms_in,
    votes_in,
)
from whorl.wings.experiments.what_if.rule_results import (
    Prepared,
    RuleResult,
    result_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.ir import Condition, Loop
    from whorl.wings.experiments.what_if.loop_facts import IterationFacts

RULES_MAX = 500
THRESHOLDS = 8
FOLDS = 10


@dataclass(slots=True)
class Sweep:
    """All rules that were tried, in order of cost; indices lead into `rules`.

    Where a model has no price their costs are not numbers, and no rule is on the frontier. What
    needs the grade of an iteration that has none is not a number in `ideal` and `curve`.
    """

    loop: str
    runs: int
    rules: list[RuleResult]
    not_ranked: list[RuleResult]
    frontier: list[int]
    own: RuleResult | None
    recommended: RuleResult | None
    # Why no rule is recommended.
    not_recommended: str
    honest: dict[str, float]
    ideal: dict[str, tuple[float, float, float]]
    curve: dict[str, list[float]]
    # The limits of each mean of the curve; none where there are too few cases, or one is not known.
    bands: dict[str, list[tuple[float, float]]]
    words: list[str]
    # How many trials there are; `runs` of them are in these numbers.
    trials: int = 0


def default_rules(loop: Loop, subjects: Sequence[Subject]) -> list[Rule]:
    """The rules that are tried where none are given."""
    longest = max((len(s.facts.iterations) for s in subjects), default=1)
    scores = [part for part in conditions_in(loop.until) if isinstance(part, Score)]
    measured = _measuring(scores[0]) if scores else None
    own = loop.until
    leaves = [c for c in conditions_in(own) if not isinstance(c, AnyOf | AllOf)]
    untils: list[Condition | None] = [own, None]
    untils += [leaf for leaf in leaves if getattr(leaf, "at_least", 0) is not None]
    if scores:
        untils += [_with(scores[0], at_least) for at_least in _quantiles(scores[0], subjects)]
        untils += [Plateau(patience) for patience in (1, 2, 3)]
    rules: dict[str, Rule] = {}
    for until in untils:
        whole = _complete(until, measured)
        for at_most in range(1, longest + 1):
            for returns in ("last", "best", "first") if scores else ("last",):
                rule = Rule(whole, at_most, returns, names=loop.facts)
                rules.setdefault(repr(rule), rule)
    return list(rules.values())[:RULES_MAX]


def _measuring(score: Score) -> Score:
    return _with(score, None)


def _with(score: Score, at_least: float | None) -> Score:
    from dataclasses import replace

    return replace(score, at_least=at_least)


def _complete(until: Condition | None, measured: Score | None) -> Condition | None:
    """A condition with the score that ranks iterations, where it has none of its own."""
    if measured is None:
        return until
    if until is None:
        return measured
    first = next((part for part in conditions_in(until) if isinstance(part, Score)), None)
    if first is not None and atom_of(first) == atom_of(measured):
        return until
    return AnyOf((measured, until))


def _quantiles(score: Score, subjects: Sequence[Subject]) -> list[float]:
    atom = atom_of(score)
    values = sorted(
        float(value)
        for subject in subjects
        for row in subject.facts.iterations
        if isinstance(value := row.atoms.get(atom), int | float) and not isinstance(value, bool)
    )
    if not values:
        return []
    marks = {
        round(values[min(len(values) - 1, len(values) * n // (THRESHOLDS + 1))], 2)
        for n in range(1, THRESHOLDS + 1)
    }
    return sorted(marks)


def sweep_of(
    loop: Loop,
    subjects: Sequence[Subject],
    rules: Sequence[Rule] | None = None,
    *,
    margin: float = 0.02,
) -> Sweep:
    """Answers rules over recorded runs, ranks those that all runs answer, and chooses one."""
    own = own_rule(loop)
    tried = list(default_rules(loop, subjects) if rules is None else rules)
    if own is not None and all(_same(own, rule) is False for rule in tried):
        tried.append(own)
    prepared = [Prepared(subject.facts) for subject in subjects]
    results = [result_of(loop, rule, subjects, prepared) for rule in tried]
    is_priced = all(subject.is_priced for subject in subjects)
    ranked = sorted(
        (r for r in results if not r.unknown), key=_by_cost if is_priced else _by_length
    )
    others = [result for result in results if result.unknown]
    mine = next((r for r in results if own is not None and _same(own, r.rule)), None)
    units = Units(subjects)
    chosen, honest, why_not = None, {}, ""
    if ranked:
        best = max(ranked, key=lambda result: result.grade)
        for result in ranked:
            result.to_best = units.difference(result.grades, best.grades)
        sums = {id(result): _Sums(result, units) for result in ranked}
        chosen = _choose(ranked, units, margin, sums)
        held_out = _held_out(ranked, units, margin, sums)
        honest = _honest(held_out, units, chosen, sums)
        why_not = _surely_better(others, best, len(subjects)) or _not_better(
            held_out, units, mine, margin, sums
        )
    values = by_iteration(subjects, prepared, loop)
    return Sweep(
        loop=loop.name,
        runs=len(subjects),
        rules=ranked,
        not_ranked=others,
        frontier=frontier_of([(r.cost_usd, r.grade) for r in ranked]) if is_priced else [],
        own=mine,
        recommended=None if why_not else chosen,
        not_recommended=why_not,
        honest=honest,
        ideal=ideal_rows(loop, subjects, prepared),
        curve={name: [statistics.mean(row) for row in rows] for name, rows in values.items()},
        bands=bands_of(values, units),
        words=[
            *failure_words(subjects, loop),
            *ungraded_words(subjects),
            *(growth_words(values, units, margin) if values else []),
        ],
    )


def _by_cost(result: RuleResult) -> tuple[float, float]:
    return result.cost_usd, -result.grade


def _by_length(result: RuleResult) -> tuple[float, float]:
    """The order of rules where nobody knows what they cost."""
    return statistics.mean(result.iterations), -result.grade


def _same(first: Rule, second: Rule) -> bool:
    return (first.until, first.at_most, first.returns, first.limits) == (
        second.until,
        second.at_most,
        second.returns,
        second.limits,
    )


def frontier_of(points: Sequence[tuple[float, float]]) -> list[int]:
    """The points, in order of cost, that no other one beats in both cost and grade."""
    frontier: list[int] = []
    best = -math.inf
    order = sorted(range(len(points)), key=lambda i: (points[i][0], -points[i][1]))
    for index in order:
        if points[index][1] > best:
            best = points[index][1]
            frontier.append(index)
    return frontier


class _Sums:
    """Grades and costs of a rule by unit, and their sums without each fold."""

    def __init__(self, result: RuleResult, units: Units) -> None:
        self.grades, self.costs = units.sums(result.grades), units.sums(result.costs)
        self._grade, self._cost = _by_fold(self.grades), _by_fold(self.costs)

    def means(self, fold: int | None, sizes: Sequence[int]) -> tuple[float, float]:
        """The mean grade and cost of all units, or of those outside a fold."""
        grade, cost, size = sum(self._grade), sum(self._cost), sum(sizes)
        if fold is None:
            return grade / size, cost / size
        size -= sizes[fold]
        return (grade - self._grade[fold]) / size, (cost - self._cost[fold]) / size

    def of_fold(self, fold: int) -> tuple[float, float]:
        return self._grade[fold], self._cost[fold]


def _by_fold(totals: Sequence[float]) -> list[float]:
    return [math.fsum(totals[fold::FOLDS]) for fold in range(FOLDS)]


def _choose(
    ranked: Sequence[RuleResult],
    units: Units,
    margin: float,
    sums: dict[int, _Sums],
    fold: int | None = None,
) -> RuleResult:
    """The cheapest of the rules that are not worse than the best one by the margin.

    A choice that is made without a `fold` of the units has not seen them.
    """
    sizes = [round(size) for size in _by_fold(units.sizes)]
    means = {key: each.means(fold, sizes) for key, each in sums.items()}
    best = max(ranked, key=lambda r: (means[id(r)][0], -means[id(r)][1]))
    kept = [u for u in range(units.count) if fold is None or u % FOLDS != fold]
    top = sums[id(best)].grades

    def key(result: RuleResult) -> tuple[float, int, int]:
        leaves = sum(1 for _ in conditions_in(result.rule.until))
        return round(means[id(result)][1], 12), leaves, result.rule.at_most

    near = [r for r in ranked if means[id(r)][0] >= means[id(best)][0] - margin]
    for result in sorted(near, key=key):
        pairs = [a - b for a, b in zip(sums[id(result)].grades, top, strict=True)]
        found = units.interval(pairs, kept, statistics.LEVEL)
        if result is best or (found.low is not None and found.low > -margin):
            return result
    return best


def _held_out(
    ranked: Sequence[RuleResult], units: Units, margin: float, sums: dict[int, _Sums]
) -> list[RuleResult]:
    """The choices that are made without each tenth of the units; none where there are too few."""
    if units.count < FOLDS:
        return []
    return [_choose(ranked, units, margin, sums, fold) for fold in range(FOLDS)]


def _honest(
    held_out: Sequence[RuleResult], units: Units, chosen: RuleResult, sums: dict[int, _Sums]
) -> dict[str, float]:
    """What the choice gives on cases that it was not made with."""
    if not held_out:
        return {}
    seen = [sums[id(found)].of_fold(fold) for fold, found in enumerate(held_out)]
    grade, cost = (sum(column) / sum(units.sizes) for column in zip(*seen, strict=True))
    times = sum(found is chosen for found in held_out)
    return {"grade": grade, "cost_usd": cost, "times": times, "of": FOLDS}


def _surely_better(others: Sequence[RuleResult], best: RuleResult, runs: int) -> str:
    """Says so where a rule is better than all others whatever the runs give that do not answer."""
    known = [(result.bounds[0], result) for result in others if result.bounds is not None]
    low, found = max(known, key=lambda one: one[0], default=(0.0, None))
    if found is None or low <= best.grade:
        return ""
    missing = f"{found.unknown} of {runs} runs {'does' if found.unknown == 1 else 'do'}"
    words = f"{found.words} gives at least {low:.2f}, and {missing} not answer it"
    return f"no rule is recommended: {words}"


def _not_better(
    held_out: Sequence[RuleResult],
    units: Units,
    own: RuleResult | None,
    margin: float,
    sums: dict[int, _Sums],
) -> str:
    """Says so where the choice is not better than the own rule on cases it was not made with.

    It is better if its grade is higher, or if it is cheaper and not worse by the margin.
    """
    if not held_out:
        return f"{units.too_few} to recommend a rule"
    if not any(any(each.grades) for each in sums.values()):
        return "no rule is recommended: all grades are 0"
    if own is None:
        return ""
    words = "no rule is seen to be better than yours"
    if own.unknown:
        return f"{words}, which not all runs answer"
    mine, chosen = sums[id(own)], [sums[id(result)] for result in held_out]
    every = range(units.count)
    gains = [chosen[u % FOLDS].grades[u] - mine.grades[u] for u in every]
    costs = [chosen[u % FOLDS].costs[u] - mine.costs[u] for u in every]
    grade, cost = (units.interval(each, every, statistics.LEVEL) for each in (gains, costs))
    assert grade.low is not None
    assert cost.high is not None
    is_cheaper = cost.high < 0 and grade.low >= -margin
    if grade.low > 0 or is_cheaper:
        return ""
    limits = f"{grade.value:+.2f} ({grade.low:+.2f} to {grade.high:+.2f})"
    seen = f": on cases that it was not chosen with, the choice gives {limits}"
    return words if all(result is own for result in held_out) else words + seen


# The facts of recorded runs for programs that answer rules themselves, such as the page.
#
# What a rule reads is numbered (`a0`, `a1`, ...), so that runs have short names for it.

FORMAT = 1
KINDS = {
    "When": "when",
    "Score": "score",
    "Stable": "stable",
    "Plateau": "plateau",
    "BranchTaken": "branch",
    "Judge": "judge",
}
# The numbers of a condition, which a rule may change.
_NUMBERS = ("at_least", "low", "high", "threshold", "patience", "min_delta", "votes")


def facts_document(loop: Loop, subjects: Sequence[Subject], margin: float) -> dict[str, Any]:
    """All that answering rules over these runs takes."""
    names, own = atom_names(loop), own_rule(loop)
    return {
        "facts": FORMAT,
        "loop": loop.name,
        "margin": margin,
        "own": None if own is None else rule_document(own, names),
        "check": loop.check,
        "on_limit": loop.on_limit,
        "sees_best": reads_best(loop),
        "on_failure": loop.on_iteration_failure.action,
        "failed_grade": subjects[0].failed_grade if subjects else None,
        "obstacle": "" if own is None else obstacle(loop, own),
        "obstacle_at_most": _obstacle(loop, own, at_most=1 if own is None else own.at_most + 1),
        "obstacle_score": _obstacle(loop, own, until=None),
        "obstacle_until": _obstacle(loop, own, until=_other(loop.until)),
        "runs": [_run(subject, names) for subject in subjects],
    }


def atom_names(loop: Loop) -> dict[str, str]:
    """The short names of what the rule of a loop reads."""
    return {atom: f"a{n}" for n, atom in enumerate(atoms_in([loop.until]))}


def _obstacle(loop: Loop, own: Rule | None, **other: Any) -> str:
    """Why a rule that differs in this would have changed the iterations, if it would."""
    return "" if own is None else obstacle(loop, replace(own, **other))


def _other(until: Condition | None) -> Condition | None:
    """Another condition that ranks iterations by the same score."""
    return None if until is None else AllOf((until,))


def rule_document(rule: Rule, names: dict[str, str]) -> dict[str, Any]:
    until = None if rule.until is None else condition_document(rule.until, names)
    made: dict[str, Any] = {"until": until, "at_most": rule.at_most, "return": rule.returns}
    return made | {"limits": dict(rule.limits)}


def condition_document(condition: Condition, names: dict[str, str]) -> dict[str, Any]:
    """A condition as JSON: `any` or `all` of several, or a kind with its atom and numbers."""
    if isinstance(condition, AnyOf | AllOf):
        parts = [condition_document(part, names) for part in condition.conditions]
        return {"all" if isinstance(condition, AllOf) else "any": parts}
    made: dict[str, Any] = {"kind": KINDS[type(condition).__name__]}
    if (atom := names.get(atom_of(condition))) is not None:
        made["atom"] = atom
    known = {each.name for each in fields(condition)}
    made |= {name: getattr(condition, name) for name in _NUMBERS if name in known}
    if made["kind"] == "branch":
        made["branch"] = getattr(condition, "name", "")
    question = getattr(condition, "question", None) if isinstance(condition, Judge) else None
    words = getattr(question, "value", None) or getattr(question, "source", None)
    return made | {"words": str(words or leaf_words(condition))}


def _run(subject: Subject, names: dict[str, str]) -> dict[str, Any]:
    facts = subject.facts
    return {
        "run": facts.run,
        "case": subject.case,
        "group": subject.group,
        "outside_usd": facts.outside.get("cost_usd", 0.0),
        "is_priced": subject.is_priced,
        "steered": facts.steered,
        "returned": facts.returned,
        "made": facts.made,
        "exit_reason": facts.exit_reason,
        "ahead": facts.ahead and _iteration(facts.ahead, subject, names),
        "iterations": [_iteration(row, subject, names) for row in facts.iterations],
    }


def _iteration(row: IterationFacts, subject: Subject, names: dict[str, str]) -> dict[str, Any]:
    votes = {short: _votes(row, atom) for atom, short in names.items()}
    known = names | {HANDED_OVER: HANDED_OVER}
    return {
        "number": row.number,
        "status": "held up" if row.has_waited and row.status == "failed" else row.status,
        "by": row.by,
        "is_judged": row.is_judged,
        "is_approved": row.is_approved,
        "atoms": {known[atom]: value for atom, value in row.atoms.items() if atom in known},
        "body_usd": sum(c.usage.get("cost_usd", 0.0) for c in row.calls if not c.judge),
        "votes": {short: cast for short, cast in votes.items() if cast},
        "failed": [n for atom, n in names.items() if _has_failed(row, atom, votes[n])],
        "grade": subject.grades.get(row.number),
        "is_solved": row.number in subject.solved,
    }


def _has_failed(row: IterationFacts, atom: str, votes: list[dict[str, Any]]) -> bool:
    """Whether a judge was asked, and gave no vote."""
    return not votes and any(call.judge == atom for call in row.calls)


def _votes(row: IterationFacts, atom: str) -> list[dict[str, Any]]:
    """The votes of a judge in an iteration, each with what it cost."""
    calls = [call.usage.get("cost_usd", 0.0) for call in row.calls if call.judge == atom]
    made, at = [], 0
    for verdict, took in votes_in(row.calls, atom):
        made.append({"verdict": verdict, "cost_usd": sum(calls[at : at + took])})
        at += took
    return made
