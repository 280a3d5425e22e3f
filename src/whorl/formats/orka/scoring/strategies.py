"""How a loop finds its scores: the strategies, patterns, paths and weights that a file gives it."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from whorl.dialects.reading.fields import is_true, number_of, text_of
from whorl.errors import did_you_mean
from whorl.formats.orka import outputs
from whorl.formats.orka.agents import items_of, scalars_of
from whorl.formats.orka.scoring import scores
from whorl.formats.orka.scoring.criteria import CONTEXTS, paths_of, weights_of
from whorl.formats.orka.scoring.validators import choice, criteria_of, preset_of
from whorl.formats.orka.sections import reads_of
from whorl.language import Json, LanguageError
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar, Sequence, Value

if TYPE_CHECKING:
    from whorl.formats.orka.agents import Agent, FileContext
    from whorl.formats.orka.sections import Section


HIGH_PRIORITY = ("agreement_moderator", "quality_moderator", "score_moderator")
_PHRASE = re.compile(r"[A-Za-z][A-Za-z0-9_ ]{2,}:?")
_MARKS = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
# How people call an agent that scores, and what they tell it to do.
_RATER = re.compile(r"scor|rat(?:er|ing)|judg|evaluat|critic|grad(?:er|ing)|assess|moderat|review")
_RATES = re.compile(r"\b(?:rate|rating|score|grade|evaluate|assess|judge)\b", re.IGNORECASE)
# How a prompt begins that asks for a review.
_REVIEWS = re.compile(
    r"\W*+(?:please\s+)?(?:rate|score|grade|evaluate|assess|judge|review|critique)\b", re.IGNORECASE
)
# The kinds of strategies by the words that files have for them.
_KINDS = {
    **dict.fromkeys(("pattern", "patterns", "regex", "regex_pattern"), "pattern"),
    **dict.fromkeys(("direct_key", "key"), "direct_key"),
    **dict.fromkeys(("json_key", "json"), "json"),
    "agent_key": "agent_key",
    **dict.fromkeys(("nested_path", "path"), "nested_path"),
}
_PATHS = ("json_path", "path", "key")
# Numbers that no author means when they are read alone.
_BARE_NUMBERS = ("7", "42", "3.5")
_VALIDATORS = ("loop_validator", "plan_validator")
Strategy: TypeAlias = "dict[str, Json]"


@dataclass(slots=True)
class Scoring:
    """How a loop scores its iterations; `agents` are those of it that say something."""

    agents: list[str]
    context: str = ""
    weights: dict[str, float] = field(default_factory=dict)
    strategies: list[Strategy] = field(default_factory=list)
    high_priority: list[str] = field(default_factory=list)
    agreement: bool = False
    target: str = ""
    scorers: list[str] = field(default_factory=list)

    @property
    def described(self) -> str:
        sources = (outputs.texts_in(strategy.get("patterns")) for strategy in self.strategies)
        patterns = [repr(source) for listed in sources for source in listed]
        if patterns:
            return f"pattern{'s' if patterns[1:] else ''} {', '.join(patterns[:5])}"
        paths = [strategy["path"] for strategy in self.strategies if "path" in strategy]
        if paths:
            shown = (".".join(map(str, path)) for path in paths[:5] if isinstance(path, list))
            return f"path {', '.join(map(repr, shown))}"
        return "criteria" if self.weights else "strategies"

    @property
    def settings(self) -> dict[str, object]:
        optional = {
            "weights": self.weights,
            "high_priority": self.high_priority,
            "agreement": self.agreement,
            "scorers": self.scorers,
        }
        settings: dict[str, object] = {"agents": self.agents, "strategies": self.strategies}
        return settings | {name: value for name, value in optional.items() if value}


def read_scoring(loop: Agent, inner: Section | None, speaking: list[str]) -> Scoring:
    context = loop.context
    moderators = _read_agents(inner, loop.scalars("high_priority_agents"))
    scoring = Scoring(speaking, high_priority=moderators or list(HIGH_PRIORITY))
    _read_criteria(loop, inner, scoring)
    pattern = loop.get("score_extraction_pattern")
    if isinstance(pattern, Scalar):
        patterns = read_patterns(context, [pattern], is_score=True)
        scoring.strategies.append({"type": "pattern", "patterns": patterns})
    key = loop.get("score_extraction_key")
    if key is not None:
        scoring.strategies.append({"type": "direct_key", "path": _read_path(context, key)})
    config = loop.mapping("score_extraction_config")
    if config is not None:
        fields = ("strategies", "agreement_fallback")
        context.check_fields(config, fields, "'score_extraction_config'")
        scoring.agreement = is_true(config.get("agreement_fallback"))
        scoring.strategies.extend(_strategies(context, config, inner))
    if inner is not None and (scoring.strategies or scoring.weights):
        scoring.scorers = _scorers(scoring, [inner.visible[name] for name in speaking])
    return scoring


def _read_agents(inner: Section | None, scalars: list[Scalar]) -> list[str]:
    """The names of agents inside of the loop; what is none is reported."""
    for scalar in scalars:
        if inner is not None:
            inner.check_name(scalar)
    return [scalar.text for scalar in scalars]


def _scorers(scoring: Scoring, agents: list[Agent]) -> list[str]:
    """The agents that scores are looked for in, by the surest sign that any of them has.

    The last of them is the scorer of an iteration without a score. The signs: it is named, it is
    a validator, its prompt has the words that a pattern begins with, its own name or prompt
    speaks of scoring; or it is the last agent.
    """
    named = {*scoring.high_priority}
    words: list[str] = []
    for strategy in scoring.strategies:
        named.update(outputs.texts_in(strategy.get("agents")))
        matches = map(_PHRASE.match, outputs.texts_in(strategy.get("patterns")))
        words.extend(match[0].strip() for match in matches if match is not None)
    prompts = {
        agent.id: _MARKS.sub("", agent.text("prompt") + "\n" + agent.text("system_prompt"))
        for agent in agents
    }
    signs = (
        [agent.id for agent in agents if agent.id in named or agent.type in _VALIDATORS],
        [name for name, prompt in prompts.items() if any(word in prompt for word in words)],
        [n for n, prompt in prompts.items() if _RATER.search(n.lower()) or _RATES.search(prompt)],
        list(prompts),
    )
    return next(filter(None, signs), [])


def read_document(loop: Agent, inner: Section, scoring: Scoring) -> str:
    """The agent whose text the loop returns: what its scorer reads, and no review of that.

    Where that names several, it is the join, or the last of them; a choice is told.
    """
    scorer = inner.visible[scoring.scorers[-1]] if scoring.scorers else None
    joins = [name for name in inner.names() if inner.is_of(name, ("join",))]
    others = [name for name in scoring.agents if scorer is None or name != scorer.id]
    if scoring.target or not others:
        return scoring.target
    read = _read_by(inner, scorer, [*joins, *others])
    waiting, document = list(read), set[str]()
    while waiting:
        name = waiting.pop()
        reviewed = _read_by(inner, inner.visible[name], others) if name not in joins else []
        if reviewed and _is_review(inner.visible[name]):
            waiting += [other for other in reviewed if other not in read]
            read += [other for other in reviewed if other not in read]
        else:
            document.add(name)
    if len(document) > 1 and joins:
        return joins[-1]
    taken = [name for name in others if not document or name in document][-1:]
    if len(document) != 1:
        who = f"{scorer.id!r} scores and reads" if scorer else f"loop {loop.id!r} compares"
        what = "several agents" if document else "no agent"
        message = f"{who} {what}: 'response' of the loop is what {taken[0]!r} says"
        advice = "write {{ previous_outputs.AGENT }} for the text that is scored in its prompt"
        loop.context.warn("W023", message, loop.span, label="which text?", help=advice)
    return next(iter(document)) if len(document) == 1 else taken[0]


def _read_by(inner: Section, agent: Agent | None, names: list[str]) -> list[str]:
    """Those of some agents that an agent reads; a validator without a target reads them all."""
    if agent is None or agent.type in _VALIDATORS:
        return [name for name in names if agent is None or name != agent.id]
    return [name for name in filter(reads_of(agent), names) if name != agent.id]


def _is_review(agent: Agent) -> bool:
    prompts = (_MARKS.sub("", agent.text(name)) for name in ("prompt", "system_prompt"))
    return bool(_RATER.search(agent.id.lower())) or any(map(_REVIEWS.match, prompts))


def _read_criteria(loop: Agent, inner: Section | None, scoring: Scoring) -> None:
    """The weights: of `scoring`, or of a validator in the loop, which scores without it, too."""
    context, config = loop.context, loop.mapping("scoring")
    agents = list(inner.agents.values()) if inner else []
    validators = [agent for kind in reversed(_VALIDATORS) for agent in agents if agent.type == kind]
    validator = validators[-1] if validators else None
    if validator is not None and validator.type == "loop_validator":
        scoring.target = validator.text("evaluation_target")
    named = loop.get("score_extraction_pattern", "score_extraction_key", "score_extraction_config")
    wanted = ""
    if config is not None:
        context.check_fields(config, ("preset", "context", "custom_weights", "mode"), "'scoring'")
        wanted = choice(context, config.get("context"), CONTEXTS, "context")
        preset, changed = config.get("preset"), config.get("custom_weights")
    # A loop with a validator of plans may say itself where its score is.
    elif validator is None or (validator.type == "plan_validator" and named is not None):
        return
    else:
        preset, changed = validator.get("scoring_preset"), validator.get("custom_weights")
    usual = "graphscout" if validator is None else criteria_of(validator, "")
    scoring.context = wanted or usual
    weights = _changed_weights(context, changed, scoring.context)
    scoring.weights = weights_of(scoring.context, preset_of(context, preset), weights)


def _strategies(context: FileContext, config: Mapping, inner: Section | None) -> list[Strategy]:
    """The strategies in the order in which they are tried: by `priority`, then as written."""
    written = config.get("strategies")
    if written is not None and not isinstance(written, Sequence):
        advice = "write strategies: [{type: pattern, patterns: [...]}]"
        context.report("W007", "'strategies' must be a list", written.span, help=advice)
    strategies: list[tuple[float, Strategy]] = []
    for item in items_of(written):
        if not isinstance(item, Mapping):
            advice = "write {type: pattern, patterns: [...]}"
            context.report("W007", "a score strategy must be an object", item.span, help=advice)
            continue
        strategy = _read_strategy(context, item, inner)
        if strategy is not None:
            priority = number_of(item.get("priority"))
            strategies.append((float("inf") if priority is None else priority, strategy))
    return [strategy for _, strategy in sorted(strategies, key=lambda pair: pair[0])]


def _read_strategy(context: FileContext, item: Mapping, inner: Section | None) -> Strategy | None:
    word = text_of(item.get("type"))
    kind = _KINDS.get(word)
    if kind is None:
        advice = did_you_mean(word, _KINDS)
        advice = advice or f"strategies: {', '.join(dict.fromkeys(_KINDS.values()))}"
        message = f"there is no score strategy {word[:60]!r}"
        context.report("W007", message, item.span, label="unknown strategy", help=advice)
        return None
    own = ("patterns", "pattern") if kind == "pattern" else _PATHS
    fields = ("type", "agents", "agent", "transform", "priority", *own)
    context.check_fields(item, fields, f"a score strategy {word!r}")
    strategy: Strategy = {"type": kind}
    if kind == "pattern":
        patterns = [*scalars_of(item.get("patterns")), *scalars_of(item.get("pattern"))]
        if not patterns:
            advice = r"add patterns: ['SCORE:\s*([0-9.]+)']"
            context.report("W006", "a score strategy has no 'patterns'", item.span, help=advice)
        strategy["patterns"] = read_patterns(context, patterns, is_score=True)
    elif entries := list(filter(None, map(item.entry, _PATHS))):
        strategy["path"] = _read_path(context, entries[0].value)
        for entry in entries[1:]:
            message = f"a score strategy has both {entries[0].name!r} and {entry.name!r}"
            advice = "a score is read from one place: keep one of them"
            context.report("W007", message, entry.key.span, help=advice)
    agents = _read_agents(inner, [*scalars_of(item.get("agents")), *scalars_of(item.get("agent"))])
    if agents:
        strategy["agents"] = [*agents]
    elif kind == "agent_key":
        advice = "add agents: [AGENT]"
        context.report("W006", "'agent_key' does not say which agents", item.span, help=advice)
    return strategy


def _read_path(context: FileContext, written: Value) -> list[Json]:
    """The steps to a score; a path that is none is reported where it goes wrong."""
    if not isinstance(written, Scalar) or not isinstance(written.value, str):
        message, advice = "the place of a score must be a text", "write a path such as $.eval.score"
        context.report("W007", message, written.span, help=advice)
        return []
    try:
        return [*scores.parse_path(written.text)]
    except LanguageError as fault:
        at = written.locate(min(fault.offset or 0, max(0, len(written.text) - 1)))
        context.report("W007", fault.message, at, label="here", help=fault.help)
        return []


def read_patterns(context: FileContext, written: list[Scalar], *, is_score: bool) -> list[Json]:
    """Patterns; reports those that do not compile, and warns of those that find too much."""
    for scalar in written:
        span, shown = scalar.span, f"pattern {scalar.text[:60]!r}"
        try:
            compiled = scores.search_pattern(scalar.text, lessons=not is_score)
        except LanguageError as fault:
            at = span if fault.offset is None else scalar.locate(fault.offset)
            context.report("W014", fault.message, at, label="here", help=fault.help)
            continue
        if is_score and compiled.groups == 0:
            message = f"{shown} captures nothing: the first number in what it finds is the score"
            advice = r"put the number in parentheses, as in 'SCORE:\s*([0-9.]+)'"
            context.warn("W014", message, span, label="no group", help=advice)
        if is_score and all(compiled.search(number) is not None for number in _BARE_NUMBERS):
            message = f"{shown} matches any number, so any number can be the score"
            advice = r"name what stands before it, as in 'QUALITY_SCORE:\s*([0-9.]+)'"
            context.warn("W023", message, span, label="matches any number", help=advice)
    return [scalar.text for scalar in written]


def _changed_weights(context: FileContext, value: Value | None, criteria: str) -> dict[str, float]:
    """`custom_weights`: numbers by `dimension.criterion`; others are reported."""
    paths = paths_of(criteria)
    weights: dict[str, float] = {}
    for entry in value if isinstance(value, Mapping) else ():
        number = number_of(entry.value)
        if entry.name not in paths:
            message = f"there is no criterion {entry.name[:80]!r} in the context {criteria!r}"
            advice = did_you_mean(entry.name, paths) or f"criteria: {', '.join(paths)}"
            context.report("W007", message, entry.key.span, label="unknown criterion", help=advice)
        elif number is None or number < 0:
            message = f"the weight of {entry.name!r} must be a number of at least 0"
            context.report("W007", message, entry.value.span, help="write a number such as 0.25")
        else:
            weights[entry.name] = float(number)
    return weights
