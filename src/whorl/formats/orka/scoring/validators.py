"""Agents that judge the work of others: a model answers fixed criteria with true or false."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reading.fields import text_of
from whorl.errors import did_you_mean
from whorl.formats.orka.scoring.criteria import CONTEXTS, PRESETS
from whorl.formats.orka.tasks import ask, computed, is_template, literal, template
from whorl.source import Scalar, Value

if TYPE_CHECKING:
    from collections.abc import Collection

    from whorl.formats.orka.agents import Agent, FileContext
    from whorl.formats.orka.sections import Section


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
    """A validator of loops or of plans: a model answers fixed criteria with true or false."""
    criteria = criteria_of(agent, section.criteria)
    preset = preset_of(agent.context, agent.get("scoring_preset"))
    model = agent.fields.entry("model")
    if agent.get("llm_model") is None and model is None:
        message = f"agent {agent.id!r} has no 'llm_model': the default model is asked"
        agent.context.warn("W006", message, agent.span, help="add llm_model: NAME")
    elif agent.get("llm_model") is None and model is not None:
        message = f"{agent.type!r} takes 'llm_model', not 'model'; the model is used anyway"
        label, advice = "write 'llm_model'", "did you mean 'llm_model'?"
        agent.context.warn("W004", message, model.key.span, label=label, help=advice)
    groups = (
        (name, ", ".join(f'"{part}": true or false' for part in parts))
        for name, parts in CONTEXTS[criteria].items()
    )
    fields = ",\n".join(f'  "{name}": {{ {listed} }}' for name, listed in groups)
    prompt = _validator_prompt(agent, section, f"{_STRICTNESS[preset]}\n{_FORM}\n{{\n{fields}\n}}")
    task = ask(agent, prompt=prompt, shape=computed("orka_validation", "it", literal(criteria)))
    if agent.get("temperature") is not None:
        return task
    temperature = ("temperature", ir.Constant(0.1))
    return replace(task, inputs=ir.Fields((*task.inputs.entries, temperature)))


def criteria_of(agent: Agent, around: str) -> str:
    """The criteria that a validator answers: its own, those of the loop around it, or by type."""
    word, mode = agent.text("scoring_context").lower(), agent.text("mode").lower()
    if around and not any(part in word for part in _MEANINGS):
        return around
    if word in CONTEXTS:
        return word
    meant = (name for part, name in _MEANINGS.items() if part in word or part == mode)
    return next(meant, "graphscout" if agent.type == "plan_validator" else "loop_convergence")


def choice(context: FileContext, value: Value | None, choices: Collection[str], what: str) -> str:
    """One of some words; empty where it is absent, or none of them, which is reported."""
    word = text_of(value)
    if value is None or word in choices:
        return word
    message = f"there is no scoring {what} {word[:60]!r}"
    advice = did_you_mean(word, choices) or f"{what}s: {', '.join(choices)}"
    context.report("W007", message, value.span, label=f"unknown {what}", help=advice)
    return ""


def preset_of(context: FileContext, value: Value | None) -> str:
    return choice(context, value, PRESETS, "preset") or "moderate"


def _validator_prompt(agent: Agent, section: Section, instruction: str) -> ir.Value:
    """What a validator is asked about its target, or about all that was said before."""
    target, names = agent.get("evaluation_target"), section.flow["agents"]
    name = text_of(target)
    if isinstance(target, Scalar) and name not in names:
        message = f"'evaluation_target' names {name[:60]!r}, but there is no such agent"
        advice = did_you_mean(name, names)
        agent.context.report("W010", message, target.span, label="unknown agent", help=advice)
        name = ""
    written = agent.get("custom_prompt", "prompt")
    introduction = text_of(written) or _INTRODUCTION
    content = f"{{{{ orka_content({literal(name)}) }}}}"
    if "{content}" in introduction:
        introduction = introduction.replace("{content}", content)
    elif not is_template(introduction):
        introduction = f"{introduction}\n\n{content}"
    expression = template(f"{introduction}\n{_BEFORE.format(target=literal(name))}\n{instruction}")
    if isinstance(written, Scalar):
        agent.context.places.remember(expression, written)
    else:
        agent.context.places.remember_part(expression, agent.span_of("evaluation_target"))
    return expression
