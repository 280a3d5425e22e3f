"""Loops: what scores them, what they remember, and the agents inside."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.orka.lessons import CATEGORIES, MEASURED, USUAL_LENGTH
from whorl.dialects.orka.loop import USUAL_TIMEOUT_S
from whorl.dialects.orka.scoring import HIGH_PRIORITY
from whorl.dialects.orka.writing.calls import called
from whorl.dialects.orka.writing.texts import write_value
from whorl.dialects.writing import duration_text
from whorl.dialects.writing.unsaid import words_for
from whorl.language import tree
from whorl.language.functions.orka.booleans import CONTEXTS, PRESETS, paths_of, weights_of
from whorl.language.functions.orka.outputs import FLOW, INSIGHTS
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whorl.dialects.orka.writing.page import Here

    WriteSection = Callable[[Here, ir.Block, Sequence[str], str | None], dict[str, Any]]

SAID = ("body", "until", "limits", "memory", "facts", "bind", "shape")
_LEAST = re.compile(r"loop_number >= (\d+)")
_FALLBACK = re.compile(r"score if score is not none else ([0-9.eE+-]+)")
_NEAR = 1e-9
_SCORED = "a loop ends where a score that is found in its agents' words reaches a threshold"


def write_loop(here: Here, node: ir.Loop, write_section: WriteSection) -> dict[str, Any]:
    """The fields of a loop."""
    fields: dict[str, Any] = {"type": "loop"}
    fields |= _limits(here, node.limits)
    score, least = _score(here, node.until)
    if least:
        fields["min_loops"] = least
    settings = _settings(score)
    fields |= _scoring(here, score, settings)
    fields |= _memory(here, node)
    target = settings.get("target", "") if settings is not None else None
    shape = called(node.shape)
    if shape.function == "orka_loop":
        target = shape.arguments[2].get("target", "")
    inside = here.knowing(_facts(node))
    fields["internal_workflow"] = write_section(inside, node.body, listed_in(node.bind), target)
    return fields


def listed_in(bound: Sequence[tuple[str, ir.Value]]) -> list[str]:
    """The agents of a section in the order of its file, as the reader keeps it."""
    flow = dict(bound).get(FLOW)
    told = flow.value if isinstance(flow, ir.Constant) else None
    found = told.get("here") if isinstance(told, dict) else None
    return [str(name) for name in found] if isinstance(found, list) else []


def _limits(here: Here, limits: ir.LoopLimits) -> dict[str, Any]:
    here.lose_unsaid(limits, ("iterations", "time_s"))
    found: dict[str, Any] = {"max_loops": limits.iterations}
    if isinstance(limits.iterations, ir.Expression):
        here.lose("a number of iterations that is computed", "it is written down there")
        found["max_loops"] = 1
    if limits.time_s is None:
        here.lose("a loop without a limit of time", f"there, it is {USUAL_TIMEOUT_S:g} seconds")
    elif isinstance(limits.time_s, ir.Expression):
        here.lose("a time that is computed", "it is written down there")
    elif limits.time_s != USUAL_TIMEOUT_S:
        found["timeout"] = duration_text(limits.time_s)
    return found


def _score(here: Here, until: ir.Condition | None) -> tuple[ir.Score | None, int]:
    """The score, and how many iterations there are at least."""
    if isinstance(until, ir.AllOf) and len(until.conditions) == 2:
        first, second = until.conditions
        least = _LEAST.fullmatch(first.test.source) if isinstance(first, ir.When) else None
        if least is not None and isinstance(second, ir.Score):
            return second, int(least[1])
    if isinstance(until, ir.Score):
        return until, 0
    what = "no condition" if until is None else f"{words_for(until)} as its condition"
    here.lose(f"a loop with {what}", _SCORED)
    return None, 0


def _settings(score: ir.Score | None) -> Any:
    """How the score is found, where the reader of this dialect says so."""
    found = called(None if score is None else score.source)
    return found.arguments[0] if found.function == "orka_score" else None


def _scoring(here: Here, score: ir.Score | None, settings: Any) -> dict[str, Any]:
    if score is None:
        # No number is a score from 0 to 1 where the pattern finds none.
        return {"score_threshold": 1, "score_extraction_pattern": r"NEVER_DONE:\s*([0-9.]+)"}
    if settings is None:
        return _foreign(here, score)
    fields: dict[str, Any] = {"score_threshold": _number(score.at_least or 0)}
    strategies = list(settings["strategies"])
    if strategies and set(strategies[0]) == {"type", "patterns"} and _is_single(strategies[0]):
        fields["score_extraction_pattern"] = strategies.pop(0)["patterns"][0]
    config: dict[str, Any] = {"strategies": strategies} if strategies else {}
    if settings.get("agreement"):
        config["agreement_fallback"] = True
    if config:
        fields["score_extraction_config"] = config
    if settings.get("high_priority", list(HIGH_PRIORITY)) != list(HIGH_PRIORITY):
        fields["high_priority_agents"] = settings["high_priority"]
    if settings.get("weights"):
        fields["scoring"] = _criteria(settings["weights"])
    return fields


def _is_single(strategy: dict[str, Any]) -> bool:
    return strategy["type"] == "pattern" and len(strategy["patterns"]) == 1


def _criteria(weights: dict[str, float]) -> dict[str, Any]:
    """The table that weights come from, and those that an author changed: as few as may be."""
    context = next((one for one in CONTEXTS if set(paths_of(one)) == set(weights)), "")
    found: list[tuple[str, dict[str, float]]] = []
    for preset in PRESETS if context else ():
        changed = _changed(weights, weights_of(context, preset, {}))
        if weights == weights_of(context, preset, changed):
            found.append((preset, changed))
    if not found:
        return {"context": context, "custom_weights": dict(weights)}
    preset, changed = min(found, key=lambda one: len(one[1]))
    said: dict[str, Any] = {"preset": preset, "context": context}
    return said | ({"custom_weights": changed} if changed else {})


def _changed(weights: dict[str, float], usual: dict[str, float]) -> dict[str, float]:
    """The weights that stand apart, before all were scaled so that they sum to 1."""
    parts = sorted(usual[path] / weight for path, weight in weights.items() if weight)
    # Those that nobody changed are all scaled alike, so that most of the parts are the same.
    scale = max(parts, key=lambda part: sum(abs(part - other) < _NEAR for other in parts))
    scaled = {path: round(weight * scale, 9) for path, weight in weights.items()}
    return {path: part for path, part in scaled.items() if abs(part - usual[path]) > _NEAR}


def _foreign(here: Here, score: ir.Score) -> dict[str, Any]:
    """A score of another dialect: a pattern can be written, but finds more there."""
    at_least = score.at_least
    if at_least is None or not 0 <= at_least <= 1:
        here.lose("the threshold of a score", "it is a number from 0 to 1 there")
        at_least = 1
    if score.pattern is None:
        here.lose("a score that is computed", _SCORED)
        return {"score_threshold": _number(at_least), "score_extraction_key": "score"}
    here.lose(
        "the scale of a score",
        "it is looked for in the words of all agents, and percentages and parts of 10 are scaled",
    )
    return {"score_threshold": _number(at_least), "score_extraction_pattern": score.pattern}


def _memory(here: Here, node: ir.Loop) -> dict[str, Any]:
    memory = node.memory
    if memory is None:
        return {}
    bound = dict(memory.bind)
    if MEASURED not in bound:
        here.lose("'memory' of a loop", "what is remembered is seen under other names there")
    here.lose_unsaid(memory, ("record", "keep", "across_runs", "key", "bind"))
    fields = _lessons(bound)
    record: dict[str, Any] = {}
    for key, value in memory.record.entries:
        is_score = value == ir.Expression("jinja", MEASURED)
        if key != INSIGHTS:
            record[str(key)] = "{{ score }}" if is_score else write_value(here, value)
    usual = [f"{{{{ {name} }}}}" for name in record]
    names = ["loop_number", "score", "timestamp"]
    names += CATEGORIES if "cognitive_extraction" in fields else ()
    if list(record) != names or list(record.values()) != usual:
        fields["past_loops_metadata"] = record
    found = bound.get("score")
    fallback = _FALLBACK.fullmatch(found.source) if isinstance(found, ir.Expression) else None
    if fallback is not None and float(fallback[1]):
        fields["fallback_score"] = _number(float(fallback[1]))
    if memory.across_runs:
        fields["persist_across_runs"] = True
    return fields


def _lessons(bound: dict[str, ir.Value]) -> dict[str, Any]:
    patterns: dict[str, Any] = {}
    length = USUAL_LENGTH
    for category in CATEGORIES:
        call = called(bound.get(category))
        if call.function == "orka_lessons":
            patterns[category] = call.arguments[0]["patterns"]
            length = call.arguments[0]["length_max"]
    if not patterns:
        return {}
    found: dict[str, Any] = {"enabled": True, "extract_patterns": patterns}
    if length != USUAL_LENGTH:
        found["max_length_per_category"] = length
    return {"cognitive_extraction": found}


def _facts(node: ir.Loop) -> dict[str, tree.Expr | CannotSay]:
    """What other dialects call the facts of a loop, as templates read them here."""
    known: dict[str, tree.Expr] = {"number": tree.Name("loop_number", 0)}
    found: dict[str, tree.Expr | CannotSay] = {}
    for name, fact in node.facts:
        why = "a template sees the number of the loop, its score and the past loops"
        found[name] = known.get(fact) or CannotSay(f"the name {name!r}", why)
    for carry in node.carry:
        why = "nothing but the past loops goes from one iteration to the next"
        found[carry.name] = CannotSay(f"the name {carry.name!r}", why)
    return found


def _number(value: float) -> float:
    return int(value) if value == int(value) else value
