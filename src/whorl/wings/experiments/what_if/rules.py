"""Rules: when a loop stops and what it returns, and which rules change the iterations themselves.

A rule decides after iteration k from what iterations 1 to k gave. As long as nothing that the body
sees depends on the rule, the recorded iterations are those that it would have had; where that does
not hold, there is an obstacle, in words.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from whorl.interpreter.constructs.loops.rules import Verdict, is_outside, verdict_of
from whorl.interpreter.plan import Combined
from whorl.ir import AllOf, AnyOf, BranchTaken, Judge, Plateau, Score, Stable, When
from whorl.ir.expressions import Names, conditions_in, inner_values
from whorl.language import Expression
from whorl.lazily import dataclass
from whorl.wings.experiments.what_if.facts import atom_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.interpreter.plan import Leaf
    from whorl.interpreter.plan import Rule as RuleTree
    from whorl.ir import Condition, Loop, LoopLimits
    from whorl.ir.nodes import Fact
    from whorl.wings.experiments.what_if.facts import IterationFacts


@dataclass(frozen=True, slots=True)
class Rule:
    """When a loop stops, and what it returns. `limits` has cost_usd, tokens, calls and time_s."""

    until: Condition | None
    at_most: int
    returns: str = "last"
    limits: tuple[tuple[str, float], ...] = ()
    # What its conditions call the facts about the loop.
    names: tuple[tuple[str, Fact], ...] = ()


@dataclass(slots=True)
class Answer:
    """What a rule would have done in one loop; where it is not `exact`, `why` says why not.

    `usage` is that of the loop; `iteration` is the one up to which it is known. With `by_clock` the
    rule has a time limit, and the clock is the recorded one.
    """

    exact: bool
    why: str = ""
    code: str = ""
    iteration: int = 0
    iterations: int = 0
    returned: int | None = None
    exit_reason: str = ""
    stopped_by: str = ""
    by_clock: bool = False
    # Calls of which nobody knows what they used; what was reserved for them counts.
    in_doubt: int = 0
    usage: dict[str, float] = field(default_factory=dict)


def own_rule(loop: Loop) -> Rule | None:
    """The rule that a loop has in its file; None where a limit of it is computed."""
    most = loop.limits.iterations
    if not isinstance(most, int) or isinstance(loop.limits.time_s, Expression):
        return None
    return Rule(loop.until, most, loop.returns, limits_in(loop.limits), loop.facts)


def limits_in(limits: LoopLimits) -> tuple[tuple[str, float], ...]:
    values = {name: getattr(limits, name) for name in ("cost_usd", "tokens", "calls", "time_s")}
    return tuple((name, value) for name, value in values.items() if value is not None)


def obstacle(loop: Loop, rule: Rule) -> str:
    """Why a rule would have changed the iterations themselves, as far as the file tells."""
    facts = _facts_read(loop)
    own = own_rule(loop)
    if "limit" in facts and (own is None or own.at_most != rule.at_most):
        words = f"iterations of {loop.name!r} are told their limit"
        return f"{words}, so another at_most would have changed them"
    ranks = {"best", "score"} & facts or (loop.memory is not None and {"score"})
    ranks = ranks or {"best" for collect in loop.collect if collect.take == "best"}
    if ranks and _first_score(loop.until) != _first_score(rule.until):
        words = f"iterations of {loop.name!r} see {' and '.join(sorted(ranks))}"
        return f"{words}, which another score would have changed"
    if loop.check != "after" and reads_best(loop) and rule.until != loop.until:
        return f"iterations of {loop.name!r} see best, which another condition would have changed"
    if loop.ask != "never":
        return f"a person is asked about iterations of {loop.name!r}"
    return ""


def reads_best(loop: Loop) -> bool:
    """Whether an iteration sees which one is the best so far, which approval changes."""
    return "best" in _facts_read(loop) or any(c.take == "best" for c in loop.collect)


def _facts_read(loop: Loop) -> set[str]:
    """The facts about the loop that its iterations read, beside its own conditions."""
    names = Names()
    read = names.in_block(loop.body) | names.in_values(inner_values(replace(loop, until=None)))
    return {fact for name, fact in loop.facts if name in read or "results" in read}


def _first_score(until: Condition | None) -> str:
    scores = (part for part in conditions_in(until) if isinstance(part, Score))
    first = next(scores, None)
    return "" if first is None else f"{atom_of(first)} {first.low} {first.high}"


def rule_words(rule: Rule) -> str:
    """A rule in a line, for tables."""
    parts = [words for c in _leaves(rule.until) if (words := leaf_words(c))]
    joined = (" and " if isinstance(rule.until, AllOf) else ", ").join(parts)
    limits = [f"{name.partition('_')[0]} {amount:g}" for name, amount in rule.limits]
    return ", ".join([*filter(None, [joined]), f"at_most {rule.at_most}", *limits, rule.returns])


def _leaves(condition: Condition | None) -> list[Condition]:
    return [c for c in conditions_in(condition) if not isinstance(c, AnyOf | AllOf)]


def leaf_words(condition: Any) -> str:
    match condition:
        case Score(at_least=None):
            return ""
        case Score():
            return f"score {condition.at_least:g}"
        case Plateau():
            return f"plateau {condition.patience}"
        case Judge():
            return "judge" if condition.votes == 1 else f"judge ({condition.votes} votes)"
    if hasattr(condition, "test"):
        return str(condition.described or condition.test.source)
    return type(condition).__name__.lower()


def read_leaves(tree: RuleTree | None) -> Iterator[Leaf]:
    """The simple conditions of a rule that read something of an iteration."""
    if isinstance(tree, Combined):
        for part in tree.parts:
            yield from read_leaves(part)
    elif tree is not None and not isinstance(tree.condition, Plateau):
        yield tree


def judge_verdict(leaf: Leaf, row: IterationFacts, judged: dict[str, bool | None]) -> Verdict:
    if leaf.id in judged:
        return verdict_of(leaf, judged[leaf.id], "judge", {})
    if row.atoms.get(atom_of(leaf.condition)) is False:
        return verdict_of(leaf, None, "judge", {})
    return Verdict("open", "judge", judge=leaf.id)


def leaf_verdict(leaf: Leaf, value: Any, stale: int = 0) -> Verdict:
    """What a condition with its threshold makes of what it read; not of a judge."""
    match leaf.condition:
        case When():
            return verdict_of(leaf, value, "expression", {})
        case Score() as score:
            if score.at_least is None:
                return Verdict("measured", "score")
            has_score = value is not None and not is_outside(score, value)
            return verdict_of(leaf, value >= score.at_least if has_score else None, "score", {})
        case Stable() as stable:
            if value == -1.0:
                return Verdict("not_met", "stable", approves=None)
            met = None if value is None else stable.is_met(value)
            return verdict_of(leaf, met, "stable", {})
        case Plateau() as plateau:
            return verdict_of(leaf, stale >= plateau.patience, "plateau", {})
        case BranchTaken() as branch:
            return verdict_of(leaf, value == branch.name, "branch", {})
    raise AssertionError(f"{leaf.condition!r} is no simple condition")
