"""The tasks `run` and `javascript`, and how any program runs: only with permission, in its own
process group, its output bounded, and nothing of it outliving it.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import shutil
import signal
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from whorl.errors import ProviderError
from whorl.providers.json_values import clean
from whorl.providers.task import Inputs, OwnTask, Reply, Usage, time_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whorl.language import Json
    from whorl.providers.settings import Settings
    from whorl.providers.task import Emit, Request

P = TypeVar("P", bound=asyncio.SubprocessProtocol)

TIMEOUT_S = 600.0
OUTPUT_MAX = 1_000_000
GRACE_S = 2.0
# How long output may still come from a program that has ended, before what it left is killed.
DRAIN_S = 0.5
# Variables that make a program run others, or read files that do.
_STEERING = frozenset(
    (
        *("PATH", "HOME", "GCONV_PATH", "NLSPATH", "TERMINFO", "ENV", "BASH_ENV", "BASHOPTS"),
        *("SHELL", "SHELLOPTS", "IFS", "PS4", "PROMPT_COMMAND", "ZDOTDIR", "FPATH", "CDPATH"),
        *("EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "LESSKEY"),
        *("CLASSPATH", "RUBYOPT", "RUBYLIB", "RUBYSHELL", "PHPRC", "PHP_INI_SCAN_DIR", "RUSTC"),
        *("RUSTC_WRAPPER", "RUSTFLAGS", "GOFLAGS", "CC", "CXX", "LD", "MAKE", "MAKEFLAGS"),
        *("MAKEFILES", "TAR_OPTIONS", "CURL_HOME", "WGETRC", "RSYNC_RSH", "VIMINIT", "EXINIT"),
        *("EMACSLOADPATH", "DOCKER_HOST", "KUBECONFIG", "CONFIG_SITE"),
    )
)
_STEERING_FAMILIES = (
    *("LD_", "DYLD_", "XDG_", "BASH_FUNC_", "GIT_", "SSH_", "PYTHON", "NODE_", "NPM_", "PERL"),
    *("GEM_", "BUNDLE_", "LUA_", "JAVA_", "_JAVA_", "JDK_", "MAVEN_", "GRADLE_", "DOTNET_"),
    *("CORECLR_", "CARGO_", "CMAKE_"),
)

NODE = "node"
NODE_TIMEOUT_S = 60.0
# The result stands alone on the last line, behind this mark and whatever the body prints.
MARK = "\x1ewhorl:"
RUNNER = """
const mark = process.argv[1];
let text = '';
for await (const part of process.stdin) text += part;
const { code, module, name, inputs } = JSON.parse(text);
const { stripTypeScriptTypes } = await import('node:module');
const strip = (source) => {
  try { return stripTypeScriptTypes(source); }
  catch (fault) {
    if (fault.code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') throw fault;
    return stripTypeScriptTypes(source, { mode: 'transform' });
  }
};
const load = (source) => import('data:text/javascript,' + encodeURIComponent(source));
const wrap = (source) => `export default async function (inputs) {\\n${source}\\n}`;
let isRead = false;
try {
  const source = module ? code : wrap(code);
  let loaded;
  try { loaded = await load(source); }
  catch (fault) {
    if (!(fault instanceof SyntaxError) || !stripTypeScriptTypes) throw fault;
    loaded = await load(strip(source));
  }
  isRead = true;
  if (typeof loaded.default !== 'function') throw new Error('there is no default export');
  const value = await loaded.default(inputs);
  console.log('\\n' + mark + JSON.stringify({ value: value === undefined ? null : value }));
} catch (fault) {
  const message = fault instanceof Error ? `${fault.name}: ${fault.message}` : String(fault);
  const hint = fault instanceof SyntaxError && !isRead && !stripTypeScriptTypes
    ? `; ${/\\.[cm]?ts$/.test(name) ? 'it' : 'if it'} is TypeScript: Node ${process.version} `
      + 'cannot read that; install Node 22.13 or newer, or write it in JavaScript' : '';
  console.log('\\n' + mark + JSON.stringify({ error: message + hint }));
}
"""


class Command(OwnTask):
    """Inputs: argv, or script with variables and shell; folder, env, stdin, check, stop_after_s.

    The value is `{stdout, stderr, exit_code}`. Another exit code than 0 is an error unless `check`
    is false. With `stop_after_s` a command that takes longer is stopped, which is no error: the
    value has `timed_out` then, and no exit code.
    """

    async def perform(self, request: Request, emit: Emit) -> Reply:
        inputs = Inputs(request.kind or "run", request.inputs)
        program = program_of(inputs, self._settings)
        timeout_s = request.timeout_s or TIMEOUT_S
        own_s = inputs.number("stop_after_s")
        if own_s is not None:
            timeout_s = min(timeout_s, max(own_s, 0.0))
        try:
            async with time_limit(timeout_s, _late(f"command {program.argv[0]!r}", timeout_s)):
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
        if finished.exit_code != 0 and inputs.flag("check", default=True):
            last = _last_line(finished.stderr.strip() or finished.stdout)
            why = f"command {program.argv[0]!r} ended with exit code {finished.exit_code}{last}"
            # Only a step with `retry` is tried again: its author says that it may help.
            raise ProviderError(why, code="P109", retryable=True, detail={**value, **detail})
        return Reply(value, Usage(calls=1), detail)


def program_of(inputs: Inputs, settings: Settings) -> Program:
    argv = [clean(item) if isinstance(item, str) else str(item) for item in inputs.items("argv")]
    if not argv:
        argv = [inputs.text("shell", "sh"), "-c", clean(inputs.needed("script"))]
    if any("\0" in word for word in argv):
        inputs.refuse("argv", "holds a NUL character, which no command line can")
    check_permission(settings, argv[0])
    variables = {**inputs.texts("env"), **inputs.texts("variables")}
    for name, text in variables.items():
        if not name or "=" in name or "\0" in name + text:
            inputs.refuse("env", f"holds {name!r}, which cannot be a variable")
        steers = name.upper() in _STEERING or name.upper().startswith(_STEERING_FAMILIES)
        if steers and settings.allow.commands is not True:
            inputs.refuse("env", f"sets {name!r}, which could start a program without permission")
    return Program(
        argv=tuple(argv),
        environment={**settings.environment, **variables},
        folder=folder_in(settings.project_root, inputs.text("folder")),
        stdin=clean(inputs.text("stdin")).encode(),
    )


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


class JavaScript(OwnTask):
    """Inputs: code (a body, or with `module` a module), inputs, name. Gives what it returns."""

    async def perform(self, request: Request, emit: Emit) -> Reply:
        inputs = Inputs("javascript", request.inputs)
        check_node(self._settings)
        function: dict[str, Json] = {
            "code": clean(inputs.needed("code")),
            "module": inputs.flag("module"),
            "name": inputs.text("name"),
            "inputs": inputs.table("inputs"),
        }
        program = Program(
            argv=(NODE, "--input-type=module", "--no-warnings", "-e", RUNNER, MARK),
            environment=self._settings.environment,
            folder=self._settings.project_root,
            stdin=json.dumps(function).encode(),
        )
        timeout_s = request.timeout_s or NODE_TIMEOUT_S
        async with time_limit(timeout_s, _late("a function", timeout_s)):
            finished = await run_program(program, emit)
        _, mark, result = finished.stdout.rpartition(MARK)
        try:
            returned = json.loads(result) if mark else None
        except ValueError:
            returned = None
        if not isinstance(returned, dict):
            last = _last_line(finished.stderr)
            message = f"a function gave no result (exit code {finished.exit_code}){last}"
            raise ProviderError(message, code="P109")
        if "error" in returned:
            raise ProviderError(f"a function failed: {str(returned['error'])[:500]}", code="P109")
        return Reply(returned.get("value"), Usage(calls=1), {"exit_code": finished.exit_code})


def check_node(settings: Settings) -> None:
    """Raises ProviderError when functions may not run, or cannot: no permission, no Node."""
    check_permission(settings, NODE)
    if shutil.which(NODE, path=settings.environment.get("PATH", "")) is None:
        why = "was not found on PATH, and functions need it; install Node.js"
        raise ProviderError(f"{NODE!r} {why}", code="P109")


def _late(what: str, seconds: float) -> str:
    return f"{what} took longer than {seconds:g} s and was stopped; raise timeout of the step"


def _last_line(output: str) -> str:
    lines = output.strip().splitlines()
    return f": {lines[-1][:300]}" if lines else ""


@dataclass(frozen=True, slots=True)
class Program:
    """No shell reads `argv`, `environment` is all that it sees, stdin of None is written later."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folder: str
    stdin: bytes | None = b""


@dataclass(frozen=True, slots=True)
class Finished:
    """How it ended. `cut` names the outputs whose middle was left out."""

    stdout: str
    stderr: str
    exit_code: int
    cut: tuple[str, ...] = ()


def check_permission(settings: Settings, program: str, what: str = "") -> None:
    if not settings.allow.permits_command(program):
        advice = f'set [allow] commands = true, or commands = ["{program}"], in whorl.toml'
        why = f"{what or repr(program)} was not started; to allow it, {advice}"
        raise ProviderError(f"commands are not allowed: {why}", code="R110")


async def run_program(program: Program, emit: Emit, *, output_max: int = OUTPUT_MAX) -> Finished:
    """Runs it to its end; when cancelled, its whole group is stopped first."""
    stdout, stderr = _Output(output_max, emit), _Output(output_max, lambda text: None)
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
        """Waits a moment for the end of the output: who has the pipes may live on."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.drained.wait(), DRAIN_S)


async def start_program(
    program: Program, protocol: Callable[[], P]
) -> tuple[asyncio.SubprocessTransport, P]:
    """Starts it in a process group of its own; raises OSError or ValueError."""
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
        why, exit_code = f"cannot be started ({cause}); pass long texts on stdin", 126
    detail = {"stdout": "", "stderr": "", "exit_code": exit_code}
    raise ProviderError(f"command {program.argv[0]!r} {why}", code="P109", detail=detail)


async def _stop(transport: asyncio.SubprocessTransport, watch: _Watch) -> None:
    """Ends whatever is left of the group, asking first, and lets the pipes go."""
    await end_group(transport, watch.exited, (signal.SIGTERM,))
    await watch.exited.wait()
    await watch.drain()
    transport.close()


async def end_group(
    transport: asyncio.SubprocessTransport,
    exited: asyncio.Event,
    signals: tuple[signal.Signals | None, ...],
) -> None:
    """Ends a program and all of its group by one signal after the other (None: only waits)."""
    for number in signals:
        if exited.is_set():
            break
        if number is not None:
            _signal_group(transport, number)
        with suppress(TimeoutError):
            await asyncio.wait_for(exited.wait(), GRACE_S)
    _signal_group(transport, signal.SIGKILL)


def _signal_group(transport: asyncio.SubprocessTransport, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(transport.get_pid(), number)


class _Output:
    """The first and the last half of an output; what is between is counted and left out."""

    def __init__(self, limit: int, emit: Emit) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.left_out = 0
        self._emit = emit
        self._emitted = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, piece: bytes) -> None:
        if self._emitted < 2 * self._half:
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
