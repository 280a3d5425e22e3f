"""`whorl diff`: what changed from one iteration of a loop to another."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import UsageError, did_you_mean, safe
from whorl.interfaces.cli.options import json_option, located, print_json
from whorl.interfaces.cli.view.paint import paint
from whorl.interfaces.figures import (
    difference,
    dollars,
    line,
    outside_words,
    score,
    seconds,
    written,
)
from whorl.interfaces.progress import usage_of
from whorl.interfaces.wording import goals_of
from whorl.services.inspection import loop_named, sides
from whorl.services.runs import find_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.runtimes.journal import IterationRow
    from whorl.services.inspection import Side
    from whorl.services.project import Project

_COLORS = {"+": "green", "-": "red", "@": "cyan"}


@click.command()
@click.argument("words", metavar="[RUN] FIRST SECOND", nargs=-1, required=True)
@click.option("--node", metavar="NAME", help="Only the result of this step.")
@click.option("--at", default="", metavar="LOOP", help="Which loop, where there are several.")
@json_option
@located
def diff(
    project: Project,
    *,
    words: tuple[str, ...],
    node: str | None,
    at: str,
    as_json: bool,
) -> int:
    """Compare two iterations of a loop of a RUN (the newest): results, score, cost, time.

    \b
      whorl diff 2 4
      whorl diff last 2 4 --node write
    """
    run, first, second = _meant(words)
    store = project.open_store()
    try:
        found = find_run(store, run)
        loop = loop_named(store, found, at)
        both = sides(store, found, loop, (first, second))
    finally:
        store.close()
    changes = _changes(both, node)
    if as_json:
        print_json(_document(loop, both, changes))
        return 0
    click.echo(_summary(loop, both[0].row, both[1].row))
    for name, lines in changes.items():
        click.echo(f"\n{line(name, 80)}{'' if lines else ': no change'}")
        for said in lines:
            click.echo(paint(safe(said), _COLORS.get(said[:1])))
    return 0


def _meant(words: tuple[str, ...]) -> tuple[str, int, int]:
    """The run, which may be left out, and the numbers of the iterations."""
    if len(words) not in (2, 3):
        raise UsageError("say which two iterations", help="for example `whorl diff last 2 4`")
    run, first, second = ("last", *words)[-3:]
    numbers = [int(word) if word.isdecimal() else 0 for word in (first, second)]
    for word, number in zip((first, second), numbers, strict=True):
        if number < 1:
            raise UsageError(
                f"{word!r} is no number of an iteration", help="iterations count from 1"
            )
    return run, numbers[0], numbers[1]


def _changes(both: tuple[Side, Side], node: str | None) -> dict[str, list[str]]:
    names = list(dict.fromkeys([*both[0].results, *both[1].results]))
    if node is not None and node not in names:
        hint = did_you_mean(node, names) or f"steps: {', '.join(names) or 'none'}"
        raise UsageError(f"there is no result of a step {node!r}", help=hint)
    return {name: _unified(both, name) for name in names if node in (None, name)}


def _unified(both: tuple[Side, Side], name: str) -> list[str]:
    one, other = (written(side.results.get(name)).splitlines() for side in both)
    first, second = (f"iteration {side.row.number}" for side in both)
    return list(difflib.unified_diff(one, other, first, second, lineterm=""))


def _summary(loop: str, one: IterationRow, other: IterationRow) -> str:
    parts = [f"{line(loop, 60)}  iteration {one.number} → {other.number}"]
    parts += [words for words in _figures(one, other) if words]
    return "  ".join(parts)


def _score(row: IterationRow, beside: float | None) -> str:
    return score(row.score, beside, *goals_of(row.note)) or "-"


def _figures(one: IterationRow, other: IterationRow) -> Iterator[str]:
    notes: list[Any] = [one.note, other.note]
    if one.score is not None or other.score is not None:
        change = difference(other.score, one.score)
        first, second = _score(one, other.score), _score(other, one.score)
        yield f"score {first} → {second} {change}".rstrip()
    yield from (outside_words(note["outside"]) for note in notes if note.get("outside"))
    costs = [usage_of(row.note)[2] for row in (one, other)]
    if any(costs):
        yield f"cost {dollars(costs[0])} → {dollars(costs[1])}"
    times: list[Any] = [row.note.get("seconds") or 0.0 for row in (one, other)]
    yield f"time {seconds(times[0])} → {seconds(times[1])}"


def _document(
    loop: str, both: tuple[Side, Side], changes: dict[str, list[str]]
) -> dict[str, object]:
    return {
        "loop": loop,
        "iterations": [{"note": side.row.note, "results": side.results} for side in both],
        "diff": {name: "\n".join(lines) for name, lines in changes.items()},
    }


COMMANDS = {"diff": diff}
