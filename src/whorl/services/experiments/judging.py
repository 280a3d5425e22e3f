"""How far a judge can be trusted: its verdicts against labels, its votes against each other."""

from __future__ import annotations

import math
import random
import re
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError
from whorl.ir import AllOf, AnyOf, Judge
from whorl.lazily import dataclass
from whorl.runtimes.journal.journal import RunId
from whorl.services.experiments.grading import FAILED, SOLVED
from whorl.services.experiments.labels import GradeLabels
from whorl.services.experiments.naming import check_judged, judge_in
from whorl.services.experiments.reporting import figures
from whorl.services.experiments.reporting.figures import Estimate
from whorl.services.experiments.study import iteration_names
from whorl.services.experiments.what_if.answering import Prepared, result_of
from whorl.services.experiments.what_if.facts import atom_of, atoms_in, count_votes, votes_in
from whorl.services.experiments.what_if.folding import facts_of
from whorl.services.experiments.what_if.rules import own_rule
from whorl.services.experiments.what_if.sweep import ideal_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whorl.ir import Condition, Loop, Workflow
    from whorl.services.experiments.grading import Grade, Graded
    from whorl.services.experiments.labels import Labels
    from whorl.services.experiments.study import Study
    from whorl.services.experiments.trials import Outcome
    from whorl.services.experiments.what_if.facts import LoopFacts

RESAMPLES = 1_000
DISAGREEMENTS_MAX, WORDS_MAX = 100, 500
_FINISHED = frozenset({"task.finished"})
# Where the first judge of a loop, and the judge of a grader, are asked.
_ASKED = r"{}\[(?P<iteration>[0-9]+)\](?:#[0-9]+)?/:judge(?:#[0-9]+)?"
_VOTE = r"votes\[[0-9]+\]/judge(?:#[0-9]+)?"


@dataclass(frozen=True, slots=True)
class Judged:
    """A result with what the judge said of it, its votes, and the label.

    `run` and `iteration` say where the result is; `asked` is the run that has the judge's words.
    """

    case: str
    verdict: bool
    label: bool
    votes: tuple[bool | None, ...] = ()
    is_unclear: bool = False
    run: str = ""
    iteration: int | None = None
    asked: str = ""


@dataclass(slots=True)
class JudgeReport:
    """How a judge and labels agree; `votes` has accuracy, calls and flips for fewer votes."""

    question: str
    results: int
    cases: int
    accuracy: Estimate
    usual: float
    usual_label: bool
    kappa: Estimate | None
    words: str
    wrong_yes: tuple[int, int, tuple[float, float]]
    wrong_no: tuple[int, int, tuple[float, float]]
    unclear: int
    not_unanimous: float | None
    votes: dict[int, tuple[float, float]] = field(default_factory=dict)
    # What the loop gives and costs: grade and dollars, by votes, with its own rule, always right.
    loop: dict[str, tuple[float, float]] = field(default_factory=dict)
    # Where the judge and the label differ, with the judge's words.
    disagreements: list[dict[str, Any]] = field(default_factory=list)
    of: str = ""

    def document(self) -> dict[str, Any]:
        made = {name: getattr(self, name) for name in self.__slots__}
        for name in ("accuracy", "kappa"):
            one = made[name]
            made[name] = one and {"value": one.value, "low": one.low, "high": one.high}
        return {"judge": 1, **made}


def judge_of(
    study: Study, against: str, name: str = "", variant: str = "", labels: Labels | None = None
) -> JudgeReport:
    """The judge of a loop, or of a grader of this name, against labels or another grader."""
    graders = study.experiment.graders
    grader = against if labels is None else ""
    check_judged(study.experiment, study.prepared, grader, name, variant)
    labels = labels or GradeLabels(study, against)
    if name in graders:
        study.check_ended(variant)
        question = str(graders[name].fields.get("judge", name))
        judged = list(_of_grader(study, name, labels, variant))
        found = reliability(question, judged, study.experiment.name)
        found.disagreements = _disagreements(study, judged, _VOTE)
        found.of = f"grader {name}"
        return found
    loop = study.loop(name, variant)
    judge = judge_in(loop)
    assert judge is not None
    study.check_ended(variant)
    question = str(getattr(judge.question, "value", getattr(judge.question, "source", "")))
    judged = list(_of_loop(study, loop, judge, labels, variant))
    found = reliability(question, judged, study.experiment.name)
    found.loop = _effect(study, loop, judge, variant, [1, *found.votes])
    found.disagreements = _disagreements(study, judged, _ASKED.format(re.escape(loop.name)))
    found.of = f"loop {loop.name}"
    return found


def _disagreements(study: Study, judged: Sequence[Judged], address: str) -> list[dict[str, Any]]:
    """Where the judge and the label differ, a wrong yes first, with what the judge said."""
    wrong = [one for one in judged if one.verdict != one.label]
    rows = []
    for one in sorted(wrong, key=lambda one: not one.verdict)[:DISAGREEMENTS_MAX]:
        place = {"case": one.case, "run": one.run, "iteration": one.iteration}
        words = _words(study, one, re.compile(address))
        rows.append(place | {"verdict": one.verdict, "label": one.label, "words": words})
    return rows


def _words(study: Study, one: Judged, place: re.Pattern[str]) -> list[str]:
    """What a judge gave as its reason, or answered, vote by vote."""
    quoted = []
    for entry in study.store.read(RunId(one.asked), kinds=_FINISHED):
        at, value = place.fullmatch(entry.event.address), entry.event.body.get("value")
        number = at.groupdict().get("iteration") if at is not None else None
        is_other = number is not None and int(number) != one.iteration
        if at is not None and not is_other and isinstance(value, dict):
            quoted.append(str(value.get("reason") or value.get("answer") or "")[:WORDS_MAX])
    return [words for words in quoted if words]


def _effect(
    study: Study, loop: Loop, judge: Judge, variant: str, votes: list[int]
) -> dict[str, tuple[float, float]]:
    """What the judge costs its loop: the rule with other votes, and one that is always right."""
    own = own_rule(loop)
    try:
        subjects = study.subjects(loop, variant)
    except UsageError:
        # Outputs of other iterations are not known, and so are their grades.
        return {}
    if own is None or not subjects:
        return {}
    prepared = [Prepared(subject.facts) for subject in subjects]
    changed = {n: _with_judge(own.until, judge, replace(judge, votes=n)) for n in votes}
    rules = {str(n): replace(own, until=until) for n, until in changed.items()} | {"yours": own}
    found = {n: result_of(loop, rule, subjects, prepared) for n, rule in rules.items()}
    made = {n: (one.grade, one.cost_usd) for n, one in found.items() if not one.unknown}
    right = ideal_rows(loop, subjects, prepared, own.at_most)["the judge is always right"]
    return made | {"always right": right[:2]}


def _with_judge(until: Condition | None, judge: Judge, other: Judge) -> Condition | None:
    if isinstance(until, AnyOf | AllOf):
        parts = (_with_judge(part, judge, other) for part in until.conditions)
        return type(until)(tuple(part for part in parts if part is not None))
    return other if until == judge else until


def _of_grader(study: Study, name: str, labels: Labels, variant: str) -> Iterator[Judged]:
    for block in study.graded:
        for one in block:
            outcome = one.outcome
            if variant and outcome.trial.variant != variant:
                continue
            for number, given, label in _results(study, one, name, labels):
                if given is None or given.value is None or label is None:
                    continue
                yield Judged(
                    outcome.trial.case.id,
                    given.value > SOLVED,
                    label,
                    given.votes,
                    any(vote is None for vote in given.votes),
                    str(outcome.run or ""),
                    number,
                    given.run,
                )


def _results(
    study: Study, one: Graded, name: str, labels: Labels
) -> Iterator[tuple[int | None, Grade | None, bool | None]]:
    """What a trial returned, or all iterations of an exploring one, as they were graded."""
    outcome, experiment = one.outcome, study.experiment
    is_returned = experiment.grade_iterations == "returned" or not experiment.explore
    if is_returned or outcome.run is None or not outcome.is_done or outcome.is_outside:
        yield outcome.returned, one.grades.get(name), labels.of_trial(one)
        return
    loop = study.loop("", outcome.trial.variant)
    found = facts_of(study.store, outcome.run, {}, loop=loop.name, keep_results=True)
    workflow = study.prepared[outcome.trial.variant].workflow
    for facts in found[:1]:
        for number, seen in _names(study, workflow, loop, outcome, facts):
            given = study.collection.grade(experiment.graders[name], seen)
            yield number, given, labels.of_iteration(one, number, seen)


def _names(
    study: Study, workflow: Workflow, loop: Loop, outcome: Outcome, facts: LoopFacts
) -> Iterator[tuple[int, dict[str, Any]]]:
    """What labels see of iterations; that a run fails behind its loop is no fault of a judge."""
    for number, names in iteration_names(study.collection, workflow, loop, outcome, facts):
        yield number, names | {"outputs": None} if names["outputs"] is FAILED else names


def _of_loop(
    study: Study, loop: Loop, judge: Judge, labels: Labels, variant: str
) -> Iterator[Judged]:
    atom = atom_of(judge)
    chosen = variant or study.experiment.baseline
    workflow = study.prepared[chosen].workflow
    for block in study.graded:
        for one in block:
            outcome = one.outcome
            if outcome.run is None or outcome.trial.variant != chosen or not outcome.is_done:
                continue
            found = facts_of(
                study.store, outcome.run, atoms_in([loop.until]), loop=loop.name, keep_results=True
            )
            for facts in map(study.with_votes, found[:1]):
                rows = {row.number: row for row in facts.iterations}
                for number, seen in _names(study, workflow, loop, outcome, facts):
                    votes = votes_in(rows[number].calls, atom)
                    label = labels.of_iteration(one, number, seen) if votes else None
                    if label is not None:
                        is_yes, _, _ = count_votes(votes, judge.votes)
                        cast = tuple({"met": True, "not_met": False}.get(v) for v, _ in votes)
                        yield Judged(
                            outcome.trial.case.id,
                            bool(is_yes),
                            label,
                            cast,
                            None in cast,
                            str(outcome.run),
                            number,
                            str(outcome.run),
                        )


def reliability(question: str, judged: Sequence[Judged], seed: str) -> JudgeReport:
    """Accuracy, kappa and what fewer votes would give; intervals resample cases."""
    if not judged:
        words = "no result has both a verdict and a label"
        raise UsageError(words, help="name a grader with --against that has grades", code="X109")
    pairs = [(one.verdict, one.label) for one in judged]
    right = [float(verdict == label) for verdict, label in pairs]
    cases = [one.case for one in judged]
    yes = sum(label for _, label in pairs)
    no = len(pairs) - yes
    wrong_yes = sum(verdict and not label for verdict, label in pairs)
    wrong_no = sum(label and not verdict for verdict, label in pairs)
    kappa = _kappa(judged, seed)
    most = max((len(one.votes) for one in judged), default=0)
    flips = [one for one in judged if len(one.votes) == most and most > 1]
    return JudgeReport(
        question=question,
        results=len(judged),
        cases=len(set(cases)),
        accuracy=figures.mean_estimate(right, cases, is_repeated=True),
        usual=max(yes, no) / len(pairs),
        usual_label=yes >= no,
        kappa=kappa,
        words=kappa_words(kappa),
        wrong_yes=(wrong_yes, no, figures.wilson(wrong_yes, no) if no else (0.0, 1.0)),
        wrong_no=(wrong_no, yes, figures.wilson(wrong_no, yes) if yes else (0.0, 1.0)),
        unclear=sum(one.is_unclear for one in judged),
        not_unanimous=figures.mean([float(len(set(one.votes)) > 1) for one in flips])
        if flips
        else None,
        votes={n: _with_votes(flips, n) for n in range(1, most + 1, 2)} if flips else {},
    )


def _kappa(judged: Sequence[Judged], seed: str) -> Estimate | None:
    value = figures.kappa([(one.verdict, one.label) for one in judged])
    if value is None:
        return None
    by_case: dict[str, list[tuple[bool, bool]]] = {}
    for one in judged:
        by_case.setdefault(one.case, []).append((one.verdict, one.label))
    units = list(by_case.values())
    if len(units) < figures.UNITS_MIN:
        return Estimate(value)
    draw = random.Random(f"kappa {seed}")
    drawn = (draw.choices(units, k=len(units)) for _ in range(RESAMPLES))
    found = (figures.kappa([pair for unit in each for pair in unit]) for each in drawn)
    ordered = sorted(each for each in found if each is not None)
    return Estimate(value, *figures.expanded(ordered, len(units))) if ordered else Estimate(value)


def kappa_words(kappa: Estimate | None) -> str:
    """The word for a kappa, by its lower limit."""
    if kappa is None:
        return "not defined: one side never varies"
    lowest = kappa.value if kappa.low is None else kappa.low
    for limit, words in ((0.2, "hardly better than chance"), (0.6, "weak"), (0.8, "fair")):
        if lowest < limit:
            return words
    return "good"


def _with_votes(judged: Sequence[Judged], wanted: int) -> tuple[float, float]:
    """Accuracy and calls with fewer votes: the mean over all orders of the votes that were cast."""
    accuracy = calls = 0.0
    for one in judged:
        yes = sum(vote is True for vote in one.votes)
        no = sum(vote is False for vote in one.votes)
        says, took = _expected(yes, no, len(one.votes) - yes - no, wanted)
        accuracy += says if one.label else 1 - says
        calls += took
    return accuracy / len(judged), calls / len(judged)


def _expected(yes: int, no: int, unclear: int, wanted: int) -> tuple[float, float]:
    """How likely so many votes say yes, and how many are asked, with the engine's early end.

    Votes are drawn without putting back (hypergeometric), step by step.
    """
    states = {(0, 0, 0): 1.0}
    says = calls = 0.0
    for number in range(1, wanted + 1):
        later: dict[tuple[int, int, int], float] = {}
        for (y, n, u), weight in states.items():
            left = yes + no + unclear - y - n - u
            calls += weight
            for at, rest in enumerate((yes - y, no - n, unclear - u)):
                if rest <= 0 or left <= 0:
                    continue
                drawn = (y + (at == 0), n + (at == 1), u + (at == 2))
                share = weight * rest / left
                if drawn[0] * 2 > wanted:
                    says += share
                elif drawn[1] * 2 < wanted and number < wanted:
                    later[drawn] = later.get(drawn, 0.0) + share
        states = later
    return min(1.0, says), calls if math.isfinite(calls) else 0.0
