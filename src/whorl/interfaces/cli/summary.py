"""Runs in lines: the result and the next command, why a loop ended, inputs and output of a step.

Calls that ran at the same time are listed one by one, even if their events are mixed.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from whorl.errors import plural, safe
from whorl.interfaces import formatting, status_words
from whorl.interfaces.advice import advised, root_code
from whorl.interfaces.cli import terminal
from whorl.interfaces.cli.next_command import next_command
from whorl.interfaces.cli.options import carrying
from whorl.interfaces.cli.terminal import SIGNS, badge, echo, indented, paint
from whorl.interfaces.formatting import cut, joined, line, one_line, seconds, value_lines, written
from whorl.interfaces.progress import usage_of
from whorl.interfaces.status_words import end_words, exit_words, verdict_words
from whorl.interpreter.events import unescape
from whorl.lazily import regex
from whorl.runtimes.journal.sealed_secrets import shown
from whorl.services.inspecting import results

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set

    from whorl.interpreter.events import Event
    from whorl.interpreter.machine import Machine
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.runtimes.journal.journal import Entry, IterationRow, LoopRow, RunId, RunRow
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.records import Record, RunRecords


# Of what a person is asked about, so many lines.
_SHOWN_MAX = 100
# Up to this number, loops are listed one by one.
ONE_BY_ONE_MAX = 8
_ITERATION = regex(r"\[[0-9]+\]")
_ENDS = {"condition_met": "met", "max_iterations": "limit", "": "running"}
_PAUSED = {
    "restore": "it was running when the backup was made, so calls after the backup are unknown",
    "stuck": "it was stuck with no step to run, which is a fault of Whorl: report it",
}
# Where a model asks again with the results of tools, and where a tool is called.
_TURN, _TOOL = regex(r"/:turn[0-9]+(#[0-9]+)?$"), regex(r"/:tool[0-9]+(#[0-9]+)?$")
# What an error keeps of an answer that could not be used, a program or a function that failed.
_KEPT = ("answer", "stdout", "stderr", "traceback")
# Steps of these kinds leave no entries that say what became of them.
_QUIET = frozenset(
    ("compute", "assign", "branch", "group", "foreach", "call", "stop", "break", "continue")
)
_ITEMS_MAX = 50
_STEPS_MAX = 40
_VALUE_MAX = 60


def print_outputs(outputs: dict[str, Json]) -> None:
    """Prints the outputs of a run: one as it is, several of them below their names."""
    is_seen = sys.stdout.isatty()
    for at, (name, value) in enumerate(outputs.items()):
        if len(outputs) > 1:
            echo(("\n" if at else "") + paint(f"{line(name, 80)}:", bold=True))
        elif value is None:
            return
        if is_seen:
            terminal.print_lines(value_lines(value, whole=True))
        else:
            terminal.hand_over(written(value))


def final_lines(
    store: SqliteStore,
    run: RunId,
    result: dict[str, Any],
    asked: str,
    shown: Set[str] = frozenset(),
) -> Iterator[str]:
    """Yields how a run ended, what it asks (without the addresses in `shown`), and what is next."""
    row = store.run(run)
    words, color = badge(result["status"], row.mark)
    head = paint(words, color, bold=True)
    took, mocked = _time_and_mocks(row, result)
    yield joined(head, line(row.name, 60), took, usage_words(result["usage"]), f"run {run}", mocked)
    yield from indented(loops_lines(run, result["loops"]))
    if result["paused_by"]:
        yield f"  {pause_words(result)}"
    yield from indented(error_lines(result["error"]))
    yield from indented(note_lines(row, result))
    for gate in result["waiting_for"]:
        if gate["address"] not in shown:
            yield from indented(gate_lines(gate))
    if following := next_command(store, run, result, asked):
        yield f"next: {following}"


def run_line(row: RunRow, result: dict[str, Any]) -> str:
    """Returns how a run stands: `run 1m7q2ja of first: succeeded after 3 iterations, $0.02`."""
    loops = [loop for loop in result["loops"] if "[" not in loop["path"]]
    state, color = badge(result["status"], row.mark)
    words = paint(state if row.mark else result["status"], color)
    if len(loops) == 1:
        made = loops[0]["iterations"]
        words += f" after {plural(made, 'iteration')}" if made else ""
    parts = filter(None, (words, cost_words(result["usage"]), *_time_and_mocks(row, result)))
    return f"run {row.id} of {line(row.name, 60)}: {', '.join(parts)}"


def _time_and_mocks(row: RunRow, result: dict[str, Any]) -> tuple[str, str]:
    took = seconds(worked) if (worked := formatting.worked(row)) else ""
    return took, f"mocked by {mock_file(result)}" if "mocked" in result else ""


def mock_file(result: dict[str, Any]) -> str:
    """Returns the file with the answers of a mocked run, without the name of its test."""
    return line(str(result["mocked"]).partition(": ")[0], 40)


def cost_words(usage: dict[str, Any]) -> str:
    """Returns what calls cost, as far as it is known, without what is reserved for others."""
    known = round((usage["cost_usd"] or 0.0) - (usage.get("reserved_usd") or 0.0), 9)
    paid = formatting.dollars(known) if known > 0 else ""
    if not (unpriced := usage.get("unpriced_calls")):
        return paid
    return f"{paid}, cost of {plural(unpriced, 'call')} not known" if paid else "cost not known"


def note_lines(row: RunRow, result: dict[str, Any]) -> Iterator[str]:
    """Yields null outputs, unseen parts of files, what the run waits behind, and its project."""
    outputs = result["outputs"] if result["status"] == "succeeded" else {}
    missing = [line(name, 60) for name, value in outputs.items() if value is None]
    if missing:
        yield "the output is null" if len(outputs) == 1 else f"null: {', '.join(missing)}"
    blind = (warning for warning in result["warnings"] if warning["code"] == "R909")
    yield from (f"warning[R909]: {warning['message']}" for warning in blind)
    if row.held:
        words = "no server will start it: " if row.position is None else ""
        yield f"{words}{safe(row.held)}"
    if row.belongs_to:
        yield f"it belongs to {safe(row.belongs_to)}"


def error_lines(error: dict[str, Any] | None) -> Iterator[str]:
    """Yields what failed, where, and the page that says most about it."""
    if not error:
        return
    place = f"  at {safe(error['path'])}" if error.get("path") else ""
    own = (error.get("detail") or {}).get("code") if error["code"] == "R109" else None
    words = f"{own}: {advised(error)}" if own else advised(error)
    yield f"error[{error['code']}]: {carrying(safe(words))}{place}"
    root = root_code(error)
    if root != error["code"]:
        yield f"  it comes from {root}: `whorl help {root}`"


def gate_lines(gate: dict[str, Any]) -> Iterator[str]:
    """Yields the question to a person, and what it is about."""
    place = gate["address"].partition("/:")[0]
    yield f"{safe(place)} asks: {safe(gate['message'])}"
    about = gate["show"]
    parts = about if isinstance(about, dict) and gate["reason"] != "gate" else {"": about}
    for name, value in parts.items():
        if value is not None:
            yield from [f"  {line(name, 60)}:"] if name else []
            yield from indented(indented(cut(value_lines(value), _SHOWN_MAX)))


def pause_words(result: dict[str, Any]) -> str:
    """Returns why a run is paused, in the words of its warning."""
    if result["paused_by"] != "budget":
        return _PAUSED.get(result["paused_by"], "a person paused it")
    words = [w.get("message", "") for w in result["warnings"] if w["code"] == "R103"]
    return safe(str(["its budget is reached", *words][-1]))


def inner_table(rows: Sequence[tuple[str, ...]], *, right: int, shrink: int) -> Iterator[str]:
    """A table below a line: so many columns are set to the right, and one may be cut."""
    return indented(
        formatting.table(rows, right=range(right), width=terminal.room() - 2, shrink=(shrink,))
    )


def usage_words(usage: dict[str, Any]) -> str:
    if not usage["calls"]:
        return ""
    tokens = usage["input_tokens"] + usage["output_tokens"]
    # The cost of calls in doubt is unknown.
    reserved = usage.get("reserved_usd")
    held = f"{formatting.dollars(reserved)} reserved for " if reserved else ""
    doubt = f"{held}{plural(usage['in_doubt'], 'call')} in doubt" if usage["in_doubt"] else ""
    used = f"{formatting.count(tokens)} tok" if tokens else ""
    return ", ".join(filter(None, (calls_made(usage), used, cost_words(usage), doubt)))


def calls_made(usage: dict[str, Any]) -> str:
    """How many calls there were: of models, and of commands, functions and services."""
    calls, of_models = int(usage["calls"]), usage.get("model_calls")
    if not of_models:
        return f"{plural(calls, 'call')}{'' if of_models is None else ' without a model'}"
    words, others = plural(int(of_models), "model call"), calls - int(of_models)
    return f"{words}, {plural(others, 'other call')}" if others else words


def loops_lines(run: str, loops: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yields a line for each loop; of many, how many ended in which way."""
    if len(loops) <= ONE_BY_ONE_MAX:
        yield from map(loop_words, loops)
        return
    counts: dict[str, Counter[str]] = {}
    for loop in loops:
        path = unescape(_ITERATION.sub("", loop["path"]))
        counts.setdefault(path, Counter())[loop["exit_reason"] or ""] += 1
    for path, ends in counts.items():
        yield f"{safe(path)}: {ends_words(ends)}"
    yield carrying(f"`whorl show {run}` lists all {len(loops):,} loops")


def ends_words(reasons: Mapping[str, int]) -> str:
    """Returns how many loops ended for which reason, in few words: `30 met, 20 budget`."""
    ordered = sorted(reasons.items(), key=lambda end: (end[0] != "condition_met", -end[1]))
    return ", ".join(f"{number:,} {_ENDS.get(reason, reason)}" for reason, number in ordered)


def loop_words(loop: dict[str, Any]) -> str:
    iterations = plural(loop["iterations"], "iteration")
    ended = exit_words(loop["exit_reason"], loop["stopped_by"] or "")
    words = f"{iterations} so far" if loop["iterations"] else "not begun"
    words = f"{ended} after {iterations}" if loop["exit_reason"] else words
    if loop["returned_iteration"] is not None:
        words += f", returned iteration {loop['returned_iteration']}"
    if loop["score"] is not None:
        words += f", score {formatting.score(loop['score'])}"
    return f"{safe(loop['path'])}: {words}"


def explored_lines(own: int, explored: int) -> Iterator[str]:
    """Yields which iterations of a loop were explored, after its `own` ones."""
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
    """Yields why a loop stopped: its conditions and their values in each iteration.

    `is_stopped`: a person ended it and chose no iteration.
    """
    node = results.loop_node(workflow, row.path)
    limit = results.limit_now(machine, row)
    number = plural(row.iterations, "iteration")
    if limit is not None and row.iterations <= limit:
        number = f"{row.iterations} of {plural(limit, 'iteration')}"
    if row.exit_reason:
        why = end_words(row, is_stopped=is_stopped)
        if row.exit_reason == "max_iterations" and limit is not None and row.iterations < limit:
            why = "it made the iterations that were added"
        elif iterations and iterations[-1].note.get("met"):
            why = verdict_words(iterations[-1].note, 100, with_reasons=False) or why
        yield f"{safe(row.address)} stopped after {number}: {why}"
        yield f"  exit reason: {exit_words(row.exit_reason, row.stopped_by)}"
    else:
        yield f"{safe(row.address)} has not stopped: {number}"
    if node is not None and node.until is not None:
        yield f"  until: {status_words.condition_words(node.until)}"
    if row.returned_iteration is not None:
        takes = node.returns if node else ""
        why = status_words.returned_words(takes, row, iterations, is_stopped=is_stopped)
        yield f"  returned: iteration {row.returned_iteration}{why and f', {why}'}"
    rows, reasons = [("#", "score", "verdict", "why")], list[str]()
    for iteration in iterations:
        note = iteration.note
        verdict = "met" if note.get("met") else "not met" if note.get("facts") else "no verdict"
        if iteration.status != "succeeded":
            verdict = status_words.ending_words(iteration.status)
        star = "★" if iteration.number == row.best_iteration else ""
        measured = status_words.score_cell(note, iteration.score) + star
        words = verdict_words(note, 400, with_reasons=False)
        rows.append((str(iteration.number), measured, verdict, words))
        for at, text in enumerate(status_words.reason_lines(note)):
            number = str(iteration.number) if at == 0 else ""
            reasons.append(f"    {number:>{len(str(row.iterations))}}  {text}")
    if len(rows) > 1:
        yield from inner_table(rows, right=1, shrink=3)
        yield from explored_lines(row.iterations, row.explored)
        if row.best_iteration is not None:
            yield "  ★ the best one: approved ones come first, then the score counts"
    yield from ["  the judge's reasons:", *reasons] if reasons else []


def steps_in(entries: Iterable[Entry]) -> dict[str, list[Event]]:
    """The events of each step, by its address; turns and tools belong to the step that has them."""
    steps: dict[str, list[Event]] = {}
    for entry in entries:
        address = _TOOL.sub("", _TURN.sub("", entry.event.address))
        steps.setdefault(address, []).append(entry.event)
    return steps


def step_lines(run: RunId, events: Iterable[Event], *, whole: bool) -> Iterator[str]:
    """Yields one attempt at a step: its inputs, the tools that it used, and its output."""
    calls: dict[str, list[Event]] = {}
    for event in events:
        calls.setdefault(event.address, []).append(event)
    for at, (address, own) in enumerate(calls.items()):
        for event in own:
            # What a later turn is given is the answer before it.
            if at == 0 or event.kind != "task.started" or not _TURN.search(address):
                lines = _event_lines(run, event, shown(event), whole=whole)
                yield from indented(lines) if at > 0 and _TOOL.search(address) else lines


def _event_lines(run: RunId, event: Event, body: dict[str, Any], *, whole: bool) -> Iterator[str]:
    match event.kind:
        case "task.started":
            sign = "→ " if _TOOL.search(event.address) else ""
            yield f"{sign}{safe(event.address)}  {line(str(body.get('kind', '')), 40)}"
            if inputs := body.get("inputs"):
                yield from indented(fields_lines(inputs, whole=whole))
        case "task.finished":
            yield from indented(_answer_lines(event, body, whole=whole))
        case "task.failed":
            error = body.get("error") or {}
            yield f"  ✗ [{error.get('code')}] {safe(str(error.get('message')))}"
            kept = {name: (error.get("detail") or {}).get(name) for name in _KEPT}
            found = {name: value for name, value in kept.items() if value}
            yield from indented(fields_lines(found, whole=whole))
        case "task.in_doubt":
            yield "  in doubt: sent before the run was interrupted, and its answer is lost"
        case "gate.waiting":
            yield from gate_lines({"address": event.address, "show": None, "reason": ""} | body)
        case "gate.decided":
            words = status_words.request_words(results.Request(event.kind, event.address, body))
            yield f"  {words}"
        case "warning":
            yield f"  warning[{body.get('code')}]: {carrying(safe(advised(body, run)))}"
        case "timer.fired" if event.address.endswith("/:wait"):
            yield f"  the wait was over at {formatting.clock(event.at)}"
        case "node.skipped":
            yield f"  skipped: {body.get('cause') or 'not needed'}"
        case "node.finished":
            yield f"  finished: {body.get('branch') or body.get('status') or 'succeeded'}"


def _answer_lines(event: Event, body: dict[str, Any], *, whole: bool) -> Iterator[str]:
    calls, tokens, cost = usage_of(body)
    model = line(str(body.get("model", "")), 60)
    about = joined(model, formatting.used(tokens, cost)) if calls or body.get("model") else ""
    turn = safe(event.address) if _TURN.search(event.address) else ""
    wanted = ", ".join(line(str(call.get("name")), 40) for call in body.get("calls") or ())
    head = "←" if _TOOL.search(event.address) else "answer:"
    yield joined(f"wants {wanted}:" if wanted else head, about, turn)
    if body.get("value") or not wanted:
        yield from indented(value_lines(body.get("value"), whole=whole))


def fields_lines(fields: Mapping[str, Json], *, whole: bool) -> Iterator[str]:
    """Yields values as they were, texts below their names."""
    for name, value in fields.items():
        words = None if isinstance(value, str) else one_line(value)
        yield f"{line(name, 40)}: {words or ''}".rstrip()
        if words is None:
            yield from indented(value_lines(value, whole=whole))


def result_lines(value: Json, lines_max: int, *, whole: bool) -> Iterator[str]:
    """Returns a result as at most `lines_max` indented lines, unless the `whole` is wanted."""
    lines = value_lines(value, whole=whole)
    return indented(lines if whole else cut(lines, lines_max))


def is_quiet(entries: Iterable[Entry]) -> bool:
    """Returns whether no task, gate, timer or loop ran at a place, so that its records suffice."""
    kinds = {entry.event.kind.partition(".")[0] for entry in entries}
    return kinds.isdisjoint(("task", "gate", "timer", "iteration", "loop"))


def place_lines(
    records: RunRecords, found: list[Record], address: str, *, whole: bool
) -> Iterator[str]:
    """A place with what it was given and gave, and a line for each step in it."""
    for record in found:
        if record.address != address:
            yield f"  {record_words(record)}"
            continue
        yield record_words(record, short=False)
        if record.kind == "wait" and record.ended_at is not None:
            yield f"  the wait was over at {formatting.clock(record.ended_at)}"
        for title, value in (("inputs", record.inputs), ("output", record.output)):
            if value is not None:
                yield f"  {title}:"
                yield from indented(indented(value_lines(value, whole=whole)))
        if record.error is not None:
            yield from indented(error_lines(record.error))
        if record.kind == "foreach":
            yield from indented(_items(records, record))


def _items(records: RunRecords, each: Record) -> Iterator[str]:
    inside = records.of(each.address, depth=1).records
    items = [record for record in inside if record.kind == "item"]
    yield from map(record_words, items[:_ITEMS_MAX])
    if (more := (each.repetitions or 0) - _ITEMS_MAX) > 0:
        place = f"{records.run}/{each.address}[{_ITEMS_MAX + 1}]"
        yield carrying(f"and {more} more: `whorl show '{place}'`")


def quiet_lines(records: RunRecords, known: Collection[str]) -> Iterator[str]:
    """Yields the steps of a run that left no entries, without those that are `known`."""
    found = [r for r in records.of().records if r.address not in known]
    quiet = [record for record in found if record.kind in _QUIET or record.status == "skipped"]
    yield from map(record_words, quiet[:_STEPS_MAX])
    if len(quiet) > _STEPS_MAX:
        more = len(quiet) - _STEPS_MAX
        yield carrying(f"and {more} more: `whorl show {records.run} --json`")


def record_words(record: Record, *, short: bool = True) -> str:
    """Returns a record on one line; a short one includes the value that it computed."""
    took = (record.ended_at or 0.0) - (record.started_at or 0.0)
    usage = record.usage
    tokens = int(usage.get("input_tokens", 0) + usage.get("output_tokens", 0))
    value = record.output if short and record.kind in ("compute", "assign") else None
    skipped = status_words.skip_words(record.reason, record.because)
    times = {"foreach": "items", "loop": "iterations"}.get(record.kind)
    return joined(
        f"{SIGNS.get(record.status, '·')[0]} {line(record.address, 60)}",
        record.kind,
        seconds(took) if took > 0 else "",
        formatting.used(tokens, usage.get("cost_usd", 0.0)),
        f"{record.repetitions} {times}" if times and record.repetitions else "",
        f"→ {line(record.branch, 40)}" if record.branch else "",
        line(written(value), _VALUE_MAX) if value is not None else "",
        f"skipped: {skipped}" if record.status == "skipped" else "",
    )
