"""The last lines of a command: output, exit reasons, cost, run, and what to do next."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import safe
from whorl.interfaces.cli.options import print_json
from whorl.interfaces.cli.view.paint import paint
from whorl.interfaces.figures import (
    count,
    dollars,
    line,
    paragraphs,
    plural,
    score,
    seconds,
    written,
)
from whorl.interfaces.results import open_gates
from whorl.interfaces.wording import exit_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.language import Json
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore

MARKS = {
    "succeeded": ("✓", "green"),
    "failed": ("✗", "red"),
    "waiting": ("⏸", "yellow"),
    "paused": ("⏸", "yellow"),
    "interrupted": ("⏸", "yellow"),
    "cancelled": ("✗", "yellow"),
    "running": ("●", "yellow"),
}
_LOOPS_MAX = 8


def show_result(store: SqliteStore, run: RunId, result: dict[str, Json], *, as_json: bool) -> None:
    """Prints the result: JSON for programs; else the output, and the rest beside it."""
    if as_json:
        print_json(result)
        return
    if result["status"] == "succeeded" and result["output"] is not None:
        text = written(result["output"])
        click.echo(paragraphs(text) if sys.stdout.isatty() else text)
    for said in final_lines(store, run, result):
        click.echo(said, err=True)


def final_lines(store: SqliteStore, run: RunId, result: dict[str, Any]) -> Iterator[str]:
    """Exit reason, returned iteration, cost, run, next command."""
    status = result["status"]
    mark, color = MARKS.get(status, ("·", "white"))
    row = store.run(run)
    head = paint(f"{mark} {status}", color, bold=True)
    used = usage_words(result["usage"])
    took = seconds(row.updated_at - row.created_at)
    yield f"{head}  {line(row.name, 60)}  {took}{f'  {used}' if used else ''}  run {run}"
    for loop in result["loops"][-_LOOPS_MAX:]:
        yield f"  {loop_words(loop)}"
    error = result["error"]
    if error:
        place = f"  at {line(error['path'], 80)}" if error.get("path") else ""
        yield f"  error[{error['code']}]: {safe(error['message'])}{place}"
    if status == "waiting":
        for gate in open_gates(store, run):
            yield f"  {line(gate.address, 60)}: {line(gate.message, 200)}"
    yield f"  next: {next_command(run, result)}"


def loop_words(loop: dict[str, Any]) -> str:
    """A loop of the result document in one line."""
    iterations = plural(loop["iterations"], "iteration")
    words = f"{line(loop['path'], 60)}: {iterations} so far"
    if loop["exit_reason"]:
        reason = exit_words(loop["exit_reason"], loop["stopped_by"] or "")
        words = f"{line(loop['path'], 60)}: {reason} after {iterations}"
    if loop["returned_iteration"] is not None:
        words += f", returned iteration {loop['returned_iteration']}"
    if loop["score"] is not None:
        words += f", score {score(loop['score'])}"
    return words


def usage_words(usage: dict[str, Any]) -> str:
    """Calls, tokens, money."""
    if not usage["calls"]:
        return ""
    tokens = usage["input_tokens"] + usage["output_tokens"]
    parts = [plural(int(usage["calls"]), "call"), f"{count(tokens)} tok" if tokens else ""]
    if usage["cost_usd"]:
        parts.append(dollars(usage["cost_usd"]))
    if usage.get("unpriced_calls"):
        parts.append(f"{plural(int(usage['unpriced_calls']), 'call')} of unknown price")
    if usage["in_doubt"]:
        parts.append(f"{int(usage['in_doubt'])} in doubt")
    return ", ".join(part for part in parts if part)


def next_command(run: str, result: dict[str, Any]) -> str:
    """What a person would most probably want to do next."""
    match result["status"]:
        case "succeeded":
            at_limit = [one for one in result["loops"] if one["exit_reason"] == "max_iterations"]
            if at_limit and "[" not in at_limit[-1]["path"]:
                at = f" --at {at_limit[-1]['path']}" if len(result["loops"]) > 1 else ""
                return f"whorl continue {run}{at} --iterations 3"
            return f"whorl why {run}" if result["loops"] else f"whorl show {run}"
        case "failed":
            if (result["error"] or {}).get("code") in ("R110", "R111"):
                return f"whorl explain {result['error']['code']}"
            return f"whorl resume {run}   (tries again only what failed)"
        case "waiting":
            return f"whorl approve {run}   or   whorl reject {run} --feedback '...'"
        case "paused":
            if any(one.get("code") == "R103" for one in result["warnings"]):
                return f"whorl resume {run} --budget +0.50"
            return f"whorl resume {run}"
        case "interrupted":
            return f"whorl resume {run}"
        case "running":
            return f"whorl watch {run}"
    return f"whorl show {run}"
