"""Agent nodes: a command line agent or a model does the work; its answer fills the outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.shodan.fields import read_schema, scalar_of, span_of, text_of
from whorl.dialects.shodan.nodes.files import named_files, read_folder
from whorl.dialects.shodan.nodes.shared import common, packed_ports
from whorl.dialects.shodan.ports import SESSION, promised_outputs
from whorl.dialects.shodan.sources import called, expression, quoted
from whorl.dialects.shodan.texts import text_source

if TYPE_CHECKING:
    from whorl.dialects.shodan.level import Level
    from whorl.dialects.shodan.parts import GraphNode
    from whorl.language import Json

AGENTS = {
    "claude-code": "claude",
    "claude": "claude",
    "codex": "codex",
    "gemini-cli": "gemini",
    "gemini": "gemini",
}
DEFAULT_RUNNER = "claude-code"
_OPENAI_MODEL = "gpt-4o"
_OPENAI_TEMPERATURE = 0.7

Inputs = list[tuple[str | ir.Expression, ir.Value]]


def read_agent(level: Level, node: GraphNode) -> list[ir.Node]:
    """Asks an agent program or a model."""
    runner = text_of(node.fields, "runner") or DEFAULT_RUNNER
    prompt = _prompt(level, node)
    session = level.own(node, SESSION) or "none"
    if runner in AGENTS:
        _check_session(level, node, runner)
        return [_program(level, node, (AGENTS[runner], prompt, session))]
    return [_model(level, node, (runner, prompt, session))]


def _program(level: Level, node: GraphNode, work: tuple[str, str, str]) -> ir.Task:
    agent, prompt, session = work
    inputs: Inputs = [
        ("agent", ir.Constant(agent)),
        ("prompt", expression(prompt)),
        ("model", ir.Constant(text_of(node.fields, "model") or None)),
        ("folder", read_folder(level, node)),
        ("whole", ir.Constant(True)),
    ]
    if agent != "gemini":
        inputs.append(("session", expression(session)))
        inputs.append(("keep_session", ir.Constant(SESSION in promised_outputs(level.draft, node))))
    shape = called("answered", "it", quoted(node.id), packed_ports(node.outputs))
    return ir.Task(
        kind="agent",
        inputs=ir.Fields(tuple(inputs)),
        returns=_schema(level, node),
        shape=expression(shape),
        **common(node),
    )


def _model(level: Level, node: GraphNode, work: tuple[str, str, str]) -> ir.Task:
    """A model keeps no session: the conversation itself is what the next call goes on with."""
    runner, prompt, session = work
    model = text_of(node.fields, "model") or (_OPENAI_MODEL if runner == "openai" else "")
    inputs: Inputs = [
        ("messages", expression(called("messages", session, prompt))),
        ("provider", ir.Constant(runner)),
        ("model", ir.Constant(model or None)),
    ]
    if runner == "openai":
        inputs.append(("temperature", ir.Constant(_OPENAI_TEMPERATURE)))
    whole = called("conversed", "it", session, prompt)
    shape = called("answered", whole, quoted(node.id), packed_ports(node.outputs))
    return ir.Task(
        kind="ask",
        inputs=ir.Fields(tuple(inputs)),
        returns=_schema(level, node),
        shape=expression(shape),
        **common(node),
    )


def _prompt(level: Level, node: GraphNode) -> str:
    """The prompt; one that comes in at the port `prompt` takes its place, unless it is in it."""
    written = scalar_of(node.fields, "prompt")
    source = quoted("")
    if written is not None:
        source = text_source(level, node, written) or quoted(written.text)
    for _, text in named_files(level, node, "promptFiles"):
        source += f" ~ {quoted(chr(10) * 2 + text)}"
    override = level.own(node, "prompt")
    if override is not None and (written is None or "inputs.prompt" not in written.text):
        return called("overridden", override, source)
    if written is None and "promptFiles" not in node.fields:
        level.draft.report(
            "W006",
            f"agent {node.id!r} lacks its 'prompt'",
            node.span,
            label="no prompt",
            help="add prompt: what the agent shall do",
        )
    return source


def _schema(level: Level, node: GraphNode) -> Json:
    written = text_of(node.fields, "outputSchema")
    if not written.strip():
        return None
    found = read_schema(written)
    if found is None:
        level.draft.report(
            "W007",
            f"'outputSchema' of agent {node.id!r} must be a JSON Schema in a text",
            span_of(node.fields, "outputSchema"),
            label="no JSON object",
            help='write {"type": "object", "properties": ...}',
        )
        return None
    return found  # type: ignore[return-value]


def _check_session(level: Level, node: GraphNode, runner: str) -> None:
    """A runner that keeps no sessions cannot be asked to go on with one."""
    if AGENTS[runner] != "gemini" or not _uses_session(level, node):
        return
    level.draft.report(
        "W022",
        f"agent {node.id!r} is to go on with a session, which runner {runner!r} cannot",
        span_of(node.fields, "runner"),
        label="keeps no sessions",
        help="use claude-code, codex or openai, or leave sessionId unconnected",
    )


def _uses_session(level: Level, node: GraphNode) -> bool:
    ends = [(edge.source, edge.out[1]) for edge in level.graph.edges]
    ends += [(edge.target, edge.into[1]) for edge in level.graph.edges]
    if level.loop is not None:
        ends += [*level.loop.mappings, *level.loop.previous]
    return (node.id, SESSION) in ends
