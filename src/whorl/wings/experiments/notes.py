"""What is said beside the numbers: what is left out, what is missing, and what goes on with it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.errors import Diagnostic, UsageError, plural
from whorl.language import Expression, LanguageError, free_names
from whorl.lazily import dataclass
from whorl.wings.experiments import statistics
from whorl.wings.experiments.trials import STOPPED, alike, is_grading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from whorl.runtimes.journal.journal import RunRow
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.wings.experiments.document import Experiment, Grader
    from whorl.wings.experiments.graders import Graded
    from whorl.wings.experiments.trials import Outcome, Trial
    from whorl.wings.experiments.what_if.sweep import Sweep

_NAMED = 5


@dataclass(frozen=True, slots=True)
class Commands:
    """What runs an experiment, or goes on with it, and what runs all of it anew.

    `budget` is added where its budget has to be larger, by so many dollars, to so many in all.
    """

    run: str
    fresh: str
    budget: str = "{run} --budget +{more:g}"

    def with_budget(self, more: float | None, file_usd: float | None) -> Commands:
        """The same, of which the first goes on with so many dollars more than the file gives."""
        if more is None:
            return self
        run = self.budget.format(run=self.run, more=more, all=more + (file_usd or 0.0))
        return replace(self, run=run)


# Why there is nothing to tell, with what to do about it.


def nothing_ended(
    name: str, commands: Commands, ended: Iterable[Outcome] = (), others: int = 0
) -> UsageError:
    """Nobody can tell anything of an experiment without a run that the outside did not fail.

    `others` are runs of it that its files do not describe any more.
    """
    ended = list(ended)
    failed = [one for one in ended if one.is_outside]
    if failed:
        codes = ", ".join(dict.fromkeys(one.error for one in failed))
        trials = f"all {len(failed)} trials" if len(failed) > 1 else "the only trial"
        words = f"{trials} of experiment {name!r} that ended failed because of the provider"
        words += f" ({codes}): {failed[0].message}"
        return UsageError(words, help=f"once it answers: {commands.run}", code="X113")
    words = f"no run of experiment {name!r} has ended yet"
    if others:
        runs = f"{others} {'run is' if others == 1 else 'runs are'}"
        words = f"no run of experiment {name!r} as its files are now has ended; {runs} of "
        words += "cases, variants or versions that it has no more"
    if short := sum(one.is_short for one in ended):
        words += f": the budget ended {plural(short, 'trial')}"
    return UsageError(words, help=commands.run, code="X116" if short else "X109")


def no_grade(experiment: Experiment, commands: Commands, runs: int) -> UsageError:
    """No rule can be ranked, since an iteration that it returns has no grade in some run."""
    name, advice = experiment.main_grader, f"the report lists what has no grade: {commands.run}"
    if not experiment.explore or experiment.grade_iterations == "returned":
        advice = "only what runs return is graded: explore the loop, and grade all iterations"
    elif experiment.graders[name].kind == "person":
        advice = "a person has to grade it: `whorl serve` has the queue of them"
    words = f"no rule is answered by all {runs} runs: grader {name!r} has not graded all iterations"
    return UsageError(words, help=advice, code="X114")


# What a report says of its trials and grades.


def grader_words(grader: Grader) -> str:
    """Who grades: `judge, 3 votes`, `expression`, `person`."""
    if grader.kind == "judge":
        return f"judge, {plural(grader.fields.get('votes', 1), 'vote')}"
    return "function" if grader.function is not None else grader.kind


def left_out(flat: Iterable[Graded]) -> list[str]:
    codes = Counter(one.outcome.error for one in flat if one.outcome.is_outside)
    words = "left out: the provider failed"
    return [f"{plural(count, 'trial')} {words} ({code})" for code, count in codes.items()]


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


def same_runs(trials: Iterable[Trial]) -> list[str]:
    """Which variants are the same runs."""
    why = "are the same runs: their workflows and inputs are equal"
    return [f"{', '.join(map(repr, each[:-1]))} and {each[-1]!r} {why}" for each in alike(trials)]


def warnings(trials: Iterable[Trial]) -> Iterator[Diagnostic]:
    """What an experiment says that can hardly be meant so."""
    for each in same_runs(trials):
        yield Diagnostic("X112", f"variants {each}", severity="warning")


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


def graded_blocks(
    experiment: Experiment, blocks: Sequence[Sequence[Graded]]
) -> list[Sequence[Graded]]:
    """Those that can be compared: no grade that decides is still to come, but those of people."""
    decide = {experiment.main_grader}
    try:
        test = experiment.solved
        decide |= {use.name for use in free_names(Expression("jinja", test))} if test else set()
    except LanguageError:
        pass
    return [
        block
        for block in blocks
        if decide.isdisjoint(name for one in block for name in _missing(experiment, one))
    ]


def _missing(experiment: Experiment, one: Graded) -> list[str]:
    if one.outcome.status != "succeeded":
        return []
    graders = experiment.graders.items()
    return [n for n, grader in graders if grader.kind != "person" and one.grades.get(n) is None]


def ungraded(experiment: Experiment, flat: Sequence[Graded]) -> list[str]:
    """Which results have no grade yet, by grader; people are counted elsewhere."""
    missing: dict[str, list[str]] = {}
    for one in flat:
        for name in _missing(experiment, one):
            missing.setdefault(name, []).append(one.outcome.trial.case.id)
    count = sum(one.outcome.status == "succeeded" for one in flat)
    lines = []
    for name, each in missing.items():
        cases = list(dict.fromkeys(each))
        rest = f" and {len(cases) - _NAMED} more" if len(cases) > _NAMED else ""
        named = f"case{'' if len(cases) == 1 else 's'} {', '.join(cases[:_NAMED])}{rest}"
        lines.append(f"no grade by {name!r} yet: {len(each)} of {count} results ({named})")
    return lines


# What a report says of money.


def cost_words(
    experiment: Experiment, store: SqliteStore, flat: Sequence[Graded], rows: Mapping[str, RunRow]
) -> list[str]:
    """What has to be known of the costs in a report."""
    gradings = [row.in_doubt for key, row in rows.items() if is_grading(key) and row.in_doubt]
    return [
        *_budget_words(experiment, flat),
        *_doubt_words("costs contain", flat),
        *_reserved("what was spent in all contains", gradings, "grading"),
        *_open_words(rows),
        *_unpriced_words(store, flat),
    ]


def _open_words(rows: Mapping[str, RunRow]) -> list[str]:
    """How many runs may have paid for calls whose answer is lost, since their process ended."""
    count = sum(row.status == "interrupted" for row in rows.values())
    words = "what a call costs that was open then is not in the costs"
    return [f"{plural(count, 'run')} stopped when a process ended: {words}"] if count else []


def _budget_words(experiment: Experiment, flat: Sequence[Graded]) -> Iterator[str]:
    """Which trials a budget has stopped, by variant, and what helps."""
    has_own, stops = experiment.trial_budget is not None, Counter[tuple[str, str]]()
    for outcome in (one.outcome for one in flat):
        why = outcome.message if outcome.is_done and outcome.error == STOPPED else ""
        if outcome.is_short:
            why = "the budget was not enough; a larger one continues them"
        if why:
            stops[outcome.trial.variant, why] += 1
    for (variant, why), count in stops.items():
        more = "; raise trial_budget to continue them" if has_own and "continues" not in why else ""
        yield f"{plural(count, 'trial')} of {variant!r}: {why}{more}"


def _doubt_words(what: str, flat: Iterable[Graded]) -> list[str]:
    """In which costs there is what was reserved for calls in doubt."""
    counts = [one.outcome.in_doubt for one in flat if one.outcome.in_doubt]
    return _reserved(what, counts, "trial")


def _reserved(what: str, counts: Sequence[int], noun: str) -> list[str]:
    calls = f"{plural(sum(counts), 'call')} of {plural(len(counts), noun)}"
    return [f"{what} what was reserved for calls in doubt: {calls}"] if counts else []


def _unpriced_words(
    store: SqliteStore, flat: Sequence[Graded], *, with_gradings: bool = True
) -> list[str]:
    """Which trials and gradings cost what nobody knows, since a model has no price."""
    runs: dict[tuple[str, str], list[str]] = {}
    for one in flat:
        if one.outcome.unpriced:
            of = ("trial", f"of {one.outcome.trial.variant!r}")
            runs.setdefault(of, []).append(str(one.outcome.run))
        for name, grade in one.grades.items() if with_gradings else ():
            if grade is not None and not grade.is_priced:
                runs.setdefault(("grading", f"by {name!r}"), []).append(grade.run)
    lines = []
    for (noun, whose), each in runs.items():
        # All runs of a variant ask the same models.
        charges = store.charges("model", run=each[0]).items()
        models = [model for model, spent in charges if model and spent.unpriced_calls]
        why = f"no price for {', '.join(models) or 'a model'}; set [prices.MODEL] in whorl.toml"
        count = plural(len(set(each)), noun)
        lines.append(f"the cost of {count} {whose} is not known: {why}")
    return lines


def tell_of_costs(found: Sweep, store: SqliteStore, flat: Sequence[Graded]) -> None:
    """Says what is in the costs of rules; where they are not known, none is recommended."""
    found.words += _doubt_words("costs contain", flat)
    if unpriced := _unpriced_words(store, flat, with_gradings=False):
        found.words += unpriced
        found.refuse("no rule is recommended, since none is known to be cheaper")


def tell_of_trials(found: Sweep, outcomes: Sequence[Outcome], commands: Commands) -> None:
    """Says which trials are not in a sweep; before all have ended no rule is recommended."""
    open_ = sum(not one.is_done for one in outcomes)
    failed = sum(one.is_outside for one in outcomes)
    found.trials, without = len(outcomes), len(outcomes) - found.runs - open_ - failed
    parts = [f"{open_} {'has' if open_ == 1 else 'have'} not ended"] if open_ else []
    parts += [f"{failed} failed because of the provider"] if failed else []
    parts += [f"{without} ended without this loop"] if without else []
    if parts:
        of = f"{found.runs} of {plural(found.trials, 'trial')}"
        found.words.append(f"{of} are in these numbers: {', '.join(parts)}")
    if open_:
        found.refuse(f"no rule is recommended before all trials have ended: {commands.run}")
