"""The edge of the command line: every failure becomes a short message and an exit code."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from whorl.errors import InvalidWorkflow, StoreError, UsageError, WhorlError, did_you_mean, safe
from whorl.interfaces.cli.view.paint import paint

if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED = 130
CUT_SHORT = 5


def run_safely(command: click.Command, words: Sequence[str]) -> int:
    """Runs a command; gives the exit code, whatever happens."""
    try:
        return _run(command, words)
    except (BrokenPipeError, SystemExit):
        # Whoever read our output has gone (click makes an exit of it), so this was cut short.
        # What Python still has to flush must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CUT_SHORT
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except Exception as fault:  # noqa: BLE001 - the edge: our mistakes are reported, not dumped
        return _report(fault)


def _run(command: click.Command, words: Sequence[str]) -> int:
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
        _show("W900", _words_of(fault), _help_of(fault))
        return 2
    except InvalidWorkflow as fault:
        _show_diagnostics(fault)
        return fault.exit_code
    except (UsageError, StoreError) as fault:
        _show(fault.code, str(fault), fault.help)
        return fault.exit_code
    except WhorlError as fault:
        if fault.exit_code == WhorlError.exit_code:
            raise
        _show(str(vars(fault).get("code", "R100")), str(fault), "")
        return fault.exit_code


def _words_of(fault: click.ClickException) -> str:
    if isinstance(fault, click.NoSuchOption):
        hint = did_you_mean(fault.option_name, fault.possibilities or ())
        words = f"there is no option {fault.option_name!r}"
        return f"{words}; {hint}" if hint else words
    message = fault.format_message().strip().rstrip(".")
    return message[:1].lower() + message[1:]


def _help_of(fault: click.ClickException) -> str:
    ctx = fault.ctx if isinstance(fault, click.UsageError) else None
    return f"`{ctx.command_path} --help` shows how it is used" if ctx is not None else ""


def _show(code: str, message: str, advice: str) -> None:
    click.echo(f"{paint(f'error[{code}]', 'red', bold=True)}: {safe(message)}", err=True)
    if advice:
        click.echo(f"  = help: {safe(advice)}", err=True)


def _show_diagnostics(fault: InvalidWorkflow) -> None:
    from whorl.errors import render_all
    from whorl.interfaces.project import find_project

    texts = find_project(os.environ).texts(fault.diagnostics)
    color = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    click.echo(render_all(fault.diagnostics, texts, color=color), err=True)


def _report(fault: Exception) -> int:
    if os.environ.get("WHORL_DEBUG") == "1":
        import traceback

        traceback.print_exception(fault)
    else:
        words = safe(f"{type(fault).__name__}: {fault}")[:500]
        click.echo(f"error[I900]: a mistake of ours: {words}", err=True)
        advice = "report it with the output of the same command under WHORL_DEBUG=1"
        click.echo(f"  = help: nothing that was journaled is lost; {advice}", err=True)
    return WhorlError.exit_code
