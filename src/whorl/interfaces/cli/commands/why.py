"""Questions about loops: `why` says why they ended, `diff` compares their iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from whorl.errors import UsageError, did_you_mean, safe
from whorl.interfaces import formatting, status_words
from whorl.interfaces.advice import advised, root_code
from whorl.interfaces.cli import summary
from whorl.interfaces.cli.commands import open_run, with_json
from whorl.interfaces.cli.next_command import next_command
from whorl.interfaces.cli.options import carrying, place_option, print_json, with_help
from whorl.interfaces.cli.terminal import echo, paint, print_lines, say
from whorl.interfaces.formatting import changes, dollars, line, seconds
from whorl.interfaces.progress import usage_of
from whorl.interfaces.status_words import why_document
from whorl.runtimes.journal.folding import fold
from whorl.services.inspecting import results
from whorl.services.inspecting.places import loop_named, loops_meant, side
from whorl.services.runs import find_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.runtimes.journal.journal import IterationRow, LoopRow, RunId
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project


_LOOPS_MAX = 50
_REQUESTS_MAX = 50
_WARNINGS_MAX = 20
_DIFF_COLORS = {"+": "green", "-": "red", "@": "cyan"}


@click.command()
@place_option
@click.option("--at", default="", metavar="ADDRESS", help="Only loops at this place, or around it.")
@with_json
def why(project: Project, *, run: str, at: str, as_json: bool) -> None:
    """Explain why the loops of a RUN ended: the conditions and their values per iteration.

    \b
      whorl why last
      whorl why "last/all[2]/polish"
    """
    with open_run(project, run, at) as (store, chosen, place):
        loops = store.loops(chosen)
        if place:
            meant = loops_meant(place, [row.address for row in loops])
            meant = meant or [loop_named(store, chosen, place)]
            loops = [row for row in loops if row.address in meant]
        if as_json:
            print_json(with_help(why_document(store, chosen, loops)))
        else:
            result: dict[str, Any] = with_help(results.full_result(store, chosen))
            print_lines(_why_lines(store, chosen, loops, result))
            following = next_command(store, chosen, result, "why")
            say(*([f"next: {following}"] if following else []))


def _why_lines(
    store: SqliteStore, run: RunId, loops: list[LoopRow], result: dict[str, Any]
) -> Iterator[str]:
    workflow, machine = results.shown_workflow(store, run), fold(store, run).machine
    if not loops:
        yield summary.run_line(store.run(run), result)
    if len(loops) > _LOOPS_MAX:
        yield from summary.loops_lines(run, result["loops"])
        loops = [row for row in loops if row.exit_reason != "condition_met"][:_LOOPS_MAX]
        yield f"below: {len(loops)} that did not meet their condition; --at shows any other"
    stopped = results.stopped_loops(store, run)
    for at, loop in enumerate(loops):
        yield from [""] if at else []
        rows = results.begun_iterations(store, run, loop)
        is_stopped = loop.address in stopped
        yield from summary.loop_lines(
            loop, rows, workflow=workflow, machine=machine, is_stopped=is_stopped
        )
    error, asked = result["error"], results.requests_of(store, run)[-_REQUESTS_MAX:]
    if not result["loops"] and not error and result["status"] == "succeeded":
        yield "the run has no loop; all its steps are done"
    yield from ["", "people:"] if asked else []
    yield from (f"  {status_words.request_words(request)}" for request in asked)
    yield from [""] if result["warnings"] else []
    for warning in result["warnings"][-_WARNINGS_MAX:]:
        where = f" ({safe(str(warning['path']))})" if warning.get("path") else ""
        yield f"warning[{warning['code']}]{where}: {line(carrying(advised(warning)), 300)}"
    yield from ["", summary.pause_words(result)] if result["paused_by"] else []
    if error:
        yield from ["", *summary.error_lines(error)]
        if root_code(error) == error["code"]:
            yield f"  `whorl help {error['code']}` says more"
    for gate in result["waiting_for"]:
        yield from ["", *summary.gate_lines(gate)]


@click.command()
@click.argument("words", metavar="[RUN[/ADDRESS]] FIRST SECOND", nargs=-1, required=True)
@click.option("--step", metavar="NAME", help="Only the result of this step.")
@click.option("--at", default="", metavar="ADDRESS", help="Which loop, if there are several.")
@click.option("--with", "with_run", metavar="RUN", help="SECOND is an iteration of this run.")
@with_json
def diff(
    project: Project,
    *,
    words: tuple[str, ...],
    step: str | None,
    at: str,
    with_run: str | None,
    as_json: bool,
) -> None:
    """Compare two iterations of a loop of a RUN (the newest): results, score, cost, time.

    \b
      whorl diff 2 4
      whorl diff last 2 4 --step write
      whorl diff 4 4 --with OTHER_RUN
      whorl diff "last/all[2]/polish" 2 4

    Texts are compared by line (of long lines by word: [-gone-] {+new+}), other values by key.
    """
    text, first, second = _iterations_meant(words)
    with open_run(project, text, at) as (store, run, place):
        loop = loop_named(store, run, place)
        other = run if with_run is None else find_run(store, with_run)
        both = (side(store, run, loop, first), side(store, other, loop, second))
    before, after = (each.results for each in both)
    names = list(dict.fromkeys([*before, *after]))
    if step is not None and step not in names:
        hint = did_you_mean(step, names) or f"steps: {', '.join(names) or 'none'}"
        raise UsageError(f"there is no result of a step {step!r}", help=hint)
    chosen = names if step is None else [step]
    changed = {name: list(changes(before.get(name), after.get(name))) for name in chosen}
    if as_json:
        iterations = [{"note": each.row.note, "results": each.results} for each in both]
        texts = {name: "\n".join(map("".join, lines)) for name, lines in changed.items()}
        print_json({"loop": loop, "iterations": iterations, "diff": texts})
        return
    of_other = "" if other == run else f" of {other}"
    figures = ", ".join(_figures(both[0].row, both[1].row))
    echo(f"{safe(loop)} {first} -> {second}{of_other}{figures and f': {figures}'}")
    for name, lines in changed.items():
        echo(f"\n{line(name, 80)}{'' if lines else ': no change'}")
        for mark, text in lines:
            echo(paint(mark + text, _DIFF_COLORS.get(mark)))


def _iterations_meant(words: tuple[str, ...]) -> tuple[str, int, int]:
    """The run, which may be left out, and the numbers of the iterations."""
    if len(words) not in (2, 3):
        raise UsageError("say which two iterations", help="for example `whorl diff last 2 4`")
    run, *numbers = ("last", *words)[-3:]
    for word in numbers:
        if not word.isdecimal() or int(word) < 1:
            message = f"{word!r} is not the number of an iteration"
            raise UsageError(message, help="name two of them: `whorl diff last 1 2`")
    return run, int(numbers[0]), int(numbers[1])


def _figures(first: IterationRow, second: IterationRow) -> Iterator[str]:
    notes: list[Any] = [first.note, second.note]
    if first.score is not None or second.score is not None:
        old, new = (formatting.score(side.score) or "-" for side in (first, second))
        yield f"score {old} -> {new}"
    yield from (formatting.outside_words(note["outside"]) for note in notes if note.get("outside"))
    costs = [usage_of(note)[2] for note in notes]
    if any(costs):
        yield f"{dollars(costs[0])} -> {dollars(costs[1])}"
    times = [note.get("seconds") or 0.0 for note in notes]
    if any(times):
        yield f"{seconds(times[0])} -> {seconds(times[1])}"
