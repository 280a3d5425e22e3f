"""Agents that ask a model: for a text, a yes or no, a category, or an object with fields."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.orka.fields import warn_of_fields
from whorl.dialects.orka.known import SCHEMA, STRUCTURED
from whorl.dialects.orka.values import (
    computed,
    is_template,
    literal,
    mapping_of,
    read_prompt,
    read_value,
    template,
    text_of,
    texts_of,
    truth_of,
)
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from whorl.dialects.orka.agents import Agent
    from whorl.dialects.orka.draft import Draft
    from whorl.dialects.orka.scene import Common, Scene
    from whorl.language import Json
    from whorl.source import Value

_BINARY = "Answer with true or false, and with nothing else."
_STRUCTURE = (
    "Answer with one JSON object and nothing else: valid (true or false), reason (a text), "
    "memory_object (the facts as an object)."
)
_ENDPOINT = re.compile(r"/(?:v1/)?(?:chat/completions|completions)/?$|/api/(?:generate|chat)/?$")
_TYPES = {
    "str": "string",
    "string": "string",
    "text": "string",
    "number": "number",
    "float": "number",
    "int": "integer",
    "integer": "integer",
    "bool": "boolean",
    "boolean": "boolean",
    "list": "array",
    "array": "array",
    "dict": "object",
    "object": "object",
}


def read_answer(draft: Draft, agent: Agent, common: Common, scene: Scene) -> ir.Node:
    """An agent that answers with a text, or with fields where `structured_output` asks for them."""
    del scene
    wanted = mapping_of(agent.get("structured_output"))
    if wanted is not None:
        warn_of_fields(draft, wanted, STRUCTURED, "'structured_output'")
        schema = mapping_of(wanted.get("schema"))
        if schema is not None:
            warn_of_fields(draft, schema, SCHEMA, "the schema of 'structured_output'")
    if wanted is None or not truth_of(wanted.get("enabled")):
        return ask(draft, agent, common)
    fields = _schema(wanted)
    if truth_of(wanted.get("strict")):
        # Only the fields that an author wrote are all that there are.
        closed: dict[str, Json] = {"additionalProperties": False} if wanted.get("schema") else {}
        return ask(draft, agent, common, returns=fields | closed)
    shape = computed("orka_structured", "it", "{}")
    return ask(draft, agent, common, told=_instruction(fields), shape=shape)


def read_binary(draft: Draft, agent: Agent, common: Common, scene: Scene) -> ir.Node:
    """An agent that answers with true or false."""
    del scene
    return ask(draft, agent, common, told=_BINARY, shape=computed("orka_binary", "it"))


def read_classification(draft: Draft, agent: Agent, common: Common, scene: Scene) -> ir.Node:
    """An agent that answers with one of some categories."""
    del scene
    options = texts_of(agent.get("options", "categories"))
    if not options:
        message = f"agent {agent.id!r} has no 'options' to choose from"
        draft.report("W006", message, agent.span, help="add options: [first, second]")
    told = f"Answer with exactly one of these categories, and with nothing else: {options}"
    listed: list[Json] = list(options)
    shape = computed("orka_category", "it", literal(listed))
    return ask(draft, agent, common, told=told.replace("'", ""), shape=shape)


def read_structure(draft: Draft, agent: Agent, common: Common, scene: Scene) -> ir.Node:
    """An agent that checks what it is given and brings it into a structure."""
    del scene
    wanted = text_of(agent.get("store_structure"))
    told = f"{_STRUCTURE} The structure of memory_object: {wanted}" if wanted else _STRUCTURE
    empty: Json = {"valid": False, "reason": "", "memory_object": {}}
    return ask(
        draft, agent, common, told=told, shape=computed("orka_structured", "it", literal(empty))
    )


def ask(
    draft: Draft,
    agent: Agent,
    common: Common,
    *,
    prompt: ir.Value | None = None,
    told: str = "",
    returns: Json = None,
    shape: ir.Value | None = None,
) -> ir.Task:
    """The task that asks the model of an agent; `told` is added to its system prompt."""
    entries: list[tuple[str, ir.Value]] = [("prompt", prompt or _prompt(draft, agent))]
    system = _system(draft, agent.get("system_prompt"), told)
    if system is not None:
        entries.append(("system", system))
    entries.extend(model_inputs(draft, agent))
    return ir.Task(
        kind="ask", inputs=ir.Fields(tuple(entries)), returns=returns, shape=shape, **common
    )


def model_inputs(draft: Draft, agent: Agent) -> list[tuple[str, ir.Value]]:
    """Which model is asked, where, and how."""
    entries: list[tuple[str, ir.Value]] = []
    for name, fields in (
        ("model", ("llm_model", "model")),
        ("provider", ("provider",)),
        ("model_url", ("model_url", "url")),
        ("temperature", ("temperature",)),
        ("max_tokens", ("max_tokens",)),
    ):
        value = agent.get(*fields)
        # `openai_compatible` names a format; the address says whose server it is.
        foreign = name == "provider" and text_of(value) == "openai_compatible"
        if value is not None and not foreign:
            entries.append((name, _model_input(draft, agent, name, value)))
    return entries


def _model_input(draft: Draft, agent: Agent, name: str, value: Value) -> ir.Value:
    text = text_of(value)
    if is_template(text):
        return read_value(draft, value)
    if name == "provider":
        return ir.Constant({"lmstudio": "lm_studio"}.get(text, text))
    if name == "model_url":
        return ir.Constant(base_url(text, text_of(agent.get("provider"))))
    return read_value(draft, value)


def base_url(url: str, provider: str) -> str:
    """The address of a model's server, where a file names the place of one kind of request."""
    found = _ENDPOINT.search(url)
    base = url[: found.start()] if found else url.rstrip("/")
    speaks_openai = provider in ("lm_studio", "lmstudio", "openai_compatible")
    if found and "/v1/" in found[0]:
        return f"{base}/v1"
    if speaks_openai and found is None and re.fullmatch(r"https?://[^/]+", base):
        return f"{base}/v1"
    return base


def _prompt(draft: Draft, agent: Agent) -> ir.Value:
    found = read_prompt(draft, agent.get("prompt"))
    if found is None:
        message = f"agent {agent.id!r} has no 'prompt': its model is given the input alone"
        draft.warn("W006", message, agent.span, help='add prompt: "... {{ input }}"')
        return template("{{ get_input() }}{{ '' }}")
    return found


def _system(draft: Draft, value: Value | None, told: str) -> ir.Value | None:
    written = read_prompt(draft, value)
    if not told or written is None:
        return written if not told else ir.Constant(told)
    if isinstance(written, ir.Expression):
        joined = template(f"{written.source}\n\n{told}")
        if isinstance(value, Scalar):
            draft.places.remember(joined, value)
        return joined
    assert isinstance(written, ir.Constant)
    return ir.Constant(f"{written.value}\n\n{told}")


def _schema(wanted: Mapping) -> dict[str, Json]:
    schema = mapping_of(wanted.get("schema"))
    required = texts_of(schema.get("required")) if schema is not None else []
    types = mapping_of(schema.get("types")) if schema is not None else None
    optional = mapping_of(schema.get("optional")) if schema is not None else None
    properties: dict[str, Json] = {name: {} for name in required or ["response"]}
    for holder in (optional, types):
        for entry in holder or ():
            properties[entry.name] = _typed(text_of(entry.value))
    listed: list[Json] = list(required or ["response"])
    return {"type": "object", "properties": properties, "required": listed}


def _typed(word: str) -> Json:
    kind = _TYPES.get(word.lower())
    return {} if kind is None else {"type": kind}


def _instruction(schema: dict[str, Json]) -> str:
    properties, required = schema["properties"], schema["required"]
    assert isinstance(properties, dict)
    assert isinstance(required, list)
    described = ", ".join(
        f"{name} ({part.get('type', 'any') if isinstance(part, dict) else 'any'}"
        f"{'' if name in required else ', if known'})"
        for name, part in properties.items()
    )
    return f"Answer with one JSON object and nothing else. Its fields: {described}."
