"""Validators: a model answers fixed criteria with true or false, and the weights make the score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.orka.asking import ask
from whorl.dialects.orka.functions.booleans import CONTEXTS, PRESETS, paths_of
from whorl.dialects.orka.values import (
    computed,
    is_template,
    literal,
    number_of,
    template,
    text_of,
)
from whorl.errors import did_you_mean
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from whorl.dialects.orka.agents import Agent
    from whorl.dialects.orka.draft import Draft
    from whorl.dialects.orka.scene import Common, Scene
    from whorl.source import Value

VALIDATORS = frozenset({"loop_validator", "plan_validator"})
USUAL_PRESET = "moderate"
_TEMPERATURE = 0.1
_PATH_WORDS = ("graph", "path")
_LOOP_WORDS = ("loop", "converge")
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


def read_validator(draft: Draft, agent: Agent, common: Common, scene: Scene) -> ir.Node:
    """Reads a validator of loops or of plans."""
    context = criteria_of(agent, scene.criteria)
    preset = preset_of(draft, agent.get("scoring_preset"))
    _check_model(draft, agent)
    target = _read_target(draft, agent, scene)
    prompt = _prompt(draft, agent, target, _told(context, preset))
    task = ask(
        draft,
        agent,
        common,
        prompt=prompt,
        shape=computed("orka_validation", "it", literal(context)),
    )
    if agent.get("temperature") is None:
        entries = (*task.inputs.entries, ("temperature", ir.Constant(_TEMPERATURE)))
        return ir.Task(kind="ask", inputs=ir.Fields(entries), shape=task.shape, **common)
    return task


def criteria_of(agent: Agent, around: str) -> str:
    """The criteria that a validator answers: its own, those of the loop around it, or by type."""
    word = text_of(agent.get("scoring_context")).lower()
    mode = text_of(agent.get("mode")).lower()
    if word in CONTEXTS:
        wanted = word
    elif any(part in word or part == mode for part in _PATH_WORDS):
        wanted = "graphscout"
    elif any(part in word or part == mode for part in _LOOP_WORDS):
        wanted = "loop_convergence"
    else:
        wanted = "graphscout" if agent.type == "plan_validator" else "loop_convergence"
    return around if around and not _is_decided(agent) else wanted


def _is_decided(agent: Agent) -> bool:
    word = text_of(agent.get("scoring_context")).lower()
    return any(part in word for part in (*_PATH_WORDS, *_LOOP_WORDS))


def preset_of(draft: Draft, value: Value | None) -> str:
    """The name of a table of weights."""
    word = text_of(value)
    if word in PRESETS or value is None:
        return word or USUAL_PRESET
    message = f"there is no scoring preset {word[:60]!r}"
    advice = did_you_mean(word, PRESETS) or f"presets: {', '.join(PRESETS)}"
    draft.report("W007", message, value.span, label="unknown preset", help=advice)
    return USUAL_PRESET


def context_of(draft: Draft, value: Value | None) -> str:
    """The name of a table of criteria; empty where none is given."""
    word = text_of(value)
    if word in CONTEXTS or value is None:
        return word
    message = f"there is no scoring context {word[:60]!r}"
    advice = did_you_mean(word, CONTEXTS) or f"contexts: {', '.join(CONTEXTS)}"
    draft.report("W007", message, value.span, label="unknown context", help=advice)
    return ""


def changed_weights(draft: Draft, value: Value | None, context: str) -> dict[str, float]:
    """`custom_weights`: numbers by `dimension.criterion`; others are reported."""
    if not isinstance(value, Mapping):
        return {}
    known = paths_of(context)
    changed: dict[str, float] = {}
    for entry in value:
        number = number_of(entry.value)
        if entry.name not in known:
            message = f"there is no criterion {entry.name[:80]!r} in the context {context!r}"
            advice = did_you_mean(entry.name, known) or f"criteria: {', '.join(known)}"
            draft.report("W007", message, entry.key.span, label="unknown criterion", help=advice)
        elif number is None or number < 0:
            message = f"the weight of {entry.name!r} must be a number of at least 0"
            draft.report("W007", message, entry.value.span, help="write a number such as 0.25")
        else:
            changed[entry.name] = float(number)
    return changed


def _check_model(draft: Draft, agent: Agent) -> None:
    if agent.get("llm_model") is not None:
        return
    model = agent.fields.entry("model")
    if model is not None:
        message = f"{agent.type!r} takes 'llm_model', not 'model'; the model is used all the same"
        advice = "did you mean 'llm_model'?"
        draft.warn("W004", message, model.key.span, label="write 'llm_model'", help=advice)
    else:
        message = f"agent {agent.id!r} has no 'llm_model': the default model is asked"
        draft.warn("W006", message, agent.span, help="add llm_model: NAME")


def _read_target(draft: Draft, agent: Agent, scene: Scene) -> str:
    """The agent whose work is judged; nothing where all that was said before is."""
    target = agent.get("evaluation_target")
    name = text_of(target)
    if not isinstance(target, Scalar) or name in scene.flow.agents:
        return name
    message = f"'evaluation_target' names {name[:60]!r}, but there is no such agent"
    advice = did_you_mean(name, scene.flow.agents)
    draft.report("W010", message, target.span, label="unknown agent", help=advice)
    return ""


def _prompt(draft: Draft, agent: Agent, target: str, told: str) -> ir.Value:
    written = agent.get("custom_prompt", "prompt")
    introduction = text_of(written) or _INTRODUCTION
    shown = f"{{{{ orka_content({literal(target)}) }}}}"
    before = _BEFORE.format(target=literal(target))
    if "{content}" in introduction:
        head = introduction.replace("{content}", shown)
    else:
        head = introduction if is_template(introduction) else f"{introduction}\n\n{shown}"
    expression = template(f"{head}\n{before}\n{told}")
    if isinstance(written, Scalar):
        draft.places.remember(expression, written)
    else:
        draft.places.remember_part(expression, agent.span_of("evaluation_target"))
    return expression


def _told(context: str, preset: str) -> str:
    return f"{_STRICTNESS[preset]}\n{_form(context)}"


def _form(context: str) -> str:
    told = "Answer with one JSON object and nothing else, with true or false for each criterion:"
    groups = (
        (name, ", ".join(f'"{one}": true or false' for one in criteria))
        for name, criteria in CONTEXTS[context]
    )
    fields = ",\n".join(f'  "{name}": {{ {listed} }}' for name, listed in groups)
    return f"{told}\n{{\n{fields}\n}}"
