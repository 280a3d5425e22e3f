"""What experiments and judges come to, as lines for people, for spreadsheets and for CI."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

from whorl.errors import plural, safe
from whorl.interfaces.formatting import (
    dollars,
    dollars_if_known,
    line,
    number_if_known,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from whorl.wings.experiments.reporting.gate import Gate
    from whorl.wings.experiments.reporting.kappa import JudgeReport
    from whorl.wings.experiments.reporting.notes import Commands
    from whorl.wings.experiments.reporting.report import Report
    from whorl.wings.experiments.reporting.statistics import Estimate
    from whorl.wings.experiments.reporting.variant import VariantReport

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
