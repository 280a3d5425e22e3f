"""Questions about runs: `cost` adds up, `why` tells why loops ended, `diff` compares iterations."""

from __future__ import annotations

import difflib
from contextlib import closing
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import UsageError, did_you_mean, safe
from whorl.interfaces import figures, wording
from whorl.interfaces.cli import summary
from whorl.interfaces.cli.options import NO_RUNS, json_option, located, print_json, run_option
from whorl.interfaces.cli.terminal import badge, paint, print_lines, say
from whorl.interfaces.figures import dollars, line, plural, seconds
from whorl.interfaces.progress import usage_of
from whorl.interfaces.wording import advised, with_help
from whorl.runtimes.folding import fold
from whorl.services import results
from whorl.services.runs import find_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.interpreter.machine import Machine
    from whorl.ir import Workflow
    from whorl.runtimes.journal import IterationRow, LoopRow, RunId
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project
    from whorl.services.results import By, Side

RUNS_MAX = 10_000
ITERATIONS_MAX = 1_000
_LOOPS_MAX = 50
_REQUESTS_MAX = 50
_WARNINGS_MAX = 20
_DIFF_COLORS = {"+": "green", "-": "red", "@": "cyan"}


@click.command()
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--by", type=click.Choice(results.WAYS), default="model",
              help="What to add up by. [default: model]")  # fmt: skip
@click.option("--at", default="", metavar="ADDRESS", help="Only this loop, iteration or step.")
@click.option("--limit", "-n", type=click.IntRange(1, RUNS_MAX), default=1_000, show_default=True,
              help="How many runs, newest first.")  # fmt: skip
@json_option
@located
def cost(project: Project, *, run: str | None, by: Any, at: str, limit: int, as_json: bool) -> None:
    """Show what a RUN, or all runs, cost.

    \b
      whorl cost
      whorl cost last --by iteration
      whorl cost last --at "all[2]/polish"
      whorl cost --by day --json

    Each call is counted once. Calls of models without a known price are told beside the sum:
    give their prices in [prices.MODEL] of whorl.toml.
    """
    if at and run is None:
        raise UsageError("--at is a place in one run", help="say which, such as `last`")
    number, lines = _cost_lines(project, run, by, limit, at)
    total = results.Line("total")
    for name in (field.name for field in fields(results.Line)[1:]):
        setattr(total, name, sum((getattr(usage, name) for usage in lines), getattr(total, name)))
    if as_json:
        print_json({"by": by, "lines": [asdict(usage) for usage in lines], "total": asdict(total)})
        return
    if not number:
        say(NO_RUNS)
        return
    head = (by.upper(), "CALLS", "INPUT", "OUTPUT", "COST", "IN DOUBT")
    cells = [head, *map(_cost_cells, (*lines, total))]
    print_lines(figures.table(cells, right=range(1, 6)))
    click.echo(f"{plural(number, 'run')}, {plural(total.calls, 'call')}")
    if total.unpriced_calls:
        unknown = plural(total.unpriced_calls, "call")
        click.echo(f"{unknown} had no known price and are not in the sum: set [prices.MODEL]")


def _cost_lines(
    project: Project, run: str | None, by: By, limit: int, at: str
) -> tuple[int, list[results.Line]]:
    """How many runs were looked at, and what they used."""
    if run is None and not project.has_runs():
        return 0, []
    with closing(project.open_store()) as store:
        if run is None:
            chosen = [row.id for row in store.runs(limit=limit)]
        else:
            chosen = [find_run(store, run)]
        if at and next(store.entries_at(chosen[0], at), None) is None:
            raise results.unknown_place(store, chosen[0], at)
        return len(chosen), results.roll_up(store, chosen, by, at)


def _cost_cells(usage: results.Line) -> tuple[str, ...]:
    priced = dollars(usage.cost_usd)
    if usage.unpriced_calls:
        priced = f"{priced} + ?" if usage.cost_usd else "not known"
    tokens = map(figures.count, (usage.input_tokens, usage.output_tokens))
    return (line(usage.name, 60), str(usage.calls), *tokens, priced, str(usage.in_doubt or ""))


@click.command()
@run_option
@click.option("--at", default="", metavar="LOOP", help="Only this loop.")
@json_option
@located
def why(project: Project, *, run: str, at: str, as_json: bool) -> None:
    """Explain why the loops of a RUN ended: the conditions and their values per iteration.

    \b
      whorl why last
      whorl why last --at "all[2]/polish"
    """
    with closing(project.open_store()) as store:
        chosen = find_run(store, run)
        meant = results.loop_named(store, chosen, at) if at else None
        loops = [row for row in store.loops(chosen) if meant in (None, row.address)]
        if as_json:
            print_json(_why_document(store, chosen, loops))
        else:
            print_lines(_why_lines(store, chosen, loops))


def _why_document(store: SqliteStore, run: RunId, rows: list[LoopRow]) -> dict[str, object]:
    result: dict[str, Any] = with_help(results.full_result(store, run))
    loops = [
        {
            "path": row.address,
            "exit_reason": row.exit_reason or None,
            "stopped_by": row.stopped_by or None,
            "iterations": [item.note for item in _iterations(store, run, row)],
        }
        for row in rows
    ]
    people = [{name: getattr(request, name) for name in ("kind", "place", "body")}
              for request in results.requests_of(store, run)]  # fmt: skip
    names = ("status", "paused_by", "waiting_for", "warnings", "error")
    return {"run": run, "loops": loops, "people": people} | {name: result[name] for name in names}


def _why_lines(store: SqliteStore, run: RunId, loops: list[LoopRow]) -> Iterator[str]:
    result: dict[str, Any] = with_help(results.full_result(store, run))
    following = summary.next_command(store, run, result)
    workflow, row = results.workflow_of(store, run), store.run(run)
    mark = f": {badge(row.status, row.mark)[0]}" if row.mark else ""
    yield f"run {run} of {line(row.name, 60)} {results.status_words(str(result['status']))}{mark}"
    machine = fold(store, run).machine
    if len(loops) > _LOOPS_MAX:
        yield ""
        yield from summary.loops_lines(result["loops"])
        loops = [row for row in loops if row.exit_reason != "condition_met"][:_LOOPS_MAX]
        yield f"below: {len(loops)} that did not meet their condition; --at shows any other"
    for loop in loops:
        yield ""
        yield from _loop_lines(store, run, loop, workflow=workflow, machine=machine)
    if not result["loops"] and not result["error"] and result["status"] == "succeeded":
        yield "it has no loop; all its steps are done"
    requests = [f"  {wording.request_words(item)}" for item in results.requests_of(store, run)]
    yield from ["", "people:", *requests[-_REQUESTS_MAX:]] if requests else []
    warnings = [_warning(item) for item in result["warnings"][-_WARNINGS_MAX:]]
    yield from ["", *warnings] if warnings else []
    if result["paused_by"]:
        yield from ["", summary.pause_words(result)]
    if result["error"]:
        yield from ["", *summary.error_lines(result["error"])]
        yield f"  `whorl explain {wording.root_code(result['error'])}` says more"
    for gate in result["waiting_for"]:
        yield from ["", *summary.gate_lines(gate)]
    yield from ["", f"next: {following}"] if not following.startswith("whorl why") else []


def _warning(warning: dict[str, Any]) -> str:
    where = f" ({line(str(warning.get('path', '')), 60)})" if warning.get("path") else ""
    return f"warning[{warning.get('code')}]{where}: {line(advised(warning), 300)}"


def _loop_lines(
    store: SqliteStore, run: RunId, row: LoopRow, *, workflow: Workflow, machine: Machine
) -> Iterator[str]:
    node = results.loop_node(workflow, row.path)
    limit = results.limit_now(machine, row)
    of = f" of at most {limit}" if limit is not None else ""
    ended = "it has not ended"
    if row.exit_reason:
        reason = (row.exit_reason, row.stopped_by)
        ended = f"it ended because {wording.reason_words(*reason)}: {wording.exit_words(*reason)}"
    yield f"{line(row.address, 60)}  {plural(row.iterations, 'iteration')}{of}; {ended}"
    if node is not None and node.until is not None:
        yield f"  until: {wording.condition_words(node.until)}"
    if row.returned_iteration is not None:
        yield f"  returned: iteration {row.returned_iteration}"
    rows = [("#", "score", "verdict", "why")]
    for iteration in _iterations(store, run, row):
        note = iteration.note
        verdict = "met" if note.get("met") else "not met" if note.get("facts") else "no verdict"
        if iteration.status != "succeeded":
            verdict = wording.ending_words(iteration.status)
        star = "★" if iteration.number == row.best_iteration else ""
        measured = wording.score_cell(note, iteration.score) + star
        rows.append((str(iteration.number), measured, verdict, wording.verdict_words(note, 400)))
    if len(rows) > 1:
        yield from summary.inner_table(rows, right=1, shrink=3)


def _iterations(store: SqliteStore, run: RunId, row: LoopRow) -> list[IterationRow]:
    rows = store.newest_iterations(run, row.address, ITERATIONS_MAX)
    return [iteration for iteration in rows if iteration.status != "not_begun"]


@click.command()
@click.argument("words", metavar="[RUN] FIRST SECOND", nargs=-1, required=True)
@click.option("--node", metavar="NAME", help="Only the result of this step.")
@click.option("--at", default="", metavar="LOOP", help="Which loop, where there are several.")
@json_option
@located
def diff(
    project: Project, *, words: tuple[str, ...], node: str | None, at: str, as_json: bool
) -> None:
    """Compare two iterations of a loop of a RUN (the newest): results, score, cost, time.

    \b
      whorl diff 2 4
      whorl diff last 2 4 --node write
    """
    name, first, second = _iterations_meant(words)
    with closing(project.open_store()) as store:
        run = find_run(store, name)
        loop = results.loop_named(store, run, at)
        both = results.sides(store, run, loop, (first, second))
    changes = _changes(both, node)
    if as_json:
        iterations = [{"note": side.row.note, "results": side.results} for side in both]
        texts = {name: "\n".join(lines) for name, lines in changes.items()}
        print_json({"loop": loop, "iterations": iterations, "diff": texts})
        return
    head = f"{line(loop, 60)}  iteration {first} → {second}"
    click.echo("  ".join([head, *_figures(both[0].row, both[1].row)]))
    for name, lines in changes.items():
        click.echo(f"\n{line(name, 80)}{'' if lines else ': no change'}")
        for text in lines:
            click.echo(paint(safe(text), _DIFF_COLORS.get(text[:1])))


def _iterations_meant(words: tuple[str, ...]) -> tuple[str, int, int]:
    """The run, which may be left out, and the numbers of the iterations."""
    if len(words) not in (2, 3):
        raise UsageError("say which two iterations", help="for example `whorl diff last 2 4`")
    run, *numbers = ("last", *words)[-3:]
    for word in numbers:
        if not word.isdecimal() or int(word) < 1:
            message = f"{word!r} is no number of an iteration"
            raise UsageError(message, help="iterations count from 1")
    return run, int(numbers[0]), int(numbers[1])


def _changes(both: tuple[Side, Side], node: str | None) -> dict[str, list[str]]:
    names = list(dict.fromkeys([*both[0].results, *both[1].results]))
    if node is not None and node not in names:
        hint = did_you_mean(node, names) or f"steps: {', '.join(names) or 'none'}"
        raise UsageError(f"there is no result of a step {node!r}", help=hint)
    first, second = (f"iteration {side.row.number}" for side in both)
    changes: dict[str, list[str]] = {}
    for name in names if node is None else [node]:
        old, new = (figures.written(side.results.get(name)).splitlines() for side in both)
        changes[name] = list(difflib.unified_diff(old, new, first, second, lineterm=""))
    return changes


def _figures(first: IterationRow, second: IterationRow) -> Iterator[str]:
    notes: list[Any] = [first.note, second.note]
    if first.score is not None or second.score is not None:
        old = figures.score(first.score, second.score, *wording.goals_of(first.note)) or "-"
        new = figures.score(second.score, first.score, *wording.goals_of(second.note)) or "-"
        yield f"score {old} → {new} {figures.difference(second.score, first.score)}".rstrip()
    yield from (figures.outside_words(note["outside"]) for note in notes if note.get("outside"))
    costs = [usage_of(note)[2] for note in notes]
    if any(costs):
        yield f"cost {dollars(costs[0])} → {dollars(costs[1])}"
    times = [note.get("seconds") or 0.0 for note in notes]
    yield f"time {seconds(times[0])} → {seconds(times[1])}"
