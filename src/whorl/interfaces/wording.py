"""What runs say about themselves, in plain words: verdicts, conditions, exit reasons."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, assert_never

from whorl.interfaces.figures import bare, dollars, line, outside_words, plural, score
from whorl.ir import (
    AllOf,
    AnyOf,
    BranchTaken,
    Constant,
    Expression,
    Judge,
    Plateau,
    Score,
    Stable,
    When,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.interfaces.results import Request
    from whorl.ir import Condition, Value
    from whorl.language import Json

ENDED = frozenset({"succeeded", "failed", "cancelled"})
EXIT_CODES = {"succeeded": 0, "failed": 1, "waiting": 4, "paused": 5, "cancelled": 5}
EXIT_CODES |= {"interrupted": 5, "running": 0}

_REASONS = {
    "condition_met": "its condition was met",
    "max_iterations": "it reached its limit of iterations",
    "timeout": "it reached its limit of time",
    "budget": "the next call did not fit into the budget",
    "failed": "an iteration failed",
    "cancelled": "the run was cancelled",
    "accepted": "a person accepted an iteration",
    "rejected": "a person rejected it",
}
_STOPPED_BY = {
    "expression": "an expression became true",
    "score": "the score reached its goal",
    "judge": "the judge said yes",
    "branch": "the branch that ends it was taken",
    "stable": "two results in a row were alike",
    "plateau": "the score did not get better any more",
    "break": "a `break` step was reached",
    "items": "no items were left",
    "person": "a person approved it",
}

_COMMAND = re.compile(r"(`whorl [a-z]+) RUN\b")


def status_words(status: str) -> str:
    """A status as a clause: `has succeeded`, `was cancelled`, `is paused`."""
    match status:
        case "succeeded" | "failed":
            return f"has {status}"
        case "cancelled" | "interrupted":
            return f"was {status}"
        case "waiting":
            return "waits for a person"
    return f"is {status}"


def ending_words(status: str) -> str:
    """How an iteration ended that has not succeeded."""
    return {"cut": "cut short", "timed_out": "timed out"}.get(status, status.replace("_", " "))


def root_code(error: Mapping[str, Any]) -> str:
    """The code of what an error comes from in the end: the page about it says most."""
    cause = error.get("cause")
    return root_code(cause) if isinstance(cause, dict) and cause.get("code") else str(error["code"])


def more_words(body: Mapping[str, Any]) -> str:
    """What a loop is given to go on."""
    iterations, cost_usd = body.get("iterations"), body.get("cost_usd")
    parts = [plural(iterations, "more iteration")] if iterations else []
    parts += [f"{dollars(cost_usd)} more"] if cost_usd else []
    parts += [f"{body[name]:,} more {name}" for name in ("tokens", "calls") if body.get(name)]
    return " and ".join(parts) or "another try"


def with_run(words: str, run: str) -> str:
    """The commands in a message, with the run that they are about: they can be pasted."""
    return _COMMAND.sub(lambda found: f"{found[1]} {run}", words)


def request_words(request: Request) -> str:
    """What a person asked or answered, as a clause."""
    body: Mapping[str, Any] = request.body
    match request.kind:
        case "gate.decided":
            words = "approved" if body.get("approved") else "rejected"
        case "run.accepted":
            words = f"accepted with iteration {body.get('iteration')}"
        case _:
            words = f"continued with {more_words(body)}"
    feedback = line(request.feedback, 400)
    return (
        f"{line(request.place, 60) or 'the run'} was {words}{f': {feedback}' if feedback else ''}"
    )


def reason_words(reason: str, stopped_by: str = "") -> str:
    """Why a loop ended, as a clause."""
    if reason == "condition_met" and stopped_by:
        return _STOPPED_BY.get(stopped_by, f"stopped by {stopped_by}")
    return _REASONS.get(reason, reason)


def exit_words(reason: str, stopped_by: str = "") -> str:
    """The exit reason as it stands in results, with what decided it."""
    return f"{reason} ({stopped_by})" if stopped_by else reason


# What a fact has beside the value that the condition looked at.
_NO_MEASURE = frozenset({"leaf", "by", "met"})


def verdict_words(note: Mapping[str, Json], width_max: int = 60) -> str:
    """What was found at the end of an iteration, from its note."""
    error = note.get("error")
    if isinstance(error, dict):
        return line(str(error.get("message", "failed")), width_max)
    facts = note.get("facts")
    told = [fact for fact in facts if isinstance(fact, dict)] if isinstance(facts, list) else []
    if note.get("met"):
        told = [fact for fact in told if fact.get("met")] or told
    words = [fact_words(fact) for fact in told if fact.keys() - _NO_MEASURE]
    words = words or ([str(note["by"])] if note.get("by") else [])
    outside = note.get("outside")
    if isinstance(outside, dict) and outside_words(outside) not in words:
        # Whatever ended the iteration, a score that does not count must not go unseen.
        words.append(outside_words(outside))
    return line("; ".join(words), width_max)


def goals_of(note: Mapping[str, Any]) -> tuple[float, ...]:
    """The scores that an iteration was measured against."""
    facts = note.get("facts")
    told = [fact for fact in facts if isinstance(fact, dict)] if isinstance(facts, list) else []
    goals = [fact.get("at_least") for fact in told if fact.get("by") == "score"]
    return tuple(float(goal) for goal in goals if isinstance(goal, int | float))


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
        case "judge":
            answer = line(str(fact.get("answer", "")), 80)
            return f"judge: {answer}" if answer else "judge: no clear answer"
        case "expression":
            said = line(str(fact.get("expression", "")), 60)
            if fact["met"] is None:
                lost: Any = fact.get("failed") or []
                return f"{said} is not known: {', '.join(map(repr, lost))} failed"
            return f"{said} is {str(bool(fact['met'])).lower()}"
        case "stable":
            return f"{bare(round(float(fact.get('similarity', 0)), 4) * 100)}% alike"
        case "plateau":
            stale = plural(int(fact.get("stale") or 0), "iteration")
            return f"{stale} without a better score"
        case "branch":
            return f"branch {fact.get('branch')!r}"
    return str(fact.get("by", ""))


def condition_words(condition: Condition | None) -> str:
    """A loop's condition as a person would say it."""
    match condition:
        case None:
            return ""
        case When():
            return line(condition.described or condition.test.source, 60)
        case Score():
            goal = "" if condition.at_least is None else f" ≥ {score(condition.at_least)}"
            return f"score{goal}" if goal else ""
        case Judge():
            return f"judge: {line(_text(condition.question), 50)}"
        case BranchTaken():
            return f"{condition.node} takes {condition.name!r}"
        case Stable():
            return f"{bare(condition.threshold * 100)}% alike"
        case Plateau():
            return f"no better score for {condition.patience}"
        case AnyOf() | AllOf():
            word = " or " if isinstance(condition, AnyOf) else " and "
            parts = [condition_words(part) for part in condition.conditions]
            return word.join(part for part in parts if part)
        case _:
            assert_never(condition)


def target_of(condition: Condition | None) -> float | None:
    """The score that a loop works towards, if it has one."""
    if isinstance(condition, Score):
        return condition.at_least
    if isinstance(condition, AnyOf | AllOf):
        goals = (target_of(part) for part in condition.conditions)
        return next((goal for goal in goals if goal is not None), None)
    return None


def _text(value: Value) -> str:
    if isinstance(value, Expression):
        return value.source
    return str(value.value) if isinstance(value, Constant) else ""
