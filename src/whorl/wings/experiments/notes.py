"""What is said beside the numbers: what is left out, what is missing, and what goes on with it."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl.errors import Diagnostic, UsageError, plural
from whorl.interpreter.frames import is_cut
from whorl.language import Expression, LanguageError, free_names
from whorl.lazily import dataclass
from whorl.wings.experiments import statistics
from whorl.wings.experiments.graders import LEFT_OUT
from whorl.wings.experiments.trials import alike, is_grading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from whorl.runtimes.journal.journal import RunId, RunRow
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.wings.experiments.document import Experiment, Grader
    from whorl.wings.experiments.graders import Grade, Graded
    from whorl.wings.experiments.trials import Outcome, Trial
    from whorl.wings.experiments.what_if.sweep import Sweep

_NAMED = 5
_CALLS = frozenset(
    {"task.started", "task.finished", "task.failed", "task.in_doubt", "node.finished"}
)


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
        advice = commands.again(str(failed[0].run))
        return UsageError(f"{words} ({codes}): {failed[0].message}", help=advice, code="X113")
    words = f"no run of experiment {name!r} has ended yet"
    if others:
        runs = f"{others} {'run is' if others == 1 else 'runs are'}"
        words = f"no run of experiment {name!r} as its files are now has ended; {runs} of "
        words += "cases, variants or versions that it has no more"
    if short := sum(one.is_short for one in ended):
        words += f": the budget ended {plural(short, 'trial')}"
    return UsageError(words, help=commands.run, code="X116" if short else "X109")


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


def no_answer(
    words: str,
    experiment: Experiment,
    store: SqliteStore,
    outcomes: Sequence[Outcome],
    commands: Commands,
    *,
    advice: str = "",
) -> UsageError:
    """No run answers; where their budget has ended them, that is why."""
    if cut := sum(one.is_done and _is_cut(store, one) for one in outcomes):
        its = "the budget of the run" if experiment.trial_budget is None else "the trial_budget"
        words += f"; {its} ended {cut} of {plural(len(outcomes), 'trial')} early"
        # What explores is not continued.
        advice = commands.fresh if experiment.explore else commands.run
        advice = f"raise trial_budget, then: {advice}"
    return UsageError(words, help=advice, code="X116" if cut else "X109")


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
        *_budget_words(experiment, store, flat),
        *_doubt_words("costs contain", flat),
        *_reserved("what was spent in all contains", gradings, "grading"),
        *_open_words(store, rows),
        *_unpriced_words(store, flat),
    ]


def _open_words(store: SqliteStore, rows: Mapping[str, RunRow]) -> list[str]:
    """For how many calls nobody knows what they cost, since their process has ended."""
    stopped = [row.id for row in rows.values() if row.status == "interrupted"]
    counts = [count for run in stopped if (count := _open_calls(store, run))]
    calls = f"{plural(sum(counts), 'call')} of {plural(len(counts), 'run')}"
    words = f"a process ended during {calls}: nobody knows their cost, and it is not in the costs"
    return [words] if counts else []


def _open_calls(store: SqliteStore, run: RunId) -> int:
    """How many paid calls of a run have begun, and have no answer."""
    under_way: set[str] = set()
    for entry in store.read(run, kinds=_CALLS):
        event = entry.event
        under_way.discard(event.address)
        reserve = event.body.get("reserve")
        if event.kind == "task.started" and isinstance(reserve, dict) and reserve.get("calls"):
            under_way.add(event.address)
    return len(under_way)


def _budget_words(
    experiment: Experiment, store: SqliteStore, flat: Sequence[Graded]
) -> Iterator[str]:
    """Which trials a budget has stopped, by variant, and what helps."""
    has_own, stops = experiment.trial_budget is not None, Counter[tuple[str, str, str]]()
    for one in flat:
        outcome = one.outcome
        kind = "short" if outcome.is_short else ""
        if outcome.status == "paused" and outcome.is_done and outcome.message:
            kind = "stopped"
        elif outcome.exit_reason == "budget" and outcome.is_done and _is_of_run(store, outcome):
            kind = "cut"
        if kind:
            stops[outcome.trial.variant, kind, outcome.message if kind == "stopped" else ""] += 1
    for (variant, kind, why), count in stops.items():
        them, trials = "it" if count == 1 else "them", f"{plural(count, 'trial')} of {variant!r}"
        if kind == "stopped":
            more = "; raise trial_budget to go on with them" if has_own else ""
            yield f"{trials} stopped: {why}{more}"
        elif kind == "cut":
            more = "; a larger trial_budget continues them" if has_own else ""
            yield f"{trials}: the budget of the run ended the loop early{more}"
        elif has_own:
            words = "had a smaller trial_budget: running the experiment again continues"
            yield f"{trials} {words} {them}"
        else:
            yield f"the budget ended {trials}: a larger one continues {them}"


def _is_of_run(store: SqliteStore, outcome: Outcome) -> bool:
    """Whether the budget that ended a loop is that of the run, and not one of its own rule."""
    if outcome.run is None:
        return False
    warned = store.read(outcome.run, kinds=frozenset({"warning"}))
    facts = (entry.event.body.get("facts") for entry in warned)
    return any(isinstance(each, dict) and each.get("of_run") for each in facts)


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


# Which trials stand behind a rule that is recommended, and whether others could change that.


def tell_of_trials(
    found: Sweep,
    store: SqliteStore,
    outcomes: Sequence[Outcome],
    commands: Commands,
    margin: float,
) -> None:
    """Says which trials are not in a sweep; a rule that they could change is not recommended."""
    waiting = [one for one in outcomes if not one.is_done]
    failed = [one for one in outcomes if one.is_outside]
    found.trials, missing = len(outcomes), len(waiting) + len(failed)
    short = sum(one.is_short for one in waiting)
    open_, without = len(waiting) - short, found.trials - found.runs - missing
    parts = [f"{open_} {'has' if open_ == 1 else 'have'} not ended"] if open_ else []
    parts += [f"the budget ended {short}"] if short else []
    parts += [f"{len(failed)} failed because of the provider"] if failed else []
    parts += [f"{without} ended without this loop"] if without else []
    stand = f"{found.runs} of {plural(found.trials, 'trial')}"
    if parts:
        more = f"; a larger one goes on with {'it' if short == 1 else 'them'}: {commands.run}"
        words = f"{stand} are in these numbers: {', '.join(parts)}"
        found.words.append(words + (more if short else ""))
    lost = [one for one in outcomes if one.is_done and _is_cut(store, one)]
    if cut := len(lost):
        words = f"{cut} of {plural(found.trials, 'trial')} {'was' if cut == 1 else 'were'} cut by"
        has_own = any(one.trial.limit_usd is not None for one in lost)
        words += f" the budget of the run: raise {'trial_budget' if has_own else 'the budget'}"
        found.words.append(f"{words}, then run all anew: {commands.fresh}")
    chosen, own = found.recommended, found.own
    if chosen is None:
        return
    mine = own.grades if own is not None and not own.unknown else None
    why = ""
    if could_change(chosen.grades, mine, (one.grades for one in found.rules), missing, margin):
        advice = f"complete them: {commands.run}"
        advice = advice if waiting else commands.again(str(failed[0].run))
        others = "the other" if missing == 1 else f"the {missing} others"
        why = f"{stand} stand behind the choice, and {others} could change it; {advice}"
    elif cut:
        why = _cut_words(found, cut, chosen.grade + margin)
    if why:
        found.refuse(f"no rule is recommended: {why}")


def could_change(
    chosen: Sequence[float],
    own: Sequence[float] | None,
    rules: Iterable[Sequence[float]],
    missing: int,
    margin: float,
) -> bool:
    """Whether trials that are missing could make another choice, whatever grades they have.

    It is made by grades: the chosen rule must not become worse than another one by the margin, nor
    lose what it has over the own one.
    """
    if not missing:
        return False
    count, total = len(chosen) + missing, math.fsum(chosen)
    best = max((math.fsum(grades) for grades in rules), default=total)
    if best - total + missing > margin * count:
        return True
    gain = total - math.fsum(own) if own is not None else math.inf
    return gain <= missing if gain > 0 else gain - missing < -margin * count


def _is_cut(store: SqliteStore, outcome: Outcome) -> bool:
    """Whether the budget of a run has ended it, or its loop, or an answer beyond its rule."""
    if outcome.run is None or outcome.status == "paused":
        return outcome.run is not None
    cut: dict[int, bool] = {}
    for entry in store.read(outcome.run, kinds=frozenset({"budget.reached", "iteration.finished"})):
        body: dict[str, Any] = entry.event.body
        if entry.event.kind == "budget.reached":
            if body.get("scope") == "run" and not body.get("pauses"):
                return True
        elif entry.event.address.rpartition("[")[0] == outcome.loop:
            cut[body["number"]] = is_cut(body.get("error") or {})
    # What was asked for again is no loss.
    return any(is_lost for number, is_lost in cut.items() if number > outcome.iterations)


def _cut_words(found: Sweep, cut: int, grade: float) -> str:
    """A rule that could be better than such a grade, and that only cut trials do not answer."""
    bounds = [(one.bounds[1], one) for one in found.not_ranked if one.bounds and one.unknown <= cut]
    high, best = max(bounds, key=lambda each: each[0], default=(0.0, None))
    if best is None or high <= grade:
        return ""
    missing = f"{best.unknown} of {plural(found.runs, 'run')} {'was' if cut == 1 else 'were'} cut"
    return f"{missing} before the end of {best.words}, which could be better"
