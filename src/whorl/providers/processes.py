"""The task `run`, and how programs run: with permission, in a process group that ends with the
call, with bounded output.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import re
import signal
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from whorl.errors import ProviderError
from whorl.ir.checks.commands import is_steering
from whorl.ir.values import workspace_of
from whorl.lazily import dataclass
from whorl.providers.json_values import clean, shorten
from whorl.providers.settings import permit_command
from whorl.providers.task import Emit, Inputs, OwnTask, Reply, Request, Usage, time_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whorl.language import Json
    from whorl.providers.settings import Settings

P = TypeVar("P", bound=asyncio.SubprocessProtocol)

OUTPUT_MAX = 1_000_000
GRACE_S = 2.0
REAP_S = 10.0
# How long output may still come from a program that has ended, before what it left is killed.
DRAIN_S = 0.5
LINE_MAX = 300


@dataclass(frozen=True, slots=True)
class Program:
    """A program to start: without a shell, with only `environment`; stdin None is written later."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folder: str
    stdin: bytes | None = b""


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a program. `cut` names the outputs whose middle was left out."""

    stdout: str
    stderr: str
    exit_code: int
    cut: tuple[str, ...] = ()


def check_permission(settings: Settings, program: str, what: str = "") -> None:
    if not settings.allow.permits_command(program):
        advice = f"to permit it, write {permit_command(settings.allow, program)}"
        why = f"{what or repr(program)} was not started; {advice}"
        raise ProviderError(f"commands are not allowed: {why}", code="R110")


def folder_in(root: str, folder: str) -> str:
    top = Path(root).resolve()
    why = "must be a path below the project's folder"
    if not folder.startswith(("~", "/")) and "\0" not in folder and "\\" not in folder:
        path = (top / folder).resolve()
        why = "does not exist"
        if path != top and top not in path.parents:
            why = "leads out of the project's folder"
        elif path.is_dir():
            return str(path)
    raise ProviderError(f"folder {folder!r} {why}", code="P113")


def make_workspace(root: str, request: Request) -> None:
    """Makes the folder for the run's own files, if the inputs mention it."""
    own = workspace_of(request.run)
    if not request.run or own not in json.dumps(request.inputs):
        return
    top = Path(root).resolve()
    path = (top / own).resolve()
    if path != top / own:
        raise ProviderError(f"folder {own!r} is a symbolic link", code="P125")
    path.mkdir(parents=True, exist_ok=True)


async def run_program(
    program: Program, emit: Emit, *, output_max: int = OUTPUT_MAX, is_followed: bool = False
) -> Finished:
    """Runs a program to its end; if cancelled, it first stops the whole group.

    `emit` receives the kept part of the output, or all of it if it `is_followed`.
    """
    stdout, stderr = _Output(output_max, emit), _Output(output_max, lambda text: None)
    stdout.is_followed = is_followed
    transport, watch = await _start(program, {1: stdout, 2: stderr})
    try:
        stdin = transport.get_pipe_transport(0)
        if isinstance(stdin, asyncio.WriteTransport):
            # The program need not read it.
            stdin.write(program.stdin or b"")
            stdin.write_eof()
        await watch.exited.wait()
        await watch.drain()
    finally:
        await asyncio.shield(_stop(transport, watch))
    named = (("stdout", stdout), ("stderr", stderr))
    cut = tuple(name for name, output in named if output.left_out)
    return Finished(stdout.text(), stderr.text(), transport.get_returncode() or 0, cut)


class _Watch(asyncio.SubprocessProtocol):
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

    async def drain(self) -> None:
        """Waits briefly for the end of the output: a process that holds the pipes may live on."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.drained.wait(), DRAIN_S)


async def start_program(
    program: Program, protocol: Callable[[], P]
) -> tuple[asyncio.SubprocessTransport, P]:
    """Starts a program in its own process group. Raises OSError or ValueError."""
    return await asyncio.get_running_loop().subprocess_exec(
        protocol,
        *program.argv,
        stdin=DEVNULL if program.stdin == b"" else PIPE,
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
        why, exit_code = f"cannot be started ({cause}); pass long texts through stdin", 126
    detail = {"stdout": "", "stderr": "", "exit_code": exit_code, "unsent": True}
    raise ProviderError(f"command {program.argv[0]!r} {why}", code="P109", detail=detail)


async def _stop(transport: asyncio.SubprocessTransport, watch: _Watch) -> None:
    """Stops all processes of the group, SIGTERM first, and closes the pipes."""
    await end_group(transport, watch.exited, (signal.SIGTERM,))
    await watch.exited.wait()
    await watch.drain()
    transport.close()


async def end_group(
    transport: asyncio.SubprocessTransport,
    exited: asyncio.Event,
    signals: tuple[signal.Signals | None, ...],
) -> None:
    """Ends a program and its group by one signal after the other (None: only waits)."""
    for number in signals:
        if exited.is_set():
            break
        if number is not None:
            _signal_group(transport, number)
        with suppress(TimeoutError):
            await asyncio.wait_for(exited.wait(), GRACE_S)
    # A killed process takes a moment to end; a process that is not reaped never does.
    last = time.monotonic() + GRACE_S
    while _signal_group(transport, signal.SIGKILL) and time.monotonic() < last:
        await asyncio.sleep(0.01)
    # Its own end is heard of in any case, on a busy machine later.
    with suppress(TimeoutError):
        await asyncio.wait_for(exited.wait(), REAP_S)


def _signal_group(transport: asyncio.SubprocessTransport, number: signal.Signals) -> bool:
    """Sends a signal to the group; returns whether the group has a process."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(transport.get_pid(), number)
        return True
    return False


class _Output:
    """The first and the last half of an output; the middle is counted and left out."""

    def __init__(self, limit: int, emit: Emit) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.left_out = 0
        self.is_followed = False
        self._emit = emit
        self._emitted = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, piece: bytes) -> None:
        if self.is_followed or self._emitted < 2 * self._half:
            self._emitted += len(piece)
            if text := self._decoder.decode(piece):
                self._emit(text)
        room = self._half - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:]
        over = max(len(self._tail) - self._half, 0)
        del self._tail[:over]
        self.left_out += over

    def end(self) -> None:
        if rest := self._decoder.decode(b"", final=True):
            self._emit(rest)

    def text(self) -> str:
        if not self.left_out:
            return (self._head + self._tail).decode("utf-8", "replace")
        head, tail = self._head.decode("utf-8", "replace"), self._tail.decode("utf-8", "replace")
        return f"{head}\n[{self.left_out} bytes left out]\n{tail}"


class ServerErrors:
    """The faults of one server: network errors, a refusal, the program's stderr."""

    def __init__(self) -> None:
        self.faults: deque[ProviderError] = deque(maxlen=5)
        self.refusal: ProviderError | None = None
        self.stderr = bytearray()

    def summary(self) -> str:
        lines = self.stderr.decode("utf-8", "replace").strip().splitlines()
        last_line = clean(lines[-1].strip()) if lines else ""
        # The mark tells that a secret at the end may be one of which only a part is there.
        last_line = last_line if len(last_line) <= LINE_MAX else f"{last_line[:LINE_MAX]}…"
        last = f"; it said: {last_line}" if lines else ""
        return f"; {self.refusal}{last}" if self.refusal else last


# The task `run`.

TIMEOUT_S = 600.0
# A variable of a script whose value a program must not take for one of its options.
_STEERED = re.compile(r"WHORL_[0-9]+_(\w+)")
_OPTION = re.compile(r"-[-\w]")


class Command(OwnTask):
    """Inputs: argv, or script with variables and shell; folder, env, stdin, check, stop_after_s.

    `steered` names the words of argv that must be no options.
    The value is `{stdout, stderr, exit_code}`. Another exit code than 0 is an error unless `check`
    is false. With `stop_after_s` a command that takes longer is stopped without an error: the
    value has `timed_out` then, and no exit code.
    """

    async def perform(self, request: Request, emit: Emit) -> Reply:
        inputs = Inputs(request.kind or "run", request.inputs)
        make_workspace(self._settings.project_root, request)
        program = program_of(inputs, self._settings)
        timeout_s = request.timeout_s or TIMEOUT_S
        own_s = inputs.number("stop_after_s")
        if own_s is not None:
            timeout_s = min(timeout_s, max(own_s, 0.0))
        try:
            async with time_limit(timeout_s, late(f"command {program.argv[0]!r}", timeout_s)):
                finished = await run_program(program, emit)
        except ProviderError as fault:
            if fault.code != "P108" or timeout_s != own_s:
                raise
            stopped: Json = {"stdout": "", "stderr": "", "exit_code": None, "timed_out": True}
            return Reply(stopped, Usage(calls=1))
        detail: dict[str, Json] = {"exit_code": finished.exit_code}
        value = {"stdout": finished.stdout, "stderr": finished.stderr, **detail}
        if finished.cut:
            detail["cut"] = list(finished.cut)
            words = f"the middle of {' and '.join(finished.cut)} was left out, since more than "
            words += f"{OUTPUT_MAX:,} bytes came; write them to a file, or print less"
            detail["warnings"] = [{"code": "R117", "message": words}]
        if finished.exit_code != 0 and inputs.flag("check", default=True):
            last = last_line(finished.stderr.strip() or finished.stdout)
            why = f"command {program.argv[0]!r} ended with exit code {finished.exit_code}{last}"
            # Only a step with `retry` is tried again: its author says that it may help.
            raise ProviderError(why, code="P109", retryable=True, detail={**value, **detail})
        return Reply(value, Usage(calls=1), detail)


def program_of(inputs: Inputs, settings: Settings) -> Program:
    argv = [clean(item) if isinstance(item, str) else str(item) for item in inputs.items("argv")]
    if not argv:
        argv = [inputs.text("shell", "sh"), "-c", clean(inputs.needed("script"))]
    if any("\0" in word for word in argv):
        inputs.refuse("argv", "contains a NUL character, which no command line can")
    check_permission(settings, argv[0])
    variables = {**inputs.texts("env"), **inputs.texts("variables")}
    for name, text in variables.items():
        if not name or "=" in name or "\0" in name + text:
            inputs.refuse("env", f"holds {name!r}, which cannot be a variable")
        if is_steering(name) and settings.allow.commands is not True:
            inputs.refuse("env", f"sets {name!r}, which could start a program without permission")
        if named := _STEERED.fullmatch(name):
            _check_option(inputs, named[1], text)
    for place in inputs.items("steered"):
        _check_option(inputs, os.path.basename(argv[0]), argv[int(str(place))])
    return Program(
        argv=tuple(argv),
        environment={**settings.environment, **variables},
        folder=folder_in(settings.project_root, inputs.text("folder")),
        stdin=clean(inputs.text("stdin")).encode(),
    )


def _check_option(inputs: Inputs, program: str, text: str) -> None:
    """Refuses a value that a program would take for an option."""
    if _OPTION.match(text):
        inputs.refuse(
            "run",
            f"hands {program!r} a value that begins with '-', which it would read as an option; "
            "write `--` before the value, or the option and the value as one word",
        )


def late(what: str, seconds: float) -> str:
    return f"{what} took longer than {seconds:g} s and was stopped; raise timeout of the step"


def last_line(output: str) -> str:
    lines = output.strip().splitlines()
    return f": {shorten(lines[-1], 300)}" if lines else ""
