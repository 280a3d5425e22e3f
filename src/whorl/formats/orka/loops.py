"""Loops: repeat an inner workflow until its score is high enough, and learn from each iteration.

The score comes from patterns, paths, or criteria that a validator checks.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeAlias

from whorl import ir
from whorl.dialects.reading.fields import Field, is_true, number_of, objects_of, text_of
from whorl.errors import did_you_mean
from whorl.formats.orka import outputs, tasks
from whorl.formats.orka.agents import (
    SILENT,
    mapping_of,
    read_section,
    reads_of,
    scalars_of,
    texts_within,
)
from whorl.formats.orka.scoring import CONTEXTS, PRESETS, paths_of, search_pattern, weights_of
from whorl.formats.orka.tasks import ask, computed, is_template, literal, template
from whorl.language import Json, LanguageError
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.formats.orka.agents import Agent, FileContext, Section
    from whorl.ir.nodes import Fact


USUAL_LOOPS = 5
USUAL_THRESHOLD = 0.8
USUAL_TIMEOUT_S = 300.0
_LOOPS = Field("count", low=1, high=1_000_000)
_SHARE = Field("number", low=0, high=1)
RECORDS_MAX = 20
MEASURED = "measured_score"
CATEGORIES = ("insights", "improvements", "mistakes")
_EXTRACTION_FIELDS = ("enabled", "extract_patterns", "max_length_per_category", "agent_priorities")
_WORDS: Json = {
    "fields": {"max_iterations": "max_loops", "timeout": "timeout", "budget": "--budget"}
}
_FACTS: tuple[tuple[str, Fact], ...] = (
    ("loop_number", "number"),
    ("score", "score"),
    ("past_loops", "past"),
    (outputs.PREVIOUS, "previous"),
)
_READS_PAST = re.compile(r"past_loop|get_past|get_my_past|get_debate_evolution|past_insights")
_SCORE = re.compile(r"\s*+\{\{-?\s*+score\s*+-?\}\}\s*+")
# The results of these come from others or from other runs: they have no scores and lessons.
_NO_SOURCES = SILENT | {"duckduckgo"}


def read_loop(agent: Agent, section: Section, read_block: Callable[[Section], ir.Block]) -> ir.Node:
    """Reads a loop with its whole inside; `read_block` reads the agents of a section."""
    written = agent.mapping("internal_workflow")
    # A loop cannot be a step of itself.
    around = {name: other for name, other in section.visible.items() if name != agent.id}
    inner = read_section(agent.context, written, around) if written is not None else None
    if inner is None:
        return ir.Compute(name=agent.id, value=ir.Constant(None))
    names = inner.names()
    speaking = [name for name in names if not inner.is_of(name, _NO_SOURCES)]
    scoring = read_scoring(agent, inner, speaking)
    threshold = _read_number(agent, "score_threshold", USUAL_THRESHOLD, _SHARE)
    loops = int(_read_number(agent, "max_loops", USUAL_LOOPS, _LOOPS))
    if not (scoring.weights or scoring.strategies or scoring.agreement):
        message = f"loop {agent.id!r} does not say where its score comes from"
        advice = r"""add score_extraction_pattern: "SCORE:\\s*([0-9.]+)", or a loop_validator"""
        agent.context.report("W006", message, agent.span, label="no score", help=advice)
    inner.enter(section.flow)
    inner.path = f"{section.path}/{agent.id}" if section.path else agent.id
    inner.criteria, inner.is_loop = scoring.context, True
    body = read_block(inner)
    texts = (text for part in inner.agents.values() for text in texts_within(part.fields))
    if loops > 1 and not any(map(_READS_PAST.search, texts)):
        message = f"no prompt of loop {agent.id!r} reads the past loops, so no iteration learns "
        message += "from another"
        advice = "use has_past_loops() and get_past_loops() in a prompt"
        agent.context.warn("W023", message, agent.span, label="does not learn", help=advice)
    document = read_document(agent, inner, scoring)
    settings = scoring.settings | {"results": names, "target": document}
    return ir.Loop(
        name=agent.id,
        body=body,
        until=_until(agent, scoring, threshold),
        limits=ir.LoopLimits(iterations=loops, time_s=tasks.read_timeout(agent) or USUAL_TIMEOUT_S),
        memory=_read_memory(agent, speaking, inner.path),
        words=_WORDS,
        facts=_FACTS,
        bind=((outputs.FLOW, flow_constant(inner)), (outputs.THRESHOLD, ir.Constant(threshold))),
        shape=computed("orka_loop", "it", "past", literal(settings)),
        # If an agent fails in an iteration, the results of the others do not count.
        on_iteration_failure=ir.IterationFailure("continue"),
    )


def flow_constant(section: Section) -> ir.Constant:
    """Returns the facts about the agents for the functions of the library."""
    listed = (name for name in section.flow if name not in ("row", "chosen"))
    flow: dict[str, Json] = {name: [*section.flow[name]] for name in listed}
    return ir.Constant({**flow, "graph": section.graph()} if section.context.recorded else flow)


def _read_number(agent: Agent, name: str, usual: float, takes: Field) -> float:
    value = agent.get(name)
    if value is not None and takes.fits(value):
        return number_of(value) or 0.0
    if value is not None:
        agent.report("W007", f"{name!r} must be {takes}", name, advice=f"write {name}: {usual}")
    elif name != "min_loops":
        message = f"loop {agent.id!r} has no {name!r}: it is {usual}"
        label, advice = f"{name!r} is missing", f"add {name}: {usual}"
        agent.context.warn("W006", message, agent.span, label=label, help=advice)
    return usual


def _until(agent: Agent, scoring: Scoring, threshold: float) -> ir.Condition:
    source = computed("orka_score", literal(scoring.settings))
    score = ir.Score(source, at_least=threshold, low=0.0, high=1.0, described=scoring.described)
    span = agent.span_of("score_extraction_pattern")
    agent.context.places.remember_part(score, span)
    agent.context.places.remember_part(source, span)
    most = number_of(agent.get("max_loops")) or USUAL_LOOPS
    least = int(_read_number(agent, "min_loops", 1, Field("count", low=1, high=most)))
    if least == 1:
        return score
    return ir.AllOf((ir.When(ir.Expression("jinja", f"loop_number >= {least}")), score))


def _read_memory(agent: Agent, speaking: list[str], path: str) -> ir.Memory:
    """Reads the records of each iteration, and whether later runs see them."""
    config = agent.mapping("cognitive_extraction") or Mapping((), agent.span)
    agent.context.check_fields(config, _EXTRACTION_FIELDS, "'cognitive_extraction'")
    is_learning = is_true(config.get("enabled"))
    patterns: dict[str, list[Json]] = {}
    for entry in mapping_of(config.get("extract_patterns")) or () if is_learning else ():
        if entry.name in CATEGORIES:
            written = scalars_of(entry.value)
            patterns[entry.name] = read_patterns(agent.context, written, is_score=False)
        else:
            message = f"nothing is extracted for {entry.name[:60]!r}"
            advice, span = f"categories: {', '.join(CATEGORIES)}", entry.key.span
            agent.context.warn("W004", message, span, label="unknown category", help=advice)
    length = number_of(config.get("max_length_per_category"))
    length_max = int(length) if length is not None and length > 0 else 300
    # The names that the templates of a record may use, beside those of the iteration.
    bind: dict[str, ir.Value] = {}
    for category in CATEGORIES:
        sources = patterns.get(category)
        settings = {"agents": speaking, "patterns": sources, "length_max": length_max}
        bind[category] = computed("orka_lessons", literal(settings)) if sources else ir.Constant("")
    fallback = literal(number_of(agent.get("fallback_score")) or 0.0)
    bind[MEASURED] = ir.Expression("jinja", "score")
    bind["score"] = ir.Expression("jinja", f"score if score is not none else {fallback}")
    bind["timestamp"] = computed("orka_timestamp", "at")
    bind["result"] = computed("orka_results", literal(speaking))
    bind["reasoning_quality"] = ir.Constant("")
    bind["convergence_trend"] = ir.Constant("STABLE")
    across_runs = is_true(agent.get("persist_across_runs"))
    return ir.Memory(
        record=_record(agent, is_learning=is_learning),
        keep=RECORDS_MAX,
        across_runs=across_runs,
        key=f"{agent.context.name}/{path}" if across_runs else "",
        bind=tuple(bind.items()),
    )


def _record(agent: Agent, *, is_learning: bool) -> ir.Fields:
    """Returns the author's fields; adds number, score and time if they are missing.

    A field that is only the score is null without a score; others compute with a 0.
    """
    written = agent.mapping("past_loops_metadata")
    fields = tasks.read_fields(agent.context, written)
    entries = {str(name): value for name, value in fields.entries}
    lessons = CATEGORIES if written is None and is_learning else ()
    for name in ("loop_number", "score", "timestamp", *lessons):
        entries.setdefault(name, template("{{ " + name + " }}"))
    for name, value in entries.items():
        if isinstance(value, ir.Expression) and _SCORE.fullmatch(value.source):
            entries[name] = ir.Expression("jinja", MEASURED)
    if is_learning:
        entries[outputs.INSIGHTS] = template("{{ insights }}")
    return ir.Fields(tuple(entries.items()))


# How a loop finds its scores: the strategies, patterns, paths and weights that a file gives it.

HIGH_PRIORITY = ("agreement_moderator", "quality_moderator", "score_moderator")
_PHRASE = re.compile(r"[A-Za-z][A-Za-z0-9_ ]{2,}:?")
_MARKS = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
# Usual names of agents that score, and usual words in their prompts.
_RATER = re.compile(r"scor|rat(?:er|ing)|judg|evaluat|critic|grad(?:er|ing)|assess|moderat|review")
_RATES = re.compile(r"\b(?:rate|rating|score|grade|evaluate|assess|judge)\b", re.IGNORECASE)
# The beginnings of prompts that ask for a review.
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
_STEP = re.compile(
    r"""\.?(?P<name>[^.\[\]'"$*?@\s](?:[^.\[\]'"*?@]*[^.\[\]'"*?@\s])?)"""
    r"""|\[(?P<index>-?\d{1,6})\]"""
    r"""|\[\s*(?:'(?P<single>[^']+)'|"(?P<double>[^"]+)")\s*\]"""
)
_PATH_HELP = "write members with dots and positions in brackets, as in $.eval.scores[0]"
# Numbers that no author means when they are read alone.
_BARE_NUMBERS = ("7", "42", "3.5")
_VALIDATORS = ("loop_validator", "plan_validator")
Strategy: TypeAlias = "dict[str, Json]"


@dataclass(slots=True)
class Scoring:
    """The way in which a loop scores its iterations; `agents` are those that have an answer."""

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
        names = ("agents", "strategies", "weights", "high_priority", "agreement", "scorers")
        return {name: value for name in names if (value := getattr(self, name))}


def read_scoring(loop: Agent, inner: Section, speaking: list[str]) -> Scoring:
    context = loop.context
    moderators = inner.named(loop.scalars("high_priority_agents"))
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
        advice = "write strategies: [{type: pattern, patterns: [...]}]"
        items = objects_of(context, config, "strategies", advice)
        # By `priority`, then as written.
        items.sort(key=lambda i: (i.get("priority") is None, number_of(i.get("priority")) or 0))
        read = (_read_strategy(context, item, inner) for item in items)
        scoring.strategies.extend(filter(None, read))
    if scoring.strategies or scoring.weights:
        scoring.scorers = _scorers(scoring, [inner.visible[name] for name in speaking])
    return scoring


def _scorers(scoring: Scoring, agents: list[Agent]) -> list[str]:
    """Returns the agents in which scores are searched, by the surest sign that any of them has.

    The last of them is the scorer of an iteration without a score. The signs: a setting names it,
    it is a validator, its prompt has the first words of a pattern, its own name or prompt mentions
    scoring; or it is the last agent.
    """
    named = {*scoring.high_priority}
    words: list[str] = []
    for strategy in scoring.strategies:
        named.update(outputs.texts_in(strategy.get("agents")))
        matches = map(_PHRASE.match, outputs.texts_in(strategy.get("patterns")))
        words.extend(match[0].strip() for match in matches if match is not None)
    texts = ((a.id, f"{a.text('prompt')}\n{a.text('system_prompt')}") for a in agents)
    prompts = {name: _MARKS.sub("", text) for name, text in texts}
    signs = (
        [agent.id for agent in agents if agent.id in named or agent.type in _VALIDATORS],
        [name for name, prompt in prompts.items() if any(word in prompt for word in words)],
        [n for n, prompt in prompts.items() if _RATER.search(n.lower()) or _RATES.search(prompt)],
        list(prompts),
    )
    return next(filter(None, signs), [])


def read_document(loop: Agent, inner: Section, scoring: Scoring) -> str:
    """Returns the agent whose text the loop returns: one that its scorer reads, without reviews.

    If there are several, it is the join, or the last of them; Whorl reports its choice.
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
        agent = inner.visible[name]
        reviewed = _read_by(inner, agent, others) if name not in joins else []
        prompts = (_MARKS.sub("", agent.text(field)) for field in ("prompt", "system_prompt"))
        is_review = _RATER.search(name.lower()) or any(map(_REVIEWS.match, prompts))
        if reviewed and is_review:
            waiting += [other for other in reviewed if other not in read]
            read += [other for other in reviewed if other not in read]
        else:
            document.add(name)
    if len(document) > 1 and joins:
        return joins[-1]
    taken = [name for name in others if not document or name in document][-1:]
    if len(document) != 1:
        who = f"{scorer.id!r}, which scores, reads" if scorer else f"loop {loop.id!r} compares"
        what = "several agents" if document else "no agent"
        message = f"{who} {what}: 'response' of the loop is the answer of {taken[0]!r}"
        advice = "write {{ previous_outputs.AGENT }} for the text that is scored in its prompt"
        loop.context.warn("W023", message, loop.span, label="which text?", help=advice)
    return next(iter(document)) if len(document) == 1 else taken[0]


def _read_by(inner: Section, agent: Agent | None, names: list[str]) -> list[str]:
    """Returns those agents that an agent reads; a validator without a target reads all."""
    if agent is None or agent.type in _VALIDATORS:
        return [name for name in names if agent is None or name != agent.id]
    return [name for name in filter(reads_of(agent), names) if name != agent.id]


def _read_criteria(loop: Agent, inner: Section, scoring: Scoring) -> None:
    """Reads the weights of `scoring`, or of a validator in the loop, which also scores alone."""
    context, config = loop.context, loop.mapping("scoring")
    # The last one, and a validator of loops rather than one of plans.
    found = [agent for agent in inner.agents.values() if agent.type in _VALIDATORS]
    found.sort(key=lambda agent: agent.type == "loop_validator")
    validator = found[-1] if found else None
    if validator is not None and validator.type == "loop_validator":
        scoring.target = validator.text("evaluation_target")
    named = loop.get("score_extraction_pattern", "score_extraction_key", "score_extraction_config")
    wanted = ""
    if config is not None:
        context.check_fields(config, ("preset", "context", "custom_weights", "mode"), "'scoring'")
        wanted = context.choice(config.get("context"), CONTEXTS, "there is no scoring context")
        preset, changed = config.get("preset"), config.get("custom_weights")
    # A loop with a validator of plans may say itself where its score is.
    elif validator is None or (validator.type == "plan_validator" and named is not None):
        return
    else:
        preset, changed = validator.get("scoring_preset"), validator.get("custom_weights")
    usual = "graphscout" if validator is None else criteria_of(validator, "")
    scoring.context = wanted or usual
    paths = paths_of(scoring.context)
    weights: dict[str, float] = {}
    for entry in changed if isinstance(changed, Mapping) else ():
        number = number_of(entry.value)
        if entry.name not in paths:
            message = f"there is no criterion {entry.name[:80]!r} in context {scoring.context!r}"
            advice = did_you_mean(entry.name, paths) or f"criteria: {', '.join(paths)}"
            context.report("W007", message, entry.key.span, label="unknown criterion", help=advice)
        elif number is None or number < 0:
            message = f"the weight of {entry.name!r} must be a number of at least 0"
            context.report("W007", message, entry.value.span, help="write a number such as 0.25")
        else:
            weights[entry.name] = float(number)
    scoring.weights = weights_of(scoring.context, preset_of(context, preset), weights)


def _read_strategy(context: FileContext, item: Mapping, inner: Section) -> Strategy | None:
    word = text_of(item.get("type"))
    kind = _KINDS.get(word)
    if kind is None:
        message = f"there is no score strategy {word[:60]!r}"
        advice = did_you_mean(word, _KINDS) or f"choices: {', '.join(_KINDS)}"
        context.report("W007", message, item.span, label="not known", help=advice)
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
    elif paths := [path for name in _PATHS if (path := item.get(name)) is not None]:
        strategy["path"] = _read_path(context, paths[0])
    if agents := [*scalars_of(item.get("agents")), *scalars_of(item.get("agent"))]:
        strategy["agents"] = [*inner.named(agents)]
    elif kind == "agent_key":
        advice = "add agents: [AGENT]"
        context.report("W006", "'agent_key' does not say which agents", item.span, help=advice)
    return strategy


def _read_path(context: FileContext, written: Value) -> list[Json]:
    """Returns the steps to a score; reports an invalid path."""
    text = written.text if isinstance(written, Scalar) and isinstance(written.value, str) else ""
    path = text.removeprefix("$")
    steps = list(_STEP.finditer(path))
    if not steps or "".join(step[0] for step in steps) != path:
        message = f"{text[:60]!r} is not a path to a value"
        context.report("W007", message, written.span, label="here", help=_PATH_HELP)
        return []
    return [s["name"] or s["single"] or s["double"] or int(s["index"]) for s in steps]


def read_patterns(context: FileContext, written: list[Scalar], *, is_score: bool) -> list[Json]:
    """Returns patterns; reports those that do not compile, and warns of too wide ones."""
    for scalar in written:
        span, shown = scalar.span, f"pattern {scalar.text[:60]!r}"
        try:
            compiled = search_pattern(scalar.text, lessons=not is_score)
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
            advice = r"name the text before it, as in 'QUALITY_SCORE:\s*([0-9.]+)'"
            context.warn("W023", message, span, label="matches any number", help=advice)
    return [scalar.text for scalar in written]


# Agents that judge the work of others: a model answers fixed criteria with true or false.

# The contexts by parts of words that mean them.
_MEANINGS = {"graph": "graphscout", "path": "graphscout"} | dict.fromkeys(
    ("loop", "converge"), "loop_convergence"
)
_STRICTNESS = {
    "strict": "Be strict: a criterion holds only if it holds without any doubt.",
    "moderate": "Be fair: a criterion holds if it holds on the whole.",
    "lenient": "Be generous: a criterion holds if it holds at least in part.",
}
_INTRODUCTION = (
    "You check a piece of work by fixed criteria. The task was:\n{{ get_input() }}\n\n"
    "The work:\n{content}\n"
)
_BEFORE = (
    "{{% set before_it = orka_content_before({target}) %}}{{% if before_it %}}\n"
    "The version before it{{% if score is defined %}}, whose score was {{{{ score }}}}"
    "{{% endif %}}:\n{{{{ before_it }}}}\n{{% endif %}}"
)
_FORM = "Answer with one JSON object and nothing else, with true or false for each criterion:"


def read_validator(agent: Agent, section: Section) -> ir.Node:
    """Reads a validator of loops or plans: a model answers fixed criteria with true or false."""
    criteria = criteria_of(agent, section.criteria)
    preset = preset_of(agent.context, agent.get("scoring_preset"))
    model = agent.fields.entry("model")
    if agent.get("llm_model") is None:
        code, message = "W006", f"agent {agent.id!r} has no 'llm_model': the default model is asked"
        if model is not None:
            code = "W004"
            message = f"{agent.type!r} takes 'llm_model', not 'model'; the model is used anyway"
        span = agent.span if model is None else model.key.span
        agent.context.warn(code, message, span, help="write llm_model: NAME")
    groups = (
        (name, ", ".join(f'"{part}": true or false' for part in parts))
        for name, parts in CONTEXTS[criteria].items()
    )
    fields = ",\n".join(f'  "{name}": {{ {listed} }}' for name, listed in groups)
    instruction = f"{_STRICTNESS[preset]}\n{_FORM}\n{{\n{fields}\n}}"
    # It is about its target, or about all answers before it.
    name = agent.text("evaluation_target")
    if name and not section.check_named(agent, "evaluation_target", name):
        name = ""
    written = agent.get("custom_prompt", "prompt")
    introduction = text_of(written) or _INTRODUCTION
    content = f"{{{{ orka_content({literal(name)}) }}}}"
    if "{content}" in introduction:
        introduction = introduction.replace("{content}", content)
    elif not is_template(introduction):
        introduction = f"{introduction}\n\n{content}"
    prompt = template(f"{introduction}\n{_BEFORE.format(target=literal(name))}\n{instruction}")
    if isinstance(written, Scalar):
        agent.context.places.remember(prompt, written)
    else:
        agent.context.places.remember_part(prompt, agent.span_of("evaluation_target"))
    task = ask(agent, prompt=prompt, shape=computed("orka_validation", "it", literal(criteria)))
    if agent.get("temperature") is not None:
        return task
    temperature = ("temperature", ir.Constant(0.1))
    return replace(task, inputs=ir.Fields((*task.inputs.entries, temperature)))


def criteria_of(agent: Agent, around: str) -> str:
    """Returns the criteria of a validator: its own, those of the loop around it, or by type."""
    word, mode = agent.text("scoring_context").lower(), agent.text("mode").lower()
    if around and not any(part in word for part in _MEANINGS):
        return around
    if word in CONTEXTS:
        return word
    meant = (name for part, name in _MEANINGS.items() if part in word or part == mode)
    return next(meant, "graphscout" if agent.type == "plan_validator" else "loop_convergence")


def preset_of(context: FileContext, value: Value | None) -> str:
    return context.choice(value, PRESETS, "there is no scoring preset", "moderate")
