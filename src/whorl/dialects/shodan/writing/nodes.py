"""Nodes that work: agents, commands, functions; and those that only hand values on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.shodan.nodes.agent import _OPENAI_MODEL, SESSION
from whorl.dialects.shodan.nodes.plain import PARAMS, TEXT
from whorl.dialects.shodan.writing.parts import (
    Arrived,
    Called,
    Fixed,
    Gathered,
    Source,
    called,
    source_of,
    tree_of,
)
from whorl.dialects.shodan.writing.texts import text_of, write_shell, write_text
from whorl.dialects.writing import Inline
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.dialects.shodan.parts import PortSpec
    from whorl.dialects.shodan.writing.graph import Graph
    from whorl.language import tree

    Inputs = dict[str, ir.Value]

RUNNERS = {"claude": "claude-code", "codex": "codex", "gemini": "gemini"}


def write_task(graph: Graph, node: ir.Task) -> None:
    """A task of the dialect; raises CannotSay."""
    inputs = {str(key): value for key, value in node.inputs.entries}
    write = _TASKS.get((node.kind, called(node.shape).function))
    if write is None:
        raise CannotSay(f"a task of kind {node.kind!r}", "there is no node of that kind")
    write(graph, node, inputs)


def _shell(graph: Graph, node: ir.Task, inputs: Inputs) -> None:
    data = graph.add(node, "shell", script="")
    script, variables = inputs["script"], inputs["variables"]
    assert isinstance(script, ir.Constant)
    assert isinstance(variables, ir.Fields)
    data["script"] = write_shell(graph, node.name, str(script.value), variables)
    _finish(graph, node, inputs)


def _program(graph: Graph, node: ir.Task, inputs: Inputs) -> None:
    agent = inputs["agent"]
    assert isinstance(agent, ir.Constant)
    data = graph.add(node, "agent", runner=RUNNERS.get(str(agent.value), str(agent.value)))
    _model(data, inputs.get("model"))
    _prompt(graph, node.name, tree_of(inputs["prompt"]))
    _session(graph, node.name, tree_of(inputs.get("session")))
    _finish(graph, node, inputs)


def _asked(graph: Graph, node: ir.Task, inputs: Inputs) -> None:
    provider = inputs["provider"]
    assert isinstance(provider, ir.Constant)
    data = graph.add(node, "agent", runner=provider.value)
    _model(data, inputs.get("model"), usual=_OPENAI_MODEL if provider.value == "openai" else None)
    session, prompt = called(inputs["messages"]).arguments
    _prompt(graph, node.name, prompt)
    _session(graph, node.name, session)
    _finish(graph, node, inputs)


def _model(data: dict[str, Any], model: ir.Value | None, usual: object = None) -> None:
    if isinstance(model, ir.Constant) and model.value != usual and model.value is not None:
        data["model"] = model.value


def _prompt(graph: Graph, node: str, prompt: tree.Expr | None) -> None:
    call = called(prompt)
    if call.function == "overridden":
        graph.feed(node, "prompt", source_of(call.arguments[0]))
        prompt = call.arguments[1]
    if prompt is None:
        raise CannotSay("a prompt that is computed", "a text holds outputs and inputs only")
    # It stands before the inputs that it needs.
    graph.nodes[node]["prompt"] = ""
    graph.nodes[node]["prompt"] = text_of(graph, node, prompt)


def _session(graph: Graph, node: str, session: tree.Expr | None) -> None:
    if session is not None and source_of(session) != Fixed(None):
        graph.feed(node, SESSION, source_of(session))


def _finish(graph: Graph, node: ir.Task, inputs: Inputs) -> None:
    """What comes after a node's own text: its folder, the form of its answer, its outputs."""
    data = graph.nodes[node.name]
    path = write_text(graph, node.name, inputs.get("folder", ir.Constant(None)))
    if path:
        data["path"] = path
    if node.returns is not None:
        data["outputSchema"] = json.dumps(node.returns, ensure_ascii=False)
    _outputs(data, called(node.shape))


def _outputs(data: dict[str, Any], shape: Called) -> None:
    ports = json.loads(shape.text(2))
    if ports:
        data["outputs"] = [_output(port) for port in ports]


def _output(port: dict[str, Any]) -> dict[str, Any]:
    extract = port.get("extract")
    if extract is not None:
        return Inline(port | {"extract": Inline({k: v for k, v in extract.items() if v})})
    return Inline(port)


def _function(graph: Graph, node: ir.Task, inputs: Inputs) -> None:
    code = inputs["code"]
    assert isinstance(code, ir.Constant)
    data = graph.add(node, "function")
    name = inputs["name"]
    if inputs["module"] == ir.Constant(True) and isinstance(name, ir.Constant):
        data["file"] = name.value
        graph.files[str(name.value)] = str(code.value)
    else:
        data["code"] = code.value
    given = inputs["inputs"]
    assert isinstance(given, ir.Fields)
    for key, value in given.entries:
        source = source_of(tree_of(value))
        take_in(graph, node.name, str(key), source)
    _outputs(data, called(node.shape))


def take_in(graph: Graph, node: str, name: str, source: Source) -> None:
    """Declares an input of a node and feeds it; raises CannotSay."""
    if not isinstance(source, Arrived | Gathered):
        graph.declare(node, {"name": name})
    graph.feed(node, name, source)


def write_compute(graph: Graph, node: ir.Compute) -> None:
    """A trigger, a constant, a folder, a wire, or a command that does nothing."""
    call = called(node.value)
    if call.function == "finished":
        _outputs(graph.add(node, "shell", script=""), call)
        return
    entries = dict(node.value.entries) if isinstance(node.value, ir.Fields) else {}
    if set(entries) == {"value"}:
        _value(graph, node, entries["value"])
    elif set(entries) == {"path"}:
        data = graph.add(node, "workdir")
        path = write_text(graph, node.name, entries["path"])
        data |= {} if path is None else {"path": path}
    elif called(entries.get("timestamp")).function == "timestamp":
        _trigger(graph, node, {str(key): value for key, value in entries.items()})
    else:
        raise CannotSay("a value that is computed", "a node hands on what comes in as it is")


def _value(graph: Graph, node: ir.Compute, value: ir.Value) -> None:
    if isinstance(value, ir.Constant):
        graph.add(node, "constant", value=value.value)
        return
    graph.add(node, "wire")
    graph.feed(node.name, "value", source_of(tree_of(value)))


def _trigger(graph: Graph, node: ir.Compute, entries: Inputs) -> None:
    kind = entries["type"]
    data = graph.add(node, "trigger")
    if isinstance(kind, ir.Constant) and kind.value != "manual":
        data["triggerType"] = kind.value
    ports = [graph.port_of(name) for name in entries if name not in ("timestamp", "type")]
    further = [port for port in ports if port not in _USUAL]
    if further:
        data["outputs"] = [Inline(port) for port in further]


def _spec(port: PortSpec) -> dict[str, Any]:
    return {"name": port.name, "type": port.type, "description": port.description}


_USUAL = (_spec(TEXT), _spec(PARAMS))


_TASKS: dict[tuple[str, str], Callable[[Graph, ir.Task, Inputs], None]] = {
    ("run", "finished"): _shell,
    ("agent", "answered"): _program,
    ("ask", "answered"): _asked,
    ("javascript", "returned"): _function,
}
