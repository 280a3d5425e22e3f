"""What other rules would have done: the curve, the plot, the table; also for spreadsheets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from whorl.errors import plural, safe
from whorl.interfaces.formatting import dollars, dollars_if_known, number_if_known, sparkline, table
from whorl.wings.experiments.words import sheet, span

if TYPE_CHECKING:
    from whorl.wings.experiments.document import Experiment
    from whorl.wings.experiments.what_if.query import WhatIf
    from whorl.wings.experiments.what_if.rule_results import RuleResult
    from whorl.wings.experiments.what_if.rules import Answer
    from whorl.wings.experiments.what_if.sweep import Sweep

# Below so many columns there is no plot; it is at most so wide.
_PLOT_MIN, _PLOT_WIDTH, _PLOT_ROWS = 70, 80, 10


def sweep_lines(
    sweep: Sweep,
    experiment: Experiment,
    variant: str,
    seconds: float,
    width: int | None = None,
    *,
    is_named: bool = False,
) -> list[str]:
    """What rules would have given; of the runs of which variant, and how they were recorded.

    Those that somebody has named all have a row; of others those that matter.
    """
    title = f"{safe(experiment.name)}: loop {sweep.loop} of {safe(variant or experiment.baseline)}"
    runs, most = plural(sweep.runs, "run"), experiment.explore.get(sweep.loop)
    if most is not None:
        most = max([most, *map(len, sweep.curve.values())])
        runs = f"{plural(sweep.runs, 'exploring run')} of up to {plural(most, 'iteration')}"
    rules = plural(len(sweep.rules) + len(sweep.not_ranked), "rule")
    head = f"{title}, {runs}; {rules}, no call was made ({seconds:.1f} s)"
    lines = [head, "", *_curve_lines(sweep), *sweep.words, ""]
    lines += plot_lines(sweep, width or _PLOT_WIDTH)
    shown = [sweep.rules[index] for index in sweep.frontier]
    # Where no cost is known there is no frontier.
    best = [max(sweep.rules, key=lambda one: one.grade)] if sweep.rules and not shown else []
    shown += [one for one in (sweep.recommended, sweep.own, *best) if one is not None]
    wanted = {id(one) for one in shown}
    rows = [_rule_cells(one, sweep) for one in sweep.rules if is_named or id(one) in wanted]
    for name, (grade, cost, count) in sweep.ideal.items():
        cells = [number_if_known(grade), dollars_if_known(cost), number_if_known(count, 1)]
        rows.append([f"  {name}", *cells, ""])
    lines += table([["  rule", "grade", "cost", "iterations", "to the best"], *rows])
    lines += _recommended(sweep)
    if sweep.not_ranked:
        lines += ["", "not known for all runs, so not ranked:"]
        lines += [_unknown_line(one, sweep) for one in sweep.not_ranked[:5]]
    return lines


def plot_lines(sweep: Sweep, width: int) -> list[str]:
    """Cost against grade with a sign for each rule; nothing where there is no room for it."""
    points = [(one.cost_usd, one.grade) for one in sweep.rules if sweep.frontier]
    if width < _PLOT_MIN or len(set(points)) < 2:
        return []
    across, up = min(width, _PLOT_WIDTH) - 10, _PLOT_ROWS - 1
    costs, grades = [cost for cost, _ in points], [grade for _, grade in points]
    cells = [[" "] * (across + 1) for _ in range(_PLOT_ROWS)]

    def put(one: RuleResult | None, sign: str) -> None:
        if one is not None and one in sweep.rules:
            right = (one.cost_usd - min(costs)) / ((max(costs) - min(costs)) or 1.0)
            high = (one.grade - min(grades)) / ((max(grades) - min(grades)) or 1.0)
            cells[up - round(high * up)][round(right * across)] = sign

    for one in sweep.rules:
        put(one, "·")
    for index in sweep.frontier:
        put(sweep.rules[index], "●")
    put(sweep.own, "◆")
    put(sweep.recommended, "★")
    step = (max(grades) - min(grades)) / up
    lines = [
        f" {max(grades) - n * step:.2f} ┤{''.join(row).rstrip()}" for n, row in enumerate(cells)
    ]
    low, high = dollars(min(costs)), f"{dollars(max(costs))} a run"
    legend = "grade   ● on the frontier  · not  ◆ yours  ★ recommended"
    return [
        legend,
        *lines,
        f"      └{'─' * (across + 1)}",
        f"       {low:{across - len(high)}} {high}",
        "",
    ]


def _curve_lines(sweep: Sweep) -> list[str]:
    longest = max((len(row) for row in sweep.curve.values()), default=0)
    if not longest:
        return []
    head = "grade by iteration".ljust(24) + "".join(f"{n:>6}" for n in range(1, longest + 1))
    lines = [head]
    for name, row in sweep.curve.items():
        known = [value if math.isfinite(value) else None for value in row]
        numbers = "".join("     -" if value is None else f"{value:6.2f}" for value in known)
        lines.append(f"  {name:22}{numbers}   {sparkline(known)}".rstrip())
    return lines


def _rule_cells(one: RuleResult, sweep: Sweep) -> list[str]:
    mark = "★ " if one is sweep.recommended else "◆ yours: " if one is sweep.own else "  "
    iterations = sum(one.iterations) / max(1, len(one.iterations))
    cells = [mark + safe(one.words), f"{one.grade:.2f}", dollars_if_known(one.cost_usd)]
    return [*cells, f"{iterations:.1f}", span(one.to_best, "+")]


def _recommended(sweep: Sweep) -> list[str]:
    chosen, own = sweep.recommended, sweep.own
    if chosen is None:
        return [safe(sweep.not_recommended)]
    words = f"recommended: {safe(chosen.words)}"
    if own is not None and own.grades and own is not chosen:
        better = chosen.grade - own.grade
        cost = 100 * (chosen.cost_usd / own.cost_usd - 1) if own.cost_usd else 0.0
        words += f": {better:+.2f} to yours for {cost:+.0f} % cost"
    if sweep.honest:
        honest = sweep.honest
        words += f"; on cases it was not chosen with: grade {honest['grade']:.2f}, "
        words += f"{dollars(honest['cost_usd'])}; chosen {honest['times']:.0f} times of 10"
    trials = plural(sweep.trials, "trial")
    words += f"; {sweep.runs} of {trials} stand behind it"
    return [words]


def _unknown_line(one: RuleResult, sweep: Sweep) -> str:
    bound = ""
    if one.bounds is not None:
        low, high = (f"{limit:.2f}" for limit in one.bounds)
        bound = f"; grade {low}" if low == high else f"; grade between {low} and {high}"
    return f"  {safe(one.words)}: {one.unknown} of {sweep.runs}: {safe(one.why)}{bound}"


def answer_lines(found: WhatIf) -> list[str]:
    was, answer = found.as_it_was, found.answer
    of = f"run {found.run} of {safe(found.workflow)}, loop {found.loop}"
    lines = [of, f"  as it was   {_answer_words(was, found.cost_of(was))}"]
    if found.unpriced:
        calls = plural(found.unpriced, "call")
        lines.append(f"  no price is known for {calls} of the run")
    if not answer.exact:
        code = f"{answer.code}: " if answer.code else ""
        return [*lines, f"  what if     not known: {code}{safe(answer.why)}"]
    lines.append(f"  what if     {_answer_words(answer, found.cost_of(answer))}")
    pair = (answer.returned, was.returned)
    if all(pair) and pair[0] != pair[1] and "[" not in found.loop:
        lines.append(f"  the difference: whorl diff {found.run} {pair[0]} {pair[1]}")
    return lines


def answers_lines(answers: list[WhatIf]) -> list[str]:
    """What a rule would have done over several runs; none of it for a single one."""
    known = [(each.as_it_was, each.answer) for each in answers if each.answer.exact]
    if len(answers) < 2 or not known:
        return []
    if any("[" in each.loop for each in answers):
        loops = f"each of the {len(answers)} loops is answered as it began"
        return [f"{loops}; the runs around them would have gone on differently"]
    if any(each.remembers for each in answers):
        return ["X106: the runs see what runs before them left, so each stands by itself"]

    def mean(values: list[float]) -> float:
        return sum(values) / len(values)

    counts = [mean([float(pair[at].iterations) for pair in known]) for at in (0, 1)]
    title = f"{len(known)} of {plural(len(answers), 'run')} answered, on average"
    each = f"{counts[0]:.1f} iterations became {counts[1]:.1f}"
    if any(one.unpriced for one in answers):
        return [f"{title}: {each}, cost not known"]
    costs = [mean([pair[at].usage.get("cost_usd", 0.0) for pair in known]) for at in (0, 1)]
    return [f"{title}: {each}, {dollars(costs[0])} became {dollars(costs[1])}"]


def _answer_words(answer: Answer, cost_usd: float | None) -> str:
    by = f" ({answer.stopped_by})" if answer.stopped_by else ""
    cost = "cost not known" if cost_usd is None else dollars(cost_usd)
    returned = "nothing" if answer.returned is None else answer.returned
    words = f"{plural(answer.iterations, 'iteration')}, returned {returned}"
    clock = ", by the recorded clock" if answer.by_clock else ""
    doubt = plural(answer.in_doubt, "call")
    doubt = f" ({doubt} in doubt, as reserved)" if answer.in_doubt else ""
    return f"{words}, {answer.exit_reason}{by}, {cost}{doubt}{clock}"


def sweep_csv(document: dict[str, Any]) -> str:
    """A row for each rule: what it gave and cost; one that not all runs answer says why."""
    names = ["rule", "at_most", "return", "grade", "cost_usd", "iterations", "is_frontier"]
    more = ["to_best", "to_best_low", "to_best_high", "unknown", "why"]
    rows = []
    for row in (*document["rules"], *document["not_ranked"]):
        span = row["to_best"] or {}
        limits = [span.get(name) for name in ("value", "low", "high")]
        rows.append([row[name] for name in names] + [*limits, row["unknown"], row["why"]])
    return sheet([*names, *more], rows)


def answers_csv(answers: list[WhatIf]) -> str:
    """A row for each run: what the rule would have done; where that is not known, why."""
    names = ["iterations", "returned", "exit_reason", "stopped_by"]
    rows = [
        [one.run, one.loop, one.answer.exact]
        + [getattr(one.answer, name) if one.answer.exact else None for name in names]
        + [one.cost_of(one.answer) if one.answer.exact else None, one.answer.why]
        for one in answers
    ]
    return sheet(["run", "loop", "exact", *names, "cost_usd", "why"], rows)
