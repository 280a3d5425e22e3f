"""Judging an iteration: measures it, checks the rule of its loop, asks judges where they decide.

A rule is met, not met, inconclusive, or open until a judge has answered.
"""

from __future__ import annotations

import hashlib
import json
import math
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, assert_never

from whorl.interpreter.constructs import loop_results
from whorl.interpreter.constructs.block import results
from whorl.interpreter.evaluation import value_of
from whorl.interpreter.events import attempted, inner
from whorl.interpreter.frames import HIDDEN, children_of, is_failure
from whorl.interpreter.plan import Combined, judge_key
from whorl.ir import AllOf, AnyOf, BranchTaken, Constant, Judge, Plateau, Score, Stable, When
from whorl.language import LanguageError, free_names, pattern, to_text, truth

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.interpreter.frames import Judged, LoopFrame, Outcome, Values
    from whorl.interpreter.plan import Leaf, LoopPlan, Rule
    from whorl.interpreter.state import State
    from whorl.language import Json, Scope

COMPARED_MAX = 10_000


@dataclass(slots=True)
class Verdict:
    """The state of a rule, what it was decided by, the facts, and the judge to ask next.

    `approves` says whether it finds the iteration good; None: it says nothing about that, as
    `stable` and `plateau`, which only end a loop. It is `ahead` where no iteration was made yet.
    """

    state: str
    by: str = ""
    facts: tuple[Values, ...] = ()
    judge: str = ""
    approves: bool | None = False
    ahead: bool = False


def judge_iteration(machine: State, key: str) -> Verdict | None:
    """Takes the results of an iteration in and checks the rule; None while a judge is asked."""
    frame = machine.loop_frames[key]
    frame |= {"before": False, "judged": {}}
    loop_results.stop_clock(machine, key)
    assert frame["body"] is not None
    loop_results.record_success(machine, key, results(machine, frame["body"]))
    _measure(machine, key)
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
    judged = frame["judged"][leaf]
    if is_failure(outcome):
        machine.warn(frame["address"], "R100", f"the judge failed: {outcome['error']['message']}")
        judged |= {"met": None, "answer": ""}
    else:
        votes = machine.plan.rules[frame["node"]].judges[leaf].votes
        _count_vote(judged, outcome["value"], votes)
    if "met" not in judged:
        ask_judge(machine, key)
        return None
    return _check(machine, key)


def ask_judge(machine: State, key: str) -> None:
    frame = machine.loop_frames[key]
    leaf = frame["asking"]
    index = list(machine.plan.rules[frame["node"]].judges).index(leaf)
    address = frame["iteration"]["address"] if "iteration" in frame else frame["address"]
    base = inner(address, "judge" if index == 0 else f"judge{index + 1}")
    attempt = frame.setdefault("asks", {}).get(leaf, 0) + 1
    fields: Values = {"node": judge_key(frame["node"], index), "name": f"judge of {frame['name']}"}
    fields |= {"base": base, "address": attempted(base, attempt), "attempt": attempt}
    fields["extra"] = {"reask": True} if frame["judged"][leaf].get("reask") else {}
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


def measure_early(machine: State, key: str) -> bool:
    """Measures an iteration that a jump has ended; true where it is the best so far.

    What the jump left out cannot be read: there is no score then, and nothing to compare.
    """
    _measure(machine, key, is_early=True)
    return loop_results.keep_best(machine, key)


def _measure(machine: State, key: str, *, is_early: bool = False) -> None:
    frame = machine.loop_frames[key]
    rules = machine.plan.rules[frame["node"]]
    if not rules.scores and not rules.stables:
        return
    scope, ignored = machine.scope_at(frame["inner"]), [LanguageError] if is_early else []

    def read(how: Callable[[Any, Scope], Any], condition: Score | Stable) -> Any:
        with suppress(*ignored):
            return how(condition, scope)

    if rules.scores:
        frame["scores"] = {leaf: read(measure, score) for leaf, score in rules.scores.items()}
        for leaf, number in frame["scores"].items():
            if number is None and not is_early:
                score = rules.scores[leaf]
                usual = f"pattern {score.pattern!r}" if score.pattern else "expression"
                message = f"an iteration has no score: by its {score.described or usual}"
                machine.warn(frame["address"], "R104", message)
        _take_score(machine, key, rules)
    if rules.stables:
        if not is_early:
            frame["texts_before"] = frame.get("texts", {})
        frame["texts"] = {leaf: read(_text, stable) for leaf, stable in rules.stables.items()}


def _take_score(machine: State, key: str, rules: LoopPlan) -> None:
    """The score of the iteration is the first one that is measured, where it is in its range."""
    frame = machine.loop_frames[key]
    for leaf, number in frame["scores"].items():
        if number is not None and is_outside(rules.scores[leaf], number):
            _warn_outside(machine, key, rules.scores[leaf], number)
    leaf, score = next(iter(rules.scores.items()))
    first = frame["scores"][leaf]
    frame.pop("outside", None)
    if first is not None and is_outside(score, first):
        frame["outside"] = {"score": first, "low": score.low, "high": score.high}
        first = None
    frame["score"] = first
    if first is None:
        # That is no reason to say that it did not get better.
        return
    # Each plateau has a score that counts as the last progress, and how long ago that was.
    for leaf, plateau in rules.plateaus.items():
        marks, stale = frame.setdefault("marks", {}), frame.setdefault("stale", {})
        if leaf not in marks or first > marks[leaf] + plateau.min_delta:
            marks[leaf], stale[leaf] = first, 0
        else:
            stale[leaf] += 1


def _warn_outside(machine: State, key: str, score: Score, number: float) -> None:
    """A score on another scale is told once for each loop; the table of iterations has them all."""
    frame = machine.loop_frames[key]
    low, high = score.low, score.high
    span = f"{low:g}..{high:g}" if low is not None and high is not None else ""
    span = span or (f"at most {high:g}" if low is None else f"at least {low:g}")
    message = f"score {number:g} of iteration {frame['count']} is outside {span} and counts as none"
    words: Any = machine.loop(key).words or {}
    facts: Values = {"score": number, "low": low, "high": high, "fields": words.get("fields")}
    once = f"R115 {frame['address']}"
    machine.warn(frame["address"], "R115", message, once=once, facts=facts)


def _check(machine: State, key: str) -> Verdict | None:
    """The decision on the rule; asks a judge where it depends on one."""
    frame = machine.loop_frames[key]
    before = frame["before"]
    rule = machine.plan.rules[frame["node"]].rule
    verdict = Verdict("not_met")
    if rule is not None and (before or machine.loop(key).check == "after"):
        lost = frozenset() if before else _lost_steps(machine, frame)
        verdict = _RuleCheck(frame, machine.scope_at(frame["inner"]), lost).check(rule)
    if verdict.state == "open":
        frame["asking"] = verdict.judge
        frame["judged"][verdict.judge] = {"votes": []}
        ask_judge(machine, key)
        return None
    del frame["before"]
    frame["judged"] = {}
    met = verdict.state == "met"
    for fact in verdict.facts:
        if fact.get("by") == "judge" and machine.plan.tasks[judge_key(frame["node"], 0)].secure:
            # A judge who was shown what nobody else is may quote it.
            fact |= {"answer": HIDDEN, "question": HIDDEN}
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


def _lost_steps(machine: State, frame: LoopFrame) -> frozenset[str]:
    """The steps of an iteration that failed, though it went on, and that have left no value."""
    names: set[str] = set()
    blocks = [body] if (body := frame.get("body")) else []
    for key in blocks:
        inside = machine.frames[key]
        if inside["kind"] == "block":
            for name, end in inside["ends"].items():
                if "tolerated" in end and machine.values_at(inside["scope"]).get(name) is None:
                    names.add(name)
        if inside["kind"] in ("block", "branch", "group"):
            blocks += children_of(inside)
    return frozenset(names)


def _count_vote(judged: Judged, value: Any, wanted: int) -> None:
    """A vote is yes, no or, after one more try, ambiguous; a majority of all votes decides."""
    verdict = value.get("verdict") if isinstance(value, dict) else None
    judged["answer"] = value.get("answer", "") if isinstance(value, dict) else str(value)
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


class _RuleCheck:
    """Goes through a rule once.

    What an iteration measured and what judges said of it is in the frame of the loop. Steps that
    are `lost` have failed and left nothing that an expression could be true of.
    """

    def __init__(self, frame: LoopFrame, scope: Scope, lost: frozenset[str]) -> None:
        self._frame = frame
        self._scope = scope
        self._lost = lost

    def check(self, rule: Rule) -> Verdict:
        """The verdict on a rule; `open` where a judge is needed and has not answered."""
        if isinstance(rule, Combined):
            parts = [self.check(part) for part in rule.parts]
            return _all(parts) if rule.every else _any(parts)
        condition = rule.condition
        match condition:
            case When():
                return self._when(rule, condition)
            case Score():
                return self._score(rule, condition)
            case Judge():
                return self._judge(rule, condition)
            case BranchTaken():
                result = self._frame.get("previous", {}).get(condition.node)
                is_branch = isinstance(result, dict) and "branch" in result
                taken = str(result["branch"]) if is_branch else None  # type: ignore[index,call-overload]
                return _verdict(rule, taken == condition.name, "branch", {"branch": taken})
            case Stable():
                return self._stable(rule, condition)
            case Plateau():
                stale = self._frame.get("stale", {}).get(rule.id, 0)
                return _verdict(rule, stale >= condition.patience, "plateau", {"stale": stale})
            case AnyOf() | AllOf():
                raise AssertionError("the plan combines these")
            case _:
                assert_never(condition)

    def _when(self, leaf: Leaf, condition: When) -> Verdict:
        facts: Values = {"expression": condition.described or condition.test.source}
        if self._lost:
            read = {use.name for use in free_names(condition.test)} & self._lost
            if read:
                return _verdict(leaf, None, "expression", facts | {"failed": [*sorted(read)]})
        return _verdict(leaf, truth(condition.test, self._scope), "expression", facts)

    def _score(self, leaf: Leaf, condition: Score) -> Verdict:
        number = self._frame.get("scores", {}).get(leaf.id)
        facts: Values = {}
        if number is not None and is_outside(condition, number):
            facts = {"outside": number, "low": condition.low, "high": condition.high}
            number = None
        facts["score"] = number
        if condition.at_least is None:
            return Verdict("measured", "score", ({"leaf": leaf.number} | facts,))
        facts["at_least"] = condition.at_least
        met = None if number is None else number >= condition.at_least
        return _verdict(leaf, met, "score", facts)

    def _judge(self, leaf: Leaf, condition: Judge) -> Verdict:
        judged = self._frame["judged"].get(leaf.id, {})
        if "met" not in judged:
            subject = condition.subject
            if isinstance(subject, Constant) or value_of(subject, self._scope) is not None:
                return Verdict("open", "judge", judge=leaf.id)
            # A step that was skipped has left nothing.
            judged = {"met": None, "answer": "not asked: there is no result to judge"}
        question = to_text(value_of(condition.question, self._scope))
        facts: Values = {"answer": judged["answer"], "question": question}
        return _verdict(leaf, judged["met"], "judge", facts)

    def _stable(self, leaf: Leaf, condition: Stable) -> Verdict:
        text = self._frame.get("texts", {}).get(leaf.id, "")
        if text is None:
            return _verdict(leaf, None, "stable", {})
        earlier = self._frame.get("texts_before", {}).get(leaf.id)
        if earlier is None:
            return Verdict("not_met", "stable", approves=None)
        alike = similarity(earlier, text)
        return _verdict(leaf, alike >= condition.threshold, "stable", {"similarity": alike})


def _any(parts: list[Verdict]) -> Verdict:
    facts = tuple(fact for part in parts for fact in part.facts if part.state != "measured")
    approves = any(part.approves for part in parts)
    # Where several are met, one that approves tells more than one that only ends the loop.
    met = [part for part in parts if part.state == "met"]
    for part in met:
        if part.approves:
            return Verdict("met", part.by, facts, approves=True)
    for part in (*met, *(part for part in parts if part.state == "open")):
        return Verdict(part.state, part.by, facts, part.judge, approves)
    return Verdict("not_met", "", facts, approves=approves)


def _all(parts: list[Verdict]) -> Verdict:
    parts = [part for part in parts if part.state != "measured"]
    facts = tuple(fact for part in parts for fact in part.facts)
    opinions = [part.approves for part in parts if part.approves is not None]
    approves = all(opinions) if opinions else None
    for state in ("not_met", "inconclusive", "open"):
        for part in parts:
            if part.state == state:
                return Verdict(state, part.by, facts, part.judge, approves)
    by = parts[-1].by if parts else ""
    return Verdict("met" if parts else "not_met", by, facts, approves=approves)


def _verdict(leaf: Leaf, met: bool | None, by: str, facts: Values) -> Verdict:
    """The verdict of a simple condition; None is neither met nor not."""
    state = "inconclusive" if met is None else "met" if met else "not_met"
    basis: Values = {"leaf": leaf.number, "by": by, "met": met}
    approves = None if by in ("stable", "plateau") else bool(met)
    return Verdict(state, by, (basis | facts,), approves=approves)


def measure(score: Score, scope: Scope) -> float | None:
    """The number that scores an iteration, also where it is out of range; None: there is none."""
    value = value_of(score.source, scope)
    if score.pattern is not None:
        match = pattern(score.pattern).search(to_text(value))
        value = match.group(1) if match is not None else None
    if isinstance(value, str):
        try:
            value = float(value.strip())
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def is_outside(score: Score, number: float) -> bool:
    too_low = score.low is not None and number < score.low
    return too_low or (score.high is not None and number > score.high)


def _text(stable: Stable, scope: Scope) -> str | None:
    return comparable(value_of(stable.subject, scope), whole=stable.whole)


def comparable(value: Json, *, whole: bool = False) -> str | None:
    """The text by which two results are compared; None where there is no result.

    Where a text is too long, `whole` puts a mark of all of it in place of the rest.
    """
    if value is None:
        return None
    if not isinstance(value, str):
        value = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    if not whole or len(value) <= COMPARED_MAX:
        return value[:COMPARED_MAX]
    mark = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{value[:COMPARED_MAX]} {mark}"


def similarity(first: str, second: str) -> float:
    """How much two texts are alike: 1 minus their edit distance over the longer one's length."""
    from rapidfuzz.distance import Levenshtein

    return float(Levenshtein.normalized_similarity(first, second))
