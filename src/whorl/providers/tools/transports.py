"""The transports of MCP servers: a program by its lines, an address by the outbound client."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, jsonrpc_message_adapter

from whorl.errors import ProviderError
from whorl.providers.json_values import beside
from whorl.providers.outbound import client as http_client
from whorl.providers.outbound.addresses import origin_of
from whorl.providers.outbound.client import Credential, Outbound, OutboundCall, Received
from whorl.providers.processes import Program, ServerErrors, end_group, start_program

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams

    from whorl.providers.settings import ToolServer

    Messages = MemoryObjectReceiveStream[SessionMessage | Exception]
    Sent = MemoryObjectSendStream[SessionMessage]

LINE_MAX = 10_000_000
STDERR_MAX = 4_000
# A stream on which a server tells news stays open; a request has the time of its step.
CALL_S = 600.0
NEWS_S = 3_600.0
NEWS_AT_ONCE = 200
NEWS_PAUSE_S = 0.002
# Set by the outbound client itself; an encoding that it did not ask for could not be read.
_OWN = frozenset({"host", "content-length", "connection", "accept-encoding", "user-agent"})
_UNDONE = frozenset({"content-encoding", "content-length", "transfer-encoding"})


@asynccontextmanager
async def program_streams(
    program: Program, errors: ServerErrors
) -> AsyncIterator[tuple[Messages, Sent]]:
    """Starts the program; yields the streams of messages that a session needs."""
    try:
        transport, watch = await start_program(program, lambda: _Watch(errors))
    except (OSError, ValueError) as cause:
        why = f"cannot be started ({cause}); check its name and PATH"
        raise ProviderError(f"command {program.argv[0]!r} {why}", code="P120") from cause
    received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, wanted = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_read, watch.lines, received, errors)
            group.start_soon(_write, transport, wanted)
            try:
                yield incoming, outgoing
            finally:
                group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            # As the protocol wants it: no more input, a signal, the last signal.
            if (stdin := transport.get_pipe_transport(0)) is not None:
                stdin.close()
            await end_group(transport, watch.exited, (None, signal.SIGTERM, signal.SIGKILL))
            transport.close()
        for stream in (received, incoming, outgoing, wanted):
            stream.close()


class _Watch(asyncio.SubprocessProtocol):
    """Reads the output, and notices the program's end even if its pipes stay open."""

    def __init__(self, errors: ServerErrors) -> None:
        self.exited = asyncio.Event()
        self.lines = asyncio.StreamReader(limit=LINE_MAX)
        self._errors = errors

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        output = transport.get_pipe_transport(1)
        assert output is not None
        # A server that says more than is read has to wait.
        self.lines.set_transport(output)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self.lines.feed_data(data)
        else:
            self._errors.stderr += data
            del self._errors.stderr[:-STDERR_MAX]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self.lines.feed_eof()

    def process_exited(self) -> None:
        self.exited.set()


async def _read(
    lines: asyncio.StreamReader,
    received: MemoryObjectSendStream[SessionMessage | Exception],
    errors: ServerErrors,
) -> None:
    async with received:
        try:
            news = 0
            while line := await lines.readline():
                message: SessionMessage | Exception
                try:
                    parse = partial(jsonrpc_message_adapter.validate_json, line, by_name=False)
                    parsed = await beside(parse, len(line))
                    message = SessionMessage(parsed)
                except ValueError as cause:
                    message, parsed = cause, None
                if isinstance(parsed, JSONRPCNotification):
                    # Notifications are not used. A server that sends many has to wait, because
                    # the other work of this process would wait otherwise.
                    news += 1
                    if news % NEWS_AT_ONCE == 0:
                        await asyncio.sleep(NEWS_PAUSE_S)
                    continue
                await received.send(message)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
        except ValueError:
            # A line over its limit, like the end of the program, ends the session.
            errors.faults.append(http_client.too_large("it", LINE_MAX))


async def _write(
    transport: asyncio.SubprocessTransport, wanted: MemoryObjectReceiveStream[SessionMessage]
) -> None:
    stdin = transport.get_pipe_transport(0)
    assert isinstance(stdin, asyncio.WriteTransport)
    async with wanted:
        async for sent in wanted:
            text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
            stdin.write(text.encode("utf-8", "replace") + b"\n")


@asynccontextmanager
async def web_streams(
    server: ToolServer, outbound: Outbound, errors: ServerErrors
) -> AsyncIterator[TransportStreams]:
    transport = _Transport(server, outbound, errors)
    async with (
        httpx2.AsyncClient(transport=transport, trust_env=False) as client,
        streamable_http_client(server.url, http_client=client) as streams,
    ):
        yield streams


class _Transport(httpx2.AsyncBaseTransport):
    """Passes the requests of the MCP library to the outbound client, with all its checks."""

    def __init__(self, server: ToolServer, outbound: Outbound, errors: ServerErrors) -> None:
        self._outbound = outbound
        self._errors = errors
        self._origin = origin_of(server.url)
        self._credential = Credential(self._origin, server.headers) if server.headers else None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        is_news = request.method == "GET"
        call = OutboundCall(
            method=request.method,
            url=str(request.url),
            headers=tuple((k, v) for k, v in request.headers.items() if k.lower() not in _OWN),
            body=await request.aread(),
            credential=self._credential,
            of_operator=origin_of(str(request.url)) == self._origin,
            timeout_s=NEWS_S if is_news else CALL_S,
            read_s=NEWS_S if is_news else CALL_S,
        )
        stack = AsyncExitStack()
        try:
            reply = await stack.enter_async_context(self._outbound.stream(call))
        except ProviderError as fault:
            self._errors.faults.append(fault)
            raise httpx2.ConnectError(str(fault), request=request) from fault
        if not is_news:
            is_refused = reply.status >= 400
            refusal = http_client.status_fault(reply.what, reply.status, reply.headers, "")
            self._errors.refusal = refusal if is_refused else None
        headers = {k: v for k, v in reply.headers.items() if k not in _UNDONE}
        body = _Body(reply, stack, self._errors)
        return httpx2.Response(reply.status, headers=headers, stream=body, request=request)


class _Body(httpx2.AsyncByteStream):
    def __init__(self, reply: Received, stack: AsyncExitStack, errors: ServerErrors) -> None:
        self._reply = reply
        self._stack = stack
        self._errors = errors

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._reply.chunks():
                yield piece
        except ProviderError as fault:
            self._errors.faults.append(fault)
            raise httpx2.ReadError(str(fault)) from fault

    async def aclose(self) -> None:
        await self._stack.aclose()
