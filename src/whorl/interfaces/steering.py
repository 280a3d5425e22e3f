"""What a person asks of a run, made ready: which gate, which loop, which iteration is meant."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from whorl.errors import UsageError, did_you_mean
from whorl.interfaces.figures import plural
from whorl.interfaces.history import iteration_results, loop_node
from whorl.interfaces.results import open_gates, requests_of
from whorl.interfaces.wording import status_words, with_run
from whorl.interpreter.events import Event, split_iteration
from whorl.interpreter.requests import Refused, chosen_loop, to_continue
from whorl.runtimes.folding import fold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.interfaces.results import Gate
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.runtimes.forking import Fork
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore


def asked(kind: str, body: dict[str, Json] | None = None, address: str = "") -> Event:
    """A request, made now; its name tells it from others, so that it is carried out once."""
    return Event(kind, address, time.time(), {"request": uuid4().hex, **(body or {})})


def paused(store: SqliteStore, run: RunId) -> Event:
    """A pause, of a run of which something is under way."""
    if store.run(run).status == "interrupted":
        raise UsageError(f"run {run} is interrupted: nothing of it is under way")
    return asked("run.paused", {"by": "person"})


def decided(
    store: SqliteStore, run: RunId, at: str, *, approved: bool, feedback: str, by: str = "person"
) -> Event:
    """An answer to what a run asks at an address, or to the only thing that it asks."""
    body: dict[str, Json] = {"approved": approved, "by": by}
    if feedback:
        body["feedback"] = feedback
    return asked("gate.decided", body, _chosen_gate(store, run, at).address)


@dataclass(frozen=True, slots=True)
class More:
    """What is added to the budgets of a run or of a loop."""

    cost_usd: float | None = None
    tokens: int | None = None
    calls: int | None = None

    def amounts(self) -> dict[str, Json]:
        """What is given, by name."""
        given: dict[str, Json] = {
            "cost_usd": self.cost_usd,
            "tokens": self.tokens,
            "calls": self.calls,
        }
        return {name: amount for name, amount in given.items() if amount is not None}


def continued(
    store: SqliteStore, run: RunId, at: str, *, iterations: int | None, more: More
) -> Event:
    """More iterations for a loop, or more money: without a place, for all that lacked it."""
    body = more.amounts()
    if at or iterations is not None:
        body["at"] = loop_at(store, run, at, at_limit=True)
    elif not store.loops(run):
        raise _no_loop(store, run, "", [])
    if iterations is not None:
        body["iterations"] = iterations
    return asked("run.continued", body)


def resumed(more: More | None = None) -> Event:
    """Going on, with failed work tried again."""
    return asked("run.resumed", more.amounts() if more else {})


def what_continues(store: SqliteStore, run: RunId, body: dict[str, Json]) -> list[str]:
    """What will happen when a run is continued so, a line for each loop that had ended."""
    machine = fold(store, run).machine
    try:
        keys = to_continue(machine, body)
    except Refused:
        return []
    rows = {row.address: row for row in store.loops(run)}
    met, lines = "condition_met", []
    for key in keys:
        frame = machine.loop_frames[key]
        row = rows.get(frame["address"])
        if row is None or "ended" not in frame:
            continue
        count, more = plural(row.iterations, "iteration"), body.get("iterations")
        words = f"{row.address!r} goes on after {count}"
        if row.exit_reason == "budget" and "suspended" in frame:
            words = f"{row.address!r} goes on in iteration {row.iterations}, where it was stopped"
        limit = f" for at most {plural(int(str(more)), 'more iteration')}" if more else ""
        again = (
            "; its condition was met, so it stops when it is met again"
            if (row.exit_reason == met)
            else ""
        )
        lines.append(f"{words}{limit}{again}")
    return lines


def cancelled(feedback: str = "") -> Event:
    """The end of a run."""
    return asked("run.cancelled", {"feedback": feedback} if feedback else {})


@contextmanager
def fitting(run: str = "") -> Iterator[None]:
    """Gives the objections of a run to a request the code that says so, and its commands."""
    try:
        yield
    except UsageError as fault:
        if fault.code != "W900":
            raise
        words = str(fault)
        if run:
            words = with_run(words, run)
        raise UsageError(words, help=fault.help, code="W905") from fault


def loop_at(store: SqliteStore, run: RunId, at: str, *, at_limit: bool = False) -> str:
    """The address of the loop that is meant; without `at`, the only one that it can be."""
    machine = fold(store, run).machine
    wanted = split_iteration(at)[0]
    open_ones = [str(f["address"]) for f in machine.frames.values() if f["kind"] == "loop"]
    if not open_ones or (wanted and wanted not in open_ones):
        raise _no_loop(store, run, wanted, open_ones)
    try:
        return chosen_loop(machine, wanted, at_limit=at_limit)
    except Refused as refusal:
        raise UsageError(str(refusal), code="W903") from refusal


def _no_loop(store: SqliteStore, run: RunId, wanted: str, open_ones: list[str]) -> UsageError:
    """The error for a loop that is not there, or not open to what is asked."""
    if not store.loops(run):
        advice = f"`whorl resume {run}` goes on with it; --budget +AMOUNT raises its budget"
        if store.run(run).status in ("succeeded", "failed", "cancelled"):
            advice = f"`whorl show {run}` shows its steps"
        return UsageError(f"run {run} has no loop", help=advice, code="W907")
    known = ", ".join(open_ones) or "none"
    words = f"run {run} has no loop {wanted!r} that is open to this"
    hint = did_you_mean(wanted, open_ones) or f"there are: {known}"
    return UsageError(words if wanted else f"run {run} has no loop", help=hint, code="W907")


def is_accepted(store: SqliteStore, run: RunId, loop: str, number: int) -> bool:
    """Whether the loop has ended with this iteration because a person said so."""
    for frame in fold(store, run).machine.frames.values():
        if frame["kind"] == "loop" and frame["address"] == loop:
            return bool(frame.get("accepted_number") == number)
    return False


def chosen(store: SqliteStore, run: RunId, at: str, number: int) -> Event:
    """The same as `accepted`, for the loop that is meant, and once."""
    loop = loop_at(store, run, at)
    if is_accepted(store, run, loop, number):
        raise UsageError(f"iteration {number} of {loop!r} is accepted already")
    return accepted(store, run, loop, number)


def accepted(store: SqliteStore, run: RunId, loop: str, number: int) -> Event:
    """The end of a loop with the result of one of its iterations."""
    found = iteration_results(store, run, loop, (number,)).get(number)
    if found is None:
        rows = store.newest_iterations(run, loop, 20)
        done = {row.number for row in rows if row.status == "succeeded"}
        known = ", ".join(map(str, sorted(done))) or "none"
        words = f"{loop!r} has no iteration {number} with a result; it has {known}"
        raise UsageError(words, code="W907")
    return asked("run.accepted", {"at": loop, "iteration": number, **found})


def check_fork(store: SqliteStore, source: RunId, workflow: Workflow, fork: Fork) -> None:
    """Refuses an iteration that is not there, and a value that nobody would ever read."""
    loop = _check_iteration(store, source, fork.at)
    path = next((row.path for row in store.loops(source) if row.address == loop), loop)
    node = loop_node(workflow, path)
    carried = [carry.name for carry in node.carry] if node is not None else []
    known = [*carried, *(port.name for port in workflow.inputs)]
    known += [name for name, _ in workflow.variables]
    for name in fork.values:
        if name not in known and not workflow.open_inputs:
            raise UsageError(
                f"{name!r} is to be set, which is no input, variable or carried value",
                help=did_you_mean(name, known) or f"there are: {', '.join(known) or 'none'}",
            )


def _check_iteration(store: SqliteStore, run: RunId, at: str) -> str:
    """The loop of an iteration that has begun."""
    loop, number = split_iteration(at)
    rows = {row.address: row for row in store.loops(run)}
    if loop not in rows:
        known = ", ".join(rows) or "none"
        hint = did_you_mean(loop, rows) or f"loops: {known}"
        raise UsageError(f"run {run} has no loop {loop!r}", help=hint, code="W907")
    begun = rows[loop].iterations
    if number is None:
        words = f"say which iteration to redo, from '{loop}[1]' to '{loop}[{begun}]'"
        raise UsageError(words, code="W903")
    if not 1 <= number <= begun:
        words = f"{loop!r} has no iteration {number}; it has begun {plural(begun, 'iteration')}"
        raise UsageError(words, help=f"`whorl show {run}` lists them", code="W907")
    return loop


def _chosen_gate(store: SqliteStore, run: RunId, at: str) -> Gate:
    gates = open_gates(store, run)
    places = ", ".join(gate.place for gate in gates)
    if at:
        found = [gate for gate in gates if at in (gate.address, gate.place)]
        if found:
            return found[0]
    elif len(gates) == 1:
        return gates[0]
    elif gates:
        raise UsageError(f"several decisions are open: {places}", help="say which with --at",
                         code="W903")  # fmt: skip
    known = _decided_last(store, run, at)
    if known and gates:
        raise UsageError(known, help=f"open now: {places}", code="W905")
    if known:
        raise UsageError(
            f"run {run} asks nothing any more: {known}", help=f"`whorl show {run}`", code="W905"
        )
    if gates:
        hint = did_you_mean(at, [gate.place for gate in gates])
        raise UsageError(f"nothing is asked at {at!r}; open: {places}", help=hint, code="W907")
    raise UsageError(
        f"run {run} asks nothing; it {status_words(store.run(run).status)}",
        help=f"`whorl status {run}`",
        code="W905",
    )


def _decided_last(store: SqliteStore, run: RunId, at: str) -> str:
    """The newest answer to what is asked at a place, or anywhere."""
    answers = [one for one in requests_of(store, run) if one.kind == "gate.decided"]
    same = [one for one in answers if at.partition("/:")[0] in ("", one.place)]
    if not same:
        return ""
    verb = "approved" if same[-1].body.get("approved") else "rejected"
    return f"{same[-1].place!r} was {verb} already"
