"""Judging an iteration: measures it, checks the rule of its loop, asks judges where they decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter.constructs.block import results
from whorl.interpreter.constructs.loops import exploring, loop_results
from whorl.interpreter.constructs.loops.rules import (
    RuleCheck,
    Verdict,
    lost_steps,
    measure_iteration,
)
from whorl.interpreter.evaluation import value_of
from whorl.interpreter.events import attempted, inner
from whorl.interpreter.frames import HIDDEN, discard, is_failure
from whorl.interpreter.plan import judge_key
from whorl.ir import Constant
from whorl.language.calls import WHOLE

if TYPE_CHECKING:
    from whorl.interpreter.frames import Judged, LoopFrame, Outcome, Values
    from whorl.interpreter.state import State

# More votes than any judge has.
VOTES_MAX = 1_000_000
# What is shown of an answer that is not clear.
SHOWN_MAX = 200
# What a judge says beside its verdict, where it does.
_WORDS = ("reason", "evidence", "evidence_in_text")


def judge_iteration(machine: State, key: str) -> Verdict | None:
    """Takes the results of an iteration in and checks the rule; None while a judge is asked."""
    frame = machine.loop_frames[key]
    frame |= {"before": False, "judged": {}}
    loop_results.stop_clock(machine, key)
    assert frame["body"] is not None
    loop_results.record_success(machine, key, results(machine, frame["body"]))
    measure_iteration(machine, key)
    return _check(machine, key)


def judge_ahead(machine: State, key: str) -> Verdict | None:
    """Checks the rule ahead of an iteration, over the results of the one before."""
    frame = machine.loop_frames[key]
    frame |= {"before": True, "judged": {}}
    facts = loop_results.facts_of(frame, machine.loop(key), frame["count"] + 1)
    loop_results.new_inner(machine, key, frame["carry"] | frame.get("previous", {}) | facts)
    return _check(machine, key)


def take_answer(machine: State, key: str, outcome: Outcome) -> Verdict | None:
    """Counts the vote of a judge, asks again if need be, then checks the rule again."""
    frame = machine.loop_frames[key]
    leaf = frame["asking"]
    if "rest" in frame:
        _take_rest(frame["rest"][leaf], outcome)
        return _check(machine, key)
    judged = frame["judged"][leaf]
    if is_failure(outcome):
        machine.warn(frame["address"], "R100", f"the judge failed: {outcome['error']['message']}")
        judged |= {"met": None, "answer": ""}
    else:
        votes = machine.plan.rules[frame["node"]].judges[leaf].votes
        _count_vote(judged, outcome["value"], votes)
        if judged.get("met", False) is None:
            _warn_no_verdict(machine, key, outcome["value"])
    if "met" not in judged:
        ask_judge(machine, key)
        return None
    return _check(machine, key)


def _warn_no_verdict(machine: State, key: str, value: Any) -> None:
    """A judge said neither yes nor no, or could not read its text: told once for each loop."""
    frame = machine.loop_frames[key]
    code, judge = "R117", f"the judge of loop {frame['name']!r}"
    if isinstance(value, dict) and value.get("verdict") == "inconclusive":
        message = f"{judge} gave {value.get('answer')}, which counts as not met; name the part to "
        message += "judge (native: `judge: {of: ...}`), or a model that reads more"
    elif machine.state.get("behaviour", 1) >= WHOLE:
        words = " ".join(frame["judged"][frame["asking"]]["answer"].split())
        shown = f"{words[:SHOWN_MAX]}..." if len(words) > SHOWN_MAX else words
        is_secure = machine.plan.tasks[judge_key(frame["node"], 0)].secure
        words = "" if is_secure else f" but {shown!r}" if shown else " and nothing else"
        code, message = "R113", f"{judge} answered neither yes nor no{words}, which counts as not "
        message += "met; ask what can be answered with yes or no, or name another model"
    else:
        return
    machine.warn(_place(frame), code, message, once=f"{code} {frame['address']}")


def _place(frame: LoopFrame) -> str:
    return frame["iteration"]["address"] if "iteration" in frame else frame["address"]


def ask_judge(machine: State, key: str) -> None:
    frame = machine.loop_frames[key]
    leaf = frame["asking"]
    index = list(machine.plan.rules[frame["node"]].judges).index(leaf)
    base = inner(_place(frame), "judge" if index == 0 else f"judge{index + 1}")
    attempt = frame.setdefault("asks", {}).get(leaf, 0) + 1
    fields: Values = {"node": judge_key(frame["node"], index), "name": f"judge of {frame['name']}"}
    fields |= {"base": base, "address": attempted(base, attempt), "attempt": attempt}
    judged = frame["rest" if "rest" in frame else "judged"][leaf]
    fields["extra"] = {"reask": True} if judged.get("reask") else {}
    child = machine.new_frame("task", parent=key, scope=frame["inner"], **fields)
    frame["judge"] = child
    frame["children"] = {"judge": child}
    machine.enter(child)


def drop_judge(machine: State, frame: LoopFrame) -> None:
    if judge := frame.get("judge"):
        frame["asks"][frame["asking"]] = machine.frames[judge]["attempt"]
        machine.drop(judge)
        del frame["judge"]
        frame.update({"children": {}, "judged": {}})
        discard(frame, "rest", "rest_from")


def measure_early(machine: State, key: str) -> bool:
    """Measures an iteration that a jump has ended; true where it is the best so far.

    What the jump left out cannot be read: there is no score then, and nothing to compare.
    """
    measure_iteration(machine, key, is_early=True)
    return loop_results.keep_best(machine, key)


def _check(machine: State, key: str) -> Verdict | None:
    """The decision on the rule; asks a judge where it depends on one."""
    frame = machine.loop_frames[key]
    before = frame["before"]
    rule = machine.plan.rules[frame["node"]].rule
    verdict, is_due = Verdict("not_met"), before or machine.loop(key).check == "after"
    if rule is not None and is_due:
        lost = frozenset() if before else lost_steps(machine, frame)
        verdict = RuleCheck(frame, machine.scope_at(frame["inner"]), lost).check(rule)
    if verdict.state == "open":
        frame["asking"] = verdict.judge
        frame["judged"][verdict.judge] = {"votes": []}
        ask_judge(machine, key)
        return None
    if "explore" in frame and is_due and _ask_rest(machine, key):
        return None
    del frame["before"]
    frame["judged"] = {}
    met = verdict.state == "met"
    for fact in verdict.facts:
        if fact.get("by") == "judge" and machine.plan.tasks[judge_key(frame["node"], 0)].secure:
            # A judge who was shown what nobody else is may quote it.
            fact |= dict.fromkeys(fact.keys() & {"answer", "question", *_WORDS[:2]}, HIDDEN)
    if not before:
        loop_results.close_measured(
            machine,
            key,
            best=loop_results.keep_best(machine, key, approved=bool(verdict.approves)),
            approved=verdict.approves or None,
            met=met,
            by=verdict.by if met else "",
            facts=list(verdict.facts) or None,
        )
    elif verdict.approves and "last" in frame:
        loop_results.keep_best(machine, key, approved=True)
    verdict.ahead = before
    return verdict


def _ask_rest(machine: State, key: str) -> bool:
    """Whether an exploring loop asks a judge that its rule does not need: for all of its votes."""
    frame, scope = machine.loop_frames[key], machine.scope_at(machine.loop_frames[key]["inner"])
    rest = frame.get("rest", {})
    for leaf, judge in machine.plan.rules[frame["node"]].judges.items():
        own: Judged = frame["judged"].get(leaf, {})
        judged = rest.setdefault(leaf, {"votes": list(own.get("votes", []))})
        is_answered = "met" in judged or len(judged["votes"]) >= judge.votes
        if is_answered or ("answer" in own and not own.get("votes")):
            continue
        if isinstance(judge.subject, Constant) or value_of(judge.subject, scope) is not None:
            frame.setdefault("rest_from", dict(frame["usage"]))
            frame |= {"asking": leaf, "rest": rest}
            ask_judge(machine, key)
            return True
    if "rest" in frame:
        exploring.count_extra(frame)
        del frame["rest"]
    return False


def _take_rest(judged: Judged, outcome: Outcome) -> None:
    """Counts a vote that decides nothing; a judge that fails is not asked again."""
    if is_failure(outcome):
        judged["met"] = None
    else:
        _count_vote(judged, outcome["value"], VOTES_MAX)


def _count_vote(judged: Judged, value: Any, wanted: int) -> None:
    """A vote is yes, no or, after one more try, ambiguous; a majority of all votes decides.

    Nobody decides about a text that the model could not read as a whole.
    """
    verdict = value.get("verdict") if isinstance(value, dict) else None
    judged["answer"] = value.get("answer", "") if isinstance(value, dict) else str(value)
    judged.pop("words", None)
    if isinstance(value, dict) and (words := {n: value[n] for n in _WORDS if n in value}):
        judged["words"] = words
    if verdict == "inconclusive":
        # Another vote would be about the same text.
        judged["met"] = None
        return
    if verdict not in ("met", "not_met") and not judged.get("reask"):
        judged["reask"] = True
        return
    judged.pop("reask", None)
    judged["votes"].append(verdict if verdict in ("met", "not_met") else "ambiguous")
    yes, no = judged["votes"].count("met"), judged["votes"].count("not_met")
    if yes * 2 > wanted:
        judged["met"] = True
    elif no * 2 >= wanted or len(judged["votes"]) >= wanted:
        judged["met"] = False if no else None
