"""Judging an iteration: measures it, weighs the conditions, asks judges where they decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter.address import attempted, inner
from whorl.interpreter.block import body_results
from whorl.interpreter.evaluation import value_of
from whorl.interpreter.frames import children_of
from whorl.interpreter.loop_record import (
    close_iteration,
    facts_of,
    hidden_from,
    keep_best,
    loop_of,
    record_success,
    stop_clock,
)
from whorl.interpreter.loop_result import fail_loop
from whorl.interpreter.outcomes import HIDDEN, is_failure, language_failure
from whorl.interpreter.plan import judge_key, judges_of
from whorl.interpreter.verdict import (
    Verdict,
    Weighing,
    comparable,
    is_outside,
    measure,
    range_of,
)
from whorl.language import LanguageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.interpreter.frames import Judged, LoopFrame, Outcome
    from whorl.interpreter.state import State
    from whorl.interpreter.verdict import Measures
    from whorl.ir import Score, Stable
    from whorl.language import Json, Scope


def begin_verdict(machine: State, key: str, *, before: bool = False) -> None:
    """Takes an iteration's results in and weighs the loop's condition for the first time.

    `before` weighs it ahead of an iteration, over the results of the one before.
    """
    frame = machine.loop_frames[key]
    frame["before"] = before
    frame["judged"] = {}
    if not before:
        stop_clock(machine, key)
    try:
        if before:
            _look_back(machine, frame)
        else:
            record_success(machine, key, body_results(machine, frame))
            _measure(machine, key)
        _weigh(machine, key)
    except LanguageError as fault:
        fail_loop(machine, key, language_failure(fault, frame["address"]))


def judged(machine: State, key: str, child: str, outcome: Outcome) -> None:
    """A judge has answered: counts the vote, asks again if need be, then weighs again."""
    frame = machine.loop_frames[key]
    frame["judge"] = None
    frame["children"] = {}
    loop = loop_of(machine, key)
    index = frame["asking"]
    current = frame["judged"][str(index)]
    # Its own retries are attempts at the same address.
    frame["asks"][str(index)] = machine.frames[child]["attempt"]
    if is_failure(outcome):
        if loop.on_iteration_failure.action != "continue":
            fail_loop(machine, key, outcome["error"])
            return
        machine.warn(frame["address"], "R100", f"the judge failed: {outcome['error']['message']}")
        current |= {"met": None, "answer": ""}
    else:
        _count_vote(current, outcome["value"], judges_of(loop.until)[index].votes)
    if "met" not in current:
        ask_judge(machine, key)
        return
    try:
        _weigh(machine, key)
    except LanguageError as fault:
        fail_loop(machine, key, language_failure(fault, frame["address"]))


def ask_judge(machine: State, key: str) -> None:
    """Asks the judge whose answer is open."""
    frame = machine.loop_frames[key]
    index = frame["asking"]
    current = frame["judged"][str(index)]
    where = frame["iteration"]["address"] if "iteration" in frame else frame["address"]
    base = inner(where, "judge" if index == 0 else f"judge{index + 1}")
    attempt = frame.setdefault("asks", {}).get(str(index), 0) + 1
    child = machine.new_frame(
        "task",
        parent=key,
        scope=frame["inner"],
        node=judge_key(frame["node"], index),
        name=f"judge of {frame['name']}",
        base=base,
        address=attempted(base, attempt),
        attempt=attempt,
        extra={"reask": True} if current.get("reask") else {},
    )
    frame["judge"] = child
    frame["children"] = {"judge": child}
    frame["phase"] = "judging"
    machine.enter(child)


def measure_early(machine: State, key: str) -> bool:
    """Measures an iteration that a jump has ended; true where it is the best so far.

    What the jump left out cannot be read: there is no score then, and nothing to compare.
    """
    frame = machine.loop_frames[key]
    wanted = machine.plan.measures[frame["node"]]
    if wanted is None:
        return False
    scope = machine.scope_at(frame["inner"])
    frame["scored"] = [_or_none(measure, score, scope) for score in wanted.scores]
    _take_score(machine, key, wanted)
    frame["texts"] = [_or_none(_text, stable, scope) for stable in wanted.stables]
    return keep_best(machine, key)


def _measure(machine: State, key: str) -> None:
    frame = machine.loop_frames[key]
    wanted = machine.plan.measures[frame["node"]]
    if wanted is None:
        return
    scope = machine.scope_at(frame["inner"])
    frame["scored"] = [measure(score, scope) for score in wanted.scores]
    for score, number in zip(wanted.scores, frame["scored"], strict=True):
        if number is None:
            pattern = f"pattern {score.pattern!r}" if score.pattern else "expression"
            how = score.described or pattern
            machine.warn(frame["address"], "R104", f"an iteration has no score: by its {how}")
    _take_score(machine, key, wanted)
    frame["texts_before"] = frame.get("texts", [])
    frame["texts"] = [_text(stable, scope) for stable in wanted.stables]


def _warn_outside(machine: State, key: str, score: Score, number: float) -> None:
    """A score on another scale is told once for each loop; the table of iterations has them all."""
    frame = machine.loop_frames[key]
    low, high = score.low, score.high
    scale = " ".join(
        words
        for words in (
            "" if low is None else f"from {low:g}",
            "" if high is None else f"to {high:g}",
        )
        if words
    )
    message = (
        f"score {number:g} of iteration {frame['count']} is outside {range_of(low, high)} "
        f"and counts as none; ask for a score {scale} in the prompt"
    )
    field = dict(loop_of(machine, key).limit_fields).get("score")
    if field:
        message += f", or change {field}"
    machine.warn(frame["address"], "R115", message, once=f"R115 {frame['address']}")


def _take_score(machine: State, key: str, wanted: Measures) -> None:
    """The score of the iteration is the first one that is measured, where it is in its range."""
    frame = machine.loop_frames[key]
    if not wanted.scores:
        return
    for score, number in zip(wanted.scores, frame["scored"], strict=True):
        if number is not None and is_outside(score, number):
            _warn_outside(machine, key, score, number)
    first: float | None = frame["scored"][0]
    outside = first is not None and is_outside(wanted.scores[0], first)
    frame["score"] = None if outside else first
    frame.pop("outside", None)
    if outside:
        frame["outside"] = {
            "score": first,
            "low": wanted.scores[0].low,
            "high": wanted.scores[0].high,
        }
    if frame["score"] is not None:
        _mark_progress(frame, wanted, frame["score"])


def _mark_progress(frame: LoopFrame, wanted: Measures, score: float) -> None:
    """Each plateau has a score that counts as the last progress, and how long ago that was.

    An iteration without a score is no reason to say that it did not get better.
    """
    deltas = wanted.min_deltas
    if not deltas:
        return
    marks = frame.setdefault("marks", [None] * len(deltas))
    stale = frame.setdefault("stale", [0] * len(deltas))
    for index, delta in enumerate(deltas):
        mark = marks[index]
        if mark is None or score > mark + delta:
            marks[index], stale[index] = score, 0
        else:
            stale[index] += 1


def _text(stable: Stable, scope: Scope) -> str | None:
    return comparable(value_of(stable.subject, scope), whole=stable.whole)


def _or_none(read: Callable[[Any, Scope], Any], what: Score | Stable, scope: Scope) -> Any:
    try:
        return read(what, scope)
    except LanguageError:
        return None


def _weigh(machine: State, key: str) -> None:
    frame = machine.loop_frames[key]
    loop = loop_of(machine, key)
    until, before = loop.until, frame["before"]
    if until is None or (loop.check != "after" and not before):
        _decide(machine, key, Verdict("not_met"))
        return
    lost = frozenset() if before else _lost_steps(machine, frame)
    verdict = Weighing(frame, machine.scope_at(frame["inner"]), lost).weigh(until)
    if verdict.state == "open":
        frame["asking"] = verdict.judge
        frame["judged"][str(verdict.judge)] = {"votes": []}
        ask_judge(machine, key)
        return
    _decide(machine, key, verdict)


def _lost_steps(machine: State, frame: LoopFrame) -> frozenset[str]:
    """The steps of an iteration that failed, though it went on, and that have left no value."""
    found: set[str] = set()
    body = frame.get("body")
    blocks = [body] if body else []
    for key in blocks:
        inside = machine.frames[key]
        if inside["kind"] == "block":
            values = machine.state["scopes"][inside["scope"]]["values"]
            ends = inside["ends"].items()
            found |= {n for n, end in ends if end.get("tolerated") and values.get(n) is None}
        if inside["kind"] in ("block", "branch", "group"):
            blocks += children_of(inside)
    return frozenset(found)


def _decide(machine: State, key: str, verdict: Verdict) -> None:
    frame = machine.loop_frames[key]
    before = frame.pop("before")
    met = verdict.state == "met"
    frame["decision"] = {"met": met, "by": verdict.by, "before": before}
    frame["judged"] = {}
    if before:
        if verdict.approves and "last" in frame:
            keep_best(machine, key, approved=True)
        return
    close_iteration(
        machine,
        key,
        status="succeeded",
        score=frame.get("score"),
        outside=frame.get("outside"),
        best=keep_best(machine, key, approved=bool(verdict.approves)) or None,
        approved=verdict.approves or None,
        met=met,
        by=verdict.by if met else "",
        facts=[_discreet(fact, machine, frame) for fact in verdict.facts] or None,
    )


def _discreet(fact: dict[str, Json], machine: State, frame: LoopFrame) -> dict[str, Json]:
    """A fact without the words of a judge who was shown what nobody else is."""
    if fact.get("by") != "judge" or not machine.plan.tasks[judge_key(frame["node"], 0)].secure:
        return fact
    return fact | {"answer": HIDDEN, "question": HIDDEN}


def _look_back(machine: State, frame: LoopFrame) -> None:
    """Makes the scope for a check ahead of an iteration: the results of the one before."""
    if frame.get("inner"):
        machine.drop_scope(frame["inner"])
    values: dict[str, Json] = frame["carry"] | frame.get("previous", {})
    node = machine.plan.loops[frame["node"]]
    values |= facts_of(frame, node, frame["count"] + 1)
    frame["inner"] = machine.new_scope(values, frame["scope"], hidden_from(values, node))
    scope = machine.scope_at(frame["inner"])
    for name, value in node.bind:
        values[name] = value_of(value, scope)


def _count_vote(current: Judged, value: Any, wanted: int) -> None:
    """A vote is yes, no or, after one more try, ambiguous; a majority of all votes decides."""
    verdict = value.get("verdict") if isinstance(value, dict) else None
    current["answer"] = value.get("answer", "") if isinstance(value, dict) else str(value)
    if verdict not in ("met", "not_met") and not current.get("reask"):
        current["reask"] = True
        return
    current.pop("reask", None)
    current["votes"].append(verdict if verdict in ("met", "not_met") else "ambiguous")
    yes, no = current["votes"].count("met"), current["votes"].count("not_met")
    if yes * 2 > wanted:
        current["met"] = True
    elif no * 2 >= wanted or len(current["votes"]) >= wanted:
        current["met"] = False if no else None
