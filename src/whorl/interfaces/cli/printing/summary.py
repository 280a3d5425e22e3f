"""What a run came to, in lines: its state, loops, errors, questions, cost, and what to do next."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from whorl.errors import plural, safe
from whorl.interfaces import formatting, status_words
from whorl.interfaces.advice import advised, root_code
from whorl.interfaces.cli.paste_options import carrying
from whorl.interfaces.cli.printing.next_command import next_command
from whorl.interfaces.cli.terminal import (
    badge,
    echo,
    hand_over,
    indented,
    paint,
    print_lines,
    room,
    text_lines,
)
from whorl.interfaces.formatting import cut, line, value_lines, written
from whorl.interfaces.status_words import (
    end_words,
    exit_words,
    reason_lines,
    returned_words,
    score_cell,
    verdict_words,
)
from whorl.interpreter.events import unescape
from whorl.lazily import regex
from whorl.services.inspecting import results

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence, Set

    from whorl.interpreter.machine import Machine
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.runtimes.journal.journal import IterationRow, LoopRow, RunId
    from whorl.runtimes.sqlite import SqliteStore


# Of what a person is asked about, so many lines.
_SHOWN_MAX = 100
# So many loops are told one by one.
ONE_BY_ONE_MAX = 8
# Of more, so many that did not meet their condition are told beside the counts.
_UNMET_MAX = 5
_ITERATION = regex(r"\[[0-9]+\]")
_ENDS = {
    "condition_met": "met",
    "max_iterations": "stopped by the limit of iterations",
    "timeout": "stopped by the limit of time",
    "budget": "stopped by budget",
    "": "under way",
}
# These end a loop, and say nothing about whether its result is good.
_ENDS_ONLY = frozenset({"plateau", "stable"})
_MET = frozenset({"condition_met", "accepted"})


def print_outputs(outputs: dict[str, Json]) -> None:
    """Prints what a run gave: one output as it is, several of them below their names."""
    is_seen = sys.stdout.isatty()
    for at, (name, value) in enumerate(outputs.items()):
        if len(outputs) > 1:
            echo(("\n" if at else "") + paint(f"{line(name, 80)}:", bold=True))
        elif value is None:
            return
        if is_seen:
            print_lines(value_lines(value, text_lines, whole=True))
        else:
            hand_over(written(value))


def final_lines(
    store: SqliteStore,
    run: RunId,
    result: dict[str, Any],
    *,
    asked: str = "",
    shown: Set[str] = frozenset(),
) -> Iterator[str]:
    """Exit reason, returned iteration, cost, run, next command, unless it is the one `asked`.

    The questions at the addresses in `shown` are not shown again.
    """
    status = result["status"]
    row = store.run(run)
    words, color = badge(status, row.mark)
    head = paint(words, color, bold=True)
    took = formatting.seconds(worked) if (worked := formatting.worked(row)) else ""
    used = usage_words(result["usage"])
    yield formatting.joined(head, line(row.name, 60), took, used, f"run {run}")
    yield from indented(loops_lines(result["loops"]))
    if asked != "show":
        yield from indented(all_loops(run, result["loops"]))
    outputs = result["outputs"] if status == "succeeded" else {}
    missing = [line(name, 60) for name, value in outputs.items() if value is None]
    if missing:
        yield "  the output is null" if len(outputs) == 1 else f"  null: {', '.join(missing)}"
    if result["paused_by"]:
        yield f"  {pause_words(result)}"
    yield from indented(error_lines(result["error"]))
    blind = (warning for warning in result["warnings"] if warning["code"] == "R909")
    yield from (f"  warning[R909]: {warning['message']}" for warning in blind)
    if row.held:
        words = "no server takes it up: " if row.position is None else ""
        yield f"  {words}{safe(row.held)}"
    if row.belongs_to:
        yield f"  it belongs to {safe(row.belongs_to)}"
    for gate in result["waiting_for"]:
        if gate["address"] not in shown:
            yield from indented(gate_lines(gate))
    following = next_command(store, run, result)
    if following.split()[:2] != ["whorl", asked]:
        yield f"  next: {carrying(following)}"


def error_lines(error: dict[str, Any] | None) -> Iterator[str]:
    """What failed, where, and the page that says most about it."""
    if not error:
        return
    place = f"  at {safe(error['path'])}" if error.get("path") else ""
    own = (error.get("detail") or {}).get("code") if error["code"] == "R109" else None
    words = f"{own}: {advised(error)}" if own else advised(error)
    yield f"error[{error['code']}]: {carrying(safe(words))}{place}"
    root = root_code(error)
    if root != error["code"]:
        yield f"  it comes from {root}: `whorl explain {root}`"


def gate_lines(gate: dict[str, Any]) -> Iterator[str]:
    """What a person is asked, and what it is about."""
    place = gate["address"].partition("/:")[0]
    yield f"{safe(place)} asks: {safe(gate['message'])}"
    shown = gate["show"]
    parts = shown if isinstance(shown, dict) and gate["reason"] != "gate" else {"": shown}
    for name, value in parts.items():
        if value is None:
            continue
        if name:
            yield f"  {line(name, 60)}:"
        yield from indented(indented(cut(value_lines(value, text_lines, indent=4), _SHOWN_MAX)))


def pause_words(result: dict[str, Any]) -> str:
    """Why a run is paused, in the words of what it warned of."""
    if result["paused_by"] == "restore":
        return "it was under way when the backup was made: what it has done since is not known"
    if result["paused_by"] == "stuck":
        return "nothing of it was under way, and it waited for nothing: please report this"
    if result["paused_by"] != "budget":
        return "a person paused it"
    warnings = [warning for warning in result["warnings"] if warning["code"] == "R103"]
    message = str(warnings[-1].get("message", "")) if warnings else "its budget is reached"
    return safe(message)


def inner_table(rows: Sequence[tuple[str, ...]], *, right: int, shrink: int) -> Iterator[str]:
    """A table below a line: so many columns are set to the right, and one may be cut."""
    width = None if (columns := room()) is None else columns - 2
    return indented(formatting.table(rows, right=range(right), width=width, shrink=(shrink,)))


def usage_words(usage: dict[str, Any]) -> str:
    if not usage["calls"]:
        return ""
    parts = [calls_made(usage)]
    if tokens := usage["input_tokens"] + usage["output_tokens"]:
        parts.append(f"{formatting.count(tokens)} tok")
    reserved = usage.get("reserved_usd") or 0.0
    if (known := round((usage["cost_usd"] or 0.0) - reserved, 9)) > 0:
        parts.append(formatting.dollars(known))
    if usage["in_doubt"]:
        # Nobody has said what they cost.
        doubtful = f"{plural(int(usage['in_doubt']), 'call')} in doubt"
        parts.append(
            f"{formatting.dollars(reserved)} reserved for {doubtful}" if reserved else doubtful
        )
    if usage.get("unpriced_calls"):
        parts.append(f"{plural(int(usage['unpriced_calls']), 'call')} of unknown price")
    return ", ".join(parts)


def calls_made(usage: dict[str, Any]) -> str:
    """How many calls there were: of models, and of commands, functions and services."""
    calls, of_models = int(usage["calls"]), usage.get("model_calls")
    if of_models is None:
        return plural(calls, "call")
    others = calls - int(of_models)
    if not of_models:
        return f"{plural(calls, 'call')} without a model"
    words = plural(int(of_models), "model call")
    return f"{words}, {plural(others, 'other call')}" if others else words


def loops_lines(loops: Sequence[dict[str, Any]]) -> Iterator[str]:
    if len(loops) <= ONE_BY_ONE_MAX:
        yield from map(loop_words, loops)
        return
    yield from _counts(loops)
    unmet = [loop for loop in loops if loop["exit_reason"] and loop["exit_reason"] not in _MET]
    yield from indented(map(loop_words, unmet[:_UNMET_MAX]))


def all_loops(run: str, loops: Sequence[dict[str, Any]]) -> list[str]:
    """How to see all loops, where `loops_lines` does not tell each."""
    words = f"`whorl show {run}` lists all {len(loops):,} loops"
    return [carrying(words)] if len(loops) > ONE_BY_ONE_MAX else []


def _counts(loops: Sequence[dict[str, Any]]) -> Iterator[str]:
    """For each loop of the file, how many times it ended in which way."""
    counts: dict[str, Counter[str]] = {}
    for loop in loops:
        path = unescape(_ITERATION.sub("", loop["path"]))
        reason = loop["exit_reason"] or ""
        end = _ENDS.get(reason, reason)
        if loop["stopped_by"] in _ENDS_ONLY:
            end = f"{end} ({loop['stopped_by']})"
        counts.setdefault(path, Counter())[end] += 1
    for path, ends in counts.items():
        yield f"{safe(path)}: {_ends(ends)}"


def ends_words(reasons: Mapping[str, int]) -> str:
    """How many loops ended for which reason, in few words: `30 met, 20 budget`."""
    short = {"condition_met": "met", "max_iterations": "limit", "": "under way"}
    return _ends({short.get(reason, reason): number for reason, number in reasons.items()})


def _ends(ends: Mapping[str, int]) -> str:
    ordered = sorted(ends.items(), key=lambda end: (end[0] != _ENDS["condition_met"], -end[1]))
    return ", ".join(f"{number:,} {end}" for end, number in ordered)


def loop_words(loop: dict[str, Any]) -> str:
    iterations = plural(loop["iterations"], "iteration")
    words = f"{iterations} so far" if loop["iterations"] else "not begun"
    if loop["exit_reason"]:
        words = f"{exit_words(loop['exit_reason'], loop['stopped_by'] or '')} after {iterations}"
    if loop["returned_iteration"] is not None:
        words += f", returned iteration {loop['returned_iteration']}"
    if loop["score"] is not None:
        words += f", score {formatting.score(loop['score'])}"
    return f"{safe(loop['path'])}: {words}"


def explored_lines(own: int, explored: int) -> Iterator[str]:
    """Says which iterations of a loop were explored, behind those of its `own`."""
    if explored > own:
        which = f"{own + 1} was" if explored == own + 1 else f"{own + 1} to {explored} were"
        yield f"  {which} explored after the loop had ended, and changed no result"


def loop_lines(
    row: LoopRow,
    iterations: list[IterationRow],
    *,
    workflow: Workflow,
    machine: Machine,
    is_stopped: bool = False,
) -> Iterator[str]:
    """Why a loop ended: its conditions and their values in each iteration.

    One that `is_stopped` was ended by a person who chose no iteration.
    """
    node = results.loop_node(workflow, row.path)
    limit = results.limit_now(machine, row)
    of = f" of at most {limit}" if limit is not None else ""
    ended = "it has not ended"
    if row.exit_reason:
        why = end_words(row, is_stopped=is_stopped)
        if row.exit_reason == "max_iterations" and limit is not None and row.iterations < limit:
            why = "it made the iterations that it was continued for"
        ended = f"it ended because {why}: {exit_words(row.exit_reason, row.stopped_by)}"
    yield f"{safe(row.address)}  {plural(row.iterations, 'iteration')}{of}; {ended}"
    if node is not None and node.until is not None:
        yield f"  until: {status_words.condition_words(node.until)}"
    if row.returned_iteration is not None:
        takes = node.returns if node else ""
        why = returned_words(takes, row, iterations, is_stopped=is_stopped)
        yield f"  returned: iteration {row.returned_iteration}{why and f', {why}'}"
    rows, reasons = [("#", "score", "verdict", "why")], list[str]()
    for iteration in iterations:
        note = iteration.note
        verdict = "met" if note.get("met") else "not met" if note.get("facts") else "no verdict"
        if iteration.status != "succeeded":
            verdict = status_words.ending_words(iteration.status)
        star = "★" if iteration.number == row.best_iteration else ""
        measured = score_cell(note, iteration.score) + star
        words = verdict_words(note, 400, with_reasons=False)
        rows.append((str(iteration.number), measured, verdict, words))
        for at, text in enumerate(reason_lines(note)):
            number = str(iteration.number) if at == 0 else ""
            reasons.append(f"    {number:>{len(str(row.iterations))}}  {text}")
    if len(rows) > 1:
        yield from inner_table(rows, right=1, shrink=3)
        yield from explored_lines(row.iterations, row.explored)
        if row.best_iteration is not None:
            yield "  ★ the best one: approved ones come first, then the score counts"
    yield from ["  the judge's reasons:", *reasons] if reasons else []
