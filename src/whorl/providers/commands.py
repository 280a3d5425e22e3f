"""The task `run`."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from whorl.errors import ProviderError
from whorl.ir.checks.commands import is_steering
from whorl.providers.context import OwnTask
from whorl.providers.json_values import clean, shorten
from whorl.providers.processes import (
    OUTPUT_MAX,
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


class Command(OwnTask):
    """Inputs: argv, or script with variables and shell; folder, env, stdin, check, stop_after_s.

    `steered` names the words of argv that must be no options.
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
