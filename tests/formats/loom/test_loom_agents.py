"""Agents with a real server of models: what it is sent, and what comes of its calls."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from loom_project import Answer, run_in, web

CONFIG = """
[defaults]
provider = "own"
[providers.own]
kind = "openai"
base_url = "{url}/v1"
api_key = "k"
stream = false
"""


def agent(model: str, words: str, tools: dict[str, Any], **more: Any) -> dict[str, Any]:
    said = {"deploymentId": model, "messages": [{"role": "System", "content": words}]}
    return {"type": "Agent", "inputs": {"parameters": said}, "tools": tools, **more}


def answer(text: str = "", **calls: dict[str, Any]) -> dict[str, Any]:
    wanted = [
        {"id": f"call_{n}", "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
        for n, a in calls.items()
    ]
    message = {"role": "assistant", "content": text, "tool_calls": wanted}
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}


LOOK = {
    "description": "Look a word up",
    "agentParameterSchema": {"type": "object", "properties": {"a word": {"type": "string"}}},
    "actions": {"Find": {"type": "Compose", "inputs": "@toUpper(agentParameters('a word'))"}},
}


def test_servers_and_actions_are_tools_of_the_same_agent(tmp_path: Path) -> None:
    """The model may want both at once; what fails in a server is told to it."""
    program = Path(__file__).parents[2] / "providers" / "tool_server.py"
    both = {"own__shout": {"text": "tea"}, "Look_it": {"a word": "leaf"}}
    replies = iter([answer(**both), answer(own__shout={"loud": True}), answer("TEA of LEAF")])
    config = CONFIG + "[allow]\ncommands = true\n[mcp.own]\n"
    config += f"command = [{sys.executable!r}, {str(program)!r}]\n"
    tools = {"own": {"type": "McpClientTool", "kind": "BuiltIn", "inputs": {}}, "Look it": LOOK}
    definition = {"definition": {"actions": {"Own": agent("m", "Look.", tools)}}, "kind": "Agent"}

    with web(lambda asked: Answer(200, next(replies))) as server:
        ran = run_in(tmp_path, definition, config=config.replace("{url}", server.url))

    assert (ran.document["status"], ran.output) == ("succeeded", "TEA of LEAF")
    assert ran.document["loops"][0]["iterations"] == 3
    sent = [asked.json for asked in server.asked]
    offered = {tool["function"]["name"] for tool in sent[0]["tools"]}
    assert {"own__shout", "Look_it"} <= offered
    told = [m["content"] for m in sent[1]["messages"] if m["role"] == "tool"]
    assert ("TEA" in told[0], told[1]) == (True, "LEAF")
    assert "tool 'shout' of MCP server 'own' failed" in sent[2]["messages"][-1]["content"]
