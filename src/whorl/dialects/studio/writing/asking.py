"""Nodes that ask models: llm and router."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.studio.nodes.asking import HISTORY, TEMPERATURE
from whorl.dialects.studio.writing.fields import constant, number, seconds
from whorl.dialects.studio.writing.texts import feed, text, words
from whorl.dialects.studio.writing.trees import called, list_of, literal_of, text_of, tree_of
from whorl.language import tree
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from whorl.dialects.studio.writing.sketch import Here

_CONTEXT, _QUESTION = "Context:\n", "\n\nQuestion:\n"
_CLASSIFY = "Classify the following input into exactly one of these categories: "
_ASKED = frozenset(
    ("prompt", "system", "temperature", "provider", "model", "max_tokens", "messages")
)

Inputs = dict[str, ir.Value]


def inputs_of(node: ir.Task) -> Inputs:
    """The inputs of a task that have plain names."""
    return {key: value for key, value in node.inputs.entries if isinstance(key, str)}


def draw_llm(here: Here, node: ir.Task) -> dict[str, Any]:
    """A question to a model."""
    inputs = inputs_of(node)
    prompt: ir.Value = inputs.get("prompt", ir.Constant(None))
    data: dict[str, Any] = _model(inputs)
    if not isinstance(data["model"], str | None):
        here.lose("models that stand in for each other", "an llm node has one model")
        data["model"] = None
    told = inputs.get("messages")
    if isinstance(told, ir.Expression):
        prompt = _remembered(here, data) or prompt
    data["prompt"] = _prompt(here, prompt)
    data["systemPrompt"] = _fed(here, inputs.get("system"), "system")
    temperature = constant(inputs.get("temperature"))
    data["temperature"] = None if temperature == TEMPERATURE else temperature
    if not here.sketch.is_own:
        _lose_foreign(here, node, inputs)
    return data | seconds(node)


def _lose_foreign(here: Here, node: ir.Task, inputs: Inputs) -> None:
    if constant(inputs.get("temperature")) is None:
        why = f"an llm node asks with a temperature of {TEMPERATURE} unless it has another one"
        here.lose("a question without a temperature", why)
    for name in inputs.keys() - _ASKED:
        here.lose(f"the input {name!r} of the task", "an llm node has no field for it")
    here.lose_unsaid(node, ("name", "after", "timeout_s", "shape", "kind", "inputs"))


def _model(inputs: Inputs) -> dict[str, Any]:
    return {
        "provider": constant(inputs.get("provider")),
        "model": constant(inputs.get("model")),
        "maxTokens": number(constant(inputs.get("max_tokens"))),
    }


def _remembered(here: Here, data: dict[str, Any]) -> ir.Value | None:
    """The prompt of a node that remembers earlier turns, which a node before it computes."""
    data["sessionMode"] = "session"
    sketch = here.sketch
    loop = sketch.nodes.get(here.around)
    for carry in loop.carry if isinstance(loop, ir.Loop) else ():
        name, arguments = _called(carry.later)
        if carry.name.startswith(f"{here.node.name}.history") and name == "remembered":
            keep = literal_of(arguments[3])
            data["maxHistory"] = None if keep == HISTORY else keep
    asked = sketch.nodes.get(f"{here.node.name}.prompt")
    return asked.value if isinstance(asked, ir.Compute) else None


def _called(value: ir.Value | None) -> tuple[str, list[tree.Expr]]:
    return called(tree_of(value)) if isinstance(value, ir.Expression) else ("", [])


def _prompt(here: Here, value: ir.Value) -> object:
    if not isinstance(value, ir.Expression):
        return constant(value)
    node = tree_of(value)
    parts = node.parts if isinstance(node, tree.Concat) else ()
    if len(parts) > 3 and [text_of(parts[0]), text_of(parts[2])] == [_CONTEXT, _QUESTION]:
        try:
            feed(here, parts[1], "context")
            node = tree.Concat(parts[3:], 0) if len(parts) > 4 else parts[3]
        except CannotSay:
            node = tree_of(value)
    return spoken(here, node, value)


def spoken(
    here: Here, node: tree.Expr | None, value: ir.Expression, handle: str = "input"
) -> object:
    """A text with places; or nothing, where an edge carries the value."""
    if not here.sketch.is_own:
        return text(here, value)
    try:
        return words(here, node)
    except CannotSay:
        pass
    try:
        feed(here, node, handle)
    except CannotSay as loss:
        here.lose(f"{loss.what} in {value.source[:80]!r}", loss.why)
        return value.source
    return None


def _fed(here: Here, value: ir.Value | None, handle: str) -> object:
    if not isinstance(value, ir.Expression):
        return constant(value)
    return spoken(here, tree_of(value), value, handle)


def draw_router(here: Here, node: ir.Task) -> dict[str, Any]:
    """A choice that a model makes."""
    assert isinstance(node.shape, ir.Expression)
    _, (_, branches, value, _) = called(tree_of(node.shape))
    inputs = inputs_of(node)
    data: dict[str, Any] = {"mode": "llm", "branches": list_of(branches)} | _model(inputs)
    data["systemPrompt"] = _fed(here, inputs.get("system"), "system")
    data["prompt"] = _question(here, inputs.get("prompt"), value)
    data["temperature"] = constant(inputs.get("temperature"))
    feed_input(here, value)
    return data | seconds(node)


def _question(here: Here, prompt: ir.Value | None, value: tree.Expr) -> str | None:
    if not isinstance(prompt, ir.Expression):
        return None
    node = tree_of(prompt)
    parts = node.parts if isinstance(node, tree.Concat) else ()
    head = text_of(parts[0]) if parts else None
    if head is not None and head.startswith(_CLASSIFY):
        return None
    if head is not None and len(parts) > 1 and called(parts[1]) == called(value):
        return head
    return text(here, prompt)


def feed_input(here: Here, value: tree.Expr | None) -> None:
    """Draws what comes in; a loss where no edge can carry it."""
    try:
        feed(here, value)
    except CannotSay as loss:
        here.lose(loss.what, loss.why)


def draw_pattern(here: Here, value: tree.Expr, branches: tree.Expr) -> dict[str, Any]:
    """A choice by the words of the input."""
    feed_input(here, value)
    return {"mode": "pattern", "branches": list_of(branches)} | seconds(here.node)
