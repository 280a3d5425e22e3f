"""Measuring an iteration: its scores, how long ago the last progress was, texts to compare."""

from __future__ import annotations

import hashlib
import json
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from whorl.interpreter.evaluation import value_of
from whorl.language import LanguageError, to_text
from whorl.language.calls import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.interpreter.evaluation import FrameScope, OverlayScope
    from whorl.interpreter.frames import Values
    from whorl.interpreter.plan import LoopPlan
    from whorl.interpreter.state import State
    from whorl.ir import Score, Stable
    from whorl.language import Json


# How long texts may be that are compared; runs of earlier versions compare the beginnings. The
# further two texts may be apart, the more there is to compare: at 0.95 the work ends just there.
COMPARED_MAX = 1_000_000
_WORK_MAX = 50_000_000_000
BEGINNING_MAX = 10_000
# Beyond this, how much two texts are alike is only computed as far as a threshold needs it.
EXACT_MAX = 1_000_000_000


def measure_iteration(machine: State, key: str, *, is_early: bool = False) -> None:
    frame = machine.loop_frames[key]
    rules = machine.plan.rules[frame["node"]]
    if not rules.scores and not rules.stables:
        return
    scope, ignored = machine.scope_at(frame["inner"]), [LanguageError] if is_early else []

    def read(how: Callable[[Any, FrameScope], Any], condition: Score | Stable) -> Any:
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
        frame["texts"] = {
            leaf: read(compared_text, stable) for leaf, stable in rules.stables.items()
        }
        for leaf, text in frame["texts"].items():
            if text is not None and len(text) > (most := compared_max(rules.stables[leaf])):
                _warn_too_long(machine, key, len(text), most)
                frame["texts"][leaf] = None


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


def compared_max(stable: Stable) -> int:
    """How long texts may be that a condition compares: longer ones count as different."""
    apart = max(0.05, round(1.0 - stable.threshold, 6))
    return min(COMPARED_MAX, int((_WORK_MAX / apart) ** 0.5))


def _warn_too_long(machine: State, key: str, length: int, most: int) -> None:
    frame = machine.loop_frames[key]
    message = f"the result of iteration {frame['count']} has {length:,} characters, and only texts "
    message += f"of up to {most:,} are compared: it counts as different from every other; "
    message += "compare a part of it"
    machine.warn(frame["address"], "R117", message, once=f"R117 stable {frame['address']}")


def _warn_outside(machine: State, key: str, score: Score, number: float) -> None:
    """A score on another scale is told once for each loop; the table of iterations has them all."""
    frame = machine.loop_frames[key]
    low, high = score.low, score.high
    span = f"{low:g}..{high:g}" if low is not None and high is not None else ""
    span = span or (f"at most {high:g}" if low is None else f"at least {low:g}")
    message = f"score {number:g} of iteration {frame['count']} is outside {span} and is not counted"
    words: Any = machine.loop(key).words or {}
    facts: Values = {"score": number, "low": low, "high": high, "fields": words.get("fields")}
    once = f"R115 {frame['address']}"
    machine.warn(frame["address"], "R115", message, once=once, facts=facts)


def measure(score: Score, scope: FrameScope | OverlayScope) -> float | None:
    """The number that scores an iteration, also where it is out of range; None: there is none."""
    value = value_of(score.source, scope)
    if score.pattern is not None:
        from whorl.language import pattern

        program, text = pattern(score.pattern), to_text(value)
        if scope.meter.prices > 1:
            program.check_price(len(text))
        match = program.search(text)
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


def compared_text(stable: Stable, scope: FrameScope | OverlayScope) -> str | None:
    """The text by which two results are compared; None where there is no result.

    In runs of earlier versions, `whole` puts a mark of all of a long text in place of its rest.
    """
    text = comparable(value_of(stable.subject, scope))
    if text is None or scope.meter.prices >= WHOLE or len(text) <= BEGINNING_MAX:
        return text
    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{text[:BEGINNING_MAX]} {mark}" if stable.whole else text[:BEGINNING_MAX]


def comparable(value: Json) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def similarity(first: str, second: str, least: float = 0.0) -> float | None:
    """How much two texts are alike: 1 minus their edit distance over the longer one's length.

    None: of long ones, that it is less than `least`, which takes a fraction of the time.
    """
    from rapidfuzz.distance import Levenshtein

    cutoff = least if len(first) * len(second) > EXACT_MAX else 0.0
    alike = float(
        Levenshtein.normalized_similarity(first, second, score_cutoff=cutoff, score_hint=1.0)
    )
    return None if alike < cutoff else alike
