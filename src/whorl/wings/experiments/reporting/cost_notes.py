"""What a report says of money, and of grades that money has not bought yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import plural
from whorl.interpreter.events import amount_in
from whorl.interpreter.frames import is_cut
from whorl.language import Expression, LanguageError, free_names
from whorl.wings.experiments.trials import is_grading

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from whorl.runtimes.journal.journal import RunId, RunRow
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.wings.experiments.document import Experiment
    from whorl.wings.experiments.graders import Graded
    from whorl.wings.experiments.what_if.sweep import Sweep

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
