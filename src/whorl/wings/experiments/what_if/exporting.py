"""The facts of recorded runs for programs that answer rules themselves, such as the page.

What a rule reads is numbered (`a0`, `a1`, ...), so that runs have short names for it.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from whorl.ir import AllOf, AnyOf, Judge
from whorl.wings.experiments.what_if.facts import HANDED_OVER, atom_of, atoms_in, votes_in
from whorl.wings.experiments.what_if.rules import leaf_words, obstacle, own_rule, reads_best

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.ir import Condition, Loop
    from whorl.wings.experiments.what_if.facts import IterationFacts, Subject
    from whorl.wings.experiments.what_if.rules import Rule

FORMAT = 1
KINDS = {
    "When": "when",
    "Score": "score",
    "Stable": "stable",
    "Plateau": "plateau",
    "BranchTaken": "branch",
    "Judge": "judge",
}
# The numbers of a condition, which a rule may change.
_NUMBERS = ("at_least", "low", "high", "threshold", "patience", "min_delta", "votes")


def facts_document(loop: Loop, subjects: Sequence[Subject], margin: float) -> dict[str, Any]:
    """All that answering rules over these runs takes."""
    names, own = atom_names(loop), own_rule(loop)
    return {
        "facts": FORMAT,
        "loop": loop.name,
        "margin": margin,
        "own": None if own is None else rule_document(own, names),
        "check": loop.check,
        "on_limit": loop.on_limit,
        "sees_best": reads_best(loop),
        "on_failure": loop.on_iteration_failure.action,
        "failed_grade": subjects[0].failed_grade if subjects else None,
        "obstacle": "" if own is None else obstacle(loop, own),
        "obstacle_at_most": _obstacle(loop, own, at_most=1 if own is None else own.at_most + 1),
        "obstacle_score": _obstacle(loop, own, until=None),
        "obstacle_until": _obstacle(loop, own, until=_other(loop.until)),
        "runs": [_run(subject, names) for subject in subjects],
    }


def atom_names(loop: Loop) -> dict[str, str]:
    """The short names of what the rule of a loop reads."""
    return {atom: f"a{n}" for n, atom in enumerate(atoms_in([loop.until]))}


def _obstacle(loop: Loop, own: Rule | None, **other: Any) -> str:
    """Why a rule that differs in this would have changed the iterations, if it would."""
    return "" if own is None else obstacle(loop, replace(own, **other))


def _other(until: Condition | None) -> Condition | None:
    """Another condition that ranks iterations by the same score."""
    return None if until is None else AllOf((until,))


def rule_document(rule: Rule, names: dict[str, str]) -> dict[str, Any]:
    until = None if rule.until is None else condition_document(rule.until, names)
    made: dict[str, Any] = {"until": until, "at_most": rule.at_most, "return": rule.returns}
    return made | {"limits": dict(rule.limits)}


def condition_document(condition: Condition, names: dict[str, str]) -> dict[str, Any]:
    """A condition as JSON: `any` or `all` of several, or a kind with its atom and numbers."""
    if isinstance(condition, AnyOf | AllOf):
        parts = [condition_document(part, names) for part in condition.conditions]
        return {"all" if isinstance(condition, AllOf) else "any": parts}
    made: dict[str, Any] = {"kind": KINDS[type(condition).__name__]}
    if (atom := names.get(atom_of(condition))) is not None:
        made["atom"] = atom
    known = {each.name for each in fields(condition)}
    made |= {name: getattr(condition, name) for name in _NUMBERS if name in known}
    if made["kind"] == "branch":
        made["branch"] = getattr(condition, "name", "")
    question = getattr(condition, "question", None) if isinstance(condition, Judge) else None
    words = getattr(question, "value", None) or getattr(question, "source", None)
    return made | {"words": str(words or leaf_words(condition))}


def _run(subject: Subject, names: dict[str, str]) -> dict[str, Any]:
    facts = subject.facts
    return {
        "run": facts.run,
        "case": subject.case,
        "group": subject.group,
        "outside_usd": facts.outside.get("cost_usd", 0.0),
        "is_priced": subject.is_priced,
        "steered": facts.steered,
        "returned": facts.returned,
        "made": facts.made,
        "exit_reason": facts.exit_reason,
        "ahead": facts.ahead and _iteration(facts.ahead, subject, names),
        "iterations": [_iteration(row, subject, names) for row in facts.iterations],
    }


def _iteration(row: IterationFacts, subject: Subject, names: dict[str, str]) -> dict[str, Any]:
    votes = {short: _votes(row, atom) for atom, short in names.items()}
    known = names | {HANDED_OVER: HANDED_OVER}
    return {
        "number": row.number,
        "status": "held up" if row.has_waited and row.status == "failed" else row.status,
        "by": row.by,
        "is_judged": row.is_judged,
        "is_approved": row.is_approved,
        "atoms": {known[atom]: value for atom, value in row.atoms.items() if atom in known},
        "body_usd": sum(c.usage.get("cost_usd", 0.0) for c in row.calls if not c.judge),
        "votes": {short: cast for short, cast in votes.items() if cast},
        "failed": [n for atom, n in names.items() if _has_failed(row, atom, votes[n])],
        "grade": subject.grades.get(row.number),
        "is_solved": row.number in subject.solved,
    }


def _has_failed(row: IterationFacts, atom: str, votes: list[dict[str, Any]]) -> bool:
    """Whether a judge was asked, and gave no vote."""
    return not votes and any(call.judge == atom for call in row.calls)


def _votes(row: IterationFacts, atom: str) -> list[dict[str, Any]]:
    """The votes of a judge in an iteration, each with what it cost."""
    calls = [call.usage.get("cost_usd", 0.0) for call in row.calls if call.judge == atom]
    made, at = [], 0
    for verdict, took in votes_in(row.calls, atom):
        made.append({"verdict": verdict, "cost_usd": sum(calls[at : at + took])})
        at += took
    return made
