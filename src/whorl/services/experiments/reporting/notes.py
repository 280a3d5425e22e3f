"""What a report says beside its numbers: failures, what is left out, who has still to grade."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import UsageError
from whorl.lazily import dataclass
from whorl.services.experiments.reporting import figures

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whorl.services.experiments.document import Experiment, Grader
    from whorl.services.experiments.grading import Graded
    from whorl.services.experiments.trials import Outcome


@dataclass(frozen=True, slots=True)
class Commands:
    """What runs an experiment, what runs all of it anew, and what goes on with a run."""

    run: str
    fresh: str
    resume: str = "whorl resume"

    def again(self, run: str) -> str:
        """How to try trials again that the outside has failed; one of them is this run."""
        return f"`{self.resume} {run}` tries one of them again, `{self.fresh}` runs all trials anew"


def nothing_ended(name: str, commands: Commands, ended: Iterable[Outcome] = ()) -> UsageError:
    """Nobody can tell anything of an experiment without a run that the outside did not fail."""
    failed = [one for one in ended if one.is_outside]
    if not failed:
        words = f"no run of experiment {name!r} has ended yet"
        return UsageError(words, help=commands.run, code="X109")
    codes = ", ".join(dict.fromkeys(one.error for one in failed))
    trials = f"all {len(failed)} trials" if len(failed) > 1 else "the only trial"
    words = f"{trials} of experiment {name!r} that ended failed because of the provider ({codes})"
    advice = commands.again(str(failed[0].run))
    return UsageError(f"{words}: {failed[0].message}", help=advice, code="X109")


def count_failure(failed: dict[str, int], outcome: Outcome) -> None:
    """Counts a trial, by its code, if it has failed by itself."""
    if outcome.is_done and outcome.status != "succeeded" and not outcome.is_outside:
        code = outcome.error or outcome.status
        failed[code] = failed.get(code, 0) + 1


def grader_words(grader: Grader) -> str:
    """Who grades: `judge, 3 votes`, `expression`, `person`."""
    if grader.kind == "judge":
        votes = grader.fields.get("votes", 1)
        return f"judge, {votes} {'vote' if votes == 1 else 'votes'}"
    return "function" if grader.function is not None else grader.kind


def left_out(flat: Iterable[Graded]) -> list[str]:
    codes: dict[str, int] = {}
    for one in flat:
        if one.outcome.is_outside:
            codes[one.outcome.error] = codes.get(one.outcome.error, 0) + 1
    return [
        f"{count} {'trial' if count == 1 else 'trials'} left out: the provider failed ({code})"
        for code, count in codes.items()
    ]


def faults(flat: Iterable[Graded]) -> list[str]:
    """Grades that are none, with their cases."""
    return [
        f"grader {name!r}, case {one.outcome.trial.case.id!r}: {grade.fault}"
        for one in flat
        for name, grade in one.grades.items()
        if grade is not None and grade.value is None
    ]


def people(experiment: Experiment, flat: Sequence[Graded]) -> dict[str, tuple[int, int]]:
    asked = [name for name, grader in experiment.graders.items() if grader.kind == "person"]
    done = [one for one in flat if one.outcome.status == "succeeded"]
    return {name: (sum(one.value(name) is not None for one in done), len(done)) for name in asked}


def rho(blocks: Iterable[Sequence[Graded]], main: str) -> float | None:
    """How far the score that loops see goes with the grade, over cases."""
    pairs = [
        (score, grade)
        for block in blocks
        for one in block
        if one.outcome.status == "succeeded"
        and (score := one.outcome.scores.get(one.outcome.returned or 0)) is not None
        and (grade := one.value(main)) is not None
    ]
    if len(pairs) < figures.UNITS_MIN:
        return None
    return figures.spearman([score for score, _ in pairs], [grade for _, grade in pairs])
