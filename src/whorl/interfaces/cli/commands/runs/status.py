"""`whorl status`: where a run is, and what it waits for."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import safe
from whorl.interfaces import status_words
from whorl.interfaces.cli.options import json_option, located, print_json, run_option
from whorl.interfaces.cli.paste_options import carrying, with_help
from whorl.interfaces.cli.printing import summary
from whorl.interfaces.cli.printing.next_command import next_command
from whorl.interfaces.cli.terminal import badge, echo, paint, print_lines
from whorl.interfaces.cli.watchers import past_of
from whorl.interfaces.formatting import allowed, joined, line, seconds, worked, written
from whorl.interfaces.progress import LoopProgress, name_of
from whorl.providers.redaction import HIDDEN
from whorl.services.inspecting import results
from whorl.services.runs import find_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project


# The rows of `status` that a dialect's own lines take the place of.
_DIALECT_ROWS = ("workflow", "status", "duration", "iteration", "until", "last", "result")


@click.command()
@run_option
@json_option
@located
def status(project: Project, *, run: str, as_json: bool) -> None:
    """Show where a RUN is: step, iteration, condition, last result, what it waits for.

    \b
      whorl status last
    """
    with closing(project.open_store()) as store:
        position = _Status(store, find_run(store, run))
        if as_json:
            print_json(position.document())
            return
        own = position.dialect_lines()
        print_lines(own)
        for key, words in position.rows():
            if not own or key not in _DIALECT_ROWS:
                echo(f"{f'{key}:' if key else '':<11} {words}".rstrip())


class _Status:
    """Where a run is."""

    def __init__(self, store: SqliteStore, run: RunId) -> None:
        self.store = store
        self.progress = past_of(store, run)
        self.row, self.machine = results.row_and_machine(store, run)
        result = results.full_result(store, run, (self.row, self.machine))
        self.result: dict[str, Any] = with_help(result)
        self.workflow = results.workflow_of(store, run)
        is_running = self.result["status"] == "running"
        self.until = time.time() if is_running else self.row.updated_at

    def document(self) -> dict[str, object]:
        row, result = self.row, self.result
        steps = self.progress.steps.values()
        return {
            "run": row.id,
            "workflow": row.name,
            "key": row.key or None,
            "parent": row.parent or None,
            "status": result["status"],
            "mark": row.mark or None,
            "steps": [step.address for step in steps if step.state == "running"],
            "loop": row.loop or None,
            "iteration": row.iteration,
            "iterations_max": row.iterations_max,
            "score": row.score,
            "started_at": row.created_at,
            "updated_at": row.updated_at,
            "usage": result["usage"],
            "budget_usd": row.budget_usd,
            **{name: result[name] for name in ("waiting_for", "paused_by", "error")},
        }

    def dialect_lines(self) -> list[str]:
        """The same as the dialect of its file says it; nothing while the run is in no loop."""
        loops = [loop for loop in self.progress.loops.values() if not loop.exit_reason]
        if not loops or self.result["status"] in status_words.ENDED:
            return []
        loop = loops[-1]
        last = next((words for _, words in self._last_result(loop)), "null")
        facts = {
            "workflow": line(self.row.name, 80),
            "status": str(self.result["status"]).capitalize(),
            "loop": line(name_of(loop.address), 60),
            "number": str(loop.number),
            "limit": str(loop.limit),
            "seconds": f"{max(0.0, self.until - loop.started_at):.0f}",
            "result": last.partition(": ")[2] or last,
        }
        return status_words.status_lines(self.workflow.words, loop.path, facts)

    def rows(self) -> Iterator[tuple[str, str]]:
        """The facts for people, each with its name."""
        row, result = self.row, self.result
        yield "run", f"{row.id}{f'  (fork of {row.parent})' if row.parent else ''}"
        if row.key:
            yield "key", line(row.key, 80)
        yield "workflow", f"{line(row.name, 80)}  {line(row.file, 120)}".rstrip()
        yield "status", paint(*badge(str(result["status"]), row.mark))
        if took := worked(row) + max(0.0, self.until - row.updated_at):
            yield "duration", seconds(took)
        steps = self.progress.steps.values()
        running = [step for step in steps if step.state in ("running", "retrying")]
        if running:
            yield "step", ", ".join(safe(step.address) for step in running[:5])
        yield from self._loop_rows()
        if usage := summary.usage_words(result["usage"]):
            budget = row.budget_usd
            of = f" of a budget of {allowed(budget)}" if budget is not None else ""
            yield "used", usage + of
        if result["paused_by"]:
            yield "paused", summary.pause_words(result)
        for gate in result["waiting_for"]:
            yield from _below("waits for", summary.gate_lines(gate))
        if result["output"] is not None:
            yield "output", line(written(result["output"]), 200)
        yield from _below("error", summary.error_lines(result["error"]))
        yield "next", carrying(next_command(self.store, row.id, result))

    def _loop_rows(self) -> Iterator[tuple[str, str]]:
        loops = self.result["loops"]
        if len(loops) > summary.ONE_BY_ONE_MAX:
            yield from _below("loops", summary.loops_lines(loops))
            yield from (("", words) for words in summary.all_loops(self.row.id, loops))
            return
        for loop in self.progress.loops.values():
            of = f"/{loop.limit}" if loop.limit else ""
            ended = status_words.exit_words(loop.exit_reason, loop.stopped_by)
            yield "iteration", joined(f"{loop.number}{of} of {safe(loop.address)}", ended)
            node = results.loop_node(self.workflow, loop.path)
            if node is not None and node.until is not None:
                yield "until", status_words.condition_words(node.until)
            if loop.iterations:
                last = loop.iterations[-1]
                measured = f", score {last.shown_score}" if last.score is not None else ""
                words = f": {last.words}" if last.words else ""
                yield "last", f"iteration {last.number}{measured}{words}"
            yield from self._last_result(loop)

    def _last_result(self, loop: LoopProgress) -> Iterator[tuple[str, str]]:
        previous = results.loop_frame(self.machine, loop.address).get("previous") or {}
        values = [(name, value) for name, value in previous.items() if value is not None]
        for name, value in values[-1:]:
            is_hidden = name in results.hidden_names(self.workflow)
            words = HIDDEN if is_hidden else line(written(value), 160)
            yield "result", f"{line(name, 40)}: {words}"


def _below(key: str, lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Lines of which the first has a name."""
    return (("" if at else key, words) for at, words in enumerate(lines))
