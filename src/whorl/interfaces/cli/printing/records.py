"""Records of steps on a terminal: those that compute, branch, hold others or did not run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.interfaces import status_words
from whorl.interfaces.cli.paste_options import carrying
from whorl.interfaces.cli.printing import summary
from whorl.interfaces.cli.printing.calls import clock, result_lines
from whorl.interfaces.cli.terminal import SIGNS, indented
from whorl.interfaces.formatting import joined, line, seconds, used, written

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from whorl.runtimes.journal.journal import Entry
    from whorl.services.records import Record, RunRecords


# Steps of these kinds leave no entries that say what became of them.
_QUIET = frozenset(
    ("compute", "assign", "branch", "group", "foreach", "call", "stop", "break", "continue")
)
_ITEMS_MAX = 50
_STEPS_MAX = 40
_VALUE_MAX = 60


def is_quiet(entries: Iterable[Entry]) -> bool:
    """Whether nothing was asked for, awaited or repeated at a place: its records say all of it."""
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
            yield f"  the wait was over at {clock(record.ended_at)}"
        for title, value in (("inputs", record.inputs), ("output", record.output)):
            if value is not None:
                yield f"  {title}:"
                yield from indented(result_lines(value, whole=whole))
        if record.error is not None:
            yield from indented(summary.error_lines(record.error))
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
    """The steps of a run that left no entries; those that are `known` are told already."""
    found = [r for r in records.of().records if r.address not in known]
    quiet = [record for record in found if record.kind in _QUIET or record.status == "skipped"]
    yield from map(record_words, quiet[:_STEPS_MAX])
    if len(quiet) > _STEPS_MAX:
        more = len(quiet) - _STEPS_MAX
        yield carrying(f"and {more} more: `whorl show {records.run} --json`")


def record_words(record: Record, *, short: bool = True) -> str:
    """A record on one line; a short one has the value of what it computed."""
    took = (record.ended_at or 0.0) - (record.started_at or 0.0)
    usage = record.usage
    tokens = int(usage.get("input_tokens", 0) + usage.get("output_tokens", 0))
    value = record.output if short and record.kind in ("compute", "assign") else None
    skipped = ""
    if record.status == "skipped":
        skipped = f"skipped: {status_words.skip_words(record.reason, record.because)}"
    times = {"foreach": "items", "loop": "iterations"}.get(record.kind)
    return joined(
        f"{SIGNS.get(record.status, '·')[0]} {line(record.address, 60)}",
        record.kind,
        seconds(took) if took > 0 else "",
        used(tokens, usage.get("cost_usd", 0.0)),
        f"{record.repetitions} {times}" if times and record.repetitions else "",
        f"→ {line(record.branch, 40)}" if record.branch else "",
        line(written(value), _VALUE_MAX) if value is not None else "",
        skipped,
    )
