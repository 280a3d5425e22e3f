"""Actions that models and functions of the operator carry out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.loom.outside import hidden_reply, is_secure, is_secure_after
from whorl.dialects.loom.plain import IT, bodied, literal_or_term
from whorl.dialects.loom.texts import computed, expression, text_term, value_of
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from whorl.dialects.loom.action import Action
    from whorl.source import Value

_ASKED = (
    ("model", ("model", "deploymentId")),
    ("system", ("systemPrompt", "system")),
    ("temperature", ("temperature",)),
    ("max_tokens", ("maxTokens", "max_tokens")),
)
_KIND_NAMES = {
    "actor": ("actorType", "actor"),
    "activity": ("activityType", "activityName", "activity"),
}


def read_ask(action: Action) -> ir.Node:
    """Asks a model; an answer that is JSON is a value."""
    draft = action.draft
    prompt = action.setting("prompt")
    if prompt is None:
        prompt = action.setting("input", "message")
    if prompt is None:
        draft.report(
            "W006",
            f"{action.name!r} asks nothing",
            action.span,
            label="no prompt",
            help='write "inputs": {"prompt": "..."}',
        )
    entries: list[tuple[str | ir.Expression, ir.Value]] = [("prompt", _prompt(action, prompt))]
    for name, names in _ASKED:
        given = action.setting(*names)
        if given is not None:
            entries.append((name, value_of(draft, given)))
    return ir.Task(
        name=action.name,
        kind="ask",
        inputs=ir.Fields(tuple(entries)),
        shape=bodied(computed("parsed", IT)),
        secure=is_secure(action),
        secure_outputs=is_secure_after(action),
    )


def _prompt(action: Action, prompt: Value | None) -> ir.Value:
    context = action.setting("context")
    if not isinstance(context, Scalar) or not isinstance(prompt, Scalar):
        return value_of(action.draft, prompt)
    parts = f"{text_term(prompt.text)}, '\n\n', {text_term(context.text)}"
    return expression(action.draft, prompt, f"@concat({parts})")


def read_operator_task(action: Action) -> ir.Node:
    """Calls what the operator's configuration names: `actor:<type>` or `activity:<type>`."""
    names = _KIND_NAMES[action.type]
    kind = action.setting(*names)
    if kind is None:
        action.draft.report(
            "W006",
            f"{action.name!r} does not say which {action.type} it calls",
            action.span,
            label=f"no {names[0]}",
            help=f'write "inputs": {{"{names[0]}": "search", "input": ...}}',
        )
    given = _given(action, frozenset(names))
    return _use(action, f"{action.type}:", kind, given)


def _given(action: Action, named: frozenset[str]) -> ir.Value:
    """The one argument: `input` where there is one, otherwise the remaining inputs."""
    inputs = action.inputs
    given = action.setting("input")
    if given is not None:
        return value_of(action.draft, given)
    if not isinstance(inputs, Mapping):
        return ir.Fields(())
    lowered = {name.lower() for name in named}
    rest = Mapping(
        tuple(entry for entry in inputs if entry.name.lower() not in lowered), inputs.span
    )
    return value_of(action.draft, rest)


def _use(action: Action, prefix: str, kind: Value | None, given: ir.Value) -> ir.Task:
    task: ir.Value = ir.Constant(prefix + (kind.text if isinstance(kind, Scalar) else ""))
    if isinstance(kind, Scalar) and "@" in kind.text:
        source = f"@concat('{prefix}', {literal_or_term(kind)})"
        task = expression(action.draft, kind, source)
    entries = (("task", task), ("with", ir.Fields((("input", given),))))
    return ir.Task(
        name=action.name,
        kind="use",
        inputs=ir.Fields((*entries, *hidden_reply(action))),
        shape=bodied(IT),
        secure=is_secure(action),
        secure_outputs=is_secure_after(action),
    )
