"""The effect of another rule in a recorded loop, without a call, or why it is unknown.

A rule decides after iteration k from the results of iterations 1 to k. If the body sees nothing
that depends on the rule, the recorded iterations are also those under the new rule. Else there is
an obstacle, in words.
"""

from __future__ import annotations

import math
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from whorl.errors import plural
from whorl.interpreter.constructs.loops.judging import Verdict, combined, is_outside, verdict_of
from whorl.interpreter.plan import Combined, loop_plan
from whorl.ir import AllOf, AnyOf, BranchTaken, Judge, Plateau, Score, Stable, When
from whorl.ir.expressions import Names, conditions_in, inner_values
from whorl.lazily import dataclass
from whorl.wings.experiments.what_if import loop_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whorl.interpreter.plan import Leaf
    from whorl.interpreter.plan import Rule as RuleTree
    from whorl.ir import Condition, Loop
    from whorl.ir.nodes import Fact
    from whorl.wings.experiments.what_if.loop_facts import IterationFacts, LoopFacts, RecordedCall

GONE_ON = "would have continued"
# Why a loop ends, and which of its conditions ended it.
Ended: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Rule:
    """When a loop stops, and what it returns. Of its limits, answers use only iterations."""

    until: Condition | None
    at_most: int
    returns: str = "last"
    # The names of the facts about the loop in its conditions.
    names: tuple[tuple[str, Fact], ...] = ()


@dataclass(slots=True)
class Answer:
    """What a rule would have done in one loop. If it is not `exact`, `why` is the reason.

    `usage` is that of the loop.
    """

    exact: bool
    why: str = ""
    code: str = ""
    iterations: int = 0
    returned: int | None = None
    exit_reason: str = ""
    stopped_by: str = ""
    # Calls of unknown use, which count with their reserve.
    in_doubt: int = 0
    usage: dict[str, float] = field(default_factory=dict)


class NotKnownError(Exception):
    """The record does not show what the rule would have done."""

    def __init__(self, why: str, code: str = "") -> None:
        super().__init__(why)
        self.code = code


def answer(facts: LoopFacts, loop: Loop, rule: Rule) -> Answer:
    """Returns what a rule would have done in a recorded loop."""
    if why := obstacle(loop, rule):
        return Answer(False, why, "X106")
    return AlikeRules(loop, [rule]).answers(facts)[0]


class AlikeRules:
    """Rules that differ only in their number of iterations and in what they return.

    One walk through the iterations of a loop answers all of them, up to the longest.
    """

    def __init__(self, loop: Loop, rules: Sequence[Rule]) -> None:
        self.loop, self._rules, first = loop, rules, rules[0]
        self.returns = {rule.returns for rule in rules}
        self.plan = loop_plan(first.until)
        self.reads_best = reads_best(loop)
        leaves = list(_read_leaves(self.plan.rule))
        self.atoms = {leaf.id: loop_facts.atom_of(leaf.condition) for leaf in leaves}
        self.measuring = [
            self.atoms[leaf.id] for leaf in leaves if isinstance(leaf.condition, Score | Stable)
        ]
        self.score = next(iter(self.plan.scores.values()), None)
        self.score_atom = "" if self.score is None else loop_facts.atom_of(self.score)
        judges = list(map(loop_facts.atom_of, self.plan.judges.values()))
        self._is_twice = len(judges) > len(set(judges))

    def answers(self, facts: LoopFacts) -> list[Answer]:
        """Returns what each of them would have done in a recorded loop."""
        if facts.steered or self._is_twice:
            steered = facts.steered and f"a person has {facts.steered} the run"
            why = steered or "the rule asks the same judge twice"
            return [Answer(False, why)] * len(self._rules)
        found = _Walk(facts, self).answers({rule.at_most for rule in self._rules})
        return [found[rule.at_most, rule.returns] for rule in self._rules]


class _Walk:
    """Walks through the recorded iterations of a loop as the engine would under its rules."""

    def __init__(self, facts: LoopFacts, rules: AlikeRules) -> None:
        self._facts, self._rules, self._loop = facts, rules, rules.loop
        self._marks: dict[str, float] = {}
        self._stale: dict[str, int] = {}
        self._usage: dict[str, float] = dict.fromkeys(loop_facts.USAGE, 0)
        self._count = self._in_doubt = 0
        self._first = self._last = self._best = None  # type: int | None
        self._latest: IterationFacts | None = None
        self._rank: tuple[bool, float] = (False, -math.inf)
        self._has_failures, self._failed_last = False, 0
        self._answers: dict[tuple[int, str], Answer] = {}

    def answers(self, at_mosts: Iterable[int]) -> dict[tuple[int, str], Answer]:
        """Returns the answers by iteration limit and by returned iteration."""
        self._open = sorted(at_mosts)
        try:
            ended: Ended | NotKnownError = self._walk()
        except NotKnownError as unknown:
            ended = unknown
        self._settle(self._open, ended)
        return self._answers

    def _settle(self, at_mosts: Sequence[int], ended: Ended | NotKnownError) -> None:
        """Sets the answers of the rules with these limits."""
        for returns in self._rules.returns:
            found = self._answer(ended, returns)
            self._answers |= {(at_most, returns): found for at_most in at_mosts}

    def _answer(self, ended: Ended | NotKnownError, returns: str) -> Answer:
        if self._loop.on_limit == "pause" and ended == ("max_iterations", ""):
            words = f"a person would have been asked at the limit, after {self._count}"
            ended = NotKnownError(words)
        if isinstance(ended, NotKnownError):
            return Answer(False, str(ended), ended.code, usage=dict(self._usage))
        reason, by = ended
        if self._has_failures and self._last is None and not self._failed_last:
            reason, by = "failed", ""
        ends = {"last": self._last, "first": self._first, "all": None}
        return Answer(
            True,
            iterations=self._count,
            returned=ends.get(returns, self._best or self._last),
            exit_reason=reason,
            stopped_by=by,
            in_doubt=self._in_doubt,
            usage={name: amount for name, amount in self._usage.items() if amount},
        )

    def _settle_counted(self) -> bool:
        """Ends the rules that allow no more iterations; returns whether all have ended."""
        over = [at_most for at_most in self._open if at_most <= self._count]
        self._open = self._open[len(over) :]
        if over:
            self._settle(over, ("max_iterations", ""))
        return not self._open

    def _walk(self) -> Ended:
        ended = self._look_ahead(self._facts.ahead) if self._loop.check == "before" else None
        for row in self._facts.iterations:
            if ended is not None:
                return ended
            if self._settle_counted():
                return "max_iterations", ""
            ended = self._iteration(row)
        if ended is None and not self._settle_counted():
            raise NotKnownError(f"{GONE_ON} after iteration {self._count}")
        return ended or ("max_iterations", "")

    def _iteration(self, row: IterationFacts) -> Ended | None:
        if row.status not in ("succeeded", "failed"):
            words = {"not_begun": "had not begun", "timed_out": "timed out"}.get(row.status)
            raise NotKnownError(f"iteration {row.number} {words or 'was ' + row.status}")
        if row.has_waited and row.status == "failed":
            raise NotKnownError(f"a call of iteration {row.number} waited for its budget")
        self._pay(call for call in row.calls if not call.judge)
        self._count = row.number
        is_ahead = self._loop.check != "after"
        if row.status == "failed":
            return self._failed(row) or (self._look_ahead(row) if is_ahead else None)
        self._last, self._first, self._latest = row.number, self._first or row.number, row
        self._count_stale(row)
        if is_ahead or not row.is_judged:
            if loop_facts.FAULT in (row.atoms.get(atom) for atom in self._rules.measuring):
                return "failed", ""
            self._keep_best(row, approved=False)
            if row.by == "break":
                return "condition_met", "break"
            return self._look_ahead(row) if is_ahead else None
        verdict = self._check(row)
        if verdict is None:
            return "failed", ""
        self._keep_best(row, approved=bool(verdict.approves))
        if verdict.state == "met":
            return "condition_met", verdict.by
        is_good = row.is_approved or verdict.approves
        if self._rules.reads_best and is_good and not self._settle_counted():
            words = f"iteration {row.number} was approved, which later iterations could see"
            raise NotKnownError(words, "X106")
        return None

    def _look_ahead(self, row: IterationFacts | None) -> Ended | None:
        """Checks the rule before the iteration after `row`, or before the first one."""
        if self._rules.plan.rule is None:
            return None
        if row is None:
            raise NotKnownError("the values before the first iteration are not recorded")
        verdict = self._check(row)
        if verdict is None:
            return "failed", ""
        if verdict.approves and self._latest is not None:
            self._keep_best(self._latest, approved=True)
        return ("condition_met", verdict.by) if verdict.state == "met" else None

    def _failed(self, row: IterationFacts) -> Ended | None:
        self._has_failures = True
        failure = self._loop.on_iteration_failure
        if failure.action != "continue":
            return "failed", ""
        if failure.last_counts:
            self._failed_last = row.number
        return None

    def _pay(self, calls: Iterable[RecordedCall]) -> None:
        for call in calls:
            self._in_doubt += call.is_in_doubt
            for name in loop_facts.USAGE:
                self._usage[name] += call.usage.get(name, 0)

    def _keep_best(self, row: IterationFacts, *, approved: bool) -> None:
        """Keeps the best iteration, as the engine does: an approved one beats any other."""
        score = self._score(row)
        if self._rules.score is None or (score is None and not approved):
            return
        rank = (approved, -math.inf if score is None else score)
        if self._best is None or rank > self._rank:
            self._best, self._rank = row.number, rank

    def _score(self, row: IterationFacts) -> float | None:
        score = self._rules.score
        return None if score is None else score_in(row, score, self._rules.score_atom)

    def _count_stale(self, row: IterationFacts) -> None:
        score = self._score(row)
        for leaf, plateau in self._rules.plan.plateaus.items() if score is not None else ():
            assert score is not None
            if leaf not in self._marks or score > self._marks[leaf] + plateau.min_delta:
                self._marks[leaf], self._stale[leaf] = score, 0
            else:
                self._stale[leaf] += 1

    def _check(self, row: IterationFacts) -> Verdict | None:
        """Returns the verdict on the rule, or None if one of its expressions fails."""
        values = [row.atoms.get(atom) for atom in self._rules.atoms.values()]
        if loop_facts.FAULT in values or row.atoms.get(loop_facts.HANDED_OVER) == loop_facts.FAULT:
            return None
        plan = self._rules.plan
        if plan.rule is None:
            return Verdict("not_met")
        judged: dict[str, bool | None] = {}
        while (verdict := self._verdict(plan.rule, row, judged)).state == "open":
            judged[verdict.judge] = self._ask(row, plan.judges[verdict.judge])
        return verdict

    def _verdict(
        self, tree: RuleTree, row: IterationFacts, judged: dict[str, bool | None]
    ) -> Verdict:
        """Returns the verdict of conditions with their thresholds on what they read."""
        if isinstance(tree, Combined):
            parts = [self._verdict(part, row, judged) for part in tree.parts]
            return combined(parts, every=tree.every)
        value = row.atoms.get(self._rules.atoms.get(tree.id, ""))
        match tree.condition:
            case When() as when:
                return verdict_of(tree, value, when.by, {})
            case Score(at_least=None):
                return Verdict("measured", "score")
            case Score() as score:
                is_met = None
                if value is not None and not is_outside(score, value):
                    is_met = value >= (score.at_least or 0.0)
                return verdict_of(tree, is_met, "score", {})
            case Stable() if value == -1.0:
                return Verdict("not_met", "stable", approves=None)
            case Stable() as stable:
                met = None if value is None else stable.is_met(value)
                return verdict_of(tree, met, "stable", {})
            case Plateau(patience=patience):
                is_met = self._stale.get(tree.id, 0) >= patience
                return verdict_of(tree, is_met, "plateau", {})
            case BranchTaken() as branch:
                return verdict_of(tree, value == branch.name, "branch", {})
            case Judge():
                if tree.id in judged or value is False:
                    return verdict_of(tree, judged.get(tree.id), "judge", {})
                return Verdict("open", "judge", judge=tree.id)
        raise AssertionError(f"{tree.condition!r} is not a simple condition")

    def _ask(self, row: IterationFacts, judge: Judge) -> bool | None:
        """Returns a judge's verdict and counts its cost. It may need fewer votes than were cast."""
        atom = loop_facts.atom_of(judge)
        calls = [call for call in row.calls if call.judge == atom]
        votes = loop_facts.votes_in(calls, atom)
        if not votes:
            words = "failed" if calls else "was not asked"
            raise NotKnownError(f"the judge {words} in iteration {row.number}")
        met, took, is_known = loop_facts.count_votes(votes, judge.votes)
        if not is_known:
            cast = f"the judge has {plural(len(votes), 'vote')} in iteration {row.number}"
            raise NotKnownError(f"{cast}, not {judge.votes}")
        self._pay(calls[:took])
        return met


# Rules: a loop's own rule, rules in words, and rules that would have changed the iterations.


def score_in(row: IterationFacts, score: Score, atom: str) -> float | None:
    """Returns the score of an iteration, or None if the value is not a valid score."""
    number = row.atoms.get(atom)
    is_number = isinstance(number, int | float) and not is_outside(score, number)
    return number if is_number else None


def best_numbers(facts: LoopFacts, score: Score) -> list[int]:
    """Returns the best iteration up to each one; without any score, that iteration itself."""
    atom, best, top = loop_facts.atom_of(score), 0, -math.inf
    numbers = []
    for index, row in enumerate(facts.iterations, 1):
        value = score_in(row, score, atom)
        if value is not None and (value > top or not best):
            best, top = index, value
        numbers.append(best or index)
    return numbers


def own_rule(loop: Loop) -> Rule | None:
    """Returns the rule of a loop in its file, or None if its number of iterations is computed."""
    most = loop.limits.iterations
    return Rule(loop.until, most, loop.returns, loop.facts) if isinstance(most, int) else None


def limits_left_out(loop: Loop) -> str:
    """Says which limits of a loop the answers leave out."""
    most, names = loop.limits, ("cost", "tokens", "calls", "time")
    limits = zip(names, (most.cost_usd, most.tokens, most.calls, most.time_s), strict=True)
    known = " or ".join(name for name, limit in limits if limit is not None)
    return f"rules are answered as if no limit of {known} was reached" if known else ""


def obstacle(loop: Loop, rule: Rule) -> str:
    """Returns why a rule would have changed the iterations themselves, or ""."""
    facts = _facts_read(loop)
    own = own_rule(loop)
    if "limit" in facts and (own is None or own.at_most != rule.at_most):
        words = f"steps of {loop.name!r} read the loop's limit"
        return f"{words}, so another at_most would have changed them"
    ranks = {"best", "score"} & facts or (loop.memory is not None and {"score"})
    ranks = ranks or {"best" for collect in loop.collect if collect.take == "best"}
    if ranks and _measured(loop.until) != _measured(rule.until):
        words = f"iterations of {loop.name!r} see {' and '.join(sorted(ranks))}"
        return f"{words}, which another score would have changed"
    if loop.check != "after" and reads_best(loop) and rule.until != loop.until:
        return f"iterations of {loop.name!r} see best, which another condition would have changed"
    if any(each not in loop.facts and each[1] not in loop_facts.FREE for each in rule.names):
        return "the rule reads a value that the recorded iterations did not have"
    if loop.ask != "never":
        return f"a person is asked about iterations of {loop.name!r}"
    return ""


def reads_best(loop: Loop) -> bool:
    """Returns whether an iteration sees the best one so far, which approval changes."""
    return "best" in _facts_read(loop) or any(c.take == "best" for c in loop.collect)


def _facts_read(loop: Loop) -> set[str]:
    """Returns the facts about the loop that its iterations read, beside its own conditions."""
    names = Names()
    read = names.in_block(loop.body) | names.in_values(inner_values(replace(loop, until=None)))
    return {fact for name, fact in loop.facts if name in read or "results" in read}


def first_score(until: Condition | None) -> Score | None:
    """Returns the score that ranks iterations."""
    return next((part for part in conditions_in(until) if isinstance(part, Score)), None)


def _measured(until: Condition | None) -> tuple[Any, ...]:
    score = first_score(until)
    return () if score is None else (loop_facts.atom_of(score), score.low, score.high)


def simple_conditions(until: Condition | None) -> list[Condition]:
    return [c for c in conditions_in(until) if not isinstance(c, AnyOf | AllOf)]


def rule_words(rule: Rule) -> str:
    """Returns a rule in a line, for tables."""
    parts = filter(None, map(leaf_words, simple_conditions(rule.until)))
    joined = (" and " if isinstance(rule.until, AllOf) else ", ").join(parts)
    return ", ".join([*filter(None, [joined]), f"at_most {rule.at_most}", rule.returns])


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


def _read_leaves(tree: RuleTree | None) -> Iterator[Leaf]:
    """Yields the simple conditions of a rule that read something of an iteration."""
    if isinstance(tree, Combined):
        for part in tree.parts:
            yield from _read_leaves(part)
    elif tree is not None and not isinstance(tree.condition, Plateau):
        yield tree
