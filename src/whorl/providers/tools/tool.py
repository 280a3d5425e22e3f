"""The task `tool`: calls a tool of an MCP server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from whorl.errors import ProviderError
from whorl.providers.inputs import Inputs
from whorl.providers.task import Estimate, Reply, Usage

if TYPE_CHECKING:
    from whorl.providers.context import Context
    from whorl.providers.task import Effect, Emit, Request


class Tool:
    """Inputs: server, tool, arguments, and pin: the hash of the tool's description, if known.

    The value is the structured result of the tool, or its text.
    """

    effect: Effect = "outside"

    def __init__(self, context: Context) -> None:
        self._servers = context.servers
        self._settings = context.settings

    def estimate(self, request: Request) -> Estimate:
        """A call, without a price."""
        return Estimate(calls=1)

    async def perform(self, request: Request, emit: Emit) -> Reply:
        """Calls it. Raises ProviderError."""
        inputs = Inputs("tool", request.inputs)
        server, tool = inputs.needed("server"), inputs.needed("tool")
        known = self._settings.mcp.get(server)
        timeout_s = request.timeout_s or (known.timeout_s if known else 60.0)
        try:
            async with asyncio.timeout(timeout_s) as deadline:
                value, pin = await self._servers.call(
                    server,
                    tool,
                    inputs.table("arguments"),
                    run=request.run,
                    pin=inputs.text("pin"),
                )
        except TimeoutError:
            if not deadline.expired():
                raise
            raise ProviderError(
                f"tool {tool!r} of MCP server {server!r} took longer than {timeout_s:g} s; raise "
                f"timeout of the step, or timeout_s of [mcp.{server}]",
                code="P108",
                retryable=True,
            ) from None
        return Reply(value, Usage(calls=1), {"tool": f"{server}/{tool}", "pin": pin})
