"""Requests of people to a run: start, pause, resume, cancel, continue, accept, fork; each once.

A request that does not fit the run is refused, with its reason. A loop that has ended or lacks
money can continue; everything around it is then reopened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter import budget
from whorl.interpreter.constructs import block, program, run, task
from whorl.interpreter.constructs.loops import exploring, loop, loop_limits
from whorl.interpreter.constructs.loops.loop import begin_body, next_iteration, resume_iteration
from whorl.interpreter.constructs.loops.loop_results import end_loop, stop_clock
from whorl.interpreter.events import inner, numbered, split_iteration
from whorl.interpreter.frames import discard, error_at, failed

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import Budgeted, LoopFrame, Values
    from whorl.interpreter.state import State
    from whorl.language import Json

    # Limits of loops and of the run, by whose they are and what they count.
    Limits = dict[tuple[str, str], Budgeted]

_AT_LIMIT = frozenset({"max_iterations", "timeout", "budget"})
# What is advised where a request gives no amount.
_ONE_DOLLAR = {"cost_usd": 1.0}


class Refused(ValueError):
    """A request that does not fit the present state of the run; advice is made from the facts.

    `verb` is the request that helps: continue (the loop `at`, or all that lack money), resume or
    start. `more` is how much to add to which budgets; `loops` are those that could be meant.
    """

    def __init__(self, message: str, **facts: Json) -> None:
        super().__init__(message)
        self.facts = facts


def check(holds: bool, otherwise: str, **facts: Json) -> None:
    if not holds:
        raise Refused(otherwise, **facts)


def check_request(machine: State, event: Event) -> None:
    is_end = event.kind in ("run.cancelled", "run.exhausted")
    check(is_end or "ending" not in machine.state, task.ENDING)
    match event.kind:
        case "run.continued":
            to_continue(machine, event.body)
        case "run.accepted" if "iteration" not in event.body:
            frame = machine.loop_frames[loop_at(machine, event.body.get("at"))]
            check("ended" not in frame, f"loop {frame['name']!r} has ended already")
        case "run.accepted":
            check_reopenable(machine, loop_at(machine, event.body.get("at")))
        case "run.paused":
            check(machine.status in ("running", "waiting"), f"the run is {machine.status}")
        case "run.cancelled" | "run.exhausted":
            check(not machine.done, f"the run has ended already: {machine.status}")
        case "run.resumed":
            _may_resume(machine, event.body)


def _may_resume(machine: State, body: dict[str, Any]) -> None:
    status, more = machine.status, _amounts(body)
    has_ended = status in ("succeeded", "cancelled")
    facts: Values = {"verb": "continue", "more": {**(more or _ONE_DOLLAR)}}
    can_go_on = has_ended and open_to_money(machine)
    check(not has_ended, f"the run has ended already: {status}", **(facts if can_go_on else {}))
    has_begun = bool(machine.frames[machine.state["root"]].get("body"))
    can_retry = status != "failed" or has_begun
    check(can_retry, "nothing in this run can be tried again", verb="start")
    short = short_loop(machine)
    is_other = status == "paused" and short and more
    words = f"the budget of the run is large enough, but that of loop {short!r} is not"
    check(not is_other, words, **facts, at=short)


def _amounts(body: dict[str, Any]) -> dict[str, float]:
    return {name: body[name] for name in budget.NAMES if body.get(name)}


def chosen_loop(machine: State, at: str = "", *, at_limit: bool = False) -> str:
    """Returns the address of the loop that a request means; raises Refused if that is unclear."""
    return str(machine.frames[loop_at(machine, at, at_limit=at_limit)]["address"])


def loop_at(machine: State, at: object, *, at_limit: bool = False) -> str:
    """Returns the frame of the loop at an address; without one, of the only possible loop."""
    loops = {f["address"]: key for key, f in machine.frames.items() if f["kind"] == "loop"}
    if at:
        address = str(at)
        names = ", ".join(sorted(loops)) or "none"
        check(address in loops, f"there is no loop {address!r} at present, only: {names}")
        return loops[address]
    outer = {a: key for a, key in loops.items() if machine.loop_frames[key]["loop"] is None}
    if at_limit and len(outer) > 1:
        outer = {a: k for a, k in outer.items() if machine.frames[k].get("reason") in _AT_LIMIT}
    check(bool(loops), "the run has no loop (yet)")
    meant = sorted(outer or loops)
    check(len(outer) == 1, f"several loops match: {', '.join(meant)}", loops=[*meant])
    return next(iter(outer.values()))


def to_continue(machine: State, body: dict[str, Any]) -> list[str]:
    """Returns the loops that a continue request means; raises Refused if it does not fit.

    A request with only more money continues every loop that stopped for its budget.
    """
    at, iterations = body.get("at"), body.get("iterations")
    if machine.status == "paused" and machine.state.get("paused_by") == "budget":
        short, more = short_loop(machine), _amounts(body) or _ONE_DOLLAR
        words = "the run is paused for its budget"
        check(bool(short), words, verb="resume", more={**more})
        check(at in (None, "", short), f"the loop whose budget is too small is {short!r}")
        return [loop_at(machine, short)]
    if not at and not iterations and _amounts(body):
        keys = open_to_money(machine)
        check(bool(keys), "no loop of this run stopped for its budget")
    else:
        keys = [loop_at(machine, at, at_limit=True)]
        check_reopenable(machine, keys[0])
    if machine.status != "cancelled":
        _check_money(machine, keys, body)
    for key in keys:
        frame = machine.loop_frames[key]
        if exploring.went_past(frame):
            # It would go on as its rule left it, with what it carried when it was explored.
            place, own = frame["address"], frame["count"]
            words = f"{place!r} was explored up to iteration {frame['explored']}"
            words += f", its own end is iteration {own}"
            raise Refused(words, verb="fork", at=numbered(place, own + 1))
    return keys


def _check_money(machine: State, keys: list[str], body: dict[str, Any]) -> None:
    """Refuses to continue if the budgets allow no call, and lists every budget that is short."""
    raised = to_raise(machine, keys, body)
    for key in keys:
        frame = machine.loop_frames[key]
        if "ended" not in frame and frame["phase"] != "limit":
            continue
        needs = frame.get("needs") or budget.LEAST
        short: dict[str, str] = {}
        for around, scope in budget.keyed_scopes(machine, key):
            for name, lack in budget.over(scope, needs).items():
                more = body.get(name, 0) if (around, name) in raised else 0
                if lack > more + budget.NOTHING:
                    is_run = around == "run"
                    whose = "the run" if is_run else f"loop {machine.frames[around]['name']!r}"
                    short.setdefault(name, f"the {budget.NAMES[name]} budget of {whose}")
        if short:
            amounts = budget.lacking(machine, key, needs)
            verb = "allows" if len(short) == 1 else "allow"
            words = f"{' and '.join(short.values())} {verb} no call"
            raise Refused(words, verb="add", more={name: amounts[name] for name in short})


def short_loop(machine: State) -> str:
    """Returns the loop whose own budget paused the run, unless the loop has ended since."""
    short = str(machine.state.get("short_loop") or "")
    loops = (f for f in machine.frames.values() if f["kind"] == "loop" and "ended" not in f)
    return short if any(frame["address"] == short for frame in loops) else ""


def open_to_money(machine: State) -> list[str]:
    """Returns loops that stopped for a budget, inner ones first: opening one opens outer ones."""
    return [
        key
        for key, frame in reversed(machine.frames.items())
        if frame["kind"] == "loop" and "ended" in frame and frame.get("reason") == "budget"
        if _closed_by(machine, key) is None
    ]


def to_raise(machine: State, keys: list[str], body: dict[str, Any]) -> Limits:
    """Returns the budgets that stopped the loops, each once: their own, or that of the run.

    A loop that ended for another reason gets more of both. A request that raises the budgets
    `around` also raises those that would stop the loops next: they have less left than it gives.
    """
    raised: Limits = {}
    for key in keys:
        frame = machine.loop_frames[key]
        of_run = frame.get("short_of_run")
        needs = frame.get("needs") or budget.LEAST
        for around, scope in budget.keyed_scopes(machine, key):
            stopped = of_run is not True if scope is frame else of_run is not False
            for name in budget.NAMES:
                gives = needs if scope is frame else {name: body.get(name, 0)}
                is_short = body.get("around") and budget.over(scope, gives).get(name, 0) > 0
                is_own = scope is frame or around == "run"
                if is_short or (stopped and is_own):
                    raised[around, name] = scope
    return raised


def check_reopenable(machine: State, key: str) -> None:
    if around := _closed_by(machine, key):
        place = repr(machine.frames[key]["address"])
        words = f"{place} is in an iteration of loop {around['name']!r} that is over"
        raise Refused(words, verb="fork")


def _closed_by(machine: State, key: str) -> LoopFrame | None:
    """Returns the loop around an ended loop whose iteration is over, so that it cannot continue."""
    frame = machine.loop_frames[key]
    if "ended" not in frame:
        return None
    above = frame["parent"]
    while above is not None:
        around = machine.frames[above]
        if around["kind"] == "loop":
            # An iteration that is put aside as it was can be taken up again.
            aside = around.get("suspended")
            phase = aside["phase"] if aside else "ended" if "ended" in around else around["phase"]
            if phase != "body":
                return around
        above = around["parent"]
    return None


# How many requests a run remembers, and how much of the name of each.
REQUESTS_KEPT, REQUEST_LENGTH = 100, 64


def receive(machine: State, event: Event) -> None:
    """Carries out a request. One that no longer fits the run is noted and changes nothing.

    A request that was received before, by the name in its `request`, also changes nothing.
    """
    try:
        if not is_repeated(machine, event):
            check_request(machine, event)
            _RECEIVERS[event.kind](machine, event.body)
            return
    except Refused as refusal:
        machine.warn("", "W900", str(refusal), facts=refusal.facts)
    # Who reads the journal must not take the request for its effect.
    if machine.done:
        machine.note("run.finished", "", dict(machine.state["result"] or {}))
    elif machine.status == "paused":
        budget.note_pause(machine)


def is_repeated(machine: State, event: Event) -> bool:
    """Checks whether a request was received before, records it, and forgets the oldest ones."""
    if is_known(machine, event):
        return True
    if name := _request_of(event):
        requests = machine.state.setdefault("requests", [])
        requests.append(name)
        del requests[:-REQUESTS_KEPT]
    return False


def is_known(machine: State, event: Event) -> bool:
    return _request_of(event) in machine.state.get("requests", ())


def _request_of(event: Event) -> str:
    name = event.body.get("request")
    return name[:REQUEST_LENGTH] if isinstance(name, str) else ""


def objection(machine: State, event: Event) -> Refused | None:
    """Returns why a request cannot be carried out now, without carrying it out."""
    try:
        check(not is_known(machine, event), "this request has been carried out already")
        check_request(machine, event)
    except Refused as refusal:
        return refusal
    return None


def _started(machine: State, body: dict[str, Any]) -> None:
    state = machine.state
    check(state["status"] == "new", "the run has been started already")
    own = {name: getattr(machine.plan.workflow.limits, name) for name in budget.NAMES}
    state["limits"] = {name: value for name, value in own.items() if value is not None}
    state["limits"] |= body.get("limits") or {}
    state |= {
        "status": "running",
        "run": body.get("run", ""),
        "seed": body.get("seed", ""),
        "iterations": body.get("iterations"),
        "memory": body.get("memory") or {},
    }
    options = ("explore", "pauses", "callback", "behaviour")
    given: Any = {name: body[name] for name in options if body.get(name) is not None}
    state |= given
    key = machine.new_frame("run", parent=None, scope="", address="", input=body.get("input") or {})
    state["root"] = key
    if refusal := body.get("refused"):
        run.end_now(machine, failed(error_at(refusal["path"], refusal["code"], refusal["message"])))
        return
    run.arm(machine)
    machine.enter(key)


def _paused(machine: State, body: dict[str, Any]) -> None:
    machine.pause(body.get("by") or "person")
    if warning := body.get("warning"):
        machine.warn("", warning["code"], warning["message"], once=f"{machine.now}")
    if backup := body.get("backup"):
        message = (
            f"restored from a backup of {backup}: calls made after it may have been made twice"
        )
        machine.warn("", "R118", message)


def _resumed(machine: State, body: dict[str, Any]) -> None:
    state = machine.state
    has_failed = state["status"] == "failed"
    raise_limits({("run", name): state for name in budget.NAMES}, body)
    if body.get("new_code"):
        program.accept_new_words(machine)
    set_going(machine)
    if has_failed:
        machine.revive(state["root"])


def _cancelled(machine: State, body: dict[str, Any]) -> None:
    words = "cancelled" + (f": {body['feedback']}" if body.get("feedback") else "")
    run.end_now(machine, failed(error_at("", "R107", words), status="cancelled"))


def _exhausted(machine: State, body: dict[str, Any]) -> None:
    most = f"the run has computed for {body['cpu_s']:g} s of CPU, the most that it may"
    run.end_now(machine, failed(error_at("", "R105", most, facts={"cpu_s": body["cpu_s"]})))


def _accepted(machine: State, body: dict[str, Any]) -> None:
    key = loop_at(machine, body.get("at"))
    frame = machine.loop_frames[key]
    if "iteration" not in body:
        loop.stop(machine, key)
        return
    number = int(body["iteration"])
    if body.get("explored") and frame["count"] < number <= frame.get("explored", 0):
        # It counts for the loop now.
        frame["count"] = number
    check(1 <= number <= frame["count"], f"{frame['name']!r} has no iteration {number}")
    check(frame.get("accepted_number") != number, f"iteration {number} is accepted already")
    open_around(machine, key)
    if "ended" not in frame:
        loop_limits.cut_short(machine, key, "cut")
    if frame.pop("suspended", None) is not None:
        machine.drop_children(frame)
        frame["judge"] = None
    reopen(machine, key)
    frame |= {
        "accepted": body.get("results") or {},
        "accepted_number": number,
        "accepted_collected": body.get("collected") or {},
        "accepted_score": body.get("score"),
        "score": body.get("score"),
    }
    end_loop(machine, key, "accepted", by="person", iteration=number)


def _forked(machine: State, body: dict[str, Any]) -> None:
    """Begins an iteration again, in a run of its own that has made no call yet.

    The machine is at the beginning of that iteration (`Machine.stops`).
    """
    address, number = split_iteration(str(body["at"]))
    key = loop_at(machine, address)
    frame = machine.loop_frames[key]
    check(frame["count"] == number, f"{address!r} is at iteration {frame['count']}")
    machine.stopped_at = ""
    if "by_rule" in body:
        del machine.loop_frames[loop_at(machine, body["by_rule"])]["explore"]
    state = machine.state
    state["run"] = body.get("run", state["run"])
    state["seed"] = body.get("seed", state["seed"])
    _forget_calls(machine)
    task.let_clocks_stand(machine, max(0.0, machine.now - body.get("stood_at", machine.now)))
    if body.get("limits"):
        state["limits"] |= body["limits"]
    carried = {carry.name for carry in machine.loop(key).carry}
    root = machine.values_at(machine.frames[state["root"]]["own_scope"])
    for name, value in (body.get("set") or {}).items():
        values = root if name in root and name not in carried else frame["carry"]
        values[name] = value
    run.keep_secrets(machine, machine.plan.workflow, root)
    machine.drop_body(frame)
    stop_clock(machine, key)
    if "workflow" in body:
        for inside in [key for key, f in machine.frames.items() if f["kind"] == "block"]:
            block.refit(machine, inside)
    state["status"] = "running"
    state.pop("paused_by", None)
    if machine.plan.has_program:
        program.begin_elsewhere(machine)
    begin_body(machine, key)


def _forget_calls(machine: State) -> None:
    """Forgets usage and reservations: another run made the calls and waits for the open ones."""
    state = machine.state
    task.leave_subscriptions(machine)
    state["abandoned"] = {}
    discard(state, "queue", "out_of_budget", "over")
    state["usage"], state["reserved"] = {}, {}
    for frame in machine.frames.values():
        if frame["kind"] == "loop" and "usage" in frame:
            frame["usage"], frame["reserved"] = {}, {}
            if "iteration" in frame:
                frame["iteration"]["usage"] = {}
    for entry in machine.pending.values():
        if entry.pop("sent", None):
            discard(machine.frames[entry["frame"]], "reserve", "held")


def set_going(machine: State) -> None:
    state = machine.state
    if machine.done:
        state["status"] = "running"
        state["result"] = None
        run.arm(machine)
    elif state["status"] == "paused":
        state["status"] = "running"
        task.let_clocks_stand(machine, machine.now - state.get("paused_at", machine.now))
        discard(state, "paused_by", "paused_at", "short_loop")
        task.restart_clocks(machine)
        machine.ask_again()


def continued(machine: State, body: dict[str, Any]) -> None:
    keys = to_continue(machine, body)
    raise_limits(to_raise(machine, keys, body), body)
    for key in keys:
        discard(machine.loop_frames[key], "short_of_run", "needs")
        _continue_loop(machine, key, int(body.get("iterations") or 0))
    if machine.status == "paused" and machine.state.get("paused_by") == "budget":
        set_going(machine)
    elif machine.status == "paused":
        budget.note_pause(machine)


def _continue_loop(machine: State, key: str, more: int) -> None:
    """Continues a loop for this many more iterations; its limit is raised, never lowered."""
    frame = machine.loop_frames[key]
    is_over = "ended" in frame or frame["phase"] == "limit"
    has_failed = frame.get("ended") in ("failed", "timed_out")
    limits = frame["limits"]
    exploring.take_up(frame)
    if more and not exploring.has_ended(frame):
        begun = frame["count"] if is_over else max(limits["iterations"], frame["count"])
        limits["iterations"] = max(limits["iterations"], begun + more)
        frame["stop_at"] = begun + more
    else:
        frame.pop("stop_at", None)
    facts: dict[str, Any] = {"limits": dict(limits), "run_limits": dict(machine.state["limits"])}
    machine.note("loop.continued", frame["address"], facts)
    open_around(machine, key)
    if not is_over:
        return
    reopen(machine, key)
    loop_limits.arm(machine, key)
    if "suspended" in frame:
        resume_iteration(machine, key)
    elif has_failed:
        machine.revive(key)
    else:
        next_iteration(machine, key)


def raise_limits(raised: Limits, body: dict[str, Any]) -> None:
    for (_, name), scope in raised.items():
        if body.get(name) and name in scope["limits"]:
            scope["limits"][name] += body[name]


def open_around(machine: State, key: str) -> None:
    """Reopens the suspended iterations around a loop, the outermost first."""
    if (above := machine.loop_frames[key]["parent"]) is not None:
        open_around(machine, above)
        if "suspended" in machine.loop_frames[above]:
            reopen(machine, above)
            resume_iteration(machine, above)


def reopen(machine: State, key: str) -> None:
    frame = machine.loop_frames[key]
    discard(frame, "ended", "reason", "accepted_number")
    machine.forget_if_pending(inner(frame["address"], "limit"))
    below, above, was_ended = key, frame["parent"], True
    while above is not None and was_ended:
        around = machine.frames[above]
        was_ended = "ended" in around
        machine.behaviour(around).reopen(machine, above, below)
        around.pop("ended", None)
        below, above = above, around["parent"]
    set_going(machine)


_RECEIVERS = {
    "run.started": _started,
    "run.paused": _paused,
    "run.resumed": _resumed,
    "run.cancelled": _cancelled,
    "run.exhausted": _exhausted,
    "run.continued": continued,
    "run.accepted": _accepted,
    "run.forked": _forked,
}
