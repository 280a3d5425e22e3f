"""All commands, each imported when it is used; a failure becomes a message and an exit code."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from itertools import takewhile
from typing import TYPE_CHECKING, TypeAlias

import click

from whorl import __version__
from whorl.errors import Diagnostic, InvalidWorkflow, WhorlError, did_you_mean, safe, tame
from whorl.errors import as_json as diagnostic_json
from whorl.interfaces.cli.terminal import echo, paint, say
from whorl.lazily import later_patterns, regex
from whorl.plugins import wings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Section to command to `module:name` and one line of help; a section without a name is hidden.
# Where a module has no dots, it is one of `commands`.
CommandTable: TypeAlias = dict[str, dict[str, tuple[str, str]]]

# The modules of `commands` that have to do with runs, for which an event loop is needed.
_OF_RUNS = ("ls", "run", "runs", "show")

_HEAD = """Usage: whorl COMMAND [ARGS]...

  Run AI loops until the result is right.

    whorl init flows && cd flows         make a project with a first loop
    whorl run first.yaml "a haiku"       run it
    whorl why                            see why it stopped
"""
_TAIL = """
  RUN is an id, its first characters, a key (--key), or `last`.
  `whorl help COMMAND`, `whorl help CODE`, `whorl help all`."""

# Beside those of the states of runs: whose fault it is decides.
EXITS = {
    0: "done: the run succeeded, all tests passed, the gate holds",
    1: "the answer is no: the run or a test failed, the gate does not hold",
    2: "a mistake of the caller: file, configuration, command line",
    3: "a provider, the store or the cluster failed before a run began",
    4: "the run waits for a person",
    5: "paused, cancelled or interrupted; or a budget stopped an experiment",
    70: "a fault of Whorl",
    130: "Ctrl-C before anything was stored",
}

_TOO_MANY = regex(r"got unexpected extra arguments? \((.*)\)")
_NO_NUMBER = regex(r"('[^']*') is not a valid integer(?: range)?")
_TOO_SMALL = regex(r"(\S+) is not in the range x>=(\S+)")


class CommandGroup(click.Group):
    """A group that suggests the nearest of its commands if a name is unknown."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds a command; for an unknown name, says where it is or suggests the nearest."""
        command = self.get_command(ctx, args[0])
        if command is None:
            from whorl.interfaces.cli.foreign_verbs import unknown_command

            raise unknown_command(self, ctx, args)
        return args[0], command, args[1:]


class LazyGroup(CommandGroup):
    """A group that knows its commands by a table, and loads one of them."""

    table: CommandTable

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads the arguments; for an option of another system, suggests what works here."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption:
            from whorl.interfaces.cli.foreign_verbs import known_option

            if ctx.parent is None and (known := known_option(given)):
                raise known from None
            raise

    def sections(self) -> CommandTable:
        """Returns all commands by section: those of the core, and among them those of wings."""
        made = {section: dict(rows) for section, rows in self.table.items()}
        for wing in wings():
            for name, (section, at, where, words) in wing.commands.items():
                if section in made:
                    rows = list(made[section].items())
                    made[section] = dict([*rows[:at], (name, (where, words)), *rows[at:]])
        return made

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for rows in self.sections().values() for name in rows]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        # Wings are looked at only for what is no command of the core.
        is_core = any(cmd_name in rows for rows in self.table.values())
        for rows in (self.table if is_core else self.sections()).values():
            if cmd_name in rows:
                where, words = rows[cmd_name]
                if where:
                    return _loaded(where)
                from whorl.interfaces.cli import GROUPS

                group = LazyGroup(cmd_name, help=words)
                group.table = {cmd_name: GROUPS[cmd_name]}
                return group
        return None

    def get_help(self, ctx: click.Context) -> str:
        """The help; at the top, the commands by section, without importing them."""
        if ctx.parent is not None:
            return super().get_help(ctx)
        lines = [_HEAD]
        for section, rows in self.sections().items():
            if section:
                lines += [f"{section}:", *(f"  {n:<12}{words}" for n, (_, words) in rows.items())]
                lines.append("")
        return "\n".join(lines) + _TAIL

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands of a group, without importing them."""
        for rows in self.sections().values():
            with formatter.section("Commands"):
                formatter.write_dl([(name, words) for name, (_, words) in rows.items()])


def _loaded(where: str) -> click.Command:
    module, _, name = where.partition(":")
    if module in _OF_RUNS:
        with later_patterns():
            # What the event loop imports has patterns that hardly anybody uses.
            import_module("asyncio")
    place = module if "." in module else f"whorl.interfaces.cli.commands.{module}"
    command = vars(import_module(place))[name]
    assert isinstance(command, click.Command)
    return command


def build_group(table: CommandTable) -> LazyGroup:
    @click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
    @click.option("--store", metavar="PATH", help="Folder or file of the store.")
    @click.option("--config", metavar="FILE", help="Configuration instead of whorl.toml.")
    @click.version_option(__version__, message="%(prog)s %(version)s")
    @click.pass_context
    def group(ctx: click.Context, store: str | None, config: str | None) -> None:
        ctx.obj = {"store": store, "config": config}

    assert isinstance(group, LazyGroup)
    group.table = table
    return group


def run_safely(command: click.Command, words: Sequence[str]) -> int:
    """Runs a command and returns its exit code; a failure becomes a message."""
    as_json = "--json" in list(takewhile(lambda word: word != "--", words))
    try:
        try:
            code = command.main(list(words), prog_name="whorl", standalone_mode=False)
            sys.stdout.flush()
            return code if isinstance(code, int) else 0
        except click.exceptions.Exit as leaving:
            return leaving.exit_code
        except click.exceptions.NoArgsIsHelpError as fault:
            echo(fault.ctx.get_help() if fault.ctx else "")
            return 0
        except (click.ClickException, WhorlError) as fault:
            return _report(fault, as_json=as_json)
    except (BrokenPipeError, SystemExit):
        # The reader of our output has gone (click makes an exit of it), so this was cut short.
        # What Python still has to flush must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 5
    except (KeyboardInterrupt, click.Abort):
        say("interrupted")
        return 130
    except Exception as fault:  # noqa: BLE001 - the edge: our mistakes are reported, not dumped
        return _report(fault, as_json=as_json)


def _report(fault: Exception, *, as_json: bool) -> int:
    """Prints a failure: on stderr for people, and as a document for programs."""
    found = fault.diagnostics if isinstance(fault, InvalidWorkflow) else ()
    first = found[0] if found else _described(fault)
    if found:
        from whorl.services.project import find_project

        show_diagnostics(found, find_project(os.environ).texts(found))
    else:
        say(f"{paint(f'error[{first.code}]', 'red', bold=True)}: {safe(first.message)}")
        for at, words in enumerate(filter(None, first.help.split("\n"))):
            say(f"{'          ' if at else '  = help: '}{safe(words)}")
    if as_json:
        from whorl.interfaces.cli.options import print_json

        # The document that the HTTP interface answers with, too.
        error = {"code": first.code, "message": safe(first.message), "help": tame(first.help)}
        print_json({"error": error | {"diagnostics": [*map(diagnostic_json, found)] or None}})
    if isinstance(fault, click.ClickException):
        return 2
    return fault.exit_code if isinstance(fault, WhorlError) else WhorlError.exit_code


def _described(fault: Exception) -> Diagnostic:
    """Returns a failure with advice; for a mistake of ours, how to report it."""
    if isinstance(fault, click.ClickException):
        message, advice = _words_of(fault)
        return Diagnostic("W900", message, help=advice)
    if isinstance(fault, WhorlError) and fault.exit_code != WhorlError.exit_code:
        code, advice = getattr(fault, "code", "R100"), getattr(fault, "help", "")
        return Diagnostic(code, str(fault), help=advice)
    if os.environ.get("WHORL_DEBUG") == "1":
        import traceback

        traceback.print_exception(fault)
    words = safe(f"{type(fault).__name__}: {fault}")[:500]
    advice = "report it with the output of the same command under WHORL_DEBUG=1"
    advice = f"nothing that was journaled is lost; {advice}"
    return Diagnostic("I900", f"an internal error: {words}", help=advice)


def _words_of(fault: click.ClickException) -> tuple[str, str]:
    """Returns the message and the advice for what click found, in our words."""
    ctx = fault.ctx if isinstance(fault, click.UsageError) else None
    path = ctx.command_path.partition(" ")[2] if ctx is not None else ""
    advice = f"see `whorl help {path}`" if path else "see `whorl help all`"
    if isinstance(fault, click.NoSuchOption):
        hint = did_you_mean(fault.option_name, fault.possibilities or ())
        words = f"there is no option {fault.option_name!r}"
        if path == "run":
            from whorl.interfaces.cli.foreign_verbs import OPTIONS

            advice = OPTIONS.get(fault.option_name, advice)
        return f"{words}; {hint}" if hint else words, advice
    message = " ".join(fault.format_message().split()).rstrip(".")
    message = message[:1].lower() + message[1:]
    if many := _TOO_MANY.fullmatch(message):
        is_file = path == "run" and os.path.exists(many[1].partition(" ")[0])
        fix = "for a list of files, write -i NAME=@FOLDER or -i 'NAME=@*.txt'" if is_file else ""
        advice = f"{fix or 'put quotes around a text of several words'}; {advice}"
        return f"there are too many arguments: {many[1]}", advice
    message = _TOO_SMALL.sub(r"\1 is less than \2", message)
    return _NO_NUMBER.sub(r"\1 is not a whole number", message), advice


def show_diagnostics(diagnostics: Sequence[Diagnostic], texts: Mapping[str, str]) -> None:
    """Shows mistakes to the person, beside the output; `texts` are the files by their names."""
    from whorl.interfaces.cli.diagnostics import render_all

    say(render_all(diagnostics, texts))
