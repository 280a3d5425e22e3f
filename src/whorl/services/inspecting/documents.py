"""The result of a run as a document: its outputs, loops, usage, warnings and error."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from whorl.lazily import regex
from whorl.runtimes.journal.journal import RunId, known_cost

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.runtimes.journal.journal import Journal, LoopRow

_WARNING: Final = frozenset({"warning"})
_OF_WARNINGS: Final = frozenset({"warning", "loop.continued", "run.accepted"})
_WARNINGS_MAX: Final = 1_000
_AT_LIMIT: Final = "R102"
# An iteration, an item or a further attempt in an address.
_REPEATED: Final = regex(r"\[[0-9]+\]|#[0-9]+")
_USAGE: Final = ("calls", "input_tokens", "output_tokens", "cost_usd", "in_doubt")


def document(
    run: str,
    status: str,
    final: Event | None,
    journal: Journal,
    *,
    warnings: list[Json] | None = None,
) -> dict[str, Json]:
    """The result document; `final` is the last `run.finished`. Unknown warnings are looked for."""
    body: dict[str, Any] = final.body if final is not None else {}
    if warnings is None:
        events = (entry.event for entry in journal.read(RunId(run), kinds=_WARNING))
        warned = (event.body | {"path": event.address} for event in events)
        warnings = list(islice(warned, _WARNINGS_MAX))
    return {
        "run": run,
        "status": status,
        "output": body.get("output"),
        "outputs": body.get("outputs") or {},
        "loops": [loop_document(row) for row in journal.loops(RunId(run))],
        "usage": usage_document(body.get("usage")),
        "warnings": warnings,
        "error": body.get("error"),
    }


def loop_document(row: LoopRow) -> dict[str, Json]:
    document: dict[str, Json] = {
        "path": row.address,
        "iterations": row.iterations,
        "exit_reason": row.exit_reason or None,
        "stopped_by": row.stopped_by or None,
        "score": row.score,
        "best_iteration": row.best_iteration,
        "returned_iteration": row.returned_iteration,
        "failed_iterations": list(row.failed_iterations),
        "usage": usage_document(row.usage),
    }
    return document | {"mark": row.mark} if row.mark else document


def usage_document(usage: Any) -> dict[str, Json]:
    """Usage with all its fields, and how many calls had no known price."""
    usage = usage if isinstance(usage, dict) else {}
    document: dict[str, Json] = {name: usage.get(name, 0) for name in _USAGE}
    unpriced = usage.get("unpriced") or usage.get("unpriced_calls")
    if usage.get("cost_usd", 0) is None:
        unpriced = unpriced or usage.get("calls")
    document["cost_usd"] = known_cost(round(float(usage.get("cost_usd") or 0), 9), unpriced)
    if unpriced:
        document["unpriced_calls"] = unpriced
    return document


def warnings_of(journal: Journal, run: RunId) -> list[Json]:
    """What a run warned of and still holds, with its place; of very many, the first.

    That a loop has ended at a limit is no longer so once it goes on, or is accepted.
    """
    warnings: list[dict[str, Json]] = []
    for entry in journal.read(run, kinds=_OF_WARNINGS):
        event = entry.event
        if event.kind == "warning":
            warnings.append(event.body | {"path": event.address})
        else:
            ended = (_AT_LIMIT, event.address or event.body.get("at"))
            warnings = [each for each in warnings if (each.get("code"), each["path"]) != ended]
        if len(warnings) == _WARNINGS_MAX:
            break
    return [*warnings]


def count_warnings(result: dict[str, Any]) -> None:
    """A run warns of a limit once for each loop of its file: says for how many loops it holds."""
    ends = Counter((_in_file(loop["path"]), loop["exit_reason"]) for loop in result["loops"])
    for warning in result["warnings"]:
        facts = warning.get("facts") or {}
        if warning["code"] == _AT_LIMIT and "reason" in facts:
            count = ends[_in_file(warning["path"]), facts["reason"]]
            warning.update({"loops": count} if count > 1 else {})


def _in_file(address: str) -> str:
    return _REPEATED.sub("", address)
