"""Steps that work or compute, as nodes of the dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.shodan.nodes.agent import _OPENAI_TEMPERATURE, AGENTS
from whorl.dialects.shodan.sources import called, expression, output, packed, quoted
from whorl.dialects.shodan.writing.adopting.scope import Here, Path, Ref
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.language import Json

    Inputs = dict[str, ir.Value]
    Adopted = tuple[list[ir.Node], dict[Path, Ref]]

# The whole answer, whatever stands in it.
WHOLE: dict[str, Json] = {
    "name": "output",
    "type": "string",
    "extract": {"type": "full", "pattern": ""},
}
_TYPES = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "array": "list",
    "object": "object",
}
_SHARED = ("name", "after", "place")


def adopt_task(here: Here, node: ir.Task, defaults: Mapping[str, Inputs]) -> Adopted:
    """A question or an agent; raises CannotSay for any other task."""
    here.lose_unsaid(node, (*_SHARED, "kind", "inputs", "returns"))
    inputs = {str(key): value for key, value in node.inputs.entries}
    if node.kind == "ask":
        inputs = dict(defaults.get("ask", {})) | inputs
        task = _ask(here, node, inputs)
    elif node.kind == "agent":
        task = _agent(here, node, inputs)
    else:
        raise CannotSay(f"a step of kind {node.kind!r}", "there is no node of that kind")
    for name in inputs:
        here.lose(f"the input {name!r} of a task", "an agent node has no field for it")
    return [task], results_of(node)


def results_of(node: ir.Task) -> dict[Path, Ref]:
    """What reads the answer of a question or an agent."""
    if node.returns is None:
        return {(node.name,): Ref(output(node.name, "output"), "text")}
    found: dict[Path, Ref] = {}
    for name, kind in fields_of(node.returns).items():
        found[node.name, name] = Ref(output(node.name, name), kind)
    return found


def fields_of(schema: Any) -> dict[str, str]:
    """The fields that a checked answer always has, by their types."""
    if not isinstance(schema, dict) or not isinstance(schema.get("properties"), dict):
        return {}
    required = schema.get("required", [])
    return {
        name: _TYPES.get(str(part.get("type")) if isinstance(part, dict) else "", "any")
        for name, part in schema["properties"].items()
        if name in required
    }


def _ask(here: Here, node: ir.Task, inputs: Inputs) -> ir.Task:
    prompt = _prompt(here, inputs)
    runner, model = _runner(here, inputs)
    if not runner:
        return _program(node, ("claude", prompt), {})
    asked: list[tuple[str | ir.Expression, ir.Value]] = [
        ("messages", expression(called("messages", "none", prompt))),
        ("provider", ir.Constant(runner)),
        ("model", ir.Constant(model)),
    ]
    if runner == "openai":
        usual = ir.Constant(_OPENAI_TEMPERATURE)
        if inputs.pop("temperature", None) != usual:
            here.lose("the temperature", f"runner 'openai' asks with {_OPENAI_TEMPERATURE}")
        asked.append(("temperature", usual))
    whole = called("conversed", "it", "none", prompt)
    return ir.Task(
        name=node.name,
        place=node.place,
        kind="ask",
        inputs=ir.Fields(tuple(asked)),
        returns=node.returns,
        shape=_shape(node, whole),
    )


def _prompt(here: Here, inputs: Inputs) -> str:
    prompt = inputs.pop("prompt", ir.Constant(""))
    try:
        return here.text(prompt)
    except CannotSay as loss:
        here.lose(f"{loss.what} in the prompt", loss.why)
        return quoted(prompt.source if isinstance(prompt, ir.Expression) else "")


def _shape(node: ir.Task, it: str) -> ir.Expression:
    ports: list[Json] = [] if node.returns is not None else [WHOLE]
    return expression(called("answered", it, quoted(node.name), packed(ports)))


def _runner(here: Here, inputs: Inputs) -> tuple[str, str]:
    """The provider, which is the runner there, and the model of a question."""
    provider, model = inputs.pop("provider", None), inputs.pop("model", None)
    named = model.value if isinstance(model, ir.Constant) else None
    if provider is None and isinstance(named, str) and "/" in named:
        first, _, named = named.partition("/")
        provider = ir.Constant(first)
    if not isinstance(provider, ir.Constant) or not isinstance(named, str):
        here.lose(
            "a question to the default model" if model is None else "the models of a question",
            "a node names its runner and one model of it; without, claude-code does the work",
        )
        return "", ""
    if provider.value in AGENTS:
        here.lose(f"the provider {provider.value!r}", "a runner of that name is a program")
        return "", ""
    return str(provider.value), named


def _agent(here: Here, node: ir.Task, inputs: Inputs) -> ir.Task:
    agent = inputs.pop("agent", None)
    name = AGENTS.get(str(agent.value)) if isinstance(agent, ir.Constant) else None
    if name is None:
        raise CannotSay("the agent", f"the agents are {', '.join(AGENTS)}")
    prompt = _prompt(here, inputs)
    if node.returns is None:
        here.lose("line ends at the end of what an agent says", "they are cut off there")
    return _program(node, (name, prompt), {name: _plain(here, name, inputs) for name in _FIXED})


_FIXED = ("model", "folder")


def _plain(here: Here, name: str, inputs: Inputs) -> ir.Value:
    value = inputs.pop(name, ir.Constant(None))
    if not isinstance(value, ir.Constant) or not isinstance(value.value, str | None):
        here.lose(f"{name!r}, which is computed", "it is written down there")
        return ir.Constant(None)
    return value


def _program(node: ir.Task, work: tuple[str, str], fixed: Inputs) -> ir.Task:
    agent, prompt = work
    nothing = ir.Constant(None)
    inputs: list[tuple[str | ir.Expression, ir.Value]] = [
        ("agent", ir.Constant(agent)),
        ("prompt", expression(prompt)),
        ("model", fixed.get("model", nothing)),
        ("folder", fixed.get("folder", nothing)),
        ("whole", ir.Constant(True)),
    ]
    if agent != "gemini":
        keeps = node.returns is not None
        inputs += [("session", expression("none")), ("keep_session", ir.Constant(keeps))]
    return ir.Task(
        name=node.name,
        place=node.place,
        kind="agent",
        inputs=ir.Fields(tuple(inputs)),
        returns=node.returns,
        shape=_shape(node, "it"),
    )


def adopt_compute(here: Here, node: ir.Compute) -> Adopted:
    """A value: one that is written down, one that is handed on, or a text; raises CannotSay."""
    here.lose_unsaid(node, (*_SHARED, "value"))
    value, ref = held(here, node.name, node.value)
    compute = ir.Compute(name=node.name, place=node.place, value=value)
    return [compute], {(node.name,): ref}


def held(here: Here, name: str, value: ir.Value) -> tuple[ir.Fields, Ref]:
    """The value of a node that holds it, and what reads it; raises CannotSay."""
    if isinstance(value, ir.Constant):
        kind = type_of(value.value)
        return ir.Fields((("value", value),)), Ref(output(name, "value"), kind)
    try:
        ref = here.ref(value)
    except CannotSay:
        if not isinstance(value, ir.Expression) or value.syntax == "jinja":
            raise
        text = here.text(value)
        return ir.Fields((("path", expression(text)),)), Ref(output(name, "path"), "text")
    return ir.Fields((("value", expression(ref.source)),)), Ref(output(name, "value"), ref.type)


def type_of(value: object) -> str:
    """The type of a JSON value."""
    kinds = ((bool, "boolean"), (str, "text"), (int, "integer"), (float, "number"))
    more = ((list, "list"), (dict, "object"))
    return next((word for kind, word in (*kinds, *more) if isinstance(value, kind)), "any")
