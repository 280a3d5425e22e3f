"""Agents that answer: they ask a model, look things up in the memory, or search the web."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Literal, TypedDict

from whorl import ir
from whorl.dialects.orka.agents import mapping_of, scalars_of
from whorl.dialects.reading.scalars import is_true, number_of, text_of
from whorl.dialects.reading.texts import called, read_tree
from whorl.errors import did_you_mean
from whorl.ir.durations import parse_duration
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from whorl.dialects.orka.agents import Agent, FileContext, Section
    from whorl.language import Json
    from whorl.source import Value

LIBRARY = "orka"
USUAL_LIMIT = 5
USUAL_NAMESPACE = "default"
# The name that an operator maps to a search, in [tasks] of the configuration.
SEARCH_TASK = "duckduckgo"
_MARKS = ("{{", "{%", "{#")
# A template that is one expression would keep its type; a prompt is a text whatever it says.
_AS_TEXT = "{{ '' }}"
_INPUT = ir.Expression("template", "{{ get_input() }}{{ '' }}", LIBRARY)
_OPERATIONS = ("read", "write")
_STRUCTURED = {"enabled", "mode", "schema", "require_code_block", "coerce_types", "strict"}
_BINARY = "Answer with true or false, and with nothing else."
_CATEGORIES = "Answer with exactly one of these categories, and with nothing else: "
_STRUCTURE = (
    "Answer with one JSON object and nothing else: valid (true or false), reason (a text), "
    "memory_object (the facts as an object)."
)
_RAG = (
    "Answer the question from the memories below; say so if they do not hold the answer.\n\n"
    "Memories:\n{{ memories.response }}\n\nQuestion: "
)
# The inputs of a model call, by the fields that give them.
_MODEL_FIELDS = {
    "model": ("llm_model", "model"),
    "provider": ("provider",),
    "model_url": ("model_url", "url"),
    "temperature": ("temperature",),
    "max_tokens": ("max_tokens",),
}
_ENDPOINT = re.compile(r"/(?:v1/)?(?:chat/completions|completions)/?$|/api/(?:generate|chat)/?$")
_TYPES = {
    **dict.fromkeys(("str", "string", "text"), "string"),
    **dict.fromkeys(("number", "float"), "number"),
    **dict.fromkeys(("int", "integer"), "integer"),
    **dict.fromkeys(("bool", "boolean"), "boolean"),
    **dict.fromkeys(("list", "array"), "array"),
    **dict.fromkeys(("dict", "object"), "object"),
}


class Shared(TypedDict):
    """What all nodes take, by the names of the IR."""

    name: str
    after: tuple[ir.After, ...]
    when: ir.Expression | None
    on_failure: Literal["halt", "continue"]
    timeout_s: float | None
    place: str


def is_template(text: str) -> bool:
    """Whether a text holds anything that is not literal."""
    return any(mark in text for mark in _MARKS)


def template(source: str) -> ir.Expression:
    """A template of ours."""
    return ir.Expression("template", source, LIBRARY)


def computed(function: str, *arguments: str) -> ir.Expression:
    """The call of a function of the library; the arguments are names or literals."""
    return ir.Expression("jinja", called(function, *arguments), LIBRARY)


def literal(value: object) -> str:
    """A JSON value as an expression writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(literal, value)) + "]"
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


def read_prompt(context: FileContext, value: Value | None) -> ir.Constant | ir.Expression | None:
    """Reads what a model is told: always a text."""
    if not isinstance(value, Scalar) or value.value is None:
        return None
    text = value.text
    if not is_template(text):
        return ir.Constant(text)
    is_expression = text.startswith("{{") and text.endswith("}}")
    expression = template(text + _AS_TEXT if is_expression else text)
    context.places.remember(expression, value)
    return expression


def read_value(context: FileContext, value: Value | None) -> ir.Value:
    """Reads any JSON; texts with marks become templates, whatever holds none a constant."""

    def read_scalar(scalar: Scalar) -> ir.Value:
        if not isinstance(scalar.value, str) or not is_template(scalar.value):
            return ir.Constant(scalar.value)
        expression = template(scalar.value)
        context.places.remember(expression, scalar)
        return expression

    return read_tree(value, read_scalar, folds=True)


def read_fields(context: FileContext, value: Value | None) -> ir.Fields:
    """Reads an object whose values may be templates."""
    entries = value if isinstance(value, Mapping) else ()
    return ir.Fields(tuple((entry.name, read_value(context, entry.value)) for entry in entries))


def read_timeout(agent: Agent) -> float | None:
    """The seconds that an agent has; what is no time is reported."""
    value = agent.get("timeout")
    if value is None:
        return None
    try:
        seconds = parse_duration(value.value) if isinstance(value, Scalar) else 0.0  # type: ignore[arg-type]
    except (ValueError, TypeError):
        seconds = 0.0
    if seconds > 0:
        return seconds
    message, advice = (
        "'timeout' must be a time above 0",
        "write a number of seconds, as in timeout: 60",
    )
    agent.context.report("W007", message, value.span, help=advice)
    return None


def read_answer(agent: Agent, shared: Shared, _: Section) -> ir.Node:
    """An agent that answers with a text, or with fields where `structured_output` asks for them."""
    output = agent.mapping("structured_output")
    if output is None:
        return ask(agent, shared)
    schema = mapping_of(output.get("schema"))
    agent.context.warn_of_fields(output, _STRUCTURED, "'structured_output'")
    if schema is not None:
        fields = {"required", "optional", "types"}
        agent.context.warn_of_fields(schema, fields, "the schema of 'structured_output'")
    if not is_true(output.get("enabled")):
        return ask(agent, shared)
    returns = _schema(schema)
    if is_true(output.get("strict")):
        # Only the fields that an author wrote are all that there are.
        closed: dict[str, Json] = {"additionalProperties": False} if output.get("schema") else {}
        return ask(agent, shared, returns=returns | closed)
    shape = computed("orka_structured", "it", "{}")
    return ask(agent, shared, instruction=_instruction(returns), shape=shape)


def _schema(schema: Mapping | None) -> dict[str, Json]:
    """The JSON schema of the fields that an answer must or may have."""
    written = schema.get("required") if schema is not None else None
    names = [scalar.text for scalar in scalars_of(written)] or ["response"]
    required: list[Json] = [*names]
    properties: dict[str, Json] = {name: {} for name in names}
    for part in ("optional", "types"):
        for entry in (mapping_of(schema.get(part)) if schema is not None else None) or ():
            kind = _TYPES.get(text_of(entry.value).lower())
            properties[entry.name] = {} if kind is None else {"type": kind}
    return {"type": "object", "properties": properties, "required": required}


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


def read_binary(agent: Agent, shared: Shared, _: Section) -> ir.Node:
    """An agent that answers with true or false."""
    return ask(agent, shared, instruction=_BINARY, shape=computed("orka_binary", "it"))


def read_classification(agent: Agent, shared: Shared, _: Section) -> ir.Node:
    """An agent that answers with one of some categories."""
    options = [scalar.text for scalar in scalars_of(agent.get("options", "categories"))]
    if not options:
        message = f"agent {agent.id!r} has no 'options' to choose from"
        agent.context.report("W006", message, agent.span, help="add options: [first, second]")
    instruction = f"{_CATEGORIES}{options}".replace("'", "")
    shape = computed("orka_category", "it", literal(options))
    return ask(agent, shared, instruction=instruction, shape=shape)


def read_structure(agent: Agent, shared: Shared, _: Section) -> ir.Node:
    """An agent that checks what it is given and brings it into a structure."""
    wanted = agent.text("store_structure")
    instruction = f"{_STRUCTURE} The structure of memory_object: {wanted}" if wanted else _STRUCTURE
    empty = literal({"valid": False, "reason": "", "memory_object": {}})
    return ask(
        agent, shared, instruction=instruction, shape=computed("orka_structured", "it", empty)
    )


def ask(
    agent: Agent,
    shared: Shared,
    *,
    prompt: ir.Value | None = None,
    instruction: str = "",
    returns: Json = None,
    shape: ir.Value | None = None,
) -> ir.Task:
    """The task that asks the model of an agent; the instruction is added to its system prompt."""
    entries: list[tuple[str, ir.Value]] = [("prompt", prompt or _prompt(agent))]
    system = _system(agent, instruction)
    if system is not None:
        entries.append(("system", system))
    for name, fields in _MODEL_FIELDS.items():
        value = agent.get(*fields)
        # `openai_compatible` names a format; the address says whose server it is.
        if value is None or (name == "provider" and text_of(value) == "openai_compatible"):
            continue
        entries.append((name, _model_input(agent, name, value)))
    inputs = ir.Fields(tuple(entries))
    return ir.Task(kind="ask", inputs=inputs, returns=returns, shape=shape, **shared)


def _model_input(agent: Agent, name: str, value: Value) -> ir.Value:
    text = text_of(value)
    if is_template(text) or name not in ("provider", "model_url"):
        return read_value(agent.context, value)
    if name == "provider":
        return ir.Constant({"lmstudio": "lm_studio"}.get(text, text))
    return ir.Constant(_base_url(text, agent.text("provider")))


def _base_url(url: str, provider: str) -> str:
    """The address of a model's server, where a file names the place of one kind of request."""
    endpoint = _ENDPOINT.search(url)
    base = url[: endpoint.start()] if endpoint else url.rstrip("/")
    if endpoint:
        return f"{base}/v1" if "/v1/" in endpoint[0] else base
    speaks_openai = provider in ("lm_studio", "lmstudio", "openai_compatible")
    return f"{base}/v1" if speaks_openai and re.fullmatch(r"https?://[^/]+", base) else base


def _prompt(agent: Agent) -> ir.Value:
    prompt = read_prompt(agent.context, agent.get("prompt"))
    if prompt is not None:
        return prompt
    message = f"agent {agent.id!r} has no 'prompt': its model is given the input alone"
    agent.context.warn("W006", message, agent.span, help='add prompt: "... {{ input }}"')
    return _INPUT


def _system(agent: Agent, instruction: str) -> ir.Value | None:
    value = agent.get("system_prompt")
    written = read_prompt(agent.context, value)
    if not instruction or written is None:
        return ir.Constant(instruction) if instruction else written
    if isinstance(written, ir.Constant):
        return ir.Constant(f"{written.value}\n\n{instruction}")
    joined = template(f"{written.source}\n\n{instruction}")
    assert isinstance(value, Scalar)
    agent.context.places.remember(joined, value)
    return joined


def read_memory(agent: Agent, shared: Shared, _: Section) -> ir.Node:
    """An agent that keeps texts in a namespace, or finds them again."""
    operation = agent.text("operation") or "read"
    if operation not in _OPERATIONS:
        advice = did_you_mean(operation, _OPERATIONS) or "operations: read, write"
        message, span = f"a memory cannot {operation[:40]!r}", agent.span_of("operation")
        agent.context.report("W007", message, span, help=advice)
    inputs = _memory_inputs(agent, operation, _question(agent))
    return ir.Task(kind="memory", inputs=inputs, shape=computed("orka_memories", "it"), **shared)


def _memory_inputs(agent: Agent, operation: str, text: ir.Value) -> ir.Fields:
    is_write = operation == "write"
    namespace = read_prompt(agent.context, agent.get("namespace"))
    return ir.Fields(
        (
            ("operation", ir.Constant(operation)),
            ("namespace", namespace or ir.Constant(USUAL_NAMESPACE)),
            ("content" if is_write else "query", text),
            ("metadata", _metadata(agent)) if is_write else ("limit", _limit(agent)),
        )
    )


def read_rag(agent: Agent, shared: Shared, _: Section) -> ir.Node:
    """An agent that answers from the memories of a namespace."""
    question = _question(agent)
    inputs, shape = _memory_inputs(agent, "read", question), computed("orka_memories", "it")
    search = ir.Task(name="memories", kind="memory", inputs=inputs, shape=shape)
    source = question.source if isinstance(question, ir.Expression) else agent.text("prompt")
    inner: Shared = {
        "name": "answer",
        "after": (ir.After("memories"),),
        "when": None,
        "on_failure": "halt",
        "timeout_s": None,
        "place": shared["place"],
    }
    answer = ask(agent, inner, prompt=template(_RAG + source))
    shape = ir.Expression("jinja", "it.answer")
    return ir.Group(body=ir.Block((search, answer)), shape=shape, **shared)


def read_search(agent: Agent, shared: Shared, _: Section) -> ir.Node:
    """A search in the web, which the operator maps to a function or a URL."""
    arguments: list[tuple[str, ir.Value]] = [("query", _question(agent))]
    most = agent.get("max_results")
    if most is not None:
        arguments.append(("max_results", read_value(agent.context, most)))
    task = ("task", ir.Constant(SEARCH_TASK))
    inputs = ir.Fields((task, ("with", ir.Fields(tuple(arguments)))))
    return ir.Task(kind="use", inputs=inputs, shape=computed("orka_search", "it"), **shared)


def _question(agent: Agent) -> ir.Value:
    return read_prompt(agent.context, agent.get("prompt")) or _INPUT


def _limit(agent: Agent) -> ir.Constant:
    number = number_of(agent.get("limit", "top_k"))
    return ir.Constant(int(number) if number is not None and number >= 1 else USUAL_LIMIT)


def _metadata(agent: Agent) -> ir.Value:
    fields = read_fields(agent.context, agent.get("metadata"))
    key = agent.get("key_template")
    if key is None:
        return fields
    return ir.Fields((*fields.entries, ("key", read_value(agent.context, key))))
