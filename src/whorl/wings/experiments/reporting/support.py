"""Which trials stand behind a rule that is recommended, and whether others could change that."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError, plural
from whorl.interpreter.frames import is_cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whorl.runtimes.sqlite import SqliteStore
    from whorl.wings.experiments.document import Experiment
    from whorl.wings.experiments.reporting.notes import Commands
    from whorl.wings.experiments.trials import Outcome
    from whorl.wings.experiments.what_if.rule_results import RuleResult
    from whorl.wings.experiments.what_if.sweep import Sweep


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
