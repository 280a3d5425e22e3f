"""What experiments, sweeps and judges come to, as lines for people, for spreadsheets and for CI."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

from whorl.errors import safe
from whorl.interfaces.figures import dollars, line, plural, sparkline, table

if TYPE_CHECKING:
    from whorl.services.experiments.conducting import Forecast, Progress
    from whorl.services.experiments.document import Experiment
    from whorl.services.experiments.figures import Estimate
    from whorl.services.experiments.judging import JudgeReport
    from whorl.services.experiments.report import Gate, Report, VariantReport
    from whorl.services.experiments.what_if.rules import Answer
    from whorl.services.experiments.what_if.sweep import RuleResult, Sweep

_DANGEROUS = ("=", "+", "-", "@", "\t", "\r")
_LISTED, _SAID_MAX = 12, 74


def forecast_line(experiment: Experiment, forecast: Forecast, budget: float | None) -> str:
    parts = [
        f"{experiment.name}: {plural(len(experiment.cases), 'case')} x "
        f"{plural(len(experiment.variants), 'variant')}: {plural(forecast.trials, 'trial')}"
    ]
    explored = ", ".join(f"{name} up to {most}" for name, most in experiment.explore.items())
    parts += [f"explore {explored}"] if explored else []
    parts += [f"{forecast.left} to run"] if forecast.left != forecast.trials else []
    parts += [f"at most {forecast.calls:,} calls"] if forecast.calls is not None else []
    parts += [f"at most {dollars(forecast.cost_usd)}"] if forecast.cost_usd else []
    parts += [f"budget {dollars(budget)}"] if budget is not None else []
    return ", ".join(parts)


def progress_line(progress: Progress) -> str:
    spent = dollars(progress.spent_usd)
    budget = f" of {dollars(progress.budget_usd)}" if progress.budget_usd is not None else ""
    people = f", {progress.people} wait for a person" if progress.people else ""
    return f"  {progress.done} of {plural(progress.trials, 'trial')}, {spent}{budget}{people}"


def expected_line(progress: Progress) -> str:
    """What all of it will cost, once a whole case is done."""
    case = plural(progress.whole, "case")
    return f"  after {case}: about {dollars(progress.expected_usd or 0.0)} in all"


def missing_line(what: str, count: int, most_usd: float | None, budget: float) -> str:
    """What recording iterations or votes that are missing may cost."""
    most = f", at most {dollars(most_usd)}" if most_usd is not None else ""
    return f"{plural(count, what)} to record{most}; budget {dollars(budget)}"


def _span(estimate: Estimate | None, sign: str = "") -> str:
    if estimate is None:
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


def report_lines(report: Report) -> list[str]:
    title = f"{report.experiment}   {plural(report.cases, 'case')}, "
    title += f"{plural(len(report.variants), 'variant')}, {plural(report.repeat, 'run')} each"
    head = [f"{title}; grade: {report.grader}"]
    if not report.is_complete:
        head.append(f"so far: {report.done} of {plural(report.trials, 'trial')}; no words yet")
    columns = ["variant", "grade (95 %)", f"to {report.baseline}", "solved", "cost", "per solved"]
    rows = [_variant_cells(one, report.baseline) for one in report.variants.values()]
    lines = [*head, "", *table([[*columns, "iterations"], *rows])]
    for one in report.variants.values():
        lines += (
            [
                f"{safe(one.name)} against {safe(report.baseline)}: {one.wins} better, "
                f"{one.ties} the same, {one.losses} worse"
            ]
            if one.difference
            else []
        )
        lines += [f"{safe(one.name)}: {one.noise}"] if one.noise else []
    if report.extra_usd:
        lines.append(
            f"cost and iterations are those of each variant's own rule; exploring cost "
            f"{dollars(report.extra_usd)} more"
        )
    if report.rho is not None:
        lines.append(f"the score that the loop sees goes with the grade: rho {report.rho:.2f}")
    lines += report.left_out
    lines += [
        f"{done} of {total} graded by a person ({name})"
        for name, (done, total) in report.people.items()
    ]
    lines += [f"X104: {safe(fault)}" for fault in report.faults[:_LISTED]]
    hidden = len(report.faults) - _LISTED
    lines += [f"and {hidden} more without a grade"] if hidden > 0 else []
    return lines


def _variant_cells(one: VariantReport, baseline: str) -> list[str]:
    words = one.words
    if one.could_see is not None and math.isfinite(one.could_see):
        words += f"; {one.could_see:.2f} could have been"
    difference = "-" if one.name == baseline else f"{_span(one.difference, '+')} {words}".strip()
    solved = "-" if one.solved is None else f"{100 * one.solved:.0f} %"
    cost = dollars(one.cost_usd.value) if math.isfinite(one.cost_usd.value) else "-"
    cells = [safe(one.name), _span(one.grade), difference, solved, cost, _money(one.per_solved)]
    return [*cells, f"{one.iterations:.1f}"]


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
    """A row for each trial; what a spreadsheet would take for a formula is quoted."""
    out = io.StringIO()
    names = ["case", "variant", "repeat", "run", "status", "solved", "cost_usd", "iterations"]
    writer = csv.writer(out)
    writer.writerow([*names, *report.graders])
    for row in report.rows:
        cells = [row[name] for name in names] + [row["grades"].get(g) for g in report.graders]
        writer.writerow([_cell(cell) for cell in cells])
    return out.getvalue()


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    is_number = isinstance(value, int | float)
    return f"'{text}" if text.startswith(_DANGEROUS) and not is_number else text


def markdown_lines(report: Report) -> list[str]:
    columns = ["variant", "grade (95 %)", f"to {report.baseline}", "solved", "cost", "per solved"]
    columns.append("iterations")
    rows = [_variant_cells(one, report.baseline) for one in report.variants.values()]
    lines = [f"### {report.experiment}: {plural(report.cases, 'case')}", ""]
    lines += [f"| {' | '.join(columns)} |", "|" + " --- |" * len(columns)]
    return lines + ["| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in rows]


def gate_lines(gate: Gate) -> list[str]:
    lines = [f"gate: {gate.verdict}, over {plural(gate.cases, 'case')}"]
    lines += [f"  grade {_span(gate.difference, '+')}"] if gate.difference else []
    lines += [f"  cost times {_span(gate.cost_ratio)}"] if gate.cost_ratio else []
    return lines + [f"  {reason}" for reason in gate.reasons]


def gate_document(gate: Gate) -> dict[str, Any]:
    def plain(one: Estimate | None) -> Any:
        return one and {"value": one.value, "low": one.low, "high": one.high}

    made = {"verdict": gate.verdict, "reasons": gate.reasons, "cases": gate.cases}
    return made | {"difference": plain(gate.difference), "cost_ratio": plain(gate.cost_ratio)}


def junit_text(report: Report, variant: str, before: dict[str, Any]) -> str:
    """One test for each case; one that failed where it did not before is a failure."""
    rows = [row for row in report.rows if row["variant"] == variant]
    tests = []
    for row in rows:
        kept = before["cases"].get(row["case"], {"failed": 1})
        is_new = row["status"] != "succeeded" and not kept["failed"]
        name = f"name={quoteattr(str(row['case']))} classname={quoteattr(report.experiment)}"
        inside = f"<failure message={quoteattr(row['error'] or row['status'])}/>" if is_new else ""
        tests.append(f'<testcase {name} time="{row["seconds"]:.3f}">{inside}</testcase>')
    failed = sum("<failure" in test for test in tests)
    head = f'<testsuite name={quoteattr(report.experiment)} tests="{len(tests)}"'
    return "\n".join([f'{head} failures="{failed}">', *tests, "</testsuite>", ""])


def sweep_lines(sweep: Sweep, seconds: float) -> list[str]:
    title = f"loop {sweep.loop}, {plural(sweep.runs, 'run')}; "
    title += f"{plural(len(sweep.rules) + len(sweep.not_ranked), 'rule')}, no call was made"
    lines = [f"{title} ({seconds:.1f} s)", "", *_curve_lines(sweep), *sweep.words, ""]
    shown = [sweep.rules[index] for index in sweep.frontier]
    shown += [one for one in (sweep.recommended, sweep.own) if one is not None]
    unique = {id(one): one for one in shown if one in sweep.rules}
    rows = [_rule_cells(one, sweep) for one in sorted(unique.values(), key=lambda r: r.cost_usd)]
    ideal = sweep.ideal.items()
    rows += [[f"  {n}", f"{g:.2f}", dollars(c), f"{i:.1f}", ""] for n, (g, c, i) in ideal]
    lines += table([["  rule", "grade", "cost", "iterations", "to the best"], *rows])
    lines += _recommended(sweep)
    if sweep.not_ranked:
        lines += ["", "not known for all runs, so not ranked:"]
        lines += [_unknown_line(one, sweep) for one in sweep.not_ranked[:5]]
    return lines


def _curve_lines(sweep: Sweep) -> list[str]:
    longest = max((len(row) for row in sweep.curve.values()), default=0)
    if not longest:
        return []
    head = "grade by iteration".ljust(24) + "".join(f"{n:>6}" for n in range(1, longest + 1))
    lines = [head]
    for name, row in sweep.curve.items():
        numbers = "".join(f"{value:6.2f}" for value in row)
        lines.append(f"  {name:22}{numbers}   {sparkline(row)}")
    return lines


def _rule_cells(one: RuleResult, sweep: Sweep) -> list[str]:
    mark = "★ " if one is sweep.recommended else "◆ yours: " if one is sweep.own else "  "
    iterations = sum(one.iterations) / max(1, len(one.iterations))
    cells = [mark + safe(one.words), f"{one.grade:.2f}", dollars(one.cost_usd)]
    return [*cells, f"{iterations:.1f}", _span(one.to_best, "+")]


def _recommended(sweep: Sweep) -> list[str]:
    chosen, own = sweep.recommended, sweep.own
    if chosen is None:
        return []
    words = f"recommended: {safe(chosen.words)}"
    if own is not None and own.grades and own is not chosen:
        better = chosen.grade - own.grade
        cost = 100 * (chosen.cost_usd / own.cost_usd - 1) if own.cost_usd else 0.0
        words += f": {better:+.2f} to yours for {cost:+.0f} % cost"
    if sweep.honest:
        honest = sweep.honest
        words += f"; on cases it was not chosen with: grade {honest['grade']:.2f}, "
        words += f"{dollars(honest['cost_usd'])}; chosen {honest['times']:.0f} times of 10"
    return [words]


def _unknown_line(one: RuleResult, sweep: Sweep) -> str:
    bound = f"; grade {one.bounds[0]:.2f} to {one.bounds[1]:.2f}" if one.bounds else ""
    return f"  {safe(one.words)}: {one.unknown} of {sweep.runs}: {safe(one.why)}{bound}"


def answer_lines(run: str, as_it_was: Answer, answer: Answer) -> list[str]:
    lines = [f"run {run}", f"  as it was   {_answer_words(as_it_was)}"]
    if not answer.exact:
        code = f"{answer.code}: " if answer.code else ""
        return [*lines, f"  what if     not known: {code}{safe(answer.why)}"]
    return [*lines, f"  what if     {_answer_words(answer)}"]


def answers_lines(answers: list[tuple[Answer, Answer]]) -> list[str]:
    """What a rule would have done over several runs; none of it for a single one."""
    known = [(was, found) for was, found in answers if found.exact]
    if len(answers) < 2 or not known:
        return []

    def mean(values: list[float]) -> float:
        return sum(values) / len(values)

    counts = [mean([float(pair[at].iterations) for pair in known]) for at in (0, 1)]
    costs = [mean([pair[at].usage.get("cost_usd", 0.0) for pair in known]) for at in (0, 1)]
    title = f"{len(known)} of {plural(len(answers), 'run')} answered, on average"
    each = f"{counts[0]:.1f} iterations became {counts[1]:.1f}"
    return [f"{title}: {each}, {dollars(costs[0])} became {dollars(costs[1])}"]


def _answer_words(answer: Answer) -> str:
    by = f" ({answer.stopped_by})" if answer.stopped_by else ""
    cost = dollars(answer.usage.get("cost_usd", 0.0))
    words = f"{plural(answer.iterations, 'iteration')}, returned {answer.returned}"
    return f"{words}, {answer.exit_reason}{by}, {cost}"


def judge_lines(report: JudgeReport) -> list[str]:
    def percent(share: float) -> str:
        return f"{100 * share:.0f} %"

    accuracy, kappa = report.accuracy, report.kappa
    span = ""
    if accuracy.low is not None and accuracy.high is not None:
        span = f" ({percent(accuracy.low)} to {percent(min(1.0, accuracy.high))})"
    usual = "yes" if report.usual_label else "no"
    lines = [
        f"judge {safe(report.question)!r}: {plural(report.results, 'result')} of "
        f"{plural(report.cases, 'case')} with a label",
        f"  agrees {percent(accuracy.value)}{span}; always saying {usual} would get "
        f"{percent(report.usual)}",
        f"  kappa {_span(kappa)}: {report.words}" if kappa else f"  kappa {report.words}",
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
        lines.append(f"  {report.unclear} with unclear answers, which count as no")
    if report.not_unanimous is not None:
        lines.append(f"  votes differ in {percent(report.not_unanimous)}")
        lines += [
            f"  {plural(n, 'vote')}: accuracy {percent(a)}, {c:.1f} calls a verdict"
            for n, (a, c) in report.votes.items()
        ]
    return lines + _effect_lines(report) + _disagreement_lines(report)


def _disagreement_lines(report: JudgeReport) -> list[str]:
    """Where the judge and the label differ, with what the judge said."""
    found = report.disagreements
    lines = ["where they differ:"] if found else []
    for one in found[:_LISTED]:
        verdict, label = ("yes" if one[name] else "no" for name in ("verdict", "label"))
        at = "" if one["iteration"] is None else f"#{one['iteration']} of "
        said = line(" / ".join(one["words"]), _SAID_MAX)
        lines.append(f"  case {safe(one['case'])}, {at}{one['run']}: said {verdict}, not {label}")
        lines += [f"    {said}"] if said else []
    rest = len(found) - _LISTED
    return lines + ([f"  and {rest} more: --json lists them"] if rest > 0 else [])


def _effect_lines(report: JudgeReport) -> list[str]:
    """What the judge costs its loop, and which of its mistakes is more frequent."""
    named = {n: f"{n} votes" if n.isdigit() else n for n in report.loop} | {"1": "1 vote"}
    rows = [[f"  {named[n]}", f"{g:.2f}", dollars(c)] for n, (g, c) in report.loop.items()]
    if not rows:
        return []
    lines = table([["  the loop with", "grade", "cost"], *rows])
    if report.wrong_yes[0] != report.wrong_no[0]:
        is_lax = report.wrong_yes[0] > report.wrong_no[0]
        more, less = ("yes", "no") if is_lax else ("no", "yes")
        advice = "stricter" if is_lax else "more lenient"
        words = f"a wrong {more} is more frequent than a wrong {less}"
        lines.append(f"{words}: try a {advice} question before more votes")
    return lines
