"""What was found at the end of an iteration, in words: conditions, scores, what judges said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.errors import plural
from whorl.interfaces.formatting import bare, line, outside_words, score

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.language import Json


# What a fact has beside the value that the condition looked at.
_NO_MEASURE = frozenset({"leaf", "by", "met"})


def verdict_words(
    note: Mapping[str, Json], width_max: int = 60, *, with_reasons: bool = True
) -> str:
    """What was found at the end of an iteration, from its note."""
    error = note.get("error")
    if isinstance(error, dict):
        return line(str(error.get("message", "failed")), width_max)
    facts = _facts(note)
    if note.get("met"):
        facts = [fact for fact in facts if fact.get("met")] or facts
    if not with_reasons:
        facts = [
            f | {"answer": _answer_of(f), "reason": ""} if f.get("reason") else f for f in facts
        ]
    words = [fact_words(fact) for fact in facts if fact.keys() - _NO_MEASURE]
    words = words or ([str(note["by"])] if note.get("by") else [])
    outside = note.get("outside")
    if isinstance(outside, dict) and outside_words(outside) not in words:
        # Whatever ended the iteration, a score that does not count must not go unseen.
        words.append(outside_words(outside))
    return line("; ".join(words), width_max)


def goals_of(note: Mapping[str, Any]) -> tuple[float, ...]:
    """The scores that an iteration was measured against."""
    goals = [fact.get("at_least") for fact in _facts(note) if fact.get("by") == "score"]
    return tuple(float(goal) for goal in goals if isinstance(goal, int | float))


def _facts(note: Mapping[str, Any]) -> list[dict[str, Any]]:
    facts = note.get("facts")
    return [fact for fact in facts if isinstance(fact, dict)] if isinstance(facts, list) else []


def score_cell(note: Mapping[str, Any], number: float | None) -> str:
    """The score of an iteration in a table; one outside its range is marked: its words say why."""
    outside = note.get("outside")
    if number is None and isinstance(outside, dict):
        return f"{bare(outside.get('score'))}!"
    return score(number, *goals_of(note))


def fact_words(fact: Mapping[str, Any]) -> str:
    """One condition's value, such as `score 0.40 < 0.95`."""
    match fact.get("by"):
        case "score":
            number, goal = fact.get("score"), fact.get("at_least")
            if fact.get("outside") is not None:
                return outside_words({**fact, "score": fact["outside"]})
            if number is None:
                return "no score"
            sign = "≥" if fact.get("met") else "<"
            return f"score {score(number, goal)} {sign} {score(goal, number)}"
        case "judge" if fact.get("reason"):
            return f"judge: {_answer_of(fact)}. {line(str(fact['reason']), 160)}"
        case "judge":
            answer = line(str(fact.get("answer", "")), 80)
            return f"judge: {answer}" if answer else "judge: no clear answer"
        case "expression":
            expression = line(str(fact.get("expression", "")), 60)
            if fact["met"] is None:
                lost: Any = fact.get("failed") or []
                return f"{expression} is not known: {', '.join(map(repr, lost))} failed"
            if " is " in expression:
                # A sentence, which is so or is not.
                return f"{expression}: {'yes' if fact['met'] else 'no'}"
            return f"{expression} is {str(bool(fact['met'])).lower()}"
        case "stable":
            return f"{bare(round(float(fact.get('similarity', 0)), 4) * 100)}% alike"
        case "plateau":
            stale = plural(int(fact.get("stale") or 0), "iteration")
            return f"{stale} without a better score"
        case "branch":
            return f"branch {fact.get('branch')!r}"
    return str(fact.get("by", ""))


def reason_lines(note: Mapping[str, Any]) -> list[str]:
    """Why judges decided as they did, in their own words, with what they quote."""
    lines: list[str] = []
    for fact in _facts(note):
        reason, evidence = line(str(fact.get("reason") or ""), 600), fact.get("evidence")
        if reason:
            lines.append(f"{_answer_of(fact)}. {reason}")
        if evidence:
            found = "" if fact.get("evidence_in_text") else "  (not found in the text)"
            lines.append(f'"{line(str(evidence), 600)}"{found}')
    return lines


def _answer_of(fact: Mapping[str, Any]) -> str:
    met = fact.get("met")
    return "no clear answer" if met is None else "YES" if met else "NO"
