"""What people ask of a run: start, pause, resume, cancel, continue, accept, fork; each once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter import block, loop, loop_limit, loop_shelf, run
from whorl.interpreter.address import split_iteration
from whorl.interpreter.continuing import (
    Refused,
    check,
    check_reopenable,
    continued,
    ended_for_budget,
    flags,
    is_reopenable,
    loop_at,
    open_around,
    raise_limits,
    reopen,
    set_going,
    short_loop,
    to_continue,
)
from whorl.interpreter.frames import discard
from whorl.interpreter.loop_record import loop_of, stop_clock
from whorl.interpreter.loop_result import end_loop
from whorl.interpreter.outcomes import error, failed

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.state import State

_NOTHING_TO_RETRY = "nothing in this run can be tried again; start a new one"
# How many requests a run remembers, and how much of the name of each.
REQUESTS_KEPT = 100
REQUEST_LENGTH = 64


def receive(machine: State, event: Event) -> None:
    """Carries out a request; one that makes no sense (any more) is noted and changes nothing.

    One that came before, by the name in its `request`, changes nothing either.
    """
    try:
        if not is_repeated(machine, event):
            _RECEIVERS[event.kind](machine, event.body)
            return
    except Refused as refusal:
        machine.warn("", "W900", str(refusal))
    # Who reads the journal must not take the request for its effect.
    if machine.done:
        machine.note("run.finished", "", dict(machine.state["result"] or {}))
    elif machine.status == "paused":
        machine.note("run.waiting", "", {"status": "paused"})


def is_repeated(machine: State, event: Event) -> bool:
    """Whether a request came before; from now on it has come, and the oldest are forgotten."""
    name = _request_of(event)
    if not name:
        return False
    seen: list[str] = machine.state.setdefault("requests", [])
    if name in seen:
        return True
    seen.append(name)
    del seen[:-REQUESTS_KEPT]
    return False


def is_known(machine: State, event: Event) -> bool:
    """Whether a request came before."""
    return _request_of(event) in machine.state.get("requests", ())


def _request_of(event: Event) -> str:
    name = event.body.get("request")
    return name[:REQUEST_LENGTH] if isinstance(name, str) else ""


def objection(machine: State, event: Event) -> str | None:
    """Why a request could not be carried out now, without carrying it out."""
    if is_known(machine, event):
        return "this request has been carried out already"
    try:
        match event.kind:
            case "run.continued":
                to_continue(machine, event.body)
            case "run.accepted":
                check_reopenable(machine, loop_at(machine, event.body.get("at")))
            case "run.paused":
                check(machine.status in ("running", "waiting"), f"the run is {machine.status}")
            case "run.cancelled":
                check(not machine.done, f"the run has ended already: {machine.status}")
            case "run.resumed":
                _may_resume(machine, event.body)
    except Refused as refusal:
        return str(refusal)
    return None


def _began(machine: State) -> bool:
    """Whether the workflow itself has begun, so that there is something to try again."""
    return bool(machine.frames[machine.state["root"]].get("body"))


def chosen_loop(machine: State, at: str = "", *, at_limit: bool = False) -> str:
    """The address of the loop that a request means; raises Refused where that is not clear."""
    return str(machine.frames[loop_at(machine, at, at_limit=at_limit)]["address"])


def _started(machine: State, body: dict[str, Any]) -> None:
    state = machine.state
    check(state["status"] == "new", "the run has been started already")
    limits = machine.plan.workflow.limits
    own = {"cost_usd": limits.cost_usd, "tokens": limits.tokens, "calls": limits.calls}
    state["limits"] = {name: value for name, value in own.items() if value is not None}
    state["limits"] |= body.get("limits") or {}
    state |= {
        "status": "running",
        "run": body.get("run", ""),
        "seed": body.get("seed", ""),
        "iterations": body.get("iterations"),
        "memory": body.get("memory") or {},
    }
    key = machine.new_frame("run", parent=None, scope="", address="", input=body.get("input") or {})
    state["root"] = key
    refusal = body.get("refused")
    if refusal:
        run.end_now(machine, failed(error(refusal["code"], refusal["message"], refusal["path"])))
        return
    run.arm(machine)
    machine.enter(key)


def _paused(machine: State, body: dict[str, Any]) -> None:
    check(machine.status in ("running", "waiting"), f"the run is {machine.status}, not running")
    machine.state["status"] = "paused"
    machine.state["paused_by"] = body.get("by") or "person"


def _resumed(machine: State, body: dict[str, Any]) -> None:
    state = machine.state
    _may_resume(machine, body)
    if state["status"] == "failed":
        check(_began(machine), _NOTHING_TO_RETRY)
        raise_limits([state], body)
        set_going(machine)
        machine.revive(state["root"])
    else:
        raise_limits([state], body)
        set_going(machine)


def _cancelled(machine: State, body: dict[str, Any]) -> None:
    check(not machine.done, f"the run has ended already: {machine.status}")
    words = "cancelled" + (f": {body['feedback']}" if body.get("feedback") else "")
    run.end_now(machine, failed(error("R107", words, ""), status="cancelled"))


def _may_resume(machine: State, body: dict[str, Any]) -> None:
    status = machine.status
    if status in ("succeeded", "cancelled"):
        words = f"the run has ended already: {status}"
        if any(is_reopenable(machine, key) for key in ended_for_budget(machine)):
            more = flags(body) or "--budget +1"
            words += f"; loops that stopped for their budget go on with `whorl continue RUN {more}`"
        check(False, words)
    check(status != "failed" or _began(machine), _NOTHING_TO_RETRY)
    short = short_loop(machine)
    if status == "paused" and short and flags(body):
        words = f"the budget of loop {short!r} is too small, not that of the run; it goes on with "
        check(False, f"{words}`whorl continue RUN --at '{short}' {flags(body)}`")


def _accepted(machine: State, body: dict[str, Any]) -> None:
    key = loop_at(machine, body.get("at"))
    check_reopenable(machine, key)
    frame = machine.loop_frames[key]
    number = int(body["iteration"])
    check(1 <= number <= frame["count"], f"{frame['name']!r} has no iteration {number}")
    check(frame.get("accepted_number") != number, f"iteration {number} is accepted already")
    open_around(machine, key)
    if "ended" not in frame:
        loop_limit.cut_short(machine, key, "cut")
    loop_shelf.discard(machine, key)
    reopen(machine, key)
    frame["accepted"], frame["accepted_number"] = body.get("results") or {}, number
    frame["accepted_collected"] = body.get("collected") or {}
    frame["accepted_score"] = body.get("score")
    frame["score"] = body.get("score")
    end_loop(machine, key, "accepted", by="person", iteration=number)


def _forked(machine: State, body: dict[str, Any]) -> None:
    """Begins an iteration anew, in a run of its own that has made no call yet.

    The machine stands at the beginning of that iteration (`Machine.stops`). Runs that were forked
    by versions that could not stop there stand at the end of the event in which it began.
    """
    address, number = split_iteration(str(body["at"]))
    key = loop_at(machine, address)
    frame = machine.loop_frames[key]
    if body.get("exact"):
        check(frame["count"] == number, f"{address!r} is at iteration {frame['count']}")
    machine.stopped_at = ""
    state = machine.state
    state["run"] = body.get("run", state["run"])
    state["seed"] = body.get("seed", state["seed"])
    _forget_calls(machine)
    _let_clocks_stand(machine, max(0.0, machine.now - body.get("stood_at", machine.now)))
    if body.get("limits"):
        state["limits"] |= body["limits"]
    _set_values(machine, key, body.get("set") or {})
    machine.drop_body(frame)
    stop_clock(machine, key)
    if "workflow" in body:
        for place in [key for key, f in machine.frames.items() if f["kind"] == "block"]:
            block.refit(machine, place)
    state["status"] = "running"
    state.pop("paused_by", None)
    loop.begin_body(machine, key)


def _forget_calls(machine: State) -> None:
    """Another run made all calls so far, and waits for those that are under way."""
    state = machine.state
    state["abandoned"] = {}
    discard(state, "queue", "starved", "over")
    state["usage"], state["reserved"] = {}, {}
    for frame in machine.frames.values():
        if frame["kind"] == "loop" and "usage" in frame:
            frame["usage"], frame["reserved"] = {}, {}
            if "iteration" in frame:
                frame["iteration"]["usage"] = {}
    for entry in machine.pending.values():
        if entry.pop("sent", None):
            discard(machine.frames[entry["frame"]], "reserve", "held")


def _let_clocks_stand(machine: State, seconds: float) -> None:
    """The time between a run and its fork counts for no limit; waits do not get longer by it."""
    for entry in machine.pending.values():
        if entry["what"] == "alarm":
            entry["due"] += seconds
    for frame in machine.frames.values():
        if frame["kind"] == "task" and "since" in frame:
            frame["since"] += seconds
        if frame["kind"] == "loop" and "started" in frame:
            frame["started"] += seconds
            if "iteration" in frame:
                frame["iteration"]["at"] += seconds


def _set_values(machine: State, key: str, values: dict[str, Any]) -> None:
    frame = machine.loop_frames[key]
    carried = {carry.name for carry in loop_of(machine, key).carry}
    scopes = machine.state["scopes"]
    root = scopes[machine.frames[machine.state["root"]]["own_scope"]]["values"]
    for name, value in values.items():
        if name not in carried and name in root:
            root[name] = value
        else:
            frame["carry"][name] = value


_RECEIVERS = {
    "run.started": _started,
    "run.paused": _paused,
    "run.resumed": _resumed,
    "run.cancelled": _cancelled,
    "run.continued": continued,
    "run.accepted": _accepted,
    "run.forked": _forked,
}
