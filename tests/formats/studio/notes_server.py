"""A small MCP server with one tool, `search`, which knows two notes."""

from __future__ import annotations

import json
import sys
from typing import Any

NOTES = {"bees": "Bees live in hives.", "bees winter": "In winter bees keep warm in a ball."}
QUERY = {"type": "object", "properties": {"query": {"type": "string"}}}


def answer(method: str, given: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            return {
                "protocolVersion": given["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "notes", "version": "1"},
            }
        case "tools/list":
            return {"tools": [{"name": "search", "description": "Finds.", "inputSchema": QUERY}]}
        case "tools/call":
            text = NOTES.get(given["arguments"]["query"], "nothing")
            return {"content": [{"type": "text", "text": text}]}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params") or {})
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if result is None:
            reply["error"] = {"code": -32601, "message": "there is no such method"}
        else:
            reply["result"] = result
        print(json.dumps(reply), flush=True)
