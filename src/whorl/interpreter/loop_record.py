"""What a loop keeps of its iterations: the last, the first, the best, the history, the records."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from whorl.interpreter.address import inner, numbered
from whorl.interpreter.evaluation import OverlayScope, value_of
from whorl.language import LanguageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.interpreter.frames import LoopFrame
    from whorl.interpreter.state import State
    from whorl.ir import Loop, Memory
    from whorl.language import Json, Scope

# The facts, by the words that a loop has for them; some are told only when there are any.
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


def loop_of(machine: State, key: str) -> Loop:
    """The loop that a frame runs."""
    return machine.plan.loops[machine.loop_frames[key]["node"]]


def facts_of(frame: LoopFrame, loop: Loop, number: int) -> dict[str, Json]:
    """The facts that an iteration is told, under the names that the loop has for them."""
    facts: dict[str, Json] = {}
    for name, fact in loop.facts:
        known = _FACTS[fact](frame, number)
        if known is not None or fact not in _HIDDEN:
            facts[name] = known
    return facts


def hidden_from(values: dict[str, Json], loop: Loop) -> list[str]:
    """The names of a loop that have no value yet; a loop around it may use the same ones."""
    names = [name for name, _ in loop.facts] + [carry.name for carry in loop.carry]
    return [name for name in names if name not in values]


def record_success(machine: State, key: str, results: dict[str, Json]) -> None:
    """Keeps the results of an iteration that went through, wherever the loop wants them."""
    frame = machine.loop_frames[key]
    loop = loop_of(machine, key)
    number = frame["count"]
    frame["previous"] = results
    frame["last"] = number
    frame["fresh"] = True
    if loop.returns == "first" and "first" not in frame:
        frame["first"] = {"number": number, "results": results}
    if loop.returns == "all":
        columns = frame.setdefault("all", {})
        for name, value in results.items():
            columns.setdefault(name, []).append(value)
    if loop.history_keep:
        _lengthen_history(machine, frame, loop, results)
    if loop.collect:
        _collect(frame, loop, machine.scope_at(frame["inner"]))


def _lengthen_history(
    machine: State, frame: LoopFrame, loop: Loop, results: dict[str, Json]
) -> None:
    history = [*frame.get("history", []), results]
    if len(history) > loop.history_keep:
        del history[: -loop.history_keep]
        # The first cut is seen by the next iteration, if there is one.
        cuts = frame["history_cuts"] = frame.get("history_cuts", 0) + 1
        if cuts == 2:
            words = f"the history of loop {frame['name']!r} holds its newest {len(history)} "
            words += "iterations, the most that are kept; records of `memory` can hold more"
            machine.warn(frame["address"], "R105", words)
    frame["history"] = history


def keep_best(machine: State, key: str, *, approved: bool = False) -> bool:
    """Compares the iteration that finished last with the best so far.

    One that is approved is never beaten by one that is not; then the score counts.
    """
    frame = machine.loop_frames[key]
    loop = loop_of(machine, key)
    measures = machine.plan.measures[frame["node"]]
    if measures is None or not measures.scores:
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
    """The body of the present iteration has ended: its time limit is over."""
    if loop_of(machine, key).limits.iteration_time_s is None:
        return
    alarm = inner(machine.loop_frames[key]["iteration"]["address"], "time")
    if alarm in machine.pending:
        machine.forget(alarm)


def close_iteration(machine: State, key: str, *, status: str, **facts: Any) -> None:
    """Says how an iteration ended, what it used, and remembers it where a memory is kept."""
    frame = machine.loop_frames[key]
    iteration = frame["iteration"]
    stop_clock(machine, key)
    before = iteration["usage"]
    body: dict[str, Json] = {"number": frame["count"], "status": status}
    body["seconds"] = round(machine.now - iteration["at"], 3)
    if frame["usage"] != before:
        # A late reply may have been cheaper than what an earlier iteration was charged for it.
        used: dict[str, Json] = {
            name: _rounded(amount - before.get(name, 0))
            for name, amount in frame["usage"].items()
            if amount > before.get(name, 0)
        }
        if used:
            body["usage"] = used
    for name, fact in facts.items():
        if fact is not None and fact not in ("", ()):
            body[name] = fact
    loop = loop_of(machine, key)
    if status == "succeeded":
        if loop.tells_after:
            _tell(machine, key, loop, body)
        if loop.memory is not None and not iteration.get("remembered"):
            # One that was put aside before its verdict is closed twice.
            iteration["remembered"] = True
            _remember(machine, key, loop.memory, body)
    machine.note("iteration.finished", iteration["address"], body)
    if machine.wanted and status == "succeeded":
        _show(machine, frame, loop)


def _show(machine: State, frame: LoopFrame, loop: Loop) -> None:
    """Shows a time traveller what an iteration gave, whichever attempt at it went through."""
    address = numbered(frame["address"], frame["count"])
    if address in machine.wanted:
        machine.found[address] = {
            "results": frame["previous"],
            "score": frame.get("score"),
            "collected": _newest(frame, loop),
        }


def _newest(frame: LoopFrame, loop: Loop) -> dict[str, Json]:
    """What was collected from this iteration alone, where it is the last one."""
    collected: dict[str, Json] = frame.get("collected", {})
    names = [one.name for one in loop.collect if one.take == "last" and one.name in collected]
    return {name: collected[name] for name in names}


def _tell(machine: State, key: str, loop: Loop, body: dict[str, Json]) -> None:
    """Adds what the loop tells about the end of an iteration."""
    scope = machine.scope_at(machine.loop_frames[key]["inner"])
    for name, value in loop.tells_after:
        try:
            body[name] = value_of(value, scope)
        except LanguageError as fault:
            # What cannot be told is no reason to lose the iteration.
            machine.warn(
                machine.loop_frames[key]["address"], "R104", f"no {name!r} is told: {fault}"
            )


def _rounded(amount: float) -> float:
    return round(amount, 9) if isinstance(amount, float) else amount


def _collect(frame: LoopFrame, loop: Loop, scope: Scope) -> None:
    collected = frame.setdefault("collected", {})
    for collect in loop.collect:
        if collect.take == "best" or (collect.take == "first" and collect.name in collected):
            continue
        value = value_of(collect.value, scope)
        if collect.take == "all":
            collected.setdefault(collect.name, []).append(value)
        else:
            collected[collect.name] = value


def _remember(machine: State, key: str, memory: Memory, body: dict[str, Json]) -> None:
    frame = machine.loop_frames[key]
    known: dict[str, Json] = {
        "number": frame["count"],
        "score": frame.get("score"),
        "at": machine.now,
    }
    scope = OverlayScope(known, machine.scope_at(frame["inner"]))
    try:
        for name, value in memory.bind:
            known[name] = value_of(value, scope)
        record = value_of(memory.record, scope)
    except LanguageError as fault:
        # What cannot be remembered is no reason to lose the iteration.
        machine.warn(frame["address"], "R104", f"an iteration leaves no record: {fault}")
        return
    assert isinstance(record, dict)
    record = {"number": frame["count"]} | record
    frame["past"] = [*frame["past"], record][-memory.keep :]
    if memory.across_runs:
        body["remember"] = {"key": memory.key, "record": record, "keep": memory.keep}
