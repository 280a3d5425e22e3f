"""The last lines of a command: output, exit reasons, cost, run, and what to do next."""

from __future__ import annotations

import sys
from shlex import quote
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
from whorl.interfaces.wording import exit_words, root_code

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
_SHOWN_MAX = 4_000
# What a loop needs to go on, by the reason for which it ended.
_AMOUNTS = {
    "max_iterations": "--iterations 3",
    "rejected": "--iterations 3",
    "budget": "--budget +0.50",
}


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


def final_lines(
    store: SqliteStore, run: RunId, result: dict[str, Any], *, asked: str = ""
) -> Iterator[str]:
    """Exit reason, returned iteration, cost, run, next command, unless it is the one `asked`."""
    status = result["status"]
    mark, color = MARKS.get(status, ("·", "white"))
    row = store.run(run)
    head = paint(f"{mark} {status}", color, bold=True)
    used = usage_words(result["usage"])
    took = seconds(row.updated_at - row.created_at)
    yield f"{head}  {line(row.name, 60)}  {took}{f'  {used}' if used else ''}  run {run}"
    for loop in result["loops"][-_LOOPS_MAX:]:
        yield f"  {loop_words(loop)}"
    if status == "succeeded" and result["outputs"] and result["output"] is None:
        yield "  the output is null"
    if result["paused_by"]:
        yield f"  {pause_words(result)}"
    yield from (f"  {said}" for said in error_lines(result["error"]))
    for gate in result["waiting_for"]:
        yield from (f"  {said}" for said in gate_lines(gate))
    advice = next_command(run, result)
    if advice.split()[:2] != ["whorl", asked]:
        yield f"  next: {advice}"


def error_lines(error: dict[str, Any] | None) -> Iterator[str]:
    """What failed, where, and the page that says most about it."""
    if not error:
        return
    place = f"  at {line(error['path'], 80)}" if error.get("path") else ""
    yield f"error[{error['code']}]: {safe(error['message'])}{place}"
    root = root_code(error)
    if root != error["code"]:
        yield f"  it comes from {root}: `whorl explain {root}`"


def gate_lines(gate: dict[str, Any]) -> Iterator[str]:
    """What a person is asked, and what it is about."""
    place = gate["address"].partition("/:")[0]
    yield f"{line(place, 60)} asks: {safe(gate['message'])}"
    shown = gate["show"]
    parts = shown if isinstance(shown, dict) and gate["reason"] != "gate" else {"": shown}
    for name, value in parts.items():
        if value is None:
            continue
        if name:
            yield f"  {line(name, 60)}:"
        text = written(value)
        cut = "…" if len(text) > _SHOWN_MAX else ""
        for said in paragraphs(text[:_SHOWN_MAX] + cut).split("\n"):
            yield f"    {said}"


def pause_words(result: dict[str, Any]) -> str:
    """Why a run is paused, in the words of what it warned of."""
    if result["paused_by"] == "budget":
        told = [str(one.get("message", "")) for one in result["warnings"] if one["code"] == "R103"]
        return safe(told[-1].partition(";")[0]) if told else "its budget is reached"
    return "a person paused it"


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
            usual = f"whorl why {run}" if result["loops"] else f"whorl show {run}"
            return _more(run, result) or usual
        case "failed":
            return _after_failure(run, result)
        case "waiting":
            return "   or   ".join(_answers(run, result["waiting_for"]))
        case "paused" if result["paused_by"] == "budget":
            return f"whorl resume {run} --budget +0.50"
        case "paused" | "interrupted":
            return f"whorl resume {run}"
        case "running":
            return f"whorl watch {run}"
    return f"whorl show {run}"


def _more(run: str, result: dict[str, Any]) -> str:
    """How the last loop that a limit or a person ended goes on, where it can."""
    open_ones = [one for one in result["loops"] if "[" not in one["path"]]
    for loop in reversed(open_ones):
        amount = _AMOUNTS.get(loop["exit_reason"])
        if amount:
            at = f" --at {quote(loop['path'])}" if len(open_ones) > 1 else ""
            return f"whorl continue {run}{at} {amount}"
    return ""


def _after_failure(run: str, result: dict[str, Any]) -> str:
    error = result["error"] or {}
    match error.get("code"):
        case "R110" | "R111":
            return f"whorl explain {error['code']}"
        case "R102":
            # Trying the loop again would only reach its limit again.
            return _more(run, result) or f"whorl why {run}"
        case "R108":
            return _more(run, result) or f"whorl resume {run}   (asks again)"
    return f"whorl resume {run}   (tries again only what failed)"


def _answers(run: str, gates: list[dict[str, Any]]) -> Iterator[str]:
    """The commands that answer what a run asks first."""
    gate = gates[0] if gates else {"address": "", "reason": ""}
    at = f" --at {quote(gate['address'].partition('/:')[0])}" if len(gates) > 1 else ""
    yield f"whorl approve {run}{at}"
    if gate["reason"] == "limit":
        yield f"whorl continue {run}{at} --iterations 3"
    yield f"whorl reject {run}{at} --feedback '...'"
