"""Results of experiments, judges and other rules: for people, spreadsheets and CI.

People see what they can act on; the JSON has everything.
"""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

from whorl.errors import plural, safe
from whorl.interfaces import formatting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from whorl.wings.experiments.document import Experiment
    from whorl.wings.experiments.gate import Gate
    from whorl.wings.experiments.report import Commands, Report, VariantReport
    from whorl.wings.experiments.runner import Forecast, Progress
    from whorl.wings.experiments.statistics import Estimate, JudgeReport
    from whorl.wings.experiments.what_if.evaluate import Answer
    from whorl.wings.experiments.what_if.query import WhatIf
    from whorl.wings.experiments.what_if.sweep import Sweep

_DANGEROUS = ("=", "+", "-", "@", "\t", "\r")
_LISTED = 12
_signed = "{:+.2f}".format


def span(estimate: Estimate | None, shown: Callable[[float], str] = "{:.2f}".format) -> str:
    """Returns a number with its interval."""
    if estimate is None or not math.isfinite(estimate.value):
        return "-"
    if estimate.low is None or estimate.high is None:
        return shown(estimate.value)
    high = shown(estimate.high) if math.isfinite(estimate.high) else "no upper limit"
    return f"{shown(estimate.value)} ({shown(estimate.low)} to {high})"


def sheet(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Returns a table as CSV; cells that a spreadsheet would read as formulas are quoted."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerows([_cell(cell) for cell in row] for row in (names, *rows))
    return out.getvalue()


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    is_number = isinstance(value, int | float)
    return f"'{text}" if text.startswith(_DANGEROUS) and not is_number else text


# Reports.


def report_lines(
    report: Report, file: str, pasted: Callable[..., str], commands: Commands
) -> list[str]:
    """Returns the results of an experiment, and the next commands; `pasted` makes commands."""
    title = f"{report.experiment}   {plural(report.cases, 'case')}, "
    title += f"{plural(len(report.variants), 'variant')}, {plural(report.repeat, 'run')} each"
    graded = f"grade: {safe(report.grader)} ({report.graded_by}), solved: {safe(report.solved)}"
    lines = [f"{title}; {graded}"]
    if not report.is_complete:
        lines.append(f"so far: {report.done} of {plural(report.trials, 'trial')}; no result yet")
    lines += ["", *formatting.table(_variant_rows(report))]
    if report.extra_usd:
        more = f"exploring cost {formatting.dollars(report.extra_usd)} more"
        lines.append(f"cost and iterations are those of each variant's own rule; {more}")
    for one in report.variants.values():
        if one.difference:
            each = f"{one.wins} better, {one.ties} the same, {one.losses} worse"
            each += f" (margin {report.margin:g})"
            command = pasted("experiment", "report", file, "--cases", one.name)
            lines.append(f"{safe(one.name)} against {safe(report.baseline)}: {each}: {command}")
    if report.rho is not None:
        lines.append(f"the score that the loop sees, and the grade: rho {report.rho:.2f}")
    lines += _beside(report)
    is_lost = report.left_out or report.faults
    lines += [f"once that is fixed: {commands.run}"] if is_lost else []
    if report.others:
        runs = plural(report.others, "run")
        lines.append(f"{runs} of removed cases or variants, or of other versions: not compared")
    for name, (done, total) in report.people.items():
        lines.append(f"{done} of {total} graded by a person ({name})")
    lines += [f"X104: {safe(fault)}" for fault in report.faults[:_LISTED]]
    hidden = len(report.faults) - _LISTED
    lines += [f"and {hidden} more without a grade"] if hidden > 0 else []
    if not report.is_complete:
        lines.append(f"next: {commands.run}")
    elif report.explores:
        lines.append(f"next: {pasted('experiment', 'what-if', file)}")
    return lines


def markdown_lines(report: Report) -> list[str]:
    names, *rows = _variant_rows(report)
    lines = [f"### {report.experiment}: {plural(report.cases, 'case')}", ""]
    lines += [f"| {' | '.join(names)} |", "|" + " --- |" * len(names)]
    lines += ["| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in rows]
    beside = [f"- {note}" for note in _beside(report)]
    return [*lines, "", *beside] if beside else lines


def _beside(report: Report) -> list[str]:
    """Returns lines beside the numbers: the failed trials of each variant, and the notes."""
    effect = "graded 0" if report.on_failure == "zero" else "left out"
    lines = []
    for one in report.variants.values():
        if failed := sum(one.failed.values()):
            trials = f"{failed} of {plural(one.ended, 'trial')} failed ({', '.join(one.failed)})"
            lines.append(f"{safe(one.name)}: {trials}: {effect}")
    return [*lines, *map(safe, report.notes), *report.left_out, *map(safe, report.fewer)]


def _variant_rows(report: Report) -> list[list[str]]:
    """Returns the table of variants, with its head."""
    columns = ["variant", "grade (95 %)", f"to {report.baseline}", "solved", "cost", "per solved"]
    rows = [_variant_cells(one, report) for one in report.variants.values()]
    return [[*columns, "iterations"], *rows]


def _variant_cells(one: VariantReport, report: Report) -> list[str]:
    words = one.words
    if one.within_margin and words in ("better", "worse"):
        words += f", within the margin of {report.margin:g}"
    if one.could_see:
        words += f"; {one.could_see:.2f} would be seen"
    is_base = one.name == report.baseline
    difference = "-" if is_base else f"{span(one.difference, _signed)} {words}".strip()
    solved = "-" if one.solved is None else f"{100 * one.solved:.0f} %"
    cost = per_solved = iterations = "-"
    if one.cases:
        cost, iterations = formatting.dollars_if_known(one.cost_usd.value), f"{one.iterations:.1f}"
        is_solved = math.isfinite(one.per_solved.value)
        per_solved = span(one.per_solved, formatting.dollars) if is_solved else "none solved"
    if one.unpriced:
        cost = per_solved = "not known"
    return [safe(one.name), span(one.grade), difference, solved, cost, per_solved, iterations]


def case_lines(report: Report, variant: str) -> list[str]:
    """Returns a row for each case, first those in which the variant is worse than the baseline."""
    rows = []
    for row in report.by_case():
        cell, base = (row["cells"].get(name, {}) for name in (variant, report.baseline))
        if (by := cell.get("difference")) is not None:
            rows.append((by, row["case"], base["grade"], cell["grade"], cell["trials"][-1]["run"]))
    cells = [
        [safe(case), f"{base:.2f}", f"{grade:.2f}", f"{by:+.2f}", run]
        for by, case, base, grade, run in sorted(rows, key=lambda row: row[0])
    ]
    return [
        "",
        *formatting.table([["case", report.baseline, variant, "difference", "run"], *cells]),
    ]


def csv_text(report: Report) -> str:
    """Returns a row for each trial."""
    names = ["case", "variant", "repeat", "run", "status", "solved", "cost_usd", "iterations"]
    rows = [
        [row[name] for name in names] + [row["grades"].get(g) for g in report.graders]
        for row in report.rows
    ]
    return sheet([*names, *report.graders], rows)


def gate_lines(gate: Gate) -> list[str]:
    lines, level = [f"gate: {gate.words}"], f", at {100 * gate.level:g} %"
    if (found := gate.difference) is not None:
        lines.append(f"  grade {span(found, _signed)}{level if found.is_known else ''}")
    if (found := gate.cost_ratio) is not None:
        lines.append(f"  cost times {span(found)}{level if found.is_known else ''}")
    return lines + [f"  {reason}" for reason in gate.reasons]


def junit_text(
    report: Report, variant: str, gate: Gate, fallen: dict[str, str], *, is_failure: bool
) -> str:
    """Returns one test for each case, and one for the gate; fallen cases fail if the gate fails."""
    times: dict[str, float] = {}
    for row in report.rows:
        if row["variant"] == variant:
            times[row["case"]] = times.get(row["case"], 0.0) + row["seconds"]
    of, own = report.experiment, f"{gate.words}: {'; '.join(gate.reasons)}"
    rows = [(name, of, time, fallen.get(name, "")) for name, time in times.items()]
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


# Judges.


def judge_csv(report: JudgeReport) -> str:
    """Returns a row for each result on which the judge and the label differ."""
    names = ["case", "iteration", "run", "verdict", "label"]
    rows = [[*(one[n] for n in names), " / ".join(one["words"])] for one in report.disagreements]
    return sheet([*names, "words"], rows)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def judge_lines(report: JudgeReport) -> list[str]:
    results, usual = plural(report.results, "result"), "yes" if report.usual_label else "no"
    votes, cases = plural(report.verdict_votes, "vote"), plural(report.cases, "case")
    lines = [
        f"judge of {safe(report.of)}, {safe(report.question)!r}: "
        f"{results} of {cases} with a label, each verdict by {votes}",
        f"  agrees in {report.agreed} of {results}, {span(report.accuracy, _percent)}; always "
        f"saying {usual} would agree in {round(report.usual * report.results)}, "
        f"{_percent(report.usual)}",
        f"  kappa {span(report.kappa) if report.kappa else ''}: {report.words}",
        *(f"  {safe(note)}" for note in report.notes),
    ]
    for verdict, label, (count, of, (low, high)), effect in (
        ("yes", "no", report.wrong_yes, "stops too early"),
        ("no", "yes", report.wrong_no, "runs an extra iteration"),
    ):
        share = f"{_percent(count / of)} ({_percent(low)} to {_percent(high)})" if of else "-"
        words = f"said {verdict} where the label is {label}: {count} of {of}"
        lines.append(f"  {words}, {share}: {effect}")
    cast = max(report.votes, default=0)
    for number, (right, calls) in report.votes.items():
        by = f"all {cast} votes" if number == cast else f"any {number} of these {cast} votes"
        lines.append(f"  {by}: accuracy {_percent(right)}, {calls:.1f} calls a verdict")
    if report.loop:
        head = (f"  the loop over {plural(report.loop_runs, 'run')} with", "grade", "cost")
        rows = [
            (
                f"  {plural(int(name), 'vote') if name.isdigit() else name}",
                formatting.number_if_known(grade),
                formatting.dollars_if_known(cost),
            )
            for name, (grade, cost) in report.loop.items()
        ]
        lines += formatting.table([head, *rows])
    if found := report.disagreements:
        lines.append(f"they differ in {plural(len(found), 'result')}: --csv has the judge's words")
    return lines


# The effect of other rules.


def sweep_lines(
    sweep: Sweep, experiment: Experiment, variant: str, took_s: float, *, is_named: bool = False
) -> list[str]:
    """Returns the results of rules, with the variant of the runs and how they were recorded.

    Named rules all have a row; of others only those that matter.
    """
    title = f"{safe(experiment.name)}: loop {sweep.loop} of {safe(variant or experiment.baseline)}"
    runs, most = plural(sweep.runs, "run"), experiment.explore.get(sweep.loop)
    longest = max((len(row) for row in sweep.curve.values()), default=0)
    if most is not None:
        runs = f"{plural(sweep.runs, 'exploring run')} of up to {plural(most, 'iteration')}"
    rules = plural(len(sweep.rules) + len(sweep.not_ranked), "rule")
    lines = [_recommended(sweep)]
    lines += [f"{title}, {runs}; {rules}, no call was made ({took_s:.1f} s)", ""]
    if longest:
        numbers = "".join(f"{n:>6}" for n in range(1, longest + 1))
        lines.append("grade by iteration".ljust(24) + numbers)
    for name, row in sweep.curve.items():
        known = [value if math.isfinite(value) else None for value in row]
        numbers = "".join("     -" if value is None else f"{value:6.2f}" for value in known)
        lines.append(f"  {name:22}{numbers}   {formatting.sparkline(known)}".rstrip())
    lines += [*sweep.words, "", *formatting.table(_rule_rows(sweep, is_named=is_named))]
    if sweep.not_ranked:
        lines += ["", "not known for all runs, so not ranked:"]
    for one in sweep.not_ranked[:5]:
        low, high = (f"{limit:.2f}" for limit in one.bounds or (0.0, 1.0))
        bound = f"; grade {low if low == high else f'between {low} and {high}'}"
        why = f"{one.unknown} of {sweep.runs}: {safe(one.why)}"
        lines.append(f"  {safe(one.words)}: {why}{bound if one.bounds else ''}")
    return lines


def _rule_rows(sweep: Sweep, *, is_named: bool) -> list[list[str]]:
    # If no cost is known, there is no frontier.
    shown = [sweep.rules[index] for index in sweep.frontier]
    if sweep.rules and not shown:
        shown = [max(sweep.rules, key=lambda one: one.grade)]
    wanted = {id(one) for one in (*shown, sweep.recommended, sweep.own)}
    rows = [["  rule", "grade", "cost", "iterations", "to the best"]]
    for one in sweep.rules:
        if is_named or id(one) in wanted:
            mark = "★ " if one is sweep.recommended else "◆ yours: " if one is sweep.own else "  "
            count = sum(one.iterations) / max(1, len(one.iterations))
            cells = [
                mark + safe(one.words),
                f"{one.grade:.2f}",
                formatting.dollars_if_known(one.cost_usd),
            ]
            rows.append([*cells, f"{count:.1f}", span(one.to_best, _signed)])
    for name, (grade, cost, count) in sweep.ideal.items():
        cells = [
            formatting.number_if_known(grade),
            formatting.dollars_if_known(cost),
            formatting.number_if_known(count, 1),
        ]
        rows.append([f"  {name}", *cells, ""])
    return rows


def _recommended(sweep: Sweep) -> str:
    chosen, own, honest = sweep.recommended, sweep.own, sweep.honest
    if chosen is None:
        return safe(sweep.not_recommended)
    if chosen is own:
        return "no rule is better than yours"
    words = f"recommended: {safe(chosen.words)}"
    if own is not None and own.grades and own is not chosen:
        cost = 100 * (chosen.cost_usd / own.cost_usd - 1) if own.cost_usd else 0.0
        words += f": {chosen.grade - own.grade:+.2f} to yours for {cost:+.0f} % cost"
    if honest:
        words += f"; on cases it was not chosen with: grade {honest['grade']:.2f}, "
        words += formatting.dollars(honest["cost_usd"])
    return words


def sweep_csv(document: dict[str, Any]) -> str:
    """Returns a row for each rule with its grade and cost; unanswered rules have a reason."""
    names = ["rule", "at_most", "return", "grade", "cost_usd", "iterations", "is_frontier"]
    more = ["to_best", "to_best_low", "to_best_high", "unknown", "why"]
    rows = []
    for row in (*document["rules"], *document["not_ranked"]):
        limits = [(row["to_best"] or {}).get(name) for name in ("value", "low", "high")]
        rows.append([row[name] for name in names] + [*limits, row["unknown"], row["why"]])
    return sheet([*names, *more], rows)


def answer_lines(found: WhatIf) -> list[str]:
    """Returns the lines on what a rule would have done in one run."""
    was, answer = found.as_it_was, found.answer
    lines = [f"run {found.run} of {safe(found.workflow)}, loop {found.loop}"]
    lines.append(f"  as it was   {_answer_words(was, found.cost_of(was))}")
    lines += [f"  {found.without}"] if found.without else []
    if found.unpriced:
        lines.append(f"  no price is known for {plural(found.unpriced, 'call')} of the run")
    if not answer.exact:
        why = ": ".join(filter(None, ("not known", answer.code, safe(answer.why))))
        return [*lines, f"  what if     {why}"]
    lines.append(f"  what if     {_answer_words(answer, found.cost_of(answer))}")
    return lines


def _answer_words(answer: Answer, cost_usd: float | None) -> str:
    by = f" ({answer.stopped_by})" if answer.stopped_by else ""
    cost = "cost not known" if cost_usd is None else formatting.dollars(cost_usd)
    returned = "nothing" if answer.returned is None else answer.returned
    words = f"{plural(answer.iterations, 'iteration')}, returned {returned}"
    doubt = f" ({plural(answer.in_doubt, 'call')} in doubt, as reserved)" if answer.in_doubt else ""
    return f"{words}, {answer.exit_reason}{by}, {cost}{doubt}"


def answers_lines(answers: list[WhatIf]) -> list[str]:
    """Returns the averages of a rule over several runs; nothing for a single run."""
    known = [each for each in answers if each.answer.exact]
    # Answers that influence each other cannot be averaged.
    is_joint = any("[" in each.loop or each.remembers for each in answers)
    if len(answers) < 2 or not known or is_joint:
        return []
    pairs = [(each.as_it_was, each.answer) for each in known]
    before, after = (
        sum(one.iterations for one in each) / len(known) for each in zip(*pairs, strict=True)
    )
    words = f"{len(known)} of {plural(len(answers), 'run')} answered, on average: "
    words += f"{before:.1f} iterations became {after:.1f}, "
    if any(one.unpriced for one in answers):
        return [words + "cost not known"]
    usd = [
        sum(one.usage.get("cost_usd", 0.0) for one in each) / len(known)
        for each in zip(*pairs, strict=True)
    ]
    return [f"{words}{formatting.dollars(usd[0])} became {formatting.dollars(usd[1])}"]


def answers_csv(answers: list[WhatIf]) -> str:
    """Returns a row for each run: what the rule would have done, or why that is unknown."""
    names = ["iterations", "returned", "exit_reason", "stopped_by"]
    rows = [
        [one.run, one.loop, one.answer.exact]
        + [getattr(one.answer, name) if one.answer.exact else None for name in names]
        + [one.cost_of(one.answer) if one.answer.exact else None, one.answer.why]
        for one in answers
    ]
    return sheet(["run", "loop", "exact", *names, "cost_usd", "why"], rows)


# The progress of an experiment, and its possible cost.


def forecast_lines(experiment: Experiment, forecast: Forecast, progress: Progress) -> list[str]:
    """Returns the forecast, and the models without a price, before anything is paid for."""
    cases, variants = plural(len(experiment.cases), "case"), len(experiment.variants)
    explored = ", ".join(f"{name} up to {most}" for name, most in experiment.explore.items())
    most, budget, cost_usd = forecast.most, progress.budget_usd, forecast.most.cost_usd
    at_most = "at most" if most.is_limit else "at most about"
    cost = f", {at_most} {formatting.dollars_at_most(cost_usd)}" if cost_usd else ""
    if budget is not None and not 0 < cost_usd < budget:
        cost = f", at most {formatting.dollars(budget)}"
    parts = {
        f"{cases} x {plural(variants, 'variant')}": True,
        f"explore {explored}": explored,
        f"{forecast.left} to run": forecast.left != experiment.trials,
        f"{plural(forecast.gradings, 'result')} to grade": forecast.gradings,
        f"at most {plural(most.calls or 0, 'call')}": most.calls is not None,
        f"budget {formatting.dollars(budget or 0.0)}": budget is not None,
    }
    lines = [
        f"{safe(experiment.name)}: {plural(experiment.trials, 'trial')}{cost}",
        f"  {', '.join(part for part, is_shown in parts.items() if is_shown)}",
    ]
    if forecast.unpriced and (forecast.left or forecast.gradings):
        models = ", ".join(map(safe, forecast.unpriced))
        words = f"no price is known for {models}, so their cost is not counted or limited"
        lines.append(f"  {words}: set [prices.MODEL] in whorl.toml")
    return lines


def spent_words(amount_usd: float, *, unpriced: bool) -> str:
    """Formats a cost as far as it is known; `unpriced` says that calls had no known price."""
    if unpriced and not amount_usd:
        return "cost not known"
    return formatting.dollars(amount_usd) + (" + ?" if unpriced else "")


def progress_line(progress: Progress, elapsed_s: float) -> str:
    """Returns the progress line, with the expected cost once a whole case is done."""
    budget = (
        f" of {formatting.dollars(progress.budget_usd)}" if progress.budget_usd is not None else ""
    )
    words = f"  {progress.done} of {plural(progress.trials, 'trial')}"
    words += f", {progress.graded} graded" if progress.graded else ""
    words += f", {progress.people} wait for a person" if progress.people else ""
    words += f", {spent_words(progress.spent_usd, unpriced=progress.unpriced)}{budget}"
    if progress.done < progress.trials:
        if progress.expected_usd:
            words += f", about {formatting.dollars(progress.expected_usd)} in all"
        if (made := progress.done - progress.before) > 0:
            left_s = elapsed_s / made * (progress.trials - progress.done)
            words += f", ~{formatting.seconds(left_s)} left"
    return words
