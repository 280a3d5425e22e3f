"""One harmless file of each format, with a place for whatever an attack puts there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

FILES = dict.fromkeys(("native", "mcp-cli", "shodan"), "x.yaml") | {"orka": "x.yml"}
FILES |= dict.fromkeys(("studio", "loom"), "x.json")


@dataclass(frozen=True)
class Attack:
    """A file that somebody else wrote: its class, its format, what it tries, and its text."""

    kind: str
    dialect: str
    about: str
    text: str | bytes

    @property
    def file(self) -> str:
        return FILES[self.dialect]

    @property
    def content(self) -> bytes:
        text = self.text
        return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def native(steps: dict[str, Any], **more: Any) -> str:
    return json.dumps({"whorl": 1, "name": "x", "steps": steps, **more}, indent=1)


def mcp_cli(*steps: dict[str, Any], **more: Any) -> str:
    head = {"$schema": "workflow/v2.0", "name": "x", "version": "1.0.0"}
    execution = {"provider": "one", "model": "m"}
    return json.dumps({**head, "execution": execution, "steps": steps, **more}, indent=1)


def orka(*agents: dict[str, Any], **orchestrator: Any) -> str:
    ids = [agent["id"] for agent in agents]
    head = {"id": "x", "strategy": "sequential", "agents": ids, **orchestrator}
    return json.dumps({"orchestrator": head, "agents": agents}, indent=1)


def shodan(*nodes: dict[str, Any], edges: tuple[dict[str, Any], ...] = ()) -> str:
    drawn = [
        {"id": f"n{index}", "type": node["nodeType"], "data": node}
        for index, node in enumerate(nodes)
    ]
    head = {"version": 1, "metadata": {"name": "x"}}
    return json.dumps({**head, "nodes": drawn, "edges": edges}, indent=1)


def studio(*nodes: tuple[str, dict[str, Any]]) -> str:
    drawn: list[dict[str, Any]] = [{"id": "in", "type": "input", "data": {}}]
    drawn += [{"id": f"n{i}", "type": kind, "data": data} for i, (kind, data) in enumerate(nodes)]
    drawn.append({"id": "out", "type": "output", "data": {}})
    edges = [
        {"id": f"e{i}", "source": one["id"], "target": two["id"]}
        for i, (one, two) in enumerate(pairwise(drawn))
    ]
    return json.dumps({"nodes": drawn, "edges": edges}, indent=1)


def loom(actions: dict[str, Any], **more: Any) -> str:
    return json.dumps({"actions": actions, **more}, indent=1)


def asking(dialect: str, text: str) -> str:
    """A file whose only step asks a model this."""
    match dialect:
        case "native":
            return native({"a": {"ask": text}})
        case "mcp-cli":
            return mcp_cli({"name": "a", "run": text})
        case "orka":
            return orka({"id": "a", "type": "openai-answer", "prompt": text})
        case "shodan":
            return shodan({"nodeType": "agent", "runner": "one", "prompt": text})
        case "studio":
            return studio(("llm", {"prompt": text}))
        case _:
            return loom({"a": {"type": "ai", "inputs": {"prompt": text}}})


def named(dialect: str, name: str) -> str:
    """A file whose only step is called so."""
    match dialect:
        case "native":
            return native({name: {"value": 1}})
        case "mcp-cli":
            return mcp_cli({"name": name, "run": "Hello"})
        case "orka":
            return orka({"id": name, "type": "openai-answer", "prompt": "Hello"})
        case "loom":
            return loom({name: {"type": "compose", "inputs": 1}})
        case _:
            text = asking(dialect, "Hello")
            return text.replace('"n0"', json.dumps(name))


# Block style, as people write it, for what only YAML can do.
YAML = {
    "native": "whorl: 1\nname: x\nsteps:\n  a: {value: 1}\n",
    "mcp-cli": "$schema: workflow/v2.0\nname: x\nversion: 1.0.0\n"
    "execution: {provider: one, model: m}\nsteps:\n  - {name: a, run: Hello}\n",
    "orka": "orchestrator:\n  id: x\n  strategy: sequential\n  agents: [a]\n"
    "agents:\n  - {id: a, type: openai-answer, prompt: Hello}\n",
    "shodan": "version: 1\nmetadata: {name: x}\nnodes:\n"
    "  - {id: n0, type: agent, data: {nodeType: agent, runner: one, prompt: Hello}}\nedges: []\n",
}
