"""The tasks `run` and `javascript`."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

from whorl.errors import ProviderError
from whorl.providers.context import OwnTask
from whorl.providers.json_values import clean
from whorl.providers.processes import (
    Program,
    check_permission,
    folder_in,
    make_workspace,
    run_program,
)
from whorl.providers.task import Emit, Inputs, Reply, Request, Usage, time_limit

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.settings import Settings

TIMEOUT_S = 600.0
# A variable of a script whose value a program must not take for one of its options.
_STEERED = re.compile(r"WHORL_[0-9]+_(\w+)")
_OPTION = re.compile(r"-[-\w]")
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
        make_workspace(self._settings.project_root, request)
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
        _check_options(inputs, name, text)
    return Program(
        argv=tuple(argv),
        environment={**settings.environment, **variables},
        folder=folder_in(settings.project_root, inputs.text("folder")),
        stdin=clean(inputs.text("stdin")).encode(),
    )


def _check_options(inputs: Inputs, name: str, text: str) -> None:
    """Refuses a value that a program would take for an option; its variable names the program."""
    named = _STEERED.fullmatch(name)
    if named and _OPTION.match(text):
        inputs.refuse(
            "run",
            f"hands {named[1]!r} a value that begins with '-', which it would take for an option; "
            "write `--` before the value, or the option and the value as one word",
        )


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
