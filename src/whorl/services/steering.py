"""What a person asks of a run, made ready: which place is meant, what it needs to go on."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from whorl.errors import UsageError, did_you_mean, plural
from whorl.interpreter.constructs.loops.exploring import went_past
from whorl.interpreter.events import Event, split_iteration
from whorl.interpreter.requests import (
    Refused,
    check_continued,
    chosen_loop,
    objection,
    to_continue,
)
from whorl.lazily import dataclass
from whorl.providers.settings import line_below, with_entry
from whorl.runtimes.journal.folding import check_key, fold
from whorl.services.configuration.trust import ENDING
from whorl.services.files.preflight import check_performable, unknown_names
from whorl.services.inspecting import results
from whorl.services.inspecting.places import loops_meant, some
from whorl.services.inspecting.results import workflow_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.language import Json
    from whorl.providers.registry import Providers
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.inspecting.results import Gate


def asked(kind: str, body: dict[str, Json] | None = None, address: str = "") -> Event:
    """A request, made now; its name tells it from others, so that it is carried out once."""
    return Event(kind, address, time.time(), {"request": uuid4().hex, **(body or {})})


def paused(store: SqliteStore, run: RunId) -> Event:
    if store.run(run).status == "interrupted":
        raise UsageError(f"run {run} is interrupted: nothing of it is under way")
    return asked("run.paused", {"by": "person"})


def decided(
    store: SqliteStore,
    run: RunId,
    at: str,
    *,
    approved: bool,
    feedback: str,
    by: str = "person",
    edits: Edits | None = None,
) -> Event:
    body: dict[str, Json] = {"approved": approved, "by": by}
    if feedback:
        body["feedback"] = feedback
    gate = _chosen_gate(store, run, at)
    if edits is not None:
        body["value"] = _checked_edits(gate, edits.value)
    return asked("gate.decided", body, gate.address)


@dataclass(frozen=True, slots=True)
class Edits:
    """What a person made of the value that a question shows; of a loop, results by their names."""

    value: Json


def _checked_edits(gate: Gate, value: Json) -> Json:
    if gate.show is None or gate.reason not in ("gate", "iteration", "limit"):
        raise UsageError(f"what is asked at {gate.place!r} shows nothing that can be edited")
    if gate.reason == "gate":
        return value
    known = list(gate.show) if isinstance(gate.show, dict) else []
    if not isinstance(value, dict) or not value:
        example = json.dumps({known[0] if known else "NAME": "..."})
        words = f"the results of {gate.place!r} are edited by their names"
        raise UsageError(words, help=f"such as {example}", code="W903")
    for name in value:
        if name not in known:
            hint = did_you_mean(name, known) or f"there are: {some(known)}"
            raise UsageError(f"{gate.place!r} has no result {name!r}", help=hint, code="W907")
    return value


def called(store: SqliteStore, run: RunId, at: str, value: Json) -> Event:
    """The call that a task of a run waits for, with what was sent."""
    gate = _chosen_gate(store, run, at)
    if gate.reason != "call":
        raise UsageError(f"{at[:80]!r} of run {run} does not wait for a call")
    return asked("gate.decided", {"approved": True, "by": "call", "value": value}, gate.address)


@dataclass(frozen=True, slots=True)
class More:
    """What is added to the budgets of a run or of a loop."""

    cost_usd: float | None = None
    tokens: int | None = None
    calls: int | None = None

    def amounts(self) -> dict[str, Json]:
        return {name: amount for name, amount in asdict(self).items() if amount is not None}


def continued(
    store: SqliteStore, run: RunId, at: str, *, iterations: int | None, more: More
) -> Event:
    if store.run(run).status != "running":
        # Nobody else drives it, who may have the key.
        check_key(store, run)
    body = more.amounts()
    if body:
        body["around"] = True
    if at or iterations is not None:
        body["at"] = loop_at(store, run, at, at_limit=True)
    elif not store.loops(run):
        raise _no_loop(store, run, "", [])
    if iterations is not None:
        body["iterations"] = iterations
    return asked("run.continued", body)


def resumed(more: More | None = None) -> Event:
    return asked("run.resumed", more.amounts() if more else {})


def what_continues(store: SqliteStore, run: RunId, body: dict[str, Json]) -> list[str] | None:
    """What will happen when a run is continued so, a line for each loop that had ended.

    None where that will be refused.
    """
    machine = fold(store, run).machine
    try:
        keys = to_continue(machine, body)
        check_continued(machine, body)
    except Refused:
        return None
    rows = {row.address: row for row in store.loops(run)}
    lines = []
    for key in keys:
        frame = machine.loop_frames[key]
        row = rows.get(frame["address"])
        if row is None or "ended" not in frame:
            continue
        more = body.get("iterations")
        words = f"{row.address!r} goes on after {_iterations(row.iterations)}"
        if row.exit_reason == "budget" and "suspended" in frame:
            words = f"{row.address!r} goes on in iteration {row.iterations}, where it was stopped"
        limit = f" for at most {_iterations(int(str(more)), 'more ')}" if more else ""
        is_met = row.exit_reason == "condition_met"
        again = "; its condition was met, so it stops when it is met again" if is_met else ""
        lines.append(f"{words}{limit}{again}")
    return lines


def cancelled(feedback: str = "") -> Event:
    return asked("run.cancelled", {"feedback": feedback} if feedback else {})


def loop_at(store: SqliteStore, run: RunId, at: str, *, at_limit: bool = False) -> str:
    """The address of the loop that is meant; without `at`, the only one that it can be."""
    machine = fold(store, run).machine
    open_ones = [str(f["address"]) for f in machine.frames.values() if f["kind"] == "loop"]
    meant = loops_meant(at, open_ones) if at else []
    if not open_ones or (at and not meant):
        raise _no_loop(store, run, split_iteration(at)[0], open_ones)
    if len(meant) > 1:
        words = f"{at!r} holds several loops: {some(meant)}"
        raise UsageError(words, help="say which with --at", code="W903")
    wanted = meant[0] if meant else ""
    try:
        return chosen_loop(machine, wanted, at_limit=at_limit)
    except Refused as refusal:
        raise UsageError(str(refusal), help="say which with --at", code="W903") from refusal


def _no_loop(store: SqliteStore, run: RunId, wanted: str, open_ones: list[str]) -> UsageError:
    """The error for a loop that is not there, or not open to what is asked."""
    words = f"run {run} has no loop"
    if store.loops(run):
        hint = did_you_mean(wanted, open_ones) or f"there are: {', '.join(open_ones) or 'none'}"
        words += f" {wanted!r} that is open to this" if wanted else ""
        return UsageError(words, help=hint, code="W907")
    advice = f"`whorl resume {run}` goes on with it; --budget +AMOUNT raises its budget"
    if store.run(run).status in ("succeeded", "failed", "cancelled"):
        advice = f"`whorl show {run}` shows its steps"
    return UsageError(words, help=advice, code="W907")


def is_accepted(store: SqliteStore, run: RunId, loop: str, number: int) -> bool:
    """Whether the loop has ended with this iteration because a person said so."""
    frame = results.loop_frame(fold(store, run).machine, loop)
    return bool(frame.get("accepted_number") == number)


def chosen(store: SqliteStore, run: RunId, at: str, number: int) -> Event:
    """The same as `accepted`, for the loop that is meant, and once."""
    loop = loop_at(store, run, at)
    if is_accepted(store, run, loop, number):
        raise UsageError(f"iteration {number} of {loop!r} is accepted already")
    return accepted(store, run, loop, number)


def accepted(store: SqliteStore, run: RunId, loop: str, number: int) -> Event:
    from whorl.services.inspecting.iterations import iteration_results

    result = iteration_results(store, run, loop, (number,), to_drive=True).get(number)
    if result is None:
        rows = store.newest_iterations(run, loop, 20)
        done = sorted({row.number for row in rows if row.status == "succeeded"})
        numbers = ", ".join(map(str, done)) or "none"
        words = f"{loop!r} has no iteration {number} with a result; it has {numbers}"
        raise UsageError(words, code="W907")
    body = {"at": loop, "iteration": number, **result}
    frame: Any = results.loop_frame(fold(store, run).machine, loop)
    if went_past(frame):
        body["explored"] = True
    return asked("run.accepted", body)


def stopped(store: SqliteStore, run: RunId, at: str) -> Event:
    """No iteration of the loop that is meant begins after the one that is under way."""
    return asked("run.accepted", {"at": loop_at(store, run, at)})


def _iterations(count: int, more: str = "") -> str:
    return plural(count, f"{more}iteration")


def _chosen_gate(store: SqliteStore, run: RunId, at: str) -> Gate:
    gates = results.open_gates(store, run)
    places = ", ".join(gate.place for gate in gates)
    same = [gate for gate in gates if not at or at in (gate.address, gate.place)]
    if len(same) > 1 and not at:
        words = f"several decisions are open: {places}"
        raise UsageError(words, help="say which with --at", code="W903")
    if same:
        return same[0]
    before = _decided_last(store, run, at)
    if gates and before:
        raise UsageError(before, help=f"open now: {places}", code="W905")
    if gates:
        hint = did_you_mean(at, [gate.place for gate in gates])
        raise UsageError(f"no question is open at {at!r}; open: {places}", help=hint, code="W907")
    words, advice = f"run {run} has no open question any more: {before}", f"`whorl show {run}`"
    if not before:
        words = f"run {run} has no open question; it {results.status_words(store.run(run).status)}"
        advice = f"`whorl status {run}`"
    raise UsageError(words, help=advice, code="W905")


def _decided_last(store: SqliteStore, run: RunId, at: str) -> str:
    """The newest answer to what is asked at a place, or anywhere."""
    for request in reversed(results.requests_of(store, run)):
        if request.kind == "gate.decided" and at.partition("/:")[0] in ("", request.place):
            verb = "approved" if request.body.get("approved") else "rejected"
            return f"{request.place!r} was {verb} already"
    return ""


# What runs need to go on that may not be here: functions, models, permissions.

# The program that defined the workflow was no module, but what was started.
_MAIN = "__main__"


def program_of(store: SqliteStore, run: RunId) -> str:
    """The program of a run, as `module:name`; nothing where it was read from a file."""
    place = PurePath(store.run(run).file).name
    return place if ":" in place else ""


def is_lacking(store: SqliteStore, providers: Providers, run: RunId) -> bool:
    """Whether functions of a run are not here."""
    missing = unknown_names(workflow_of(store, run), providers)
    return any(unknown.code == "P114" for unknown in missing)


def check_drivable(
    store: SqliteStore, providers: Providers, run: RunId, requests: Sequence[Event] = ()
) -> None:
    """Refuses to go on with a run that needs what is missing here: it would fail for that.

    It can still be paused and cancelled. On a cluster others drive it.
    """
    is_ending = bool(requests) and all(event.kind in ENDING for event in requests)
    if providers.settings.runtime.kind != "local" or is_ending:
        return
    try:
        check_performable(workflow_of(store, run), providers)
    except UsageError:
        from whorl.runtimes.runtime import raise_objection

        # What the run itself has against it comes first: nothing that is given here would help.
        for event in requests:
            raise_objection(objection(fold(store, run).machine, event))
        raise


def check_functions(store: SqliteStore, providers: Providers, run: RunId) -> None:
    """Refuses to go on with a run whose functions a command may not import; says what to do."""
    place = program_of(store, run)
    if not place or not is_lacking(store, providers, run):
        return
    module = place.partition(":")[0]
    resume = f"whorl.resume('{run}')"
    if module == _MAIN:
        advice = f"in the program that defines it, call `asyncio.run({resume})`"
    else:
        advice = f'`python -c "import asyncio, {module}, whorl; asyncio.run({resume})"` goes on '
        line = f"python = {with_entry(providers.settings.programs, place)}"
        advice += f"with it; so does this command, with {line_below('workflows', line)}, after "
        advice += "`whorl trust`"
    words = f"run {run} needs the functions of {place!r}, which commands have no permission to "
    raise UsageError(f"{words}import", help=advice, code="P114")
