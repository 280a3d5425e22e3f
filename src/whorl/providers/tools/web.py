"""An MCP server at an address: reached through the one way out, with all its checks and limits."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import httpx2
from mcp.client.streamable_http import streamable_http_client

from whorl.errors import ProviderError
from whorl.providers.outbound import Call, Credential, origin_of
from whorl.providers.outbound.faults import status_fault

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.client._transport import TransportStreams

    from whorl.providers.outbound import Incoming, Outbound
    from whorl.providers.settings import ToolServer
    from whorl.providers.tools.trouble import Trouble

# A stream on which a server tells news stays open; a request has the time of its step.
CALL_S = 600.0
NEWS_S = 3_600.0
# Set by the way out itself; an encoding that it did not ask for could not be read.
_OWN = frozenset({"host", "content-length", "connection", "accept-encoding", "user-agent"})
_UNDONE = frozenset({"content-encoding", "content-length", "transfer-encoding"})


@asynccontextmanager
async def web_streams(
    server: ToolServer, outbound: Outbound, trouble: Trouble
) -> AsyncIterator[TransportStreams]:
    """The streams of messages that a session needs; `trouble` takes in what went wrong."""
    transport = _Transport(server, outbound, trouble)
    async with (
        httpx2.AsyncClient(transport=transport, trust_env=False) as client,
        streamable_http_client(server.url, http_client=client) as streams,
    ):
        yield streams


class _Transport(httpx2.AsyncBaseTransport):
    """Hands the requests of the MCP library to the outbound client."""

    def __init__(self, server: ToolServer, outbound: Outbound, trouble: Trouble) -> None:
        self._server = server
        self._outbound = outbound
        self._trouble = trouble
        self._origin = origin_of(server.url)
        self._credential = (
            Credential(origin_of(server.url), server.headers) if server.headers else None
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Sends one request; its reply is read as it arrives."""
        news = request.method == "GET"
        call = Call(
            method=request.method,
            url=str(request.url),
            headers=tuple((k, v) for k, v in request.headers.items() if k.lower() not in _OWN),
            body=await request.aread(),
            credential=self._credential,
            of_operator=origin_of(str(request.url)) == self._origin,
            timeout_s=NEWS_S if news else CALL_S,
            read_s=NEWS_S if news else CALL_S,
        )
        stack = AsyncExitStack()
        try:
            incoming = await stack.enter_async_context(self._outbound.stream(call))
        except ProviderError as fault:
            self._trouble.faults.append(fault)
            raise httpx2.ConnectError(str(fault), request=request) from fault
        if not news:
            self._trouble.refusal = _refusal(incoming)
        headers = {k: v for k, v in incoming.headers.items() if k not in _UNDONE}
        body = _Body(incoming, stack, self._trouble)
        return httpx2.Response(incoming.status, headers=headers, stream=body, request=request)


def _refusal(incoming: Incoming) -> ProviderError | None:
    if incoming.status < 400:
        return None
    return status_fault(incoming.what, incoming.status, incoming.headers, "")


class _Body(httpx2.AsyncByteStream):
    """The body of a reply; closing it gives the connection back."""

    def __init__(self, incoming: Incoming, stack: AsyncExitStack, trouble: Trouble) -> None:
        self._incoming = incoming
        self._stack = stack
        self._trouble = trouble

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._incoming.chunks():
                yield piece
        except ProviderError as fault:
            self._trouble.faults.append(fault)
            raise httpx2.ReadError(str(fault)) from fault

    async def aclose(self) -> None:
        await self._stack.aclose()
