"""What a person asks of a run, made ready: which gate, which loop, which iteration is meant."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from whorl.errors import UsageError, did_you_mean
from whorl.interpreter.constructs.loop_limits import to_go_on
from whorl.interpreter.events import Event, split_iteration
from whorl.interpreter.requests import Refused, chosen_loop, open_to_money, to_continue, to_raise
from whorl.runtimes.folding import Fork, fold, fork_run
from whorl.services import results
from whorl.services.preflight import check_allowed

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.registry import Providers
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.results import Gate


def asked(kind: str, body: dict[str, Json] | None = None, address: str = "") -> Event:
    """A request, made now; its name tells it from others, so that it is carried out once."""
    return Event(kind, address, time.time(), {"request": uuid4().hex, **(body or {})})


def paused(store: SqliteStore, run: RunId) -> Event:
    if store.run(run).status == "interrupted":
        raise UsageError(f"run {run} is interrupted: nothing of it is under way")
    return asked("run.paused", {"by": "person"})


def decided(
    store: SqliteStore, run: RunId, at: str, *, approved: bool, feedback: str, by: str = "person"
) -> Event:
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
        return {name: amount for name, amount in asdict(self).items() if amount is not None}


def continued(
    store: SqliteStore, run: RunId, at: str, *, iterations: int | None, more: More
) -> Event:
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


def amounts_to_go_on(store: SqliteStore, run: RunId, at: str = "") -> dict[str, float]:
    """How much more a loop needs as the run stands, or every loop that lacks money."""
    machine = fold(store, run).machine
    keys = [key for key, frame in machine.frames.items() if frame["address"] == at]
    more: dict[str, float] = {}
    for key in keys if at else open_to_money(machine):
        if machine.frames[key]["kind"] == "loop":
            lacks = to_go_on(machine, key)
            more |= {name: max(amount, more.get(name, 0.0)) for name, amount in lacks.items()}
    return more


def what_is_raised(store: SqliteStore, run: RunId, body: dict[str, Json]) -> list[str]:
    """The loops whose budgets a request to continue raises, and the run (an empty name)."""
    machine = fold(store, run).machine
    raised = to_raise(machine, to_continue(machine, body), body)
    places: dict[str, None] = {}
    for (key, name), scope in raised.items():
        if body.get(name) and name in scope["limits"]:
            places["" if key == "run" else machine.frames[key]["address"]] = None
    return sorted(places, key=lambda place: (not place, place))


def what_continues(store: SqliteStore, run: RunId, body: dict[str, Json]) -> list[str] | None:
    """What will happen when a run is continued so, a line for each loop that had ended.

    None where that will be refused.
    """
    machine = fold(store, run).machine
    try:
        keys = to_continue(machine, body)
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
    wanted = split_iteration(at)[0]
    open_ones = [str(f["address"]) for f in machine.frames.values() if f["kind"] == "loop"]
    if not open_ones or (wanted and wanted not in open_ones):
        raise _no_loop(store, run, wanted, open_ones)
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
    result = results.iteration_results(store, run, loop, (number,), to_drive=True).get(number)
    if result is None:
        rows = store.newest_iterations(run, loop, 20)
        done = sorted({row.number for row in rows if row.status == "succeeded"})
        numbers = ", ".join(map(str, done)) or "none"
        words = f"{loop!r} has no iteration {number} with a result; it has {numbers}"
        raise UsageError(words, code="W907")
    return asked("run.accepted", {"at": loop, "iteration": number, **result})


async def new_fork(
    store: SqliteStore, providers: Providers, source: RunId, fork: Fork
) -> tuple[RunId, bool]:
    """Makes a run that redoes an iteration of another one; whoever asks for it drives it.

    False: a run with the fork's key exists already.
    """
    from whorl.runtimes.local import new_run_id

    await asyncio.to_thread(_check_fork, store, providers, source, fork)
    now = time.time()
    return await fork_run(store, source, fork, run=new_run_id(now), now=now)


def _check_fork(store: SqliteStore, providers: Providers, source: RunId, fork: Fork) -> None:
    workflow = fork.workflow or results.workflow_of(store, source)
    loop = _check_iteration(store, source, fork.at)
    path = next((row.path for row in store.loops(source) if row.address == loop), loop)
    node = results.loop_node(workflow, path)
    carried = [carry.name for carry in node.carry] if node is not None else []
    names = [*carried, *(port.name for port in workflow.inputs)]
    names += [name for name, _ in workflow.variables]
    for name in fork.values:
        if name not in names and not workflow.open_inputs:
            raise UsageError(
                f"{name!r} is to be set, which is no input, variable or carried value",
                help=did_you_mean(name, names) or f"there are: {', '.join(names) or 'none'}",
            )
    check_allowed(workflow, providers)


def _check_iteration(store: SqliteStore, run: RunId, at: str) -> str:
    loop, number = split_iteration(at)
    rows = {row.address: row for row in store.loops(run)}
    if loop not in rows:
        hint = did_you_mean(loop, rows) or f"loops: {', '.join(rows) or 'none'}"
        raise UsageError(f"run {run} has no loop {loop!r}", help=hint, code="W907")
    begun = rows[loop].iterations
    if number is None:
        words = f"say which iteration to redo, from '{loop}[1]' to '{loop}[{begun}]'"
        raise UsageError(words, code="W903")
    if not 1 <= number <= begun:
        words = f"{loop!r} has no iteration {number}; it has begun {_iterations(begun)}"
        raise UsageError(words, help=f"`whorl show {run}` lists them", code="W907")
    return loop


def _iterations(count: int, more: str = "") -> str:
    return f"{count:,} {more}iteration{'' if count == 1 else 's'}"


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
        raise UsageError(f"nothing is asked at {at!r}; open: {places}", help=hint, code="W907")
    words, advice = f"run {run} asks nothing any more: {before}", f"`whorl show {run}`"
    if not before:
        words = f"run {run} asks nothing; it {results.status_words(store.run(run).status)}"
        advice = f"`whorl status {run}`"
    raise UsageError(words, help=advice, code="W905")


def _decided_last(store: SqliteStore, run: RunId, at: str) -> str:
    """The newest answer to what is asked at a place, or anywhere."""
    for request in reversed(results.requests_of(store, run)):
        if request.kind == "gate.decided" and at.partition("/:")[0] in ("", request.place):
            verb = "approved" if request.body.get("approved") else "rejected"
            return f"{request.place!r} was {verb} already"
    return ""
