"""What a report says beside its numbers: failures, what is left out, who has still to grade."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.errors import Diagnostic, UsageError, plural
from whorl.lazily import dataclass
from whorl.wings.experiments.graders import LEFT_OUT
from whorl.wings.experiments.reporting import statistics
from whorl.wings.experiments.trials import alike

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whorl.wings.experiments.document import Experiment, Grader
    from whorl.wings.experiments.graders import Grade, Graded
    from whorl.wings.experiments.trials import Outcome, Trial


@dataclass(frozen=True, slots=True)
class Commands:
    """What runs an experiment, what runs all of it anew, and what goes on with a run.

    `budget` is added where its budget has to be larger, by so many dollars, to so many in all.
    """

    run: str
    fresh: str
    resume: str = "whorl resume"
    budget: str = "{run} --budget +{more:g}"

    def with_budget(self, more: float | None, file_usd: float | None) -> Commands:
        """The same, of which the first goes on with so many dollars more than the file gives."""
        if more is None:
            return self
        run = self.budget.format(run=self.run, more=more, all=more + (file_usd or 0.0))
        return replace(self, run=run)

    def again(self, run: str) -> str:
        """How to try trials again that the outside has failed; one of them is this run."""
        return f"`{self.resume} {run}` tries one of them again, `{self.fresh}` runs all trials anew"


def nothing_ended(
    name: str, commands: Commands, ended: Iterable[Outcome] = (), others: int = 0
) -> UsageError:
    """Nobody can tell anything of an experiment without a run that the outside did not fail.

    `others` are runs of it that its files do not describe any more.
    """
    ended = list(ended)
    failed = [one for one in ended if one.is_outside]
    if not failed:
        words = f"no run of experiment {name!r} has ended yet"
        if others:
            runs = f"{others} {'run is' if others == 1 else 'runs are'}"
            words = f"no run of experiment {name!r} as its files are now has ended; {runs} of "
            words += "cases, variants or versions that it has no more"
        if short := sum(one.is_short for one in ended):
            words += f": the budget ended {plural(short, 'trial')}"
        return UsageError(words, help=commands.run, code="X116" if short else "X109")
    codes = ", ".join(dict.fromkeys(one.error for one in failed))
    trials = f"all {len(failed)} trials" if len(failed) > 1 else "the only trial"
    words = f"{trials} of experiment {name!r} that ended failed because of the provider ({codes})"
    advice = commands.again(str(failed[0].run))
    return UsageError(f"{words}: {failed[0].message}", help=advice, code="X113")


def no_grade(
    experiment: Experiment, commands: Commands, runs: int, where: str, grade: Grade | None
) -> UsageError:
    """No rule can be ranked, since an iteration of a case has no grade."""
    name = experiment.main_grader
    why, advice = "has not graded it", commands.run
    if grade is not None and grade.fault == LEFT_OUT:
        why, advice = LEFT_OUT, "on_failure: zero"
    elif grade is not None:
        why, advice = grade.fault, f"correct grader {name!r}: no trial runs again"
    elif experiment.graders[name].kind == "person":
        advice = "a person has to grade it: `whorl serve` has the queue of them"
    elif not experiment.explore or experiment.grade_iterations == "returned":
        advice = "only what runs return is graded: explore the loop, and grade all iterations"
    words = f"no rule is answered by all {runs} runs: {where} has no grade: grader {name!r} {why}"
    return UsageError(words, help=advice, code="X114")


def count_failure(failed: dict[str, int], outcome: Outcome) -> None:
    """Counts a trial, by its code, if it has failed by itself."""
    if outcome.is_done and outcome.status != "succeeded" and not outcome.is_outside:
        code = outcome.error or outcome.status
        failed[code] = failed.get(code, 0) + 1


def grader_words(grader: Grader) -> str:
    """Who grades: `judge, 3 votes`, `expression`, `person`."""
    if grader.kind == "judge":
        votes = grader.fields.get("votes", 1)
        return f"judge, {plural(votes, 'vote')}"
    return "function" if grader.function is not None else grader.kind


def left_out(flat: Iterable[Graded]) -> list[str]:
    codes: dict[str, int] = {}
    for one in flat:
        if one.outcome.is_outside:
            codes[one.outcome.error] = codes.get(one.outcome.error, 0) + 1
    return [
        f"{plural(count, 'trial')} left out: the provider failed ({code})"
        for code, count in codes.items()
    ]


def steered(runs: Sequence[str]) -> list[str]:
    """Which trials are not those of their variant any more."""
    are = "was steered by a person and is" if len(runs) == 1 else "were steered by people and are"
    return [f"{plural(len(runs), 'trial')} {are} left out: {', '.join(runs)}"] if runs else []


def faults(flat: Iterable[Graded]) -> list[str]:
    """Grades that are none, with their cases and variants; what several share is told once."""
    found: dict[tuple[str, str, str, str], set[str]] = {}
    for one in flat:
        trial = one.outcome.trial
        for name, grade in one.grades.items():
            if grade is not None and grade.value is None:
                # Equal results of a case share the run that graded them.
                of = (name, trial.case.id, grade.fault, grade.run)
                found.setdefault(of, set()).add(trial.variant)
    return [
        f"grader {name!r}, case {case!r} of {', '.join(map(repr, sorted(variants)))}: {fault}"
        for (name, case, fault, _), variants in found.items()
    ]


def failed_gradings(flat: Iterable[Graded], commands: Commands) -> list[str]:
    """How many gradings the provider has failed, and what tries them again."""
    grades = (grade for one in flat for grade in one.grades.values() if grade is not None)
    if not (runs := {grade.run for grade in grades if grade.is_outside}):
        return []
    words = f"{plural(len(runs), 'grading')} failed because of the provider; once it answers"
    return [f"{words}: {commands.run}"]


def same_runs(trials: Iterable[Trial]) -> list[str]:
    """Which variants are the same runs."""
    why = "are the same runs: their workflows and inputs are equal"
    return [f"{', '.join(map(repr, each[:-1]))} and {each[-1]!r} {why}" for each in alike(trials)]


def warnings(experiment: Experiment, trials: Iterable[Trial]) -> Iterator[Diagnostic]:
    """What an experiment says that can hardly be meant so."""
    words = [f"variants {each}" for each in same_runs(trials)]
    budget, own = experiment.budget, experiment.trial_budget
    if budget == 0:
        words.append("'budget' of 0 allows no call that costs something")
    elif budget is not None and own is not None and own > budget:
        more = f"'trial_budget' of {own:g} is more than the 'budget' of {budget:g}"
        words.append(f"{more}: no trial can begin")
    if experiment.grade_iterations == "all" and not experiment.explore:
        words.append("'grade_iterations: all' grades nothing more without 'explore'")
    yield from (Diagnostic("X112", each, severity="warning") for each in words)


def people(experiment: Experiment, flat: Sequence[Graded]) -> dict[str, tuple[int, int]]:
    asked = [name for name, grader in experiment.graders.items() if grader.kind == "person"]
    done = [one for one in flat if one.outcome.status == "succeeded"]
    return {name: (sum(one.value(name) is not None for one in done), len(done)) for name in asked}


def distinct(found: Iterable[Graded]) -> list[Graded]:
    """Each run once: variants that are alike share theirs."""
    return list({one.outcome.run: one for one in found}.values())


def rho(blocks: Iterable[Sequence[Graded]], main: str) -> float | None:
    """How far the score that loops see goes with the grade, over cases."""
    pairs = [
        (score, grade)
        for one in distinct(one for block in blocks for one in block)
        if one.outcome.status == "succeeded"
        and (score := one.outcome.scores.get(one.outcome.returned or 0)) is not None
        and (grade := one.value(main)) is not None
    ]
    if len(pairs) < statistics.UNITS_MIN:
        return None
    return statistics.spearman([score for score, _ in pairs], [grade for _, grade in pairs])
