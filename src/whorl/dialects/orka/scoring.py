"""Where the score of a loop comes from: patterns, keys, criteria; and what is odd about it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.dialects.orka.validators import (
    VALIDATORS,
    changed_weights,
    context_of,
    criteria_of,
    preset_of,
)
from whorl.dialects.orka.values import mapping_of, scalars_of, text_of, texts_of, truth_of
from whorl.language import LanguageError
from whorl.language.functions.orka.booleans import weights_of
from whorl.language.functions.orka.patterns import search_pattern
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.orka.agents import Agent, Section
    from whorl.dialects.orka.draft import Draft
    from whorl.language import Json

HIGH_PRIORITY = ("agreement_moderator", "quality_moderator", "score_moderator")
USUAL_CONTEXT = "graphscout"
_KINDS = {
    "pattern": "pattern",
    "patterns": "pattern",
    "regex": "pattern",
    "regex_pattern": "pattern",
    "direct_key": "direct_key",
    "key": "direct_key",
    "json_key": "json",
    "json": "json",
    "agent_key": "agent_key",
    "nested_path": "nested_path",
    "path": "nested_path",
}
_WORDS = re.compile(r"[A-Za-z][A-Za-z0-9_ ]{2,}:?")
# Numbers that no author means when they are read alone.
_BARE_NUMBERS = ("7", "42", "3.5")


@dataclass(slots=True)
class Scoring:
    """How a loop scores its iterations."""

    context: str = ""
    weights: dict[str, float] = field(default_factory=dict)
    strategies: list[Json] = field(default_factory=list)
    high_priority: list[str] = field(default_factory=list)
    agreement: bool = False
    target: str = ""
    scorer: str = ""

    @property
    def is_known(self) -> bool:
        """Whether there is any source of a score."""
        return bool(self.weights or self.strategies or self.agreement)

    @property
    def described(self) -> str:
        """How the score is looked for, for people."""
        patterns = [
            repr(source)
            for strategy in self.strategies
            if isinstance(strategy, dict) and isinstance(strategy.get("patterns"), list)
            for source in strategy["patterns"]  # type: ignore[union-attr]
        ]
        if len(patterns) == 1:
            return f"pattern {patterns[0]}"
        if patterns:
            return f"patterns {', '.join(patterns[:5])}"
        return "criteria" if self.weights else "strategies"

    def settings(self, agents: list[str]) -> dict[str, Json]:
        """What the function that finds the score is told."""
        told: dict[str, Json] = {"agents": list(agents), "strategies": self.strategies}
        if self.weights:
            told["weights"] = dict(self.weights)
        if self.high_priority:
            told["high_priority"] = list(self.high_priority)
        if self.agreement:
            told["agreement"] = True
        if self.scorer:
            told["scorer"] = self.scorer
        return told


def read_scoring(draft: Draft, agent: Agent, inner: Section | None) -> Scoring:
    """Reads all that says how a loop scores."""
    scoring = Scoring(high_priority=texts_of(agent.get("high_priority_agents")))
    scoring.high_priority = scoring.high_priority or list(HIGH_PRIORITY)
    _read_criteria(draft, agent, inner, scoring)
    _read_pattern(draft, agent, scoring)
    key = text_of(agent.get("score_extraction_key"))
    if key:
        scoring.strategies.append({"type": "direct_key", "key": key})
    config = mapping_of(agent.get("score_extraction_config"))
    if config is not None:
        scoring.agreement = truth_of(config.get("agreement_fallback"))
        strategies = config.get("strategies")
        for item in strategies if isinstance(strategies, Sequence) else ():
            _read_strategy(draft, item, scoring)
    scoring.scorer = _likely_scorer(scoring, inner)
    return scoring


def _likely_scorer(scoring: Scoring, inner: Section | None) -> str:
    """The agent that is asked for the score: its prompt has the words that the pattern begins with.

    It is known by what it said, too; but not in an iteration in which it gave no score.
    """
    for strategy in scoring.strategies:
        patterns = strategy.get("patterns") if isinstance(strategy, dict) else None
        for source in patterns if isinstance(patterns, list) else ():
            words = _WORDS.match(str(source))
            for agent in reversed(list(inner.agents.values()) if inner is not None else []):
                if words is not None and words[0].strip() in text_of(agent.get("prompt")):
                    return agent.id
    return ""


def _read_criteria(draft: Draft, agent: Agent, inner: Section | None, scoring: Scoring) -> None:
    """The weights: of `scoring`, or of a validator in the loop, which scores without it, too."""
    wanted = mapping_of(agent.get("scoring"))
    found = [one for one in inner.agents.values() if one.type in VALIDATORS] if inner else []
    validator = next((one for one in reversed(found) if one.type == "loop_validator"), None)
    validator = validator or (found[-1] if found else None)
    if validator is not None and validator.type == "loop_validator":
        scoring.target = text_of(validator.get("evaluation_target"))
    context = context_of(draft, wanted.get("context")) if wanted is not None else ""
    if wanted is None and (validator is None or _scores_otherwise(agent, validator)):
        return
    usual = USUAL_CONTEXT if validator is None else criteria_of(validator, "")
    scoring.context = context or usual
    if wanted is not None:
        preset, changed = wanted.get("preset"), wanted.get("custom_weights")
    else:
        assert validator is not None
        preset, changed = validator.get("scoring_preset"), validator.get("custom_weights")
    weights = changed_weights(draft, changed, scoring.context)
    scoring.weights = weights_of(scoring.context, preset_of(draft, preset), weights)


def _scores_otherwise(agent: Agent, validator: Agent) -> bool:
    """Whether a loop with a validator of plans says itself where its score is."""
    named = agent.get("score_extraction_pattern", "score_extraction_key", "score_extraction_config")
    return validator.type == "plan_validator" and named is not None


def _read_pattern(draft: Draft, agent: Agent, scoring: Scoring) -> None:
    written = agent.get("score_extraction_pattern")
    if not isinstance(written, Scalar):
        return
    check_pattern(draft, written, is_score=True)
    scoring.strategies.append({"type": "pattern", "patterns": [written.text]})


def _read_strategy(draft: Draft, item: object, scoring: Scoring) -> None:
    if not isinstance(item, Mapping):
        return
    word = text_of(item.get("type"))
    kind = _KINDS.get(word)
    if kind is None:
        draft.warn(
            "W007",
            f"there is no score strategy {word[:60]!r}; it is passed over",
            item.span,
            help="strategies: pattern, direct_key, agent_key, nested_path, json",
        )
        return
    told: dict[str, Json] = {"type": kind}
    if kind == "pattern":
        written = [*scalars_of(item.get("patterns")), *scalars_of(item.get("pattern"))]
        for scalar in written:
            check_pattern(draft, scalar, is_score=True)
        told["patterns"] = [scalar.text for scalar in written]
    for name in ("key", "path"):
        if text_of(item.get(name)):
            told[name] = text_of(item.get(name))
    agents = texts_of(item.get("agents")) or texts_of(item.get("agent"))
    if agents:
        told["agents"] = list(agents)
    scoring.strategies.append(told)


def check_pattern(draft: Draft, written: Scalar, *, is_score: bool) -> None:
    """Reports a pattern that does not compile, and warns of one that finds too much."""
    try:
        compiled = search_pattern(written.text, lessons=not is_score)
    except LanguageError as fault:
        span = written.span if fault.offset is None else written.locate(fault.offset)
        draft.report("W014", fault.message, span, label="here", help=fault.help)
        return
    if not is_score:
        return
    if compiled.groups == 0:
        draft.warn(
            "W014",
            f"pattern {written.text[:60]!r} captures nothing: the first number in what it finds "
            "is the score",
            written.span,
            label="no group",
            help=r"put the number in parentheses, as in 'SCORE:\s*([0-9.]+)'",
        )
    if all(compiled.search(number) is not None for number in _BARE_NUMBERS):
        draft.warn(
            "W023",
            f"pattern {written.text[:60]!r} matches any number, so any number can be the score",
            written.span,
            label="matches any number",
            help=r"name what stands before it, as in 'QUALITY_SCORE:\s*([0-9.]+)'",
        )
