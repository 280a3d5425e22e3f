"""An MCP server that is written with the official package, for tests."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer

server = MCPServer("tests")


@server.tool()
def add(first: int, second: int) -> int:
    """Adds two numbers."""
    return first + second


@server.tool()
def shout(text: str) -> str:
    """Says a text loudly."""
    return text.upper()
