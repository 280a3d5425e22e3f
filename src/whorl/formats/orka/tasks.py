"""Agents that answer: they ask a model, judge, look up the memory, or search the web."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reading import fields as reading
from whorl.dialects.reading.fields import is_true, number_of, scalar_of, text_of, texts_of
from whorl.dialects.reading.texts import called, read_tree
from whorl.formats.orka.agents import Agent, FileContext, mapping_of
from whorl.source import Mapping, Scalar, Value

if TYPE_CHECKING:
    from whorl.formats.orka.agents import Section
    from whorl.language import Json


LIBRARY = "orka"
# The name that an operator maps to a search, in [tasks] of the configuration.
SEARCH_TASK = "duckduckgo"
_MARKS = ("{{", "{%", "{#")
# A template that is one expression would keep its type; a prompt is always a text.
_AS_TEXT = "{{ '' }}"
_INPUT = ir.Expression("template", "{{ get_input() }}{{ '' }}", LIBRARY)
_STRUCTURED = ("enabled", "mode", "schema", "require_code_block", "coerce_types", "strict")
_SCHEMA = ("required", "optional", "types")
_CATEGORIES = "Answer with exactly one of these categories, and with nothing else: "
_OBJECT = "Answer with one JSON object and nothing else"
_STRUCTURE = (
    f"{_OBJECT}: valid (true or false), reason (a text), memory_object (the facts as an object)."
)
_RAG = (
    "Answer the question from the memories below; say so if they do not hold the answer.\n\n"
    "Memories:\n{{ memories.response }}\n\nQuestion: "
)
# The inputs of a model call, and the fields that give them.
_MODEL_FIELDS = {
    "model": ("llm_model", "model", "evaluation_model_name"),
    "provider": ("provider",),
    "model_url": ("model_url", "url"),
    "temperature": ("temperature",),
    "max_tokens": ("max_tokens",),
}
_ENDPOINT = re.compile(r"/(?:v1/)?(?:chat/completions|completions)/?$|/api/(?:generate|chat)/?$")
# The types of JSON Schema by the words that files have for them.
_TYPES = {"str": "string", "text": "string", "float": "number", "int": "integer", "bool": "boolean"}
_TYPES |= {"list": "array", "dict": "object"}


def is_template(text: str) -> bool:
    return any(mark in text for mark in _MARKS)


def template(source: str) -> ir.Expression:
    return ir.Expression("template", source, LIBRARY)


def computed(function: str, *arguments: str) -> ir.Expression:
    """Returns a call of a function of the library; the arguments are names or literals."""
    return ir.Expression("jinja", called(function, *arguments), LIBRARY)


def literal(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(literal, value)) + "]"
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


def read_prompt(agent: Agent, name: str, added: str = "") -> ir.Constant | ir.Expression | None:
    """Reads the prompt of a model, always a text; an instruction may be added to it."""
    written = scalar_of(agent.get(name))
    if written is None:
        return ir.Constant(added) if added else None
    text, behind = written.text, f"\n\n{added}" if added else ""
    if not is_template(text):
        return ir.Constant(text + behind)
    is_expression = text.startswith("{{") and text.endswith("}}")
    expression = template(f"{text}{_AS_TEXT if is_expression else ''}{behind}")
    agent.context.places.remember(expression, written)
    return expression


def read_value(context: FileContext, value: Value | None) -> ir.Value:
    """Reads any JSON; texts with marks become templates, all other values constants."""

    def read_scalar(scalar: Scalar) -> ir.Value:
        if not isinstance(scalar.value, str) or not is_template(scalar.value):
            return ir.Constant(scalar.value)
        expression = template(scalar.value)
        context.places.remember(expression, scalar)
        return expression

    return read_tree(value, read_scalar, folds=True)


def read_fields(context: FileContext, value: Value | None) -> ir.Fields:
    entries = value if isinstance(value, Mapping) else ()
    return ir.Fields(tuple((entry.name, read_value(context, entry.value)) for entry in entries))


def read_timeout(agent: Agent) -> float | None:
    seconds = reading.duration_of(agent.get("timeout"))
    if agent.get("timeout") is None or (seconds is not None and seconds > 0):
        return seconds
    advice = "write a number of seconds, as in timeout: 60"
    agent.report("W007", "'timeout' must be a time above 0", "timeout", advice=advice)
    return None


def read_answer(agent: Agent, _: Section) -> ir.Node:
    """Reads an agent that answers with a text, or with fields if it has `structured_output`."""
    output = agent.mapping("structured_output")
    if output is None:
        return ask(agent)
    schema = mapping_of(output.get("schema")) or Mapping((), output.span)
    check = agent.context.check_fields
    check(output, _STRUCTURED, "'structured_output'", warns=True)
    check(schema, _SCHEMA, "the schema of 'structured_output'", warns=True)
    if not is_true(output.get("enabled")):
        return ask(agent)
    required = [*texts_of(schema.get("required"))] or ["response"]
    types = dict.fromkeys(required, "")
    for part in map(schema.get, ("optional", "types")):
        for entry in part if isinstance(part, Mapping) else ():
            word = text_of(entry.value).lower()
            kind = _TYPES.get(word, word)
            types[entry.name] = kind if kind in _TYPES.values() else ""
    if is_true(output.get("strict")):
        properties: Json = {n: {"type": kind} if kind else {} for n, kind in types.items()}
        returns: dict[str, Json] = {"type": "object", "properties": properties}
        returns["required"] = [*required]
        # Only the fields that an author wrote are all that there are.
        if output.get("schema"):
            returns["additionalProperties"] = False
        return ask(agent, returns=returns)
    described = ", ".join(
        f"{name} ({kind or 'any'}{'' if name in required else ', if known'})"
        for name, kind in types.items()
    )
    shape = computed("orka_structured", "it", "{}")
    return ask(agent, instruction=f"{_OBJECT}. Its fields: {described}.", shape=shape)


def read_fixed(agent: Agent, _: Section) -> ir.Node:
    """Reads an agent that answers true or false, one of some categories, or a fixed structure."""
    shape = computed("orka_binary", "it")
    instruction = "Answer with true or false, and with nothing else."
    if agent.type.endswith("classification"):
        options = texts_of(agent.get("options", "categories"))
        if not options:
            message = f"agent {agent.id!r} has no 'options' to choose from"
            agent.context.report("W006", message, agent.span, help="add options: [first, second]")
        instruction = f"{_CATEGORIES}[{', '.join(options)}]"
        shape = computed("orka_category", "it", literal(options))
    elif agent.type == "validate_and_structure":
        wanted = agent.text("store_structure")
        instruction = _STRUCTURE
        instruction += f" The structure of memory_object: {wanted}" if wanted else ""
        empty = literal({"valid": False, "reason": "", "memory_object": {}})
        shape = computed("orka_structured", "it", empty)
    return ask(agent, instruction=instruction, shape=shape)


def ask(
    agent: Agent,
    *,
    prompt: ir.Value | None = None,
    instruction: str = "",
    returns: Json = None,
    shape: ir.Value | None = None,
) -> ir.Task:
    """Returns the task that asks an agent's model; the system prompt gets the instruction."""
    prompt = prompt or read_prompt(agent, "prompt")
    if prompt is None:
        message = f"agent {agent.id!r} has no 'prompt': its model is given the input alone"
        agent.context.warn("W006", message, agent.span, help='add prompt: "... {{ input }}"')
    entries = [("prompt", prompt or _INPUT)]
    system = read_prompt(agent, "system_prompt", instruction)
    if system is not None:
        entries.append(("system", system))
    for name, fields in _MODEL_FIELDS.items():
        value = agent.get(*fields)
        text = text_of(value)
        # `openai_compatible` names a format; the address says whose server it is.
        if value is None or (name == "provider" and text == "openai_compatible"):
            continue
        given = read_value(agent.context, value)
        if name == "provider" and not is_template(text):
            given = ir.Constant({"lmstudio": "lm_studio"}.get(text, text))
        elif name == "model_url" and not is_template(text):
            given = ir.Constant(_base_url(text, agent.text("provider")))
        entries.append((name, given))
    inputs = ir.Fields(tuple(entries))
    return ir.Task(name=agent.id, kind="ask", inputs=inputs, returns=returns, shape=shape)


def _base_url(url: str, provider: str) -> str:
    """Returns the address of a model's server, if a file has the URL of one kind of request."""
    endpoint = _ENDPOINT.search(url)
    base = url[: endpoint.start()] if endpoint else url.rstrip("/")
    if endpoint:
        return f"{base}/v1" if "/v1/" in endpoint[0] else base
    speaks_openai = provider in ("lm_studio", "lmstudio", "openai_compatible")
    return f"{base}/v1" if speaks_openai and re.fullmatch(r"https?://[^/]+", base) else base


def read_memory(agent: Agent, _: Section) -> ir.Node:
    value = agent.get("operation") if agent.type == "memory" else None
    operation = agent.context.choice(value, ("read", "write"), "a memory has no operation", "read")
    text = read_prompt(agent, "prompt") or _INPUT
    limit = number_of(agent.get("limit", "top_k"))
    entries: list[tuple[str, ir.Value]] = [
        ("operation", ir.Constant(operation)),
        ("namespace", read_prompt(agent, "namespace") or ir.Constant("default")),
    ]
    if operation == "write":
        metadata = read_fields(agent.context, agent.get("metadata"))
        key = agent.get("key_template")
        if key is not None:
            metadata = ir.Fields((*metadata.entries, ("key", read_value(agent.context, key))))
        entries += [("content", text), ("metadata", metadata)]
    else:
        most = int(limit) if limit is not None and limit >= 1 else 5
        entries += [("query", text), ("limit", ir.Constant(most))]
    shape = computed("orka_memories", "it")
    return ir.Task(name=agent.id, kind="memory", inputs=ir.Fields(tuple(entries)), shape=shape)


def read_rag(agent: Agent, section: Section) -> ir.Node:
    search = replace(read_memory(agent, section), name="memories")
    question = read_prompt(agent, "prompt") or _INPUT
    source = question.source if isinstance(question, ir.Expression) else agent.text("prompt")
    answer = ask(agent, prompt=template(_RAG + source))
    answer = replace(answer, name="answer", after=(ir.After("memories"),), place=agent.place)
    shape = ir.Expression("jinja", "it.answer")
    return ir.Group(name=agent.id, body=ir.Block((search, answer)), shape=shape)


def read_search(agent: Agent, _: Section) -> ir.Node:
    """Reads a search in the web, which the operator maps to a function or a URL."""
    arguments: list[tuple[str, ir.Value]] = [("query", read_prompt(agent, "prompt") or _INPUT)]
    most = agent.get("max_results")
    if most is not None:
        arguments.append(("max_results", read_value(agent.context, most)))
    inputs = ir.Fields((("task", ir.Constant(SEARCH_TASK)), ("with", ir.Fields(tuple(arguments)))))
    return ir.Task(name=agent.id, kind="use", inputs=inputs, shape=computed("orka_search", "it"))


# The operations of a brain, and where it keeps what they are about.
_SKILLS, _EPISODES = "brain/skills", "brain/episodes"
BRAIN = {
    **dict.fromkeys(("learn", "recall", "feedback"), _SKILLS),
    **dict.fromkeys(("learn_recipe", "learn_path", "learn_anti"), _SKILLS),
    **dict.fromkeys(("record_episode", "recall_episodes"), _EPISODES),
}


def read_brain(agent: Agent, _: Section) -> ir.Node:
    """Reads an agent that keeps lessons from run to run, or finds them again."""
    word = agent.get("operation")
    operation = agent.context.choice(word, BRAIN, "a brain has no operation", "learn")
    written = scalar_of(agent.get("prompt"))
    payload: ir.Value = template("{{ get_input() }}")
    if written is not None:
        # A single expression passes the value itself, even before a line end.
        payload = template(written.text.strip())
        agent.context.places.remember(payload, written)
    return amend(agent.id, BRAIN[operation], operation, ir.Fields((("payload", payload),)))


def amend(name: str, namespace: str, change: str, given: ir.Fields) -> ir.Task:
    """Returns the task that changes or queries a memory by a function of the library."""
    words = {"operation": "amend", "namespace": namespace, "library": LIBRARY, "change": change}
    entries = ((key, ir.Constant(word)) for key, word in words.items())
    return ir.Task(name=name, kind="memory", inputs=ir.Fields((*entries, ("with", given))))


def read_invariants(agent: Agent, _: Section) -> ir.Node:
    """Reads a check of the run's history by rules alone."""
    config: dict[str, object] = {
        "max_depth": number_of(agent.get("max_depth")),
        "allow_reentrant_nodes": texts_of(agent.get("allow_reentrant_nodes")),
        "strict_tool_errors": is_true(agent.get("strict_tool_errors")),
    }
    given = agent.get("execution_data")
    data = read_prompt(agent, "prompt") if given is None else read_value(agent.context, given)
    part = ir.Compute(name="execution_data", value=data or ir.Constant(None))
    checked = computed("orka_invariants", "execution_data", literal(config))
    warns = computed("orka_unchecked", "execution_data", literal(agent.id))
    check = ir.Compute(name="checked", value=checked, after=(ir.After(part.name),), warns=warns)
    shape = ir.Expression("jinja", "it.checked")
    return ir.Group(name=agent.id, body=ir.Block((part, check)), shape=shape)
