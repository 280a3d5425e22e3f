"""Judging an iteration: measures it, checks the rule of its loop, asks judges where they decide."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any, assert_never

from whorl.interpreter.constructs.block import results
from whorl.interpreter.constructs.loops import loop_results
from whorl.interpreter.evaluation import OverlayScope, value_of
from whorl.interpreter.events import attempted, inner
from whorl.interpreter.frames import HIDDEN, children_of, discard, is_failure
from whorl.interpreter.plan import Combined, judge_key
from whorl.ir import AllOf, AnyOf, BranchTaken, Constant, Judge, Plateau, Score, Stable, When
from whorl.language import LanguageError, free_names, to_text, truth
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.interpreter.evaluation import FrameScope
    from whorl.interpreter.frames import LoopFrame, Outcome, Values
    from whorl.interpreter.plan import Leaf, LoopPlan, Rule
    from whorl.interpreter.state import State
    from whorl.ir import Condition
    from whorl.language import Json, Scope

# More votes than any judge has.
VOTES_MAX = 1_000_000
# What is shown of an answer that is not clear.
SHOWN_MAX = 200
# What a judge says beside its verdict, where it does.
_WORDS = ("reason", "evidence", "evidence_in_text")


def judge_iteration(machine: State, key: str) -> Verdict | None:
    """Takes in the results of an iteration and checks the rule; None while a judge is asked."""
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
    """Counts the vote of a judge, asks again if necessary, then checks the rule again."""
    frame = machine.loop_frames[key]
    leaf = frame["asking"]
    judged = frame["rest" if "rest" in frame else "judged"][leaf]
    if "rest" in frame:
        # This vote decides nothing. A judge that fails is not asked again.
        if is_failure(outcome):
            judged["met"] = None
        else:
            _count_vote(judged, outcome["value"], VOTES_MAX)
        return _check(machine, key)
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


# The version of the machine's behaviour since which it warns of an unclear judge.
_WARNED_SINCE = 4


def _warn_no_verdict(machine: State, key: str, value: Any) -> None:
    """Warns once per loop if a judge said neither yes nor no, or could not read its text."""
    frame = machine.loop_frames[key]
    code, judge = "R117", f"the judge of loop {frame['name']!r}"
    if isinstance(value, dict) and value.get("verdict") == "inconclusive":
        message = f"{judge} gave {value.get('answer')}, which counts as not met; name the part to "
        message += "judge (native: `judge: {of: ...}`), or a model that reads more"
    elif machine.state.get("behaviour", 1) < _WARNED_SINCE:
        return
    else:
        words = " ".join(frame["judged"][frame["asking"]]["answer"].split())
        shown = f"{words[:SHOWN_MAX]}..." if len(words) > SHOWN_MAX else words
        is_secure = machine.plan.tasks[judge_key(frame["node"], 0)].secure
        words = "" if is_secure else f" but {shown!r}" if shown else " and nothing else"
        code, message = "R113", f"{judge} answered neither yes nor no{words}, which counts as not "
        message += "met; ask what can be answered with yes or no, or name another model"
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


def _check(machine: State, key: str) -> Verdict | None:
    """Returns the decision on the rule; asks a judge if the rule depends on one."""
    frame = machine.loop_frames[key]
    before = frame["before"]
    rule = machine.plan.rules[frame["node"]].rule
    verdict, is_due = Verdict("not_met"), before or machine.loop(key).check == "after"
    if rule is not None and is_due:
        lost = frozenset() if before else lost_steps(machine, frame)
        verdict = check_rule(frame, rule, machine.scope_at(frame["inner"]), lost)
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
            # A judge that was shown hidden results may quote them.
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
    """Checks whether an exploring loop asks a judge that its rule does not need, for all votes."""
    frame, scope = machine.loop_frames[key], machine.scope_at(machine.loop_frames[key]["inner"])
    rest = frame.get("rest", {})
    for leaf, judge in machine.plan.rules[frame["node"]].judges.items():
        own = frame["judged"].get(leaf, {})
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
        # What these judges used is no part of the usage of the loop.
        before, extra = frame.pop("rest_from"), frame["explore"]["extra"]
        for name, used in frame["usage"].items():
            extra[name] = extra.get(name, 0) + used - before.get(name, 0)
        del frame["rest"]
    return False


def _count_vote(judged: dict[str, Any], value: Any, wanted: int) -> None:
    """Counts a vote as yes, no or (after one more try) ambiguous; a majority of all votes decides.

    A text that the model could not read as a whole gets no verdict.
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


# The rule of a loop: what an iteration measures, checked with what judges said of it.
#
# A rule is met, not met, inconclusive, or open until a judge has answered.


@dataclass(slots=True)
class Verdict:
    """The state of a rule, what decided it, the facts, and the judge to ask next.

    `approves` says whether the rule finds the iteration good. It is None for rules that only end a
    loop, such as `stable` and `plateau`. `ahead`: it was checked before an iteration.
    """

    state: str
    by: str = ""
    facts: tuple[Values, ...] = ()
    judge: str = ""
    approves: bool | None = False
    ahead: bool = False


def check_rule(frame: LoopFrame, rule: Rule, scope: Scope, lost: frozenset[str]) -> Verdict:
    """Returns the verdict on a rule; `open` if it needs a judge that has not answered.

    The measurements of an iteration and the judges' answers are in the frame of the loop. Steps
    that are `lost` have failed without a value for expressions to read.
    """
    if isinstance(rule, Combined):
        parts = [check_rule(frame, part, scope, lost) for part in rule.parts]
        return combined(parts, every=rule.every)
    condition = rule.condition
    match condition:
        case When():
            facts: Values = {"expression": condition.described or condition.test.source}
            read = {use.name for use in free_names(condition.test)} & lost if lost else ()
            if read:
                return verdict_of(rule, None, condition.by, facts | {"failed": [*sorted(read)]})
            return verdict_of(rule, truth(condition.test, scope), condition.by, facts)
        case Score():
            return _check_score(frame, rule, condition)
        case Judge():
            return _check_judge(frame, rule, condition, scope)
        case BranchTaken():
            taken = _taken(frame, condition)
            return verdict_of(rule, taken == condition.name, "branch", {"branch": taken})
        case Stable():
            text = frame.get("texts", {}).get(rule.id, "")
            earlier = frame.get("texts_before", {}).get(rule.id)
            if text is None:
                return verdict_of(rule, None, "stable", {})
            if earlier is None:
                return Verdict("not_met", "stable", approves=None)
            alike = similarity(earlier, text)
            return verdict_of(rule, condition.is_met(alike), "stable", {"similarity": alike})
        case Plateau():
            stale = frame.get("stale", {}).get(rule.id, 0)
            return verdict_of(rule, stale >= condition.patience, "plateau", {"stale": stale})
        case AnyOf() | AllOf():
            raise AssertionError("the plan combines these")
        case _:
            assert_never(condition)


def _check_score(frame: LoopFrame, leaf: Leaf, condition: Score) -> Verdict:
    number = frame.get("scores", {}).get(leaf.id)
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


def _check_judge(frame: LoopFrame, leaf: Leaf, condition: Judge, scope: Scope) -> Verdict:
    judged = frame["judged"].get(leaf.id, {})
    if "met" not in judged:
        subject = condition.subject
        if isinstance(subject, Constant) or value_of(subject, scope) is not None:
            return Verdict("open", "judge", judge=leaf.id)
        # A step that was skipped has left nothing.
        judged = {"met": None, "answer": "not asked: there is no result to judge"}
    question = to_text(value_of(condition.question, scope))
    facts: Values = {"answer": judged["answer"], "question": question}
    return verdict_of(leaf, judged["met"], "judge", facts | judged.get("words", {}))


def combined(parts: list[Verdict], *, every: bool) -> Verdict:
    """Returns the verdict of several conditions: one of them must be met, or every one."""
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
    """Returns the verdict of a simple condition; None is neither met nor not met."""
    state = "inconclusive" if met is None else "met" if met else "not_met"
    basis: Values = {"leaf": leaf.number, "by": by, "met": met}
    approves = None if by in ("stable", "plateau") else bool(met)
    return Verdict(state, by, (basis | facts,), approves=approves)


def observe(
    machine: State, key: str, condition: Condition, names: Values, ahead: FrameScope | None = None
) -> Json:
    """Returns what a condition reads after an iteration, or `ahead` of the next, beside `names`."""
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
    """Returns the steps that failed without a value in an iteration that continued."""
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


# Measuring an iteration: its scores, how long ago the last progress was, texts to compare.

# How long texts may be that are compared; longer ones count as different.
COMPARED_MAX = 200_000


def measure_iteration(machine: State, key: str, *, is_early: bool = False) -> None:
    """Measures an iteration. If a jump ended it (`is_early`), skipped steps have no value."""
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
            if text is not None and len(text) > COMPARED_MAX:
                frame["texts"][leaf] = None
                words = f"the result of iteration {frame['count']} has {len(text):,} characters, "
                words += (
                    f"and only texts of up to {COMPARED_MAX:,} are compared; compare a part of it"
                )
                once = f"R117 stable {frame['address']}"
                machine.warn(frame["address"], "R117", words, once=once)


def _take_score(machine: State, key: str, rules: LoopPlan) -> None:
    """Sets the score of the iteration: the first one that is measured and is in its range."""
    frame = machine.loop_frames[key]
    for leaf, number in frame["scores"].items():
        low, high = rules.scores[leaf].low, rules.scores[leaf].high
        if number is not None and is_outside(rules.scores[leaf], number):
            # The table of iterations lists all of them; the warning comes once per loop.
            span = f"{low:g}..{high:g}" if low is not None and high is not None else ""
            span = span or (f"at most {high:g}" if low is None else f"at least {low:g}")
            words = f"score {number:g} of iteration {frame['count']} is outside {span} and is not "
            facts: Values = {"score": number, "low": low, "high": high}
            facts["fields"] = loop_results.fields_of(machine, key)
            once = f"R115 {frame['address']}"
            machine.warn(frame["address"], "R115", f"{words}counted", once=once, facts=facts)
    leaf, score = next(iter(rules.scores.items()))
    first = frame["scores"][leaf]
    frame.pop("outside", None)
    if first is not None and is_outside(score, first):
        frame["outside"] = {"score": first, "low": score.low, "high": score.high}
        first = None
    frame["score"] = first
    if first is None:
        # A missing score does not count as an iteration without progress.
        return
    # Each plateau has a score that counts as the last progress, and how long ago that was.
    for leaf, plateau in rules.plateaus.items():
        marks, stale = frame.setdefault("marks", {}), frame.setdefault("stale", {})
        if leaf not in marks or first > marks[leaf] + plateau.min_delta:
            marks[leaf], stale[leaf] = first, 0
        else:
            stale[leaf] += 1


def measure(score: Score, scope: FrameScope | OverlayScope) -> float | None:
    """Returns the number that scores an iteration, even if out of range, or None without one."""
    value = value_of(score.source, scope)
    if score.pattern is not None:
        from whorl.language import pattern

        program, text = pattern(score.pattern), to_text(value)
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
    """Returns the text by which two results are compared, or None without a result."""
    value = value_of(stable.subject, scope)
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def similarity(first: str, second: str) -> float:
    """Returns how similar two texts are: 1 minus the edit distance over the longer length."""
    from rapidfuzz.distance import Levenshtein

    return float(Levenshtein.normalized_similarity(first, second, score_hint=1.0))
