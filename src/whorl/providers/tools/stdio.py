"""An MCP server that is a program: its lines are bounded, and its whole group ends with us."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import PIPE
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from whorl.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from whorl.providers.programs import Program
    from whorl.providers.tools.trouble import Trouble

    Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
    Outgoing = MemoryObjectSendStream[SessionMessage]

LINE_MAX = 10_000_000
GRACE_S = 2.0


@asynccontextmanager
async def program_streams(
    program: Program, trouble: Trouble
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Starts the program; gives the streams of messages that a session needs."""
    transport, watch = await _start(program, trouble)
    told, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, wanted = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_read, watch.lines, told)
            group.start_soon(_write, transport, wanted)
            try:
                yield incoming, outgoing
            finally:
                group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await _stop(transport, watch)
        for stream in (told, incoming, outgoing, wanted):
            stream.close()


class _Watch(asyncio.SubprocessProtocol):
    """Takes in output as it comes, and knows when the program ended, whoever holds its pipes."""

    def __init__(self, trouble: Trouble) -> None:
        self.exited = asyncio.Event()
        self.lines = asyncio.StreamReader(limit=LINE_MAX)
        self._trouble = trouble

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
            self._trouble.hear(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self.lines.feed_eof()

    def process_exited(self) -> None:
        self.exited.set()


async def _start(program: Program, trouble: Trouble) -> tuple[asyncio.SubprocessTransport, _Watch]:
    try:
        return await asyncio.get_running_loop().subprocess_exec(
            lambda: _Watch(trouble),
            *program.argv,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=dict(program.environment),
            cwd=program.folder,
            start_new_session=True,
        )
    except (OSError, ValueError) as cause:
        raise ProviderError(
            f"command {program.argv[0]!r} cannot be started ({cause}); check its name and PATH",
            code="P120",
        ) from cause


async def _read(
    lines: asyncio.StreamReader, told: MemoryObjectSendStream[SessionMessage | Exception]
) -> None:
    async with told:
        # A line over its limit, like the end of the program, ends the session.
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, ValueError):
            while line := await lines.readline():
                await told.send(_message(line))


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as cause:
        return cause


async def _write(
    transport: asyncio.SubprocessTransport, wanted: MemoryObjectReceiveStream[SessionMessage]
) -> None:
    stdin = transport.get_pipe_transport(0)
    assert isinstance(stdin, asyncio.WriteTransport)
    async with wanted:
        async for sent in wanted:
            text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
            stdin.write(text.encode("utf-8", "replace") + b"\n")


async def _stop(transport: asyncio.SubprocessTransport, watch: _Watch) -> None:
    """Ends the program as its protocol wants it: no more input, a signal, the last signal."""
    stdin = transport.get_pipe_transport(0)
    if stdin is not None:
        stdin.close()
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            _signal(transport, number)
        with suppress(TimeoutError):
            await asyncio.wait_for(watch.exited.wait(), GRACE_S)
            break
    # What the program started may have outlived it.
    _signal(transport, signal.SIGKILL)
    transport.close()


def _signal(transport: asyncio.SubprocessTransport, number: signal.Signals) -> None:
    # The group has the number of its first process, and outlives it while others are in it.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(transport.get_pid(), number)
