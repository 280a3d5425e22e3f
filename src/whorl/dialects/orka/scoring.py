"""Where the score of a loop comes from: patterns, keys, criteria; and what is odd about it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.dialects.orka.agents import report_unknown
from whorl.dialects.orka.fields import check_fields
from whorl.dialects.orka.functions.booleans import weights_of
from whorl.dialects.orka.strategies import check_pattern, read_path, read_strategies
from whorl.dialects.orka.validators import (
    VALIDATORS,
    changed_weights,
    context_of,
    criteria_of,
    preset_of,
)
from whorl.dialects.orka.values import mapping_of, scalars_of, text_of, truth_of
from whorl.source import Scalar

if TYPE_CHECKING:
    from whorl.dialects.orka.agents import Agent, Section
    from whorl.dialects.orka.draft import Draft
    from whorl.language import Json

HIGH_PRIORITY = ("agreement_moderator", "quality_moderator", "score_moderator")
USUAL_CONTEXT = "graphscout"
_CONFIG_FIELDS = ("strategies", "agreement_fallback")
_SCORING_FIELDS = ("preset", "context", "custom_weights", "mode")
_WORDS = re.compile(r"[A-Za-z][A-Za-z0-9_ ]{2,}:?")
_MARKS = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
# How people call an agent that scores, and what they tell it to do.
_RATER = re.compile(r"scor|rat(?:er|ing)|judg|evaluat|critic|grad(?:er|ing)|assess|moderat|review")
_RATES = re.compile(r"\b(?:rate|rating|score|grade|evaluate|assess|judge)\b", re.IGNORECASE)


@dataclass(slots=True)
class Scoring:
    """How a loop scores its iterations."""

    context: str = ""
    weights: dict[str, float] = field(default_factory=dict)
    strategies: list[Json] = field(default_factory=list)
    high_priority: list[str] = field(default_factory=list)
    agreement: bool = False
    target: str = ""
    scorers: list[str] = field(default_factory=list)

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
        paths = [one["path"] for one in self.strategies if isinstance(one, dict) and "path" in one]
        if paths:
            shown = (".".join(map(str, path)) for path in paths[:5] if isinstance(path, list))
            return f"path {', '.join(map(repr, shown))}"
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
        if self.scorers:
            told["scorers"] = list(self.scorers)
        return told


def read_scoring(draft: Draft, agent: Agent, inner: Section | None, speaking: list[str]) -> Scoring:
    """Reads all that says how a loop scores; `speaking` are its agents that say something."""
    scoring = Scoring(high_priority=_read_high_priority(draft, agent, inner))
    _read_criteria(draft, agent, inner, scoring)
    _read_pattern(draft, agent, scoring)
    key = agent.get("score_extraction_key")
    if key is not None:
        scoring.strategies.append({"type": "direct_key", "path": read_path(draft, key)})
    config = mapping_of(agent.get("score_extraction_config"))
    if config is not None:
        check_fields(draft, config, _CONFIG_FIELDS, "'score_extraction_config'")
        scoring.agreement = truth_of(config.get("agreement_fallback"))
        scoring.strategies.extend(read_strategies(draft, config.get("strategies"), inner))
    if inner is not None and (scoring.strategies or scoring.weights):
        agents = (inner.find(name) for name in speaking)
        scoring.scorers = _scorers(scoring, [one for one in agents if one is not None])
    return scoring


def _read_high_priority(draft: Draft, agent: Agent, inner: Section | None) -> list[str]:
    """The agents whose score comes first."""
    written = scalars_of(agent.get("high_priority_agents"))
    for scalar in written:
        if inner is not None and inner.find(scalar.text) is None:
            report_unknown(draft, scalar, inner)
    return [scalar.text for scalar in written] or list(HIGH_PRIORITY)


def _scorers(scoring: Scoring, agents: list[Agent]) -> list[str]:
    """The agents that scores are looked for in, by the surest sign that any of them has.

    The last of them is the scorer of an iteration without a score. The signs: it is named, it is
    a validator, its prompt has the words that a pattern begins with, its own name or prompt
    speaks of scoring; or it is the last agent.
    """
    named = {*scoring.high_priority}
    words: list[str] = []
    for strategy in scoring.strategies:
        assert isinstance(strategy, dict)
        named.update(_texts(strategy.get("agents")))
        found = map(_WORDS.match, _texts(strategy.get("patterns")))
        words.extend(word[0].strip() for word in found if word is not None)
    texts = {one.id: f"{_prompt(one, 'prompt')}\n{_prompt(one, 'system_prompt')}" for one in agents}
    ids = list(texts)
    signs = (
        [one.id for one in agents if one.id in named or one.type in VALIDATORS],
        [one for one in ids if any(word in texts[one] for word in words)],
        [one for one in ids if _RATER.search(one.lower()) or _RATES.search(texts[one])],
        ids,
    )
    return next(filter(None, signs), [])


def _texts(value: Json) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _prompt(agent: Agent, name: str) -> str:
    return _MARKS.sub("", text_of(agent.get(name)))


def _read_criteria(draft: Draft, agent: Agent, inner: Section | None, scoring: Scoring) -> None:
    """The weights: of `scoring`, or of a validator in the loop, which scores without it, too."""
    wanted = mapping_of(agent.get("scoring"))
    if wanted is not None:
        check_fields(draft, wanted, _SCORING_FIELDS, "'scoring'")
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
