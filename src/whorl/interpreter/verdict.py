"""Whether a loop may stop: met, not met, inconclusive, or open until a judge has answered."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from whorl.interpreter.evaluation import value_of
from whorl.ir import AllOf, AnyOf, BranchTaken, Constant, Judge, Plateau, Score, Stable, When
from whorl.language import free_names, pattern, to_text, truth

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.interpreter.frames import LoopFrame
    from whorl.ir import Condition
    from whorl.language import Json, Scope

COMPARED_MAX = 10_000


@dataclass(slots=True)
class Verdict:
    """The state of a condition, what it was decided by, the facts, and the judge to ask next.

    `approves` says whether it finds the iteration good; None: it says nothing about that, as
    `stable` and `plateau`, which only end a loop.
    """

    state: str
    by: str = ""
    facts: tuple[dict[str, Json], ...] = ()
    judge: int = 0
    approves: bool | None = False


@dataclass(frozen=True, slots=True)
class Measures:
    """What is measured of every iteration, in the order in which the condition is written."""

    scores: tuple[Score, ...]
    stables: tuple[Stable, ...]
    min_deltas: tuple[float, ...] = ()


def measures_of(condition: Condition | None) -> Measures | None:
    """What a condition wants measured; None where that is nothing."""
    parts = list(_simple(condition))
    found = Measures(
        scores=tuple(part for part in parts if isinstance(part, Score)),
        stables=tuple(part for part in parts if isinstance(part, Stable)),
        min_deltas=tuple(part.min_delta for part in parts if isinstance(part, Plateau)),
    )
    return found if found.scores or found.stables or found.min_deltas else None


def can_be_met(condition: Condition | None) -> bool:
    """Whether there is anything in a condition that decides; a score may be measured only."""
    return any(not isinstance(p, Score) or p.at_least is not None for p in _simple(condition))


def _simple(condition: Condition | None) -> Iterator[Condition]:
    if isinstance(condition, AnyOf | AllOf):
        for part in condition.conditions:
            yield from _simple(part)
    elif condition is not None:
        yield condition


def measure(score: Score, scope: Scope) -> float | None:
    """The number that scores an iteration, also where it is out of range; None: there is none."""
    value = value_of(score.source, scope)
    if score.pattern is not None:
        found = pattern(score.pattern).search(to_text(value))
        value = found.group(1) if found is not None else None
    if isinstance(value, str):
        try:
            value = float(value.strip())
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def is_outside(score: Score, number: float) -> bool:
    """Whether a number lies outside of the range that the score has."""
    too_low = score.low is not None and number < score.low
    return too_low or (score.high is not None and number > score.high)


def range_of(low: float | None, high: float | None) -> str:
    """A range in words: 0..1, at least 0, at most 10."""
    if low is None or high is None:
        return f"at most {high:g}" if low is None else f"at least {low:g}"
    return f"{low:g}..{high:g}"


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


def similarity(one: str, other: str) -> float:
    """How much two texts are alike: 1 minus their edit distance over the longer one's length."""
    from rapidfuzz.distance import Levenshtein

    return float(Levenshtein.normalized_similarity(one, other))


class Weighing:
    """Goes through a condition once, telling its parts by the order in which they are written.

    What an iteration measured and what judges said of it is in the frame of the loop. Steps that
    are `lost` have failed and left nothing that an expression could be true of.
    """

    def __init__(self, frame: LoopFrame, scope: Scope, lost: frozenset[str] = frozenset()) -> None:
        self._frame = frame
        self._scope = scope
        self._lost = lost
        self._scores = 0
        self._stables = 0
        self._judges = 0
        self._plateaus = 0

    def weigh(self, condition: Condition) -> Verdict:
        """The verdict on a condition; `open` where a judge is needed and has not answered."""
        match condition:
            case When():
                return self._when(condition)
            case Score():
                return self._score(condition)
            case Judge():
                return self._judge(condition)
            case BranchTaken():
                taken = _taken(self._frame.get("previous", {}).get(condition.node))
                return _verdict(taken == condition.name, "branch", {"branch": taken})
            case Stable():
                return self._stable(condition)
            case Plateau():
                return self._plateau(condition)
            case AnyOf():
                return self._any(condition)
            case AllOf():
                return self._all(condition)
            case _:
                assert_never(condition)

    def _when(self, condition: When) -> Verdict:
        facts: dict[str, Json] = {"expression": condition.described or condition.test.source}
        if self._lost:
            read = {use.name for use in free_names(condition.test)} & self._lost
            if read:
                failed: list[Json] = [*sorted(read)]
                facts |= {"by": "expression", "met": None, "failed": failed}
                return Verdict("inconclusive", "expression", (facts,))
        return _verdict(truth(condition.test, self._scope), "expression", facts)

    def _score(self, condition: Score) -> Verdict:
        scored: list[float | None] = self._frame.get("scored", [])
        number = scored[self._scores] if self._scores < len(scored) else None
        self._scores += 1
        facts: dict[str, Json] = {}
        if number is not None and is_outside(condition, number):
            facts = {"outside": number, "low": condition.low, "high": condition.high}
            number = None
        facts["score"] = number
        if condition.at_least is None:
            return Verdict("measured", "score", (facts,))
        facts["at_least"] = condition.at_least
        if number is None:
            return Verdict("inconclusive", "score", (facts | {"by": "score", "met": None},))
        return _verdict(number >= condition.at_least, "score", facts)

    def _judge(self, condition: Judge) -> Verdict:
        index = self._judges
        self._judges += 1
        judged = self._frame["judged"].get(str(index), {})
        if "met" not in judged and self._has_subject(condition):
            return Verdict("open", "judge", judge=index)
        if "met" not in judged:
            judged = {"met": None, "answer": "not asked: there is no result to judge"}
        facts: dict[str, Json] = {"by": "judge", "met": judged["met"], "answer": judged["answer"]}
        facts["question"] = to_text(value_of(condition.question, self._scope))
        if judged["met"] is None:
            return Verdict("inconclusive", "judge", (facts,))
        return _verdict(bool(judged["met"]), "judge", facts)

    def _has_subject(self, condition: Judge) -> bool:
        """Whether there is something to judge; a step that was skipped has left nothing."""
        subject = condition.subject
        return isinstance(subject, Constant) or value_of(subject, self._scope) is not None

    def _stable(self, condition: Stable) -> Verdict:
        index = self._stables
        self._stables += 1
        before = self._frame.get("texts_before", [])
        texts = self._frame.get("texts", [])
        text = texts[index] if index < len(texts) else ""
        if text is None:
            facts: dict[str, Json] = {"by": "stable", "met": None}
            return Verdict("inconclusive", "stable", (facts,), approves=None)
        earlier = before[index] if index < len(before) else None
        if earlier is None:
            return Verdict("not_met", "stable", approves=None)
        alike = similarity(earlier, text)
        return _ending(alike >= condition.threshold, "stable", {"similarity": round(alike, 4)})

    def _plateau(self, condition: Plateau) -> Verdict:
        index = self._plateaus
        self._plateaus += 1
        counts: list[int] = self._frame.get("stale", [])
        stale = counts[index] if index < len(counts) else 0
        return _ending(stale >= condition.patience, "plateau", {"stale": stale})

    def _any(self, condition: AnyOf) -> Verdict:
        parts = [self.weigh(part) for part in condition.conditions]
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

    def _all(self, condition: AllOf) -> Verdict:
        parts = [self.weigh(part) for part in condition.conditions]
        parts = [part for part in parts if part.state != "measured"]
        facts = tuple(fact for part in parts for fact in part.facts)
        said = [part.approves for part in parts if part.approves is not None]
        approves = all(said) if said else None
        for state in ("not_met", "inconclusive", "open"):
            for part in parts:
                if part.state == state:
                    return Verdict(state, part.by, facts, part.judge, approves)
        by = parts[-1].by if parts else ""
        return Verdict("met" if parts else "not_met", by, facts, approves=approves)


def _taken(result: Json) -> str | None:
    """The branch that was taken, by the result of a branch."""
    if isinstance(result, dict) and "branch" in result:
        return str(result["branch"])
    return None


def _verdict(met: bool, by: str, facts: dict[str, Json]) -> Verdict:
    told: dict[str, Json] = {"by": by, "met": met}
    return Verdict("met" if met else "not_met", by, (told | facts,), approves=met)


def _ending(met: bool, by: str, facts: dict[str, Json]) -> Verdict:
    """A verdict that only ends a loop."""
    told: dict[str, Json] = {"by": by, "met": met}
    return Verdict("met" if met else "not_met", by, (told | facts,), approves=None)
