"""What experiments, judges and other rules come to, as lines for people, spreadsheets and CI."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

from whorl.errors import plural, safe
from whorl.interfaces.formatting import (
    dollars,
    dollars_at_most,
    dollars_if_known,
    line,
    number_if_known,
    seconds,
    sparkline,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from whorl.wings.experiments.document import Experiment
    from whorl.wings.experiments.remaining import Forecast, Progress
    from whorl.wings.experiments.reporting.gate import Gate
    from whorl.wings.experiments.reporting.kappa import JudgeReport
    from whorl.wings.experiments.reporting.notes import Commands
    from whorl.wings.experiments.reporting.report import Report, VariantReport
    from whorl.wings.experiments.reporting.statistics import Estimate
    from whorl.wings.experiments.what_if.evaluate import Answer
    from whorl.wings.experiments.what_if.query import WhatIf
    from whorl.wings.experiments.what_if.rule_results import RuleResult
    from whorl.wings.experiments.what_if.sweep import Sweep

_DANGEROUS = ("=", "+", "-", "@", "\t", "\r")
_LISTED, _QUOTED_MAX = 12, 74
# From so much on, a score tells something of the grade, and tells it fairly.
_WEAK, _FAIR = 0.2, 0.6


def span(estimate: Estimate | None, sign: str = "") -> str:
    """A number with its interval."""
    if estimate is None or not math.isfinite(estimate.value):
        return "-"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:{sign}.2f}"
    return f"{estimate.value:{sign}.2f} ({estimate.low:{sign}.2f} to {estimate.high:{sign}.2f})"


def _money(estimate: Estimate) -> str:
    if not math.isfinite(estimate.value):
        return "none solved"
    if estimate.low is None or estimate.high is None:
        return dollars(estimate.value)
    high = dollars(estimate.high) if math.isfinite(estimate.high) else "no upper limit"
    return f"{dollars(estimate.value)} ({dollars(estimate.low)} to {high})"


def report_lines(
    report: Report, file: str, pasted: Callable[..., str], commands: Commands, *, is_answered: bool
) -> list[str]:
    """What an experiment found, and whether what-if has answers; `pasted` makes commands."""
    title = f"{report.experiment}   {plural(report.cases, 'case')}, "
    title += f"{plural(len(report.variants), 'variant')}, {plural(report.repeat, 'run')} each"
    graded = f"grade: {safe(report.grader)} ({report.graded_by}), solved: {safe(report.solved)}"
    head = [f"{title}; {graded}"]
    if not report.is_complete:
        head.append(f"so far: {report.done} of {plural(report.trials, 'trial')}; no result yet")
    columns = ["variant", "grade (95 %)", f"to {report.baseline}", "solved", "cost", "per solved"]
    rows = [_variant_cells(one, report) for one in report.variants.values()]
    lines = [*head, "", *table([[*columns, "iterations"], *rows])]
    if report.extra_usd:
        lines.append(
            f"cost and iterations are those of each variant's own rule; exploring cost "
            f"{dollars(report.extra_usd)} more"
        )
    for one in report.variants.values():
        if one.difference:
            each = f"{one.wins} better, {one.ties} the same, {one.losses} worse"
            each += f" (margin {report.margin:g})"
            command = pasted("experiment", "report", file, "--cases", one.name)
            lines.append(f"{safe(one.name)} against {safe(report.baseline)}: {each}: {command}")
        lines += [f"{safe(one.name)}: {one.noise}"] if one.noise else []
    if report.rho is not None:
        lines.append(f"the score that the loop sees {_along(report.rho)}: rho {report.rho:.2f}")
    notes = (*map(safe, report.notes), *report.left_out, *map(safe, report.fewer))
    lines += [*failure_lines(report), *notes]
    if report.left_out:
        lost = next(row["run"] for row in report.rows if row["is_outside"])
        lines.append(f"once it answers: {commands.again(lost)}")
    if report.others:
        runs = plural(report.others, "run")
        lines.append(f"{runs} of cases, variants or versions that it has no more: not compared")
    lines += [
        f"{done} of {total} graded by a person ({name})"
        for name, (done, total) in report.people.items()
    ]
    lines += [f"X104: {safe(fault)}" for fault in report.faults[:_LISTED]]
    hidden = len(report.faults) - _LISTED
    lines += [f"and {hidden} more without a grade"] if hidden > 0 else []
    if not report.is_complete:
        lines.append(f"next: {commands.run}")
    elif report.is_complete and is_answered:
        lines.append(f"next: {pasted('what-if', file)}")
    return lines


def _along(rho: float) -> str:
    """How far a score goes with the grade; the limits are those of kappa."""
    if rho <= -_WEAK:
        return "goes against the grade"
    if rho < _WEAK:
        return "does not go with the grade"
    return "goes with the grade" if rho >= _FAIR else "goes only weakly with the grade"


def commands_for(file: str, pasted: Callable[..., str]) -> Commands:
    from whorl.wings.experiments.reporting.notes import Commands

    run = ("experiment", "run", file)
    return Commands(pasted(*run), pasted(*run, "--fresh"), pasted("resume"))


def failure_lines(report: Report) -> list[str]:
    """How many trials of each variant have failed, and how that counts."""
    effect = "graded 0" if report.on_failure == "zero" else "left out"
    lines = []
    for one in report.variants.values():
        if failed := sum(one.failed.values()):
            codes = ", ".join(one.failed)
            trials = f"{failed} of {plural(one.ended, 'trial')} failed ({codes}): {effect}"
            lines.append(f"{safe(one.name)}: {trials}")
    return lines


def _variant_cells(one: VariantReport, report: Report) -> list[str]:
    words = one.words
    if one.within_margin and one.words in ("better", "worse"):
        words += f", within the margin of {report.margin:g}"
    if one.could_see:
        words += f"; {one.could_see:.2f} could have been"
    difference = (
        "-" if one.name == report.baseline else f"{span(one.difference, '+')} {words}".strip()
    )
    solved = "-" if one.solved is None else f"{100 * one.solved:.0f} %"
    cost = dollars(one.cost_usd.value) if math.isfinite(one.cost_usd.value) else "-"
    per_solved, iterations = "-", "-"
    if one.cases:
        per_solved, iterations = _money(one.per_solved), f"{one.iterations:.1f}"
    if one.unpriced:
        cost = per_solved = "not known"
    return [safe(one.name), span(one.grade), difference, solved, cost, per_solved, iterations]


def case_lines(report: Report, variant: str) -> list[str]:
    """A row for each case, the largest differences first."""
    grades: dict[str, dict[str, list[float]]] = {}
    runs: dict[tuple[str, str], str] = {}
    for row in report.rows:
        grade = row["grades"].get(report.grader)
        if grade is not None:
            grades.setdefault(row["case"], {}).setdefault(row["variant"], []).append(grade)
        runs[row["case"], row["variant"]] = row["run"]
    rows = []
    for case, by in grades.items():
        if variant in by and report.baseline in by:
            one, base = (sum(by[n]) / len(by[n]) for n in (variant, report.baseline))
            rows.append((one - base, case, base, one))
    rows.sort(key=lambda row: row[0])
    cells = [
        [safe(case), f"{base:.2f}", f"{one:.2f}", f"{by:+.2f}", runs.get((case, variant), "")]
        for by, case, base, one in rows
    ]
    return ["", *table([["case", report.baseline, variant, "difference", "run"], *cells])]


def csv_text(report: Report) -> str:
    """A row for each trial."""
    names = ["case", "variant", "repeat", "run", "status", "solved", "cost_usd", "iterations"]
    rows = [
        [row[name] for name in names] + [row["grades"].get(g) for g in report.graders]
        for row in report.rows
    ]
    return sheet([*names, *report.graders], rows)


def sheet(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table as CSV; what a spreadsheet would take for a formula is quoted."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerows([_cell(cell) for cell in row] for row in (names, *rows))
    return out.getvalue()


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    is_number = isinstance(value, int | float)
    return f"'{text}" if text.startswith(_DANGEROUS) and not is_number else text


def markdown_lines(report: Report) -> list[str]:
    columns = ["variant", "grade (95 %)", f"to {report.baseline}", "solved", "cost", "per solved"]
    columns.append("iterations")
    rows = [_variant_cells(one, report) for one in report.variants.values()]
    lines = [f"### {report.experiment}: {plural(report.cases, 'case')}", ""]
    lines += [f"| {' | '.join(columns)} |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in rows]
    notes = [*failure_lines(report), *map(safe, report.notes), *report.left_out]
    notes += map(safe, report.fewer)
    return lines + (["", *(f"- {note}" for note in notes)] if notes else [])


def gate_lines(gate: Gate) -> list[str]:
    lines = [f"gate: {gate.words}"]
    for name, found, sign in (("grade", gate.difference, "+"), ("cost times", gate.cost_ratio, "")):
        if found is not None:
            level = "" if found.low is None else f", at {100 * gate.level:g} %"
            lines.append(f"  {name} {span(found, sign)}{level}")
    return lines + [f"  {reason}" for reason in gate.reasons]


def gate_document(gate: Gate) -> dict[str, Any]:
    def plain(one: Estimate | None) -> Any:
        return one and {"value": one.value, "low": one.low, "high": one.high}

    names = ("verdict", "reasons", "cases", "margin", "level")
    made = {name: getattr(gate, name) for name in names}
    return made | {"difference": plain(gate.difference), "cost_ratio": plain(gate.cost_ratio)}


def junit_text(
    report: Report, variant: str, gate: Gate, fallen: dict[str, str], *, is_failure: bool
) -> str:
    """One test for each case, and one for the gate; what fell is a failure where the gate fails."""
    seconds: dict[str, float] = {}
    for row in report.rows:
        if row["variant"] == variant:
            seconds[row["case"]] = seconds.get(row["case"], 0.0) + row["seconds"]
    of, own = report.experiment, f"{gate.words}: {'; '.join(gate.reasons)}"
    rows = [(name, of, time, fallen.get(name, "")) for name, time in seconds.items()]
    tests: list[str] = []
    for name, suite, time, note in [*rows, ("gate", f"{of}.gate", 0.0, own)]:
        inside = f"<system-out>{escape(note)}</system-out>" if note else ""
        if note and is_failure:
            inside = f"<failure message={quoteattr(note)}/>"
        head = f"<testcase name={quoteattr(name)} classname={quoteattr(suite)}"
        tests.append(f'{head} time="{time:.3f}">{inside}</testcase>')
    failed = sum("<failure" in test for test in tests)
    head = f'<testsuite name={quoteattr(of)} tests="{len(tests)}" failures="{failed}">'
    return "\n".join([head, *tests, "</testsuite>", ""])


def judge_csv(report: JudgeReport) -> str:
    """A row for each result on which the judge and the label differ."""
    names = ["case", "iteration", "run", "verdict", "label"]
    rows = [[*(one[n] for n in names), " / ".join(one["words"])] for one in report.disagreements]
    return sheet([*names, "words"], rows)


def judge_lines(report: JudgeReport) -> list[str]:
    def percent(share: float) -> str:
        return f"{100 * share:.0f} %"

    accuracy, kappa = report.accuracy, report.kappa
    limits = ""
    if accuracy.low is not None and accuracy.high is not None:
        limits = f" ({percent(accuracy.low)} to {percent(min(1.0, accuracy.high))})"
    usual, results = "yes" if report.usual_label else "no", plural(report.results, "result")
    lines = [
        f"judge of {safe(report.of)}, {safe(report.question)!r}: "
        f"{results} of {plural(report.cases, 'case')} with a label, each verdict by "
        f"{plural(report.verdict_votes, 'vote')}",
        f"  agrees in {report.agreed} of {results}, {percent(accuracy.value)}{limits}; always "
        f"saying {usual} would agree in {round(report.usual * report.results)}, "
        f"{percent(report.usual)}",
        f"  kappa {span(kappa)}: {report.words}" if kappa else f"  kappa {report.words}",
        *(f"  {safe(note)}" for note in report.notes),
    ]
    kinds = (
        ("yes", "no", report.wrong_yes, "stops too early"),
        ("no", "yes", report.wrong_no, "goes round for nothing"),
    )
    for verdict, label, (count, of, (low, high)), effect in kinds:
        share = f"{percent(count / of)} ({percent(low)} to {percent(high)})" if of else "-"
        words = f"said {verdict} where the label is {label}: {count} of {of}"
        lines.append(f"  {words}, {share}: {effect}")
    if report.unclear:
        lines.append(f"  {report.unclear} of {results} with unclear answers, which count as no")
    if report.voted is not None and report.not_unanimous is not None:
        voted, share = report.voted, percent(report.not_unanimous)
        among = f"{plural(voted['results'], 'result')} with {voted['votes']} votes"
        lines.append(f"  votes differ in {voted['differing']} of {among}, {share}")
        lines += [
            f"  {_votes_of(n, voted['votes'])}: accuracy {percent(a)}, {c:.1f} calls a verdict"
            for n, (a, c) in report.votes.items()
        ]
    return lines + _effect_lines(report) + _disagreement_lines(report)


def _votes_of(count: int, votes: int) -> str:
    """So many of the votes that were cast, whichever: what they give is a mean over all orders."""
    return f"all {votes} votes" if count == votes else f"any {count} of these {votes} votes"


def _disagreement_lines(report: JudgeReport) -> list[str]:
    """Where the judge and the label differ, with what the judge said."""
    found = report.disagreements
    lines = ["where they differ:"] if found else []
    for one in found[:_LISTED]:
        verdict, label = ("yes" if one[name] else "no" for name in ("verdict", "label"))
        at = "" if one["iteration"] is None else f"#{one['iteration']} of "
        quoted = line(" / ".join(one["words"]), _QUOTED_MAX)
        lines.append(f"  case {safe(one['case'])}, {at}{one['run']}: said {verdict}, not {label}")
        lines += [f"    {quoted}"] if quoted else []
    rest = len(found) - _LISTED
    return lines + ([f"  and {rest} more: --json lists them"] if rest > 0 else [])


def _effect_lines(report: JudgeReport) -> list[str]:
    """What the judge costs its loop, and which of its mistakes is more frequent."""
    named = {n: f"{n} votes" if n.isdigit() else n for n in report.loop} | {"1": "1 vote"}
    each = ((named[name], number_if_known(g), c) for name, (g, c) in report.loop.items())
    rows = [[f"  {name}", grade, dollars_if_known(cost)] for name, grade, cost in each]
    if not rows:
        return []
    over = plural(report.loop_runs, "run")
    lines = table([[f"  the loop over {over} with", "grade", "cost"], *rows])
    kinds = (("yes", "no", report.wrong_yes), ("no", "yes", report.wrong_no))
    rates = [(count / of if of else 0.0, word, label) for word, label, (count, of, _) in kinds]
    (high, more, of_more), (low, less, of_less) = sorted(rates, reverse=True)
    if high != low:
        words = f"a wrong {more} is more frequent ({100 * high:.0f} % of the labels {of_more})"
        words += f" than a wrong {less} ({100 * low:.0f} % of the labels {of_less})"
        advice = "stricter" if more == "yes" else "more lenient"
        lines.append(f"{words}: try a {advice} question before more votes")
    return lines


# What other rules would have done: the curve, the plot, the table; also for spreadsheets.

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


# How far an experiment is, and what it may cost, as lines for people.

# How wide the bar of a variant is.
_BAR = 20


def forecast_line(experiment: Experiment, forecast: Forecast, progress: Progress) -> str:
    parts = [
        f"{experiment.name}: {plural(len(experiment.cases), 'case')} x "
        f"{plural(len(experiment.variants), 'variant')}: {plural(forecast.trials, 'trial')}"
    ]
    explored = ", ".join(f"{name} up to {most}" for name, most in experiment.explore.items())
    parts += [f"explore {explored}"] if explored else []
    parts += [f"{forecast.left} to run"] if forecast.left != forecast.trials else []
    parts += [f"{plural(forecast.gradings, 'result')} to grade"] if forecast.gradings else []
    parts += [f"at most {plural(forecast.calls, 'call')}"] if forecast.calls is not None else []
    most = "at most" if forecast.is_limit else "at most about"
    parts += [f"{most} {dollars_at_most(forecast.cost_usd)}"] if forecast.cost_usd else []
    if (budget := progress.budget_usd) is not None:
        left = dollars(max(0.0, budget - progress.spent_usd))
        parts.append(f"budget {dollars(budget)}")
        parts += [f"of which {left} is left"] if progress.spent_usd else []
    return ", ".join(parts)


def unpriced_lines(forecast: Forecast) -> list[str]:
    """Whose costs are in no number, before anything is paid for."""
    if not forecast.unpriced or not (forecast.left or forecast.gradings):
        return []
    models = ", ".join(map(safe, forecast.unpriced))
    words = f"no price is known for {models}, so their cost is not counted, and no budget limits it"
    return [f"  {words}: set [prices.MODEL] in whorl.toml"]


def progress_line(progress: Progress) -> str:
    spent = dollars(progress.spent_usd)
    budget = f" of {dollars(progress.budget_usd)}" if progress.budget_usd is not None else ""
    graded = f", {progress.graded} graded" if progress.graded else ""
    people = f", {progress.people} wait for a person" if progress.people else ""
    trials = f"{progress.done} of {plural(progress.trials, 'trial')}"
    return f"  {trials}{graded}{people}, {spent}{budget}"


def progress_lines(progress: Progress, width: int, elapsed_s: float) -> list[str]:
    """A bar for each variant, and how far all of it is; each fits into the width."""
    each = progress.trials // max(1, len(progress.variants))
    name_width = min(24, max(map(len, progress.variants), default=0))
    rows = []
    for name, done in progress.variants.items():
        full = _BAR * done // max(1, each)
        bar = "█" * full + "░" * (_BAR - full)
        running = progress.under_way.get(name, 0)
        cells = [f"{line(name, name_width):{name_width}}", f"{bar} {done}/{each}"]
        cells += [dollars(progress.costs.get(name, 0.0))]
        rows.append("   ".join([*cells, f"{running} running"] if running else cells))
    last = progress_line(progress).strip()
    if progress.done < progress.trials:
        if progress.expected_usd:
            last += f", about {dollars(progress.expected_usd)} in all"
        if (made := progress.done - progress.before) > 0:
            left = elapsed_s / made * (progress.trials - progress.done)
            last += f", ~{seconds(left)} left"
    return [f"  {row}"[: width - 1] for row in (*rows, last)]


def expected_line(progress: Progress) -> str:
    """What all of it will cost, once a whole case is done."""
    case = plural(progress.whole, "case")
    return f"  after {case}: about {dollars(progress.expected_usd or 0.0)} in all"
