"""Actions that others carry out: web services, models, functions of the operator, connectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.loom.action import find, find_deep, text_at
from whorl.dialects.loom.durations import AZURE_RETRY
from whorl.dialects.loom.plain import IT, bodied, literal_or_term
from whorl.dialects.loom.texts import LIBRARY, computed, expression, text_term, value_of
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from whorl.dialects.loom.action import Action
    from whorl.source import Value

_HTTP_SHAPE = ir.Fields(
    (
        ("statusCode", ir.Expression("jinja", "it.status", LIBRARY)),
        ("headers", ir.Expression("jinja", "it.headers", LIBRARY)),
        ("body", ir.Expression("jinja", "it.body", LIBRARY)),
    )
)
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


def read_http(action: Action) -> ir.Node:
    """Calls a web service; a status that is no success is a failure whose outputs can be read."""
    draft = action.draft
    url = action.setting("uri", "url")
    if url is None:
        draft.report(
            "W006",
            f"{action.name!r} has no address",
            action.span,
            label="no uri",
            help='write "inputs": {"method": "GET", "uri": "https://..."}',
        )
    entries: list[tuple[str | ir.Expression, ir.Value]] = [("url", value_of(draft, url))]
    for name, given in (
        ("method", action.setting("method")),
        ("headers", action.setting("headers")),
        ("query", action.setting("queries", "query")),
        ("body", action.setting("body")),
    ):
        if given is not None:
            entries.append((name, value_of(draft, given)))
    return ir.Task(
        name=action.name,
        kind="http",
        inputs=ir.Fields(tuple(entries)),
        shape=_HTTP_SHAPE,
        retry=None if draft.lenient else AZURE_RETRY,
        secure=is_secure(action),
    )


def is_secure(action: Action) -> bool:
    """Whether inputs or outputs must stay out of what people see."""
    return find_deep(action.fields, "runtimeConfiguration", "secureData") is not None


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
        inputs=ir.Fields(entries),
        shape=bodied(IT),
        secure=is_secure(action),
    )


def read_connector(action: Action) -> ir.Node:
    """An action of a connector: what the operator names `connector:<action>` answers for it."""
    given = value_of(action.draft, action.inputs)
    task = ir.Constant(f"connector:{action.name}")
    entries = (("task", task), ("with", ir.Fields((("input", given),))))
    return ir.Task(
        name=action.name,
        kind="use",
        inputs=ir.Fields(entries),
        shape=computed("as_outputs", IT),
        secure=is_secure(action),
    )


def read_static_result(action: Action) -> ir.Node | None:
    """What the definition says that an action gives, where its settings ask for that."""
    setting = find_deep(action.fields, "runtimeConfiguration", "staticResult")
    name = text_at(setting, "name")
    if not name or text_at(setting, "staticResultOptions").lower() == "disabled":
        return None
    result = find(action.draft.static_results, name)
    if result is None:
        return None
    outputs = value_of(action.draft, find(result, "outputs"))
    status = text_at(result, "status").lower() or "succeeded"
    if status == "succeeded":
        return ir.Compute(name=action.name, value=outputs)
    message = text_at(result, "error", "message") or f"the static result {name!r} says so"
    return ir.Compute(name=action.name, value=computed("fail_with", message), shape=None)
