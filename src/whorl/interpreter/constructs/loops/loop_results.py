"""What a loop keeps of its iterations, and how it ends: its value, its exit reason, its notes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from whorl.interpreter.constructs.loops import exploring
from whorl.interpreter.evaluation import OverlayScope, value_of
from whorl.interpreter.events import inner
from whorl.interpreter.frames import error_at, error_facts, failed, succeeded
from whorl.ir.nodes import LOOP_FACTS
from whorl.language import LanguageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.interpreter.frames import Error, LoopFrame, Values
    from whorl.interpreter.state import State
    from whorl.ir import Loop, Memory
    from whorl.language import Json, Scope

# The facts that an iteration sees, by the IR's words for them; some only when there are any.
_FACTS: dict[str, Callable[[LoopFrame, int], Json]] = {
    "number": lambda frame, number: number,
    "index": lambda frame, number: number - 1,
    "latest": lambda frame, number: frame["count"] - 1,
    "limit": lambda frame, number: frame["limits"]["iterations"],
    "previous": lambda frame, number: frame.get("previous"),
    "history": lambda frame, number: frame.get("history", []),
    "best": lambda frame, number: frame["best"]["results"] if "best" in frame else None,
    "score": lambda frame, number: frame.get("score"),
    "past": lambda frame, number: frame["past"],
    "person": lambda frame, number: frame.get("person"),
    "started_at": lambda frame, number: frame["started"],
}
_HIDDEN = frozenset({"previous", "best", "score", "person"})


def facts_of(frame: LoopFrame, loop: Loop, number: int) -> Values:
    """Returns the facts that an iteration can read, under the names that the loop has for them."""
    facts: Values = {}
    for name, fact in loop.facts:
        value = _FACTS[fact](frame, number)
        if value is not None or fact not in _HIDDEN:
            facts[name] = value
    return facts


def new_inner(machine: State, key: str, values: Values) -> Scope:
    """Makes the scope of an iteration, with the names that the loop binds in it."""
    frame, loop = machine.loop_frames[key], machine.loop(key)
    machine.drop_scope(frame.get("inner"))
    # A loop around it may use the same names as this one has for what has no value yet.
    names = [name for name, _ in loop.facts] + [carry.name for carry in loop.carry]
    hidden = [name for name in names if name not in values]
    frame["inner"] = machine.new_scope(values, frame["scope"], hidden)
    scope = machine.scope_at(frame["inner"])
    for name, value in loop.bind:
        values[name] = value_of(value, scope)
    return scope


def record_success(machine: State, key: str, results: Values) -> None:
    """Keeps the results of a successful iteration, in every place that the loop keeps them."""
    frame, loop = machine.loop_frames[key], machine.loop(key)
    frame |= {"previous": results, "last": frame["count"], "fresh": True}
    if loop.returns == "first" and "first" not in frame:
        frame["first"] = {"number": frame["count"], "results": results}
    if loop.returns == "all":
        columns = frame.setdefault("all", {})
        for name, value in results.items():
            columns.setdefault(name, []).append(value)
    if loop.history_keep:
        history = frame["history"] = [*frame.get("history", []), results]
        if len(history) > loop.history_keep:
            del history[: -loop.history_keep]
            # The first cut is seen by the next iteration, if there is one.
            cuts = frame["history_cuts"] = frame.get("history_cuts", 0) + 1
            if cuts == 2:
                words = f"the history of loop {frame['name']!r} holds its newest {len(history)} "
                words += "iterations, the most that are kept"
                machine.warn(frame["address"], "R105", words, facts={"history": len(history)})
    scope, collected = machine.scope_at(frame["inner"]), frame.get("collected", {})
    for collect in loop.collect:
        frame["collected"] = collected
        if collect.take == "best" or (collect.take == "first" and collect.name in collected):
            continue
        value = value_of(collect.value, scope)
        if collect.take == "all":
            collected.setdefault(collect.name, []).append(value)
        else:
            collected[collect.name] = value


def keep_best(machine: State, key: str, *, approved: bool = False) -> bool:
    """Compares the iteration that finished last with the best so far.

    An unapproved iteration never replaces an approved one; among equals the score decides.
    """
    frame = machine.loop_frames[key]
    loop = machine.loop(key)
    if not machine.plan.rules[frame["node"]].scores:
        return False
    score: float | None = frame.get("score")
    if score is None and not approved:
        return False
    best = frame.get("best")
    if best is not None and _rank(approved, score) <= _rank(best.get("approved"), best["score"]):
        return False
    frame["best"] = {"number": frame["last"], "score": score, "results": frame["previous"]}
    if approved:
        frame["best"]["approved"] = True
    for collect in loop.collect:
        if collect.take == "best":
            scope = machine.scope_at(frame["inner"])
            frame.setdefault("collected", {})[collect.name] = value_of(collect.value, scope)
    return True


def _rank(approved: object, score: float | None) -> tuple[bool, float]:
    return bool(approved), -math.inf if score is None else score


def stop_clock(machine: State, key: str) -> None:
    """Stops the time limit of the present iteration, whose body has ended."""
    if machine.loop(key).limits.iteration_time_s is None:
        return
    machine.forget_if_pending(inner(machine.loop_frames[key]["iteration"]["address"], "time"))


def close_measured(machine: State, key: str, *, best: bool, **facts: Any) -> None:
    """Notes how a successful iteration ended, with its measurements."""
    frame = machine.loop_frames[key]
    facts["score"], facts["outside"] = frame.get("score"), frame.get("outside")
    close_iteration(machine, key, status="succeeded", best=best or None, **facts)


def close_iteration(machine: State, key: str, *, status: str, **facts: Any) -> None:
    """Notes how an iteration ended and what it used; stores its record if the loop has a memory."""
    frame = machine.loop_frames[key]
    iteration = frame["iteration"]
    stop_clock(machine, key)
    before = iteration["usage"]
    body: Values = {"number": frame["count"], "status": status}
    body["seconds"] = round(machine.now - iteration["at"], 3)
    if frame["usage"] != before:
        # A late reply may have been cheaper than what an earlier iteration was charged for it.
        used: Values = {
            name: round(amount - before.get(name, 0), 9)
            for name, amount in frame["usage"].items()
            if amount > before.get(name, 0)
        }
        if used:
            body["usage"] = used
    for name, fact in facts.items():
        if fact is not None and fact not in ("", ()):
            body[name] = fact
    loop = machine.loop(key)
    if status == "succeeded":
        for name, value in loop.tells_after:
            try:
                body[name] = value_of(value, machine.scope_at(frame["inner"]))
            except LanguageError as fault:
                # The iteration is kept if a value of its note cannot be computed.
                machine.warn(frame["address"], "R104", f"{name!r} is not available: {fault}")
        if loop.memory is not None and not iteration.get("remembered"):
            # One that was put aside before its verdict is closed twice.
            iteration["remembered"] = True
            _remember(machine, key, loop.memory, body)
    machine.note("iteration.finished", iteration["address"], body)
    if machine.observer is not None:
        machine.observer.closed(machine, key, body)


def _remember(machine: State, key: str, memory: Memory, body: Values) -> None:
    frame = machine.loop_frames[key]
    names: Values = {"number": frame["count"], "score": frame.get("score"), "at": machine.now}
    scope = OverlayScope(names, machine.scope_at(frame["inner"]))
    try:
        for name, value in memory.bind:
            names[name] = value_of(value, scope)
        record: Any = value_of(memory.record, scope)
    except LanguageError as fault:
        # The iteration is kept if its record cannot be computed.
        machine.warn(frame["address"], "R104", f"an iteration has no record: {fault}")
        return
    record = {"number": frame["count"]} | record
    frame["past"] = [*frame["past"], record][-memory.keep :]
    if memory.across_runs and not exploring.has_ended(frame):
        body["remember"] = {"key": memory.key, "record": record, "keep": memory.keep}


def end_loop(
    machine: State, key: str, reason: str, *, by: str = "", iteration: int | None = None
) -> None:
    """Ends the loop successfully; its value is that of the iteration that it returns."""
    frame = machine.loop_frames[key]
    reason, by = exploring.put_back(machine, key, reason, by)
    if frame.get("failures") and "last" not in frame and "failure" not in frame:
        fail_loop(machine, key, all_failed(frame))
        return
    failure = frame.get("failure")
    if failure is not None and failure["number"] == frame["count"] and iteration is None:
        fail_loop(machine, key, failure["error"], reason=reason)
        return
    number, results = returned(machine, key)
    collected = frame.get("collected", {})
    if iteration is not None:
        number, results = iteration, frame["accepted"]
        collected = collected | frame["accepted_collected"]
    summary = _summary(machine, key, reason, by, number)
    value = results | collected | {"loop": {name: summary[name] for name in LOOP_FACTS}}
    disarm(machine, key)
    machine.note("loop.finished", frame["address"], summary)
    frame["reason"] = reason
    machine.finish(key, succeeded(value))


def end_edited(
    machine: State, key: str, reason: str, shown: tuple[int | None, Values], value: Json
) -> None:
    """Ends the loop with the result that a person edited."""
    frame, (number, results) = machine.loop_frames[key], shown
    frame["accepted"] = results | (value if isinstance(value, dict) else {})
    frame["accepted_collected"], frame["edited"] = {}, True
    end_loop(machine, key, reason, by="person", iteration=number or frame["count"])


def all_failed(frame: LoopFrame) -> Error:
    last, count = frame["fault"], frame["failures"]
    which = "the only iteration" if count == 1 else f"all {count} iterations"
    message = f"{which} of {frame['name']!r} failed: {last['message']}"
    cause = last.get("cause") or {"code": last["code"], "message": last["message"]}
    return error_at(frame["address"], "R100", message, cause=cause, facts=error_facts(last))


def fail_loop(
    machine: State, key: str, cause: Error, *, status: str = "failed", reason: str = "failed"
) -> None:
    """Fails the loop; its frame stays, so that what failed can be tried again."""
    frame = machine.loop_frames[key]
    if exploring.has_ended(frame):
        end_loop(machine, key, reason)
        return
    exploring.put_back(machine, key, reason, "")
    if "limits" in frame:
        disarm(machine, key)
        note_end(machine, key, reason, error=cause)
    frame["reason"] = reason
    machine.finish(key, failed(cause, status=status))


def note_end(machine: State, key: str, reason: str, **facts: Json) -> None:
    """Notes how a loop ended if it gives no result."""
    number, _ = returned(machine, key)
    summary = _summary(machine, key, reason, "", number) | facts
    machine.note("loop.finished", machine.loop_frames[key]["address"], summary)


def returned(machine: State, key: str) -> tuple[int | None, Values]:
    frame = machine.loop_frames[key]
    match machine.loop(key).returns:
        case "best":
            if "best" in frame:
                return frame["best"]["number"], frame["best"]["results"]
        case "first":
            if "first" in frame:
                return frame["first"]["number"], frame["first"]["results"]
        case "all":
            return None, dict(frame.get("all", {}))
    return frame.get("last"), frame.get("previous", {})


def is_early(machine: State, key: str, reason: str) -> bool:
    """Checks whether this exit reason means that the loop was not done; a budget always does.

    At another limit it is done, unless it has a condition or a person who is asked, which could
    have ended it before.
    """
    decides = machine.plan.rules[machine.loop_frames[key]["node"]].decides
    return decides or reason == "budget" or machine.loop(key).ask == "each"


def fields_of(machine: State, key: str) -> Json:
    """Returns what the limits of a loop are called in its format, or `python` for code."""
    words: Any = machine.loop(key).words or {}
    return "python" if "rule" in machine.loop_frames[key] else words.get("fields")


def _summary(machine: State, key: str, reason: str, by: str, number: int | None) -> Values:
    frame = machine.loop_frames[key]
    best = frame.get("best")
    mark = _MARKS.get(reason) if is_early(machine, key, reason) else None
    facts: Values = {"mark": mark} if mark else {}
    if "explored" in frame:
        facts["explored"] = frame["explored"]
    if frame.pop("edited", False):
        facts["edited"] = True
    # The score of the iteration that the loop returns, if that is known; else of the last one.
    score = frame.get("score")
    if best is not None and best["number"] == number and best["score"] is not None:
        score = best["score"]
    elif number is not None and number == frame.get("accepted_number"):
        score = frame.get("accepted_score")
    return facts | {
        "path": machine.plan.path_of(frame["node"]),
        "iterations": frame["count"],
        "exit_reason": reason,
        "stopped_by": by or None,
        "score": score,
        "best_iteration": best["number"] if best else None,
        "returned_iteration": number,
        "failed_iterations": [*frame.get("failed", ())],
        "usage": {**frame["usage"]},
        "seconds": round(machine.now - frame["started"], 3),
    }


# How people are told that a loop stopped before it was done.
_MARKS = {"max_iterations": "limit", "timeout": "limit", "budget": "budget"}


def disarm(machine: State, key: str) -> None:
    """Stops the clocks of a loop and forgets the conversations that it continued."""
    address = machine.loop_frames[key]["address"]
    machine.forget_if_pending(*(inner(address, word) for word in ("time", "delay", "retry")))
    forget_sessions(machine, key)


def forget_sessions(machine: State, key: str) -> None:
    for kept in (machine.state["sessions"], machine.state.get("conversations", {})):
        for name in [name for name in kept if name.startswith(f"{key} ")] if kept else ():
            del kept[name]
