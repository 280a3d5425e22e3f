"""What a report says beside its numbers: failures, what is left out, who has still to grade."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl.errors import Diagnostic, UsageError, plural
from whorl.interpreter.events import amount_in
from whorl.interpreter.frames import is_cut
from whorl.language import Expression, LanguageError, free_names
from whorl.lazily import dataclass
from whorl.wings.experiments.graders import LEFT_OUT
from whorl.wings.experiments.reporting import statistics
from whorl.wings.experiments.trials import alike, is_grading

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from whorl.runtimes.journal.journal import RunId, RunRow
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.wings.experiments.document import Experiment, Grader
    from whorl.wings.experiments.graders import Grade, Graded
    from whorl.wings.experiments.trials import Outcome, Trial
    from whorl.wings.experiments.what_if.rule_results import RuleResult
    from whorl.wings.experiments.what_if.sweep import Sweep


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


# What a report says of money, and of grades that money has not bought yet.

_NAMED = 5
_CALLS = frozenset(
    {"task.started", "task.finished", "task.failed", "task.in_doubt", "node.finished"}
)
_DOUBTS = frozenset({"task.in_doubt"})
_RESUMED = frozenset({"task.failed", "run.resumed", "run.continued"})


def graded_blocks(
    experiment: Experiment, blocks: Sequence[Sequence[Graded]]
) -> list[Sequence[Graded]]:
    """Those that can be compared: no grade that decides is still to come, but those of people."""
    wanted = _deciding(experiment)
    missing = ({n for one in block for n in _missing(experiment, one)} for block in blocks)
    return [block for block, lacks in zip(blocks, missing, strict=True) if not wanted & lacks]


def _deciding(experiment: Experiment) -> set[str]:
    """The graders that a comparison needs: the main one, and those that say what is solved."""
    named: set[str] = set()
    if experiment.solved:
        try:
            uses = free_names(Expression("jinja", experiment.solved))
        except LanguageError:
            uses = ()
        named = {use.name for use in uses}
    return {experiment.main_grader} | named


def _missing(experiment: Experiment, one: Graded) -> list[str]:
    if one.outcome.status != "succeeded":
        return []
    graders = experiment.graders.items()
    return [n for n, grader in graders if grader.kind != "person" and one.grades.get(n) is None]


def ungraded(experiment: Experiment, flat: Sequence[Graded]) -> list[str]:
    """Which results have no grade yet, by grader; people are counted elsewhere."""
    cases: dict[str, list[str]] = {}
    for one in flat:
        for name in _missing(experiment, one):
            cases.setdefault(name, []).append(one.outcome.trial.case.id)
    count = sum(one.outcome.status == "succeeded" for one in flat)
    return [
        f"no grade by {name!r} yet: {len(each)} of {count} results ({_cases(each)})"
        for name, each in cases.items()
    ]


def _cases(names: list[str]) -> str:
    each = list(dict.fromkeys(names))
    rest = f" and {len(each) - _NAMED} more" if len(each) > _NAMED else ""
    return f"case{'' if len(each) == 1 else 's'} {', '.join(each[:_NAMED])}{rest}"


def cost_words(
    experiment: Experiment,
    store: SqliteStore,
    flat: Sequence[Graded],
    rows: Mapping[str, RunRow],
    prices: Container[str],
) -> list[str]:
    """What has to be known of the costs in a report."""
    return [
        *short_words(experiment, flat),
        *stopped_words(experiment, flat),
        *cut_words(experiment, store, flat),
        *doubt_words(flat, rows),
        *open_words(store, rows),
        *again_words(store, flat, rows),
        *unpriced_words(store, flat),
        *free_words(store, flat, prices),
    ]


def tell_of_costs(found: Sweep, store: SqliteStore, flat: Sequence[Graded]) -> None:
    """Says what is in the costs of rules; where they are not known, none is recommended."""
    found.words += doubt_words(flat)
    if unpriced := unpriced_words(store, flat, with_gradings=False):
        found.words += unpriced
        found.recommended, found.honest = None, {}
        found.not_recommended = "no rule is recommended, since none is known to be cheaper"


def short_words(experiment: Experiment, flat: Sequence[Graded]) -> list[str]:
    """Which trials lacked money that they may have now: they are not done."""
    short: dict[str, int] = {}
    for one in flat:
        if one.outcome.is_short:
            variant = one.outcome.trial.variant
            short[variant] = short.get(variant, 0) + 1
    lines = []
    for name, count in short.items():
        them, trials = "it" if count == 1 else "them", f"{plural(count, 'trial')} of {name!r}"
        if experiment.trial_budget is None:
            lines.append(f"the budget ended {trials}: a larger one continues {them}")
        else:
            words = f"{trials} had a smaller trial_budget"
            lines.append(f"{words}: running the experiment again continues {them}")
    return lines


def stopped_words(experiment: Experiment, flat: Sequence[Graded]) -> list[str]:
    """Which trials their budget has stopped, and what helps."""
    stopped: dict[tuple[str, str], int] = {}
    for one in flat:
        if one.outcome.status == "paused" and one.outcome.message and one.outcome.is_done:
            place = one.outcome.trial.variant, one.outcome.message
            stopped[place] = stopped.get(place, 0) + 1
    advice = "" if experiment.trial_budget is None else "; raise trial_budget to go on with them"
    return [
        f"{plural(count, 'trial')} of {variant!r} stopped: {why}{advice}"
        for (variant, why), count in stopped.items()
    ]


def cut_words(experiment: Experiment, store: SqliteStore, flat: Sequence[Graded]) -> list[str]:
    """In which trials the budget of the run has ended the loop, which then returned what it had."""
    cut: dict[str, int] = {}
    for one in flat:
        variant, run = one.outcome.trial.variant, one.outcome.run
        is_ended = one.outcome.exit_reason == "budget" and one.outcome.is_done
        if run is not None and is_ended and _is_of_run(store, run):
            cut[variant] = cut.get(variant, 0) + 1
    advice = ""
    if experiment.trial_budget is not None:
        advice = "; a larger trial_budget continues them"
    words = "the budget of the run ended the loop early"
    return [f"{plural(n, 'trial')} of {name!r}: {words}{advice}" for name, n in cut.items()]


def _is_of_run(store: SqliteStore, run: RunId) -> bool:
    """Whether the budget that ended a loop is that of the run, and not one of its own rule."""
    warnings = store.read(run, kinds=frozenset({"warning"}))
    facts = (entry.event.body.get("facts") for entry in warnings)
    return any(isinstance(each, dict) and each.get("of_run") for each in facts)


def doubt_words(flat: Sequence[Graded], rows: Mapping[str, RunRow] | None = None) -> list[str]:
    """Whose costs have what was reserved for calls in doubt; with `rows`, not only of trials."""
    others = [(key, row.in_doubt) for key, row in (rows or {}).items() if row.in_doubt]
    trials = [one.outcome.in_doubt for one in flat if one.outcome.in_doubt]
    gradings = [count for key, count in others if is_grading(key)]
    reserved = "what was reserved for calls in doubt"
    words = []
    if trials:
        words += [f"costs contain {reserved}: {_calls_of(trials, 'trial')}"]
    if gradings:
        all_of = f"what was spent in all (`whorl experiment ls`) contains {reserved}"
        words.append(f"{all_of}: {_calls_of(gradings, 'grading')}")
    return words


def _calls_of(counts: Sequence[int], of: str) -> str:
    return f"{plural(sum(counts), 'call')} of {plural(len(counts), of)}"


def doubtful_usd(store: SqliteStore, rows: Mapping[str, RunRow]) -> tuple[int, float]:
    """For how many calls what was reserved counts as spent, after their process had ended."""
    runs = [row.id for row in rows.values() if row.in_doubt]
    doubts = [entry.event.body for run in runs for entry in store.read(run, kinds=_DOUBTS)]
    reserves = [found for body in doubts if isinstance(found := body.get("reserve"), dict)]
    amounts = [amount_in(reserve.get("cost_usd")) for reserve in reserves]
    return len(doubts), sum(amounts)


def open_words(store: SqliteStore, rows: Mapping[str, RunRow]) -> list[str]:
    """For how many calls nobody knows what they cost, since their process has ended."""
    stopped = [row.id for row in rows.values() if row.status == "interrupted"]
    counts = [count for run in stopped if (count := _open_calls(store, run))]
    if not counts:
        return []
    calls = f"{plural(sum(counts), 'call')} of {plural(len(counts), 'run')}"
    return [f"a process ended during {calls}: nobody knows their cost, and it is not in the costs"]


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


def again_words(
    store: SqliteStore, flat: Sequence[Graded], rows: Mapping[str, RunRow]
) -> list[str]:
    """How many answers a share of the budget has cut, which were asked for again."""
    counts: dict[str, int] = {}
    for key, variant in {one.outcome.trial.key: one.outcome.trial.variant for one in flat}.items():
        row = rows.get(key)
        if row is not None and row.budget_usd is not None:
            counts[variant] = counts.get(variant, 0) + _asked_again(store, row.id)
    return [
        f"the cost of {name!r} contains {plural(count, 'answer')} that the budget cut,"
        f" asked for again"
        for name, count in counts.items()
        if count
    ]


def _asked_again(store: SqliteStore, run: RunId) -> int:
    cut = count = 0
    for entry in store.read(run, kinds=_RESUMED):
        if entry.event.body.get("explore"):
            # What it has cost to go on later is not in the costs of its own rule.
            break
        if entry.event.kind == "run.resumed":
            cut, count = 0, count + cut
        else:
            error = entry.event.body.get("error")
            cut += isinstance(error, dict) and is_cut(error)
    return count


def unpriced_words(
    store: SqliteStore, flat: Sequence[Graded], *, with_gradings: bool = True
) -> list[str]:
    """Which trials and gradings cost what nobody knows, since a model has no price."""
    runs: dict[tuple[str, str], list[str]] = {}
    for one in flat:
        outcome = one.outcome
        if outcome.unpriced:
            of = ("trial", f"of {outcome.trial.variant!r}")
            runs.setdefault(of, []).append(str(outcome.run))
        for name, grade in one.grades.items() if with_gradings else ():
            if grade is not None and not grade.is_priced:
                runs.setdefault(("grading", f"by {name!r}"), []).append(grade.run)
    counted = {(plural(len(set(each)), noun), of): each[0] for (noun, of), each in runs.items()}
    return [
        f"the cost of {count} {of} is not known: {_no_price(store, run)}"
        for (count, of), run in counted.items()
    ]


def free_words(store: SqliteStore, flat: Sequence[Graded], prices: Container[str]) -> list[str]:
    """Which variants count as free beside others that do not, for want of a price."""
    costs: dict[str, float] = {}
    runs: dict[str, str] = {}
    for one in flat:
        outcome, name = one.outcome, one.outcome.trial.variant
        if outcome.run is not None and not outcome.unpriced:
            costs[name] = costs.get(name, 0.0) + outcome.cost_usd + outcome.extra_usd
            runs.setdefault(name, outcome.run)
    words = []
    for name in [name for name, cost in costs.items() if not cost and any(costs.values())]:
        models = [model for model in store.charges("model", run=runs[name]) if model]
        free = [m for m in models if m not in prices and m.partition("/")[2] not in prices]
        if free:
            count = f"{name!r} counts as free: {', '.join(free)} has no price"
            words.append(f"{count}; set [prices.MODEL] in whorl.toml if it costs something")
    return words


def _no_price(store: SqliteStore, run: str) -> str:
    """Which models of a run have no price; all runs of a variant ask the same."""
    charges = store.charges("model", run=run).items()
    models = [model for model, spent in charges if model and spent.unpriced_calls]
    return f"no price for {', '.join(models) or 'a model'}; set [prices.MODEL] in whorl.toml"


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
    open_ = len(waiting) - short
    parts = [f"{open_} {'has' if open_ == 1 else 'have'} not ended"] if open_ else []
    parts += [f"the budget ended {short}"] if short else []
    parts += [f"{len(failed)} failed because of the provider"] if failed else []
    without = found.trials - found.runs - missing
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
        why = _cut_words(found, chosen, cut, margin)
    if why:
        found.recommended, found.honest = None, {}
        found.not_recommended = f"no rule is recommended: {why}"


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
    """Whether the budget of a run has ended it, or its loop, before its time."""
    if outcome.run is None or outcome.status == "paused":
        return outcome.run is not None
    reached = store.read(outcome.run, kinds=frozenset({"budget.reached"}))
    bodies = (entry.event.body for entry in reached)
    if any(body.get("scope") == "run" and not body.get("pauses") for body in bodies):
        return True
    return _is_cut_beyond(store, outcome)


def _is_cut_beyond(store: SqliteStore, outcome: Outcome) -> bool:
    """Whether a budget has cut an answer while the loop explored, and nobody asked for it again."""
    assert outcome.run is not None
    cut: dict[int, bool] = {}
    for entry in store.read(outcome.run, kinds=frozenset({"iteration.finished"})):
        body: dict[str, Any] = entry.event.body
        if entry.event.address.rpartition("[")[0] == outcome.loop:
            cut[body["number"]] = is_cut(body.get("error") or {})
    return any(is_lost for number, is_lost in cut.items() if number > outcome.iterations)


def _cut_words(found: Sweep, chosen: RuleResult, cut: int, margin: float) -> str:
    """A rule that could be better, and that only trials do not answer which were cut."""
    open_rules = [one for one in found.not_ranked if one.unknown <= cut and one.bounds is not None]
    best = max(open_rules, key=lambda one: one.bounds[1] if one.bounds else 0.0, default=None)
    if best is None or best.bounds is None or best.bounds[1] <= chosen.grade + margin:
        return ""
    missing = f"{best.unknown} of {plural(found.runs, 'run')} {'was' if cut == 1 else 'were'} cut"
    return f"{missing} before the end of {best.words}, which could be better"
