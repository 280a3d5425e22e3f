"""The edge of the command line: every failure becomes a short message and an exit code."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

import click

from whorl.errors import InvalidWorkflow, StoreError, UsageError, WhorlError, did_you_mean, safe
from whorl.errors import as_json as diagnostic_json
from whorl.interfaces.cli.view.paint import is_colored, paint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.errors import Diagnostic

INTERRUPTED = 130
CUT_SHORT = 5
_TOO_MANY = re.compile(r"got unexpected extra arguments? \((.*)\)")
_NO_NUMBER = re.compile(r"('[^']*') is not a valid integer(?: range)?")
_TOO_SMALL = re.compile(r"(\S+) is not in the range x>=(\S+)")
_QUOTE = "put quotes around a text of several words"


def run_safely(command: click.Command, words: Sequence[str]) -> int:
    """Runs a command; gives the exit code, whatever happens."""
    as_json = "--json" in list(takewhile(lambda word: word != "--", words))
    try:
        return _run(command, words, as_json=as_json)
    except (BrokenPipeError, SystemExit):
        # Whoever read our output has gone (click makes an exit of it), so this was cut short.
        # What Python still has to flush must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CUT_SHORT
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except Exception as fault:  # noqa: BLE001 - the edge: our mistakes are reported, not dumped
        return _report(fault, as_json=as_json)


def _run(command: click.Command, words: Sequence[str], *, as_json: bool) -> int:
    try:
        code = command.main(list(words), prog_name="whorl", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.exceptions.NoArgsIsHelpError as fault:
        click.echo(fault.format_message(), err=True)
        return 2
    except click.ClickException as fault:
        _show(_Told("W900", *_words_of(fault)), as_json=as_json)
        return 2
    except InvalidWorkflow as fault:
        _show_diagnostics(fault, as_json=as_json)
        return fault.exit_code
    except (UsageError, StoreError) as fault:
        _show(_Told(fault.code, str(fault), fault.help), as_json=as_json)
        return fault.exit_code
    except WhorlError as fault:
        if fault.exit_code == WhorlError.exit_code:
            raise
        _show(_Told(str(vars(fault).get("code", "R100")), str(fault)), as_json=as_json)
        return fault.exit_code


@dataclass(frozen=True, slots=True)
class _Told:
    """A failure as it is told: to people on standard error, to programs as a document."""

    code: str
    message: str
    help: str = ""
    diagnostics: tuple[Diagnostic, ...] | None = None


def _words_of(fault: click.ClickException) -> tuple[str, str]:
    """The message and the advice of what click found, in our words."""
    ctx = fault.ctx if isinstance(fault, click.UsageError) else None
    advice = f"`{ctx.command_path} --help` shows how it is used" if ctx is not None else ""
    if isinstance(fault, click.NoSuchOption):
        hint = did_you_mean(fault.option_name, fault.possibilities or ())
        words = f"there is no option {fault.option_name!r}"
        return f"{words}; {hint}" if hint else words, advice
    message = fault.format_message().strip().rstrip(".")
    message = message[:1].lower() + message[1:]
    many = _TOO_MANY.fullmatch(message)
    if many:
        return f"there are more words than it takes: {many[1]}", f"{_QUOTE}; {advice}"
    message = _TOO_SMALL.sub(r"\1 is less than \2", message)
    return _NO_NUMBER.sub(r"\1 is no whole number", message), advice


def _show(told: _Told, *, as_json: bool) -> None:
    click.echo(f"{paint(f'error[{told.code}]', 'red', bold=True)}: {safe(told.message)}", err=True)
    if told.help:
        click.echo(f"  = help: {safe(told.help)}", err=True)
    if as_json:
        _print(told)


def _print(told: _Told) -> None:
    """Prints a failure as the document that the HTTP interface answers with, too."""
    found = told.diagnostics
    from whorl.interfaces.cli.options import print_json

    error = {
        "code": told.code,
        "message": safe(told.message),
        "help": safe(told.help),
        "diagnostics": None if found is None else [diagnostic_json(one) for one in found],
    }
    print_json({"error": error})


def _show_diagnostics(fault: InvalidWorkflow, *, as_json: bool) -> None:
    from whorl.errors import render_all
    from whorl.services.project import find_project

    texts = find_project(os.environ).texts(fault.diagnostics)
    color = sys.stderr.isatty() and is_colored()
    click.echo(render_all(fault.diagnostics, texts, color=color), err=True)
    if as_json:
        first = fault.diagnostics[0] if fault.diagnostics else None
        told = (first.code, first.message, first.help) if first else ("W001", str(fault), "")
        _print(_Told(*told, fault.diagnostics))


def _report(fault: Exception, *, as_json: bool) -> int:
    if os.environ.get("WHORL_DEBUG") == "1":
        import traceback

        traceback.print_exception(fault)
    words = safe(f"{type(fault).__name__}: {fault}")[:500]
    advice = "report it with the output of the same command under WHORL_DEBUG=1"
    told = _Told(
        "I900", f"a mistake of ours: {words}", f"nothing that was journaled is lost; {advice}"
    )
    _show(told, as_json=as_json)
    return WhorlError.exit_code
