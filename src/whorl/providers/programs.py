"""Runs a program in its own process group: its output is bounded, and nothing of it outlives it."""

from __future__ import annotations

import asyncio
import codecs
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from whorl.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whorl.providers.settings import Settings
    from whorl.providers.task import Emit

P = TypeVar("P", bound=asyncio.SubprocessProtocol)

OUTPUT_MAX = 1_000_000
GRACE_S = 2.0
# How long output may still come from a program that has ended, before what it left is killed.
DRAIN_S = 0.5


@dataclass(frozen=True, slots=True)
class Program:
    """What is started: no shell reads `argv`, and `environment` is all that it sees."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folder: str
    stdin: bytes | None = b""

    @property
    def takes_input(self) -> bool:
        """Whether it has an input: a text, or (None) one that is written later."""
        return self.stdin is None or bool(self.stdin)


@dataclass(frozen=True, slots=True)
class Finished:
    """How it ended. `cut` names the outputs whose middle was left out."""

    stdout: str
    stderr: str
    exit_code: int
    cut: tuple[str, ...] = ()


def check_permission(settings: Settings, program: str, what: str = "") -> None:
    """Raises ProviderError R110 unless the operator permits that a program is started."""
    if not settings.allow.permits_command(program):
        raise ProviderError(
            f"commands are not allowed: {what or repr(program)} was not started; to allow it, set "
            f'[allow] commands = true, or commands = ["{program}"], in whorl.toml',
            code="R110",
        )


async def run_program(program: Program, emit: Emit, *, output_max: int = OUTPUT_MAX) -> Finished:
    """Runs it to its end; when cancelled, its whole group is stopped first."""
    outputs = {1: _Output(output_max, emit), 2: _Output(output_max, None)}
    transport, watch = await _start(program, outputs)
    try:
        stdin = transport.get_pipe_transport(0)
        if isinstance(stdin, asyncio.WriteTransport):
            # The program need not read it.
            stdin.write(program.stdin or b"")
            stdin.write_eof()
        await watch.exited.wait()
        with suppress(TimeoutError):
            await asyncio.wait_for(watch.drained.wait(), DRAIN_S)
    finally:
        await asyncio.shield(_stop(transport, watch))
    texts = {number: output.text() for number, output in outputs.items()}
    cut = tuple(name for number, name in ((1, "stdout"), (2, "stderr")) if outputs[number].is_cut)
    return Finished(texts[1], texts[2], transport.get_returncode() or 0, cut)


class _Watch(asyncio.SubprocessProtocol):
    """Takes in output as it comes, and knows when the program ended, whoever holds its pipes."""

    def __init__(self, outputs: Mapping[int, _Output]) -> None:
        self.exited = asyncio.Event()
        self.drained = asyncio.Event()
        self._outputs = outputs
        self._open = set(outputs)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._outputs[fd].add(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd in self._open:
            self._open.discard(fd)
            self._outputs[fd].end()
        if not self._open:
            self.drained.set()

    def process_exited(self) -> None:
        self.exited.set()


async def start_program(
    program: Program, protocol: Callable[[], P]
) -> tuple[asyncio.SubprocessTransport, P]:
    """Starts it in a process group of its own; raises OSError or ValueError."""
    return await asyncio.get_running_loop().subprocess_exec(
        protocol,
        *program.argv,
        stdin=PIPE if program.takes_input else DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        env=dict(program.environment),
        cwd=program.folder,
        start_new_session=True,
    )


async def _start(
    program: Program, outputs: Mapping[int, _Output]
) -> tuple[asyncio.SubprocessTransport, _Watch]:
    try:
        return await start_program(program, lambda: _Watch(outputs))
    except FileNotFoundError:
        why, exit_code = "was not found; check its name and PATH", 127
    except PermissionError:
        why, exit_code = "may not be executed", 126
    except OSError as cause:
        why, exit_code = f"cannot be started ({cause}); pass long texts on stdin", 126
    raise ProviderError(
        f"command {program.argv[0]!r} {why}",
        code="P109",
        detail={"stdout": "", "stderr": "", "exit_code": exit_code},
    )


async def _stop(transport: asyncio.SubprocessTransport, watch: _Watch) -> None:
    """Ends whatever is left of the group, asking first, and lets the pipes go."""
    if not watch.exited.is_set():
        signal_group(transport, signal.SIGTERM)
        with suppress(TimeoutError):
            await asyncio.wait_for(watch.exited.wait(), GRACE_S)
    signal_group(transport, signal.SIGKILL)
    await watch.exited.wait()
    with suppress(TimeoutError):
        await asyncio.wait_for(watch.drained.wait(), DRAIN_S)
    transport.close()


def signal_group(transport: asyncio.SubprocessTransport, number: signal.Signals) -> None:
    """Sends a signal to all of a program's group, which outlives its first process."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(transport.get_pid(), number)


class _Output:
    """The first and the last half of an output; what is between is counted and left out."""

    def __init__(self, limit: int, emit: Emit | None) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._left_out = 0
        self._emit = emit
        self._emitted = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def is_cut(self) -> bool:
        return self._left_out > 0

    def add(self, piece: bytes) -> None:
        self._tell(piece)
        room = self._half - len(self._head)
        self._head += piece[:room] if room > 0 else b""
        rest = piece[max(room, 0) :]
        if not rest:
            return
        self._tail.append(rest)
        self._tail_size += len(rest)
        while self._tail_size - len(self._tail[0]) >= self._half:
            dropped = self._tail.popleft()
            self._tail_size -= len(dropped)
            self._left_out += len(dropped)

    def end(self) -> None:
        if self._emit is not None and (rest := self._decoder.decode(b"", final=True)):
            self._emit(rest)

    def text(self) -> str:
        tail = b"".join(self._tail)
        over = max(len(tail) - self._half, 0)
        self._left_out += over
        if not self._left_out:
            return (bytes(self._head) + tail).decode("utf-8", "replace")
        head = self._head.decode("utf-8", "replace")
        end = tail[over:].decode("utf-8", "replace")
        return f"{head}\n[{self._left_out} bytes left out]\n{end}"

    def _tell(self, piece: bytes) -> None:
        if self._emit is not None and self._emitted < 2 * self._half:
            self._emitted += len(piece)
            if text := self._decoder.decode(piece):
                self._emit(text)
