"""The report of an experiment: variants compared by case, with intervals.

Numbers are means over cases. A variant is called better or worse only if its interval shows that,
at a level that all variants share. Only whole blocks are compared.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError, plural
from whorl.language import Expression, free_names
from whorl.lazily import dataclass
from whorl.wings.experiments import statistics
from whorl.wings.experiments.statistics import Estimate
from whorl.wings.experiments.trials import SOLVED, STOPPED, is_grading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from whorl.runtimes.journal.journal import RunRow
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.wings.experiments.document import Experiment, Grader
    from whorl.wings.experiments.trials import Graded, Outcome, Trial
    from whorl.wings.experiments.what_if.sweep import Sweep


@dataclass(slots=True)
class VariantReport:
    """One variant: its grade, its difference to the baseline, its solved share and its cost."""

    name: str
    cases: int
    grade: Estimate
    difference: Estimate | None
    words: str
    could_see: float | None
    solved: float | None
    cost_usd: Estimate
    per_solved: Estimate
    iterations: float
    wins: int = 0
    ties: int = 0
    losses: int = 0
    # Whether the difference is within the margin that wins and losses have.
    within_margin: bool = False
    # The level of the interval of the difference; all intervals hold together at 95 %.
    level: float | None = None
    # The trials that failed by themselves, by code, and the number of ended trials.
    failed: dict[str, int] = field(default_factory=dict)
    ended: int = 0
    # The number of trials with calls without a known price; the variant's cost is then unknown.
    unpriced: int = 0


@dataclass(slots=True)
class Report:
    """All facts in the report of an experiment; `document` is the form for programs."""

    experiment: str
    grader: str
    graders: list[str]
    baseline: str
    cases: int
    repeat: int
    is_complete: bool
    trials: int
    done: int
    variants: dict[str, VariantReport]
    rows: list[dict[str, Any]]
    left_out: list[str] = field(default_factory=list)
    rho: float | None = None
    extra_usd: float = 0.0
    spent_usd: float = 0.0
    # Variants that have no grade, or no pair, for some of the cases.
    fewer: list[str] = field(default_factory=list)
    people: dict[str, tuple[int, int]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    # Whether a failed run is graded 0, or left out.
    on_failure: str = "zero"
    # Whether loops continue past their rule, so that what-if has answers.
    explores: bool = False
    # Runs of cases, variants or versions that the file no longer has.
    others: int = 0
    # Notes on costs, and on missing grades.
    notes: list[str] = field(default_factory=list)
    # The kind of the grader, and the condition of a solved trial.
    graded_by: str = ""
    solved: str = ""
    # A difference in grade that does not matter: wins and losses of a variant exceed it.
    margin: float = 0.02

    def document(self) -> dict[str, Any]:
        variants = {n: statistics.fields_document(one) for n, one in self.variants.items()}
        return {"report": 1, **statistics.fields_document(self), "variants": variants}

    def best(self) -> dict[str, Any] | None:
        """Returns the variant with the highest grade, and its difference to the baseline."""
        graded = [one for one in self.variants.values() if one.cases]
        if not graded:
            return None
        best = max(graded, key=lambda one: one.grade.value)
        found = statistics.fields_document(best)
        named = {name: found[name] for name in ("words", "grade", "difference")}
        return {"variant": best.name, **named}

    def by_case(self) -> list[dict[str, Any]]:
        """Returns a row for each case with a cell for each variant, largest differences first."""
        table: dict[str, dict[str, list[dict[str, Any]]]] = {}
        for row in self.rows:
            table.setdefault(row["case"], {}).setdefault(row["variant"], []).append(row)
        rows: list[dict[str, Any]] = []
        for case, by in table.items():
            cells = {name: self._cell(trials) for name, trials in by.items()}
            base = cells.get(self.baseline, {}).get("grade")
            for cell in cells.values():
                is_known = base is not None and cell["grade"] is not None
                cell["difference"] = cell["grade"] - base if is_known else None
            spread = max((abs(cell["difference"] or 0.0) for cell in cells.values()), default=0.0)
            group = next(iter(by.values()))[0]["group"]
            rows.append({"case": case, "group": group, "spread": spread, "cells": cells})
        return sorted(rows, key=lambda row: -row["spread"])

    def _cell(self, trials: list[dict[str, Any]]) -> dict[str, Any]:
        """Returns a case under a variant: means over its trials, and the trials."""
        grades = [g for row in trials if (g := row["grades"].get(self.grader)) is not None]
        costs = [row["cost_usd"] for row in trials]
        names = ("run", "status", "error", "solved", "iterations", "returned", "grades", "cost_usd")
        return {
            "grade": statistics.mean(grades) if grades else None,
            "cost_usd": None if None in costs else statistics.mean(costs),
            "iterations": statistics.mean([row["iterations"] for row in trials]),
            "solved": statistics.mean([bool(row["solved"]) for row in trials]),
            "trials": [{name: row[name] for name in names} for row in trials],
        }


def report_of(
    experiment: Experiment,
    blocks: Sequence[Sequence[Graded]],
    spent_usd: float,
    others: int = 0,
    notes_of_money: Sequence[str] = (),
) -> Report:
    """Returns the report of the results so far; compares only cases that all variants have."""
    flat = [one for block in blocks for one in block]
    ended = [block for block in blocks if all(one.outcome.is_done for one in block)]
    whole = graded_blocks(experiment, ended)
    main, is_complete = experiment.main_grader, len(whole) == len(blocks)
    variants = _variants(experiment, whole, is_complete=is_complete)
    for one in flat:
        _count(variants[one.outcome.trial.variant], one)
    level = f"{100 * statistics.LEVEL:g} %, each at {round(100 * shared_level(experiment), 2):g} %"
    joint = f"differences of {len(experiment.variants) - 1} variants hold together at {level}"
    return Report(
        experiment=experiment.name,
        grader=main,
        graders=list(experiment.graders),
        baseline=experiment.baseline,
        cases=len(whole),
        repeat=experiment.repeat,
        is_complete=is_complete,
        trials=len(flat),
        done=sum(one.outcome.is_done for one in flat),
        variants=variants,
        rows=[_row(one) for one in flat if one.outcome.run is not None],
        left_out=left_out(flat),
        fewer=_fewer_words(variants.values(), len(whole), experiment.baseline),
        rho=rho(whole, main),
        extra_usd=sum(one.outcome.extra_usd for one in distinct(flat)),
        spent_usd=spent_usd,
        people=people(experiment, flat),
        faults=faults(flat),
        on_failure=experiment.on_failure,
        explores=bool(experiment.explore),
        others=others,
        notes=[
            *same_runs(one.outcome.trial for one in flat),
            *ungraded(experiment, flat),
            *notes_of_money,
            *([joint] if len(experiment.variants) > 2 else []),
        ],
        graded_by=grader_words(experiment.graders[main]),
        solved=experiment.solved or f"{main} >= {SOLVED}",
        margin=experiment.margin,
    )


def _count(variant: VariantReport, one: Graded) -> None:
    """Counts a trial: whether it has ended, failed by itself, or has no price."""
    outcome = one.outcome
    variant.ended += outcome.is_done
    variant.unpriced += bool(outcome.unpriced)
    if variant.unpriced:
        variant.cost_usd = variant.per_solved = Estimate(math.nan)
    if outcome.is_done and outcome.status != "succeeded" and not outcome.is_outside:
        code = outcome.error or outcome.status
        variant.failed[code] = variant.failed.get(code, 0) + 1


def _row(one: Graded) -> dict[str, Any]:
    outcome, trial = one.outcome, one.outcome.trial
    names = ("run", "status", "error", "is_outside", "in_doubt", "seconds", "iterations")
    return {
        "case": trial.case.id,
        "group": trial.case.group,
        "variant": trial.variant,
        "repeat": trial.number,
        **{name: getattr(outcome, name) for name in names},
        "grades": {name: one.value(name) for name in one.grades},
        "solved": one.is_solved,
        "cost_usd": None if outcome.unpriced else outcome.cost_usd,
        "returned": outcome.returned,
        "exit_reason": outcome.exit_reason,
        "score": outcome.scores.get(outcome.returned or 0),
    }


# Comparing: cells by variant and case, and their means.


@dataclass(slots=True)
class _Cell:
    """A case under a variant: the mean over its repeats."""

    grade: float
    cost_usd: float
    solved: float
    iterations: float


_Cells = dict[str, _Cell]


def _variants(
    experiment: Experiment, blocks: Iterable[Sequence[Graded]], *, is_complete: bool
) -> dict[str, VariantReport]:
    """Returns the report of each variant, without the cases that have no grade under it."""
    table: dict[str, _Cells] = {name: {} for name in experiment.variants}
    for block in blocks:
        for name, cells in table.items():
            trials = [one for one in block if one.outcome.trial.variant == name]
            grades = [g for one in trials if (g := one.value(experiment.main_grader)) is not None]
            if grades:
                cells[trials[0].outcome.trial.case.id] = _Cell(
                    statistics.mean(grades),
                    statistics.mean([one.outcome.cost_usd for one in trials]),
                    statistics.mean([bool(one.is_solved) for one in trials]),
                    statistics.mean([one.outcome.iterations for one in trials]),
                )
    variants = {name: _variant(experiment, name, cells) for name, cells in table.items()}
    for name, one in variants.items():
        if name != experiment.baseline:
            _compare(experiment, table, one, is_complete=is_complete)
    return variants


def units_of(experiment: Experiment, cases: Iterable[str]) -> list[str] | None:
    """Returns the groups of some cases, or None if the cases are independent."""
    if not experiment.is_grouped:
        return None
    groups = {case.id: case.group for case in experiment.cases}
    return [groups[case] for case in cases]


def _variant(experiment: Experiment, name: str, cells: _Cells) -> VariantReport:
    grades, units = [cell.grade for cell in cells.values()], units_of(experiment, cells)
    costs, solved = ([getattr(c, n) for c in cells.values()] for n in ("cost_usd", "solved"))
    # Equal seeds draw the same cases for all variants.
    pairs, seed = [(costs, [1.0] * len(cells)), (costs, solved)], f"{experiment.name} cost"
    cost_usd, per_solved = statistics.ratio_estimates(pairs, units, seed=seed)
    return VariantReport(
        name=name,
        cases=len(cells),
        grade=statistics.mean_estimate(grades, units, is_repeated=experiment.repeat > 1),
        difference=None,
        words="",
        could_see=None,
        solved=statistics.mean(solved) if cells else None,
        cost_usd=cost_usd,
        per_solved=per_solved,
        iterations=statistics.mean([cell.iterations for cell in cells.values()]) if cells else 0.0,
    )


def _compare(
    experiment: Experiment, table: dict[str, _Cells], one: VariantReport, *, is_complete: bool
) -> None:
    """Sets the difference to the baseline, over the cases that both have."""
    own, base = table[one.name], table[experiment.baseline]
    both = [case for case in own if case in base]
    if not both:
        return
    pairs, units = [own[c].grade - base[c].grade for c in both], units_of(experiment, both)
    seed = difference_seed(experiment, experiment.baseline, one.name)
    # One interval for the picture and for the words, at a level that all variants share.
    one.level = level = shared_level(experiment)
    one.difference = statistics.difference_estimate(pairs, units, seed=seed, level=level)
    sides = [_side(pair, experiment.margin) for pair in pairs]
    one.wins, one.ties, one.losses = (sides.count(side) for side in (1, 0, -1))
    one.within_margin = _side(one.difference.value, experiment.margin) == 0
    if not is_complete:
        return
    if not one.difference.is_known:
        noun = "group" if experiment.is_grouped else "case"
        few = statistics.too_few(len(set(units or both)), noun)
        one.words = f"{few} to say"
    elif (one.difference.low or 0) > 0 or (one.difference.high or 0) < 0:
        one.words = "better" if one.difference.value > 0 else "worse"
    else:
        one.words = "no difference seen"
        one.could_see = statistics.finite(statistics.detectable(pairs, units, level))


def _side(difference: float, margin: float) -> int:
    """Returns 1 for better, -1 for worse, 0 within the margin; for a case, and for the mean."""
    return (difference > margin) - (difference < -margin)


def difference_seed(experiment: Experiment, one: str, other: str) -> str:
    """Returns the seed of the interval of a difference, which does not depend on the order."""
    return " ".join((experiment.name, *sorted((one, other))))


def shared_level(experiment: Experiment) -> float:
    """Returns the level of each interval, so that those of all variants hold together at 95 %."""
    return 1 - (1 - statistics.LEVEL) / max(1, len(experiment.variants) - 1)


def _fewer_words(variants: Iterable[VariantReport], cases: int, baseline: str) -> list[str]:
    """Returns notes on variants without a grade or a pair for some of the cases."""
    lines = []
    for one in variants:
        compared = one.cases if one.name == baseline else one.wins + one.ties + one.losses
        pairs = f", {compared} of them also under {baseline}" if compared < one.cases else ""
        if one.cases < cases or pairs:
            lines.append(f"{one.name}: {one.cases} of {cases} cases have a grade{pairs}")
    return lines


# Texts beside the numbers: what is left out, what is missing, and the commands that continue.


@dataclass(frozen=True, slots=True)
class Commands:
    """The command that runs or continues an experiment.

    `budget` is added if its budget must be larger: by `more` dollars, to `all` dollars.
    """

    run: str
    budget: str = "{run} --budget +{more:g}"

    def with_budget(self, more: float | None, file_usd: float | None) -> Commands:
        """Returns the same commands; the first gets `more` dollars beyond the file's budget."""
        if more is None:
            return self
        run = self.budget.format(run=self.run, more=more, all=more + (file_usd or 0.0))
        return replace(self, run=run)


# Why there is no result, with advice.


def nothing_ended(
    name: str, commands: Commands, ended: Iterable[Outcome] = (), others: int = 0
) -> UsageError:
    """Returns the error for an experiment in which providers failed all ended runs, or none ended.

    `others` are its runs that the files no longer describe.
    """
    ended = list(ended)
    if failed := [one for one in ended if one.is_outside]:
        codes = ", ".join(dict.fromkeys(one.error for one in failed))
        words = f"the provider failed {plural(len(failed), 'trial')} of experiment {name!r} "
        words += f"({codes}), and no other one has ended: {failed[0].message}"
        return UsageError(words, help=f"once it answers: {commands.run}", code=failed[0].error)
    words = f"no run of experiment {name!r} has ended yet"
    if others:
        runs = plural(others, "run")
        words += f"; {runs} of other cases, variants or versions of its files do not count"
    if short := sum(one.is_short for one in ended):
        words += f": the budget ended {plural(short, 'trial')}"
    return UsageError(words, help=commands.run, code="R103" if short else "X110")


def no_grade(experiment: Experiment, commands: Commands, runs: int) -> UsageError:
    """Returns the error for rules without a rank: a returned iteration has no grade in some run."""
    words = f"no rule is answered by all {runs} runs: grader {experiment.main_grader!r} has not "
    advice = f"explore the loop and grade all iterations; see what has no grade: {commands.run}"
    return UsageError(f"{words}graded all iterations", help=advice, code="X115")


# Notes of a report on its trials and grades.


def grader_words(grader: Grader) -> str:
    """Returns the kind of a grader: `judge, 3 votes`, `expression`, `person`."""
    if grader.kind == "judge":
        return f"judge, {plural(grader.fields.get('votes', 1), 'vote')}"
    return "function" if grader.function is not None else grader.kind


def left_out(flat: Iterable[Graded]) -> list[str]:
    codes = Counter(one.outcome.error for one in flat if one.outcome.is_outside)
    return [
        f"{plural(count, 'trial')} left out: the provider failed ({code})"
        for code, count in codes.items()
    ]


def faults(flat: Iterable[Graded]) -> list[str]:
    """Returns the faults of grades, with their cases and variants; a shared fault appears once."""
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
    """Returns notes on variants that are the same runs in all cases."""
    keys: dict[str, list[str]] = {}
    for trial in trials:
        keys.setdefault(trial.variant, []).append(trial.key)
    names: dict[tuple[str, ...], list[str]] = {}
    for name in sorted(keys):
        names.setdefault(tuple(sorted(keys[name])), []).append(repr(name))
    why = "are the same runs: their workflows and inputs are equal"
    return [f"{', '.join(n[:-1])} and {n[-1]} {why}" for n in names.values() if len(n) > 1]


def people(experiment: Experiment, flat: Sequence[Graded]) -> dict[str, tuple[int, int]]:
    asked = [name for name, grader in experiment.graders.items() if grader.kind == "person"]
    done = [one for one in flat if one.outcome.status == "succeeded"]
    return {name: (sum(one.value(name) is not None for one in done), len(done)) for name in asked}


def distinct(found: Iterable[Graded]) -> list[Graded]:
    """Returns each run once, since equal variants share their runs."""
    return list({one.outcome.run: one for one in found}.values())


def rho(blocks: Iterable[Sequence[Graded]], main: str) -> float | None:
    """Returns the rank correlation of the score that loops see with the grade, over cases."""
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
    """Returns the blocks with all deciding grades, except grades of people, for comparison."""
    uses = free_names(Expression("jinja", experiment.solved)) if experiment.solved else []
    decide = {experiment.main_grader, *(use.name for use in uses)}
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
    """Returns notes on results without a grade, by grader; people are counted elsewhere."""
    missing = Counter(name for one in flat for name in _missing(experiment, one))
    results = plural(sum(one.outcome.status == "succeeded" for one in flat), "result")
    return [f"no grade by {n!r} yet: {count} of {results}" for n, count in missing.items()]


# Notes of a report on money.


def cost_words(
    experiment: Experiment, store: SqliteStore, flat: Sequence[Graded], rows: Mapping[str, RunRow]
) -> list[str]:
    """Returns the notes on costs in a report."""
    gradings = [row.in_doubt for key, row in rows.items() if is_grading(key)]
    lost = sum(row.status == "interrupted" for row in rows.values())
    words = (
        f"the process of {plural(lost, 'run')} stopped; costs do not include calls that were open"
    )
    return [
        *_budget_words(experiment, flat),
        *_doubt_words("costs contain", [one.outcome.in_doubt for one in flat], "trial"),
        *_doubt_words("the total contains", gradings, "grading"),
        *([words] if lost else []),
        *_unpriced_words(store, flat),
    ]


def _budget_words(experiment: Experiment, flat: Sequence[Graded]) -> Iterator[str]:
    """Yields notes on trials that a budget has stopped, by variant, with advice."""
    advice = "" if experiment.trial_budget is None else "; raise trial_budget to continue them"
    stops = Counter[tuple[str, str]]()
    for outcome in (one.outcome for one in flat):
        if outcome.is_short:
            why = "the budget was not enough; a larger one continues them"
            stops[outcome.trial.variant, why] += 1
        elif outcome.is_done and outcome.error == STOPPED:
            stops[outcome.trial.variant, outcome.message + advice] += 1
    for (variant, why), count in stops.items():
        yield f"{plural(count, 'trial')} of {variant!r}: {why}"


def _doubt_words(what: str, counts: Sequence[int], noun: str) -> list[str]:
    """Returns a note on costs that include the reserve of so many calls in doubt."""
    doubtful = [count for count in counts if count]
    calls = f"{plural(sum(doubtful), 'call')} of {plural(len(doubtful), noun)}"
    return [f"{what} the amounts that are reserved for calls in doubt: {calls}"] if doubtful else []


def _unpriced_words(
    store: SqliteStore, flat: Sequence[Graded], *, with_gradings: bool = True
) -> list[str]:
    """Returns notes on trials and gradings with unknown cost, since a model has no price."""
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
        # All runs of a variant call the same models.
        charges = store.charges("model", run=each[0]).items()
        models = [model for model, spent in charges if model and spent.unpriced_calls]
        why = f"no price for {', '.join(models) or 'a model'}; set [prices.MODEL] in whorl.toml"
        count = plural(len(set(each)), noun)
        lines.append(f"the cost of {count} {whose} is not known: {why}")
    return lines


def tell_of_trials(
    found: Sweep, store: SqliteStore, flat: Sequence[Graded], commands: Commands
) -> None:
    """Adds notes on trials and costs; recommends no rule if some are open or have no price."""
    open_ = sum(not one.outcome.is_done for one in flat)
    failed = sum(one.outcome.is_outside for one in flat)
    found.trials, without = len(flat), len(flat) - found.runs - open_ - failed
    parts = [f"{open_} {'has' if open_ == 1 else 'have'} not ended"] if open_ else []
    parts += [f"{failed} failed because of the provider"] if failed else []
    parts += [f"{without} ended without this loop"] if without else []
    if parts:
        of = f"{found.runs} of {plural(found.trials, 'trial')}"
        found.words.append(f"{of} are in these numbers: {', '.join(parts)}")
    if open_:
        found.refuse(f"no rule is recommended before all trials have ended: {commands.run}")
    found.words += _doubt_words("costs contain", [one.outcome.in_doubt for one in flat], "trial")
    if unpriced := _unpriced_words(store, flat, with_gradings=False):
        found.words += unpriced
        found.refuse("no rule is recommended, since none is known to be cheaper")
