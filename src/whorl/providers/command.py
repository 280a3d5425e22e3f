"""The task `run`: a command of the operator's machine, only with leave, bounded and cleaned up."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from whorl.errors import ProviderError
from whorl.providers.inputs import Inputs
from whorl.providers.programs import Finished, Program, run_program
from whorl.providers.task import Estimate, Reply, Usage
from whorl.providers.texts import clean

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.context import Context
    from whorl.providers.settings import Settings
    from whorl.providers.task import Effect, Emit, Request

TIMEOUT_S = 600.0
# Variables that make a program run others, or read files that do.
_CHANGING = frozenset(
    (
        *("PATH", "HOME", "GCONV_PATH", "NLSPATH", "TERMINFO", "ENV", "BASH_ENV", "BASHOPTS"),
        *("SHELL", "SHELLOPTS", "IFS", "PS4", "PROMPT_COMMAND", "ZDOTDIR", "FPATH", "CDPATH"),
        *("EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "LESSOPEN", "LESSCLOSE"),
        *("LESSKEY", "CLASSPATH", "RUBYOPT", "RUBYLIB", "RUBYSHELL", "PHPRC"),
        *("PHP_INI_SCAN_DIR", "RUSTC", "RUSTC_WRAPPER", "RUSTFLAGS", "GOFLAGS", "CC", "CXX"),
        *("LD", "MAKE", "MAKEFLAGS", "MAKEFILES", "TAR_OPTIONS", "CURL_HOME", "WGETRC"),
        *("RSYNC_RSH", "VIMINIT", "EXINIT", "EMACSLOADPATH", "DOCKER_HOST", "KUBECONFIG"),
        *("CONFIG_SITE",),
    )
)
_CHANGING_FAMILIES = (
    *("LD_", "DYLD_", "XDG_", "BASH_FUNC_", "GIT_", "SSH_", "PYTHON", "NODE_", "NPM_", "PERL"),
    *("GEM_", "BUNDLE_", "LUA_", "JAVA_", "_JAVA_", "JDK_", "MAVEN_", "GRADLE_", "DOTNET_"),
    *("CORECLR_", "CARGO_", "CMAKE_"),
)


class Command:
    """Inputs: argv, or script with variables and shell; folder, env, stdin, check, stop_after_s.

    The value is `{stdout, stderr, exit_code}`. Another exit code than 0 is an error unless `check`
    is false. With `stop_after_s` a command that takes longer is stopped, which is no error: the
    value has `timed_out` then, and no exit code.
    """

    effect: Effect = "outside"

    def __init__(self, context: Context) -> None:
        self._settings = context.settings

    def estimate(self, request: Request) -> Estimate:
        """A call, without a price."""
        return Estimate(calls=1)

    async def perform(self, request: Request, emit: Emit) -> Reply:
        """Runs it to its end. Raises ProviderError."""
        inputs = Inputs(request.kind or "run", request.inputs)
        program = program_of(inputs, self._settings)
        timeout_s = request.timeout_s or TIMEOUT_S
        own_s = inputs.number("stop_after_s")
        if own_s is not None:
            timeout_s = min(timeout_s, max(own_s, 0.0))
        try:
            async with asyncio.timeout(timeout_s) as deadline:
                finished = await run_program(program, emit)
        except TimeoutError:
            if not deadline.expired():
                raise
            if timeout_s == own_s:
                stopped: Json = {"stdout": "", "stderr": "", "exit_code": None, "timed_out": True}
                return Reply(stopped, Usage(calls=1))
            raise ProviderError(
                f"command {program.argv[0]!r} took longer than {timeout_s:g} s and was stopped; "
                "raise timeout of the step",
                code="P108",
                retryable=True,
            ) from None
        value = _value(finished)
        if finished.exit_code != 0 and inputs.flag("check", default=True):
            raise _failed(program, finished, value)
        detail: dict[str, Json] = {"exit_code": finished.exit_code}
        if finished.cut:
            detail["cut"] = list(finished.cut)
        return Reply(value, Usage(calls=1), detail)


def program_of(inputs: Inputs, settings: Settings) -> Program:
    """What is to be started; raises ProviderError R110 when the operator gave no leave."""
    argv = [clean(item) if isinstance(item, str) else str(item) for item in inputs.items("argv")]
    if not argv:
        argv = [inputs.text("shell", "sh"), "-c", clean(inputs.needed("script"))]
    if any("\0" in word for word in argv):
        inputs.refuse("argv", "holds a NUL character, which no command line can")
    _check_leave(argv[0], settings)
    given = {**inputs.texts("env"), **inputs.texts("variables")}
    for name, text in given.items():
        if not name or "=" in name or "\0" in name + text:
            inputs.refuse("env", f"holds {name!r}, which cannot be a variable")
        if settings.allow.commands is not True and _changes_programs(name.upper()):
            inputs.refuse("env", f"sets {name!r}, which could start a program that has no leave")
    return Program(
        argv=tuple(argv),
        environment={**settings.environment, **given},
        folder=folder_in(settings.project_root, inputs.text("folder")),
        stdin=clean(inputs.text("stdin")).encode(),
    )


def _changes_programs(name: str) -> bool:
    return name in _CHANGING or name.startswith(_CHANGING_FAMILIES)


def folder_in(root: str, folder: str) -> str:
    """A folder inside the project; raises ProviderError P113."""
    top = Path(root).resolve()
    if folder.startswith(("~", "/")) or "\0" in folder or "\\" in folder:
        raise _bad_folder(folder, "must be a path below the project's folder")
    found = (top / folder).resolve()
    if found != top and top not in found.parents:
        raise _bad_folder(folder, "leads out of the project's folder")
    if not found.is_dir():
        raise _bad_folder(folder, "does not exist")
    return str(found)


def _bad_folder(folder: str, why: str) -> ProviderError:
    return ProviderError(f"folder {folder!r} {why}", code="P113")


def _check_leave(name: str, settings: Settings) -> None:
    allowed = settings.allow.commands
    if allowed is True:
        return
    if isinstance(allowed, tuple) and name in allowed:
        return
    how = f'commands = true, or commands = ["{name}"],'
    raise ProviderError(
        f"commands are not allowed: {name!r} was not started; to allow it, set [allow] {how} in "
        "whorl.toml",
        code="R110",
    )


def _value(finished: Finished) -> dict[str, Json]:
    return {
        "stdout": finished.stdout,
        "stderr": finished.stderr,
        "exit_code": finished.exit_code,
    }


def _failed(program: Program, finished: Finished, value: dict[str, Json]) -> ProviderError:
    lines = (finished.stderr.strip() or finished.stdout.strip()).splitlines()
    said = f": {lines[-1][:300]}" if lines else ""
    detail: dict[str, object] = {**value}
    if finished.cut:
        detail["cut"] = list(finished.cut)
    return ProviderError(
        f"command {program.argv[0]!r} ended with exit code {finished.exit_code}{said}",
        code="P109",
        # Only a step with `retry` is tried again, and there the author says that it may help.
        retryable=True,
        detail=detail,
    )
