"""The rule of a loop: checked over what an iteration measured and what judges said of it.

A rule is met, not met, inconclusive, or open until a judge has answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from whorl.interpreter.constructs.loops.measuring import (
    compared_text,
    is_outside,
    measure,
    similarity,
)
from whorl.interpreter.evaluation import OverlayScope, value_of
from whorl.interpreter.frames import children_of
from whorl.interpreter.plan import Combined
from whorl.ir import AllOf, AnyOf, BranchTaken, Constant, Judge, Plateau, Score, Stable, When
from whorl.language import free_names, to_text, truth
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from whorl.interpreter.evaluation import FrameScope
    from whorl.interpreter.frames import LoopFrame, Values
    from whorl.interpreter.plan import Leaf, Rule
    from whorl.interpreter.state import State
    from whorl.ir import Condition
    from whorl.language import Json, Scope


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


class RuleCheck:
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
            return combined(parts, every=rule.every)
        condition = rule.condition
        match condition:
            case When():
                return self._when(rule, condition)
            case Score():
                return self._score(rule, condition)
            case Judge():
                return self._judge(rule, condition)
            case BranchTaken():
                taken = _taken(self._frame, condition)
                return verdict_of(rule, taken == condition.name, "branch", {"branch": taken})
            case Stable():
                return self._stable(rule, condition)
            case Plateau():
                stale = self._frame.get("stale", {}).get(rule.id, 0)
                return verdict_of(rule, stale >= condition.patience, "plateau", {"stale": stale})
            case AnyOf() | AllOf():
                raise AssertionError("the plan combines these")
            case _:
                assert_never(condition)

    def _when(self, leaf: Leaf, condition: When) -> Verdict:
        facts: Values = {"expression": condition.described or condition.test.source}
        if self._lost:
            read = {use.name for use in free_names(condition.test)} & self._lost
            if read:
                return verdict_of(leaf, None, "expression", facts | {"failed": [*sorted(read)]})
        return verdict_of(leaf, truth(condition.test, self._scope), "expression", facts)

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
        return verdict_of(leaf, met, "score", facts)

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
        facts |= judged.get("words", {})
        return verdict_of(leaf, judged["met"], "judge", facts)

    def _stable(self, leaf: Leaf, condition: Stable) -> Verdict:
        text = self._frame.get("texts", {}).get(leaf.id, "")
        if text is None:
            return verdict_of(leaf, None, "stable", {})
        earlier = self._frame.get("texts_before", {}).get(leaf.id)
        if earlier is None:
            return Verdict("not_met", "stable", approves=None)
        alike = similarity(earlier, text, condition.threshold)
        if alike is None:
            return Verdict("not_met", "stable", approves=None)
        return verdict_of(leaf, condition.is_met(alike), "stable", {"similarity": alike})


def combined(parts: list[Verdict], *, every: bool) -> Verdict:
    """The verdict of several conditions, of which one must be met, or every one."""
    return _all(parts) if every else _any(parts)


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


def verdict_of(leaf: Leaf, met: bool | None, by: str, facts: Values) -> Verdict:
    """The verdict of a simple condition; None is neither met nor not."""
    state = "inconclusive" if met is None else "met" if met else "not_met"
    basis: Values = {"leaf": leaf.number, "by": by, "met": met}
    approves = None if by in ("stable", "plateau") else bool(met)
    return Verdict(state, by, (basis | facts,), approves=approves)


def observe(
    machine: State, key: str, condition: Condition, names: Values, ahead: FrameScope | None = None
) -> Json:
    """What a condition reads after an iteration, or `ahead` of the next one, beside `names`."""
    frame = machine.loop_frames[key]
    scope = OverlayScope(names, ahead or machine.scope_at(frame["inner"]))
    match condition:
        case When():
            lost = frozenset() if ahead else lost_steps(machine, frame)
            is_lost = bool(lost) and not lost.isdisjoint(n.name for n in free_names(condition.test))
            return None if is_lost else truth(condition.test, scope)
        case Score():
            return measure(condition, scope)
        case Stable():
            return compared_text(condition, scope)
        case Judge():
            subject = condition.subject
            return isinstance(subject, Constant) or value_of(subject, scope) is not None
        case BranchTaken():
            return _taken(frame, condition)
    return None


def lost_steps(machine: State, frame: LoopFrame) -> frozenset[str]:
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


def _taken(frame: LoopFrame, condition: BranchTaken) -> str | None:
    result = frame.get("previous", {}).get(condition.node)
    return str(result["branch"]) if isinstance(result, dict) and "branch" in result else None
