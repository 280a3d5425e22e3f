"""The group of all commands: each one's module is imported when the command is used."""

from __future__ import annotations

from importlib import import_module
from typing import TypeAlias

import click

from whorl import __version__
from whorl.errors import did_you_mean

# Section to command to module and one line of help; the section without a name is not listed.
CommandTable: TypeAlias = dict[str, dict[str, tuple[str, str]]]

# What `--events` may print; without a word, the first.
EVENTS = ("journal", "dialect")

HELP = """Runs loops of AI work until the result is right.

\b
  whorl run polish.yaml "a haiku about rain"
  whorl why last

RUN is the id of a run or its beginning, the key that it was started with (--id), or last.
Commands that only look take the newest run where none is named.
"""

# Beside those of the states of runs: whose fault it is decides.
EXITS = {
    0: "it went well; the run succeeded",
    1: "the run failed, or `test` found a change",
    2: "a mistake in a file, the configuration or the command line",
    3: "the outside: a provider or the store",
    4: "the run waits for a person",
    5: "the run is paused, cancelled or interrupted",
    70: "a mistake of ours",
    130: "ended by Ctrl-C where nothing could be kept",
}


class LazyGroup(click.Group):
    """A group that knows its commands by a table, and loads one of them."""

    table: CommandTable

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads the words; `--events` takes the next one only if it can be meant for it."""
        return super().parse_args(ctx, _with_kind_of_events(args))

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands that help lists."""
        return [name for section, rows in self.table.items() if section for name in rows]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports the module of a command."""
        for rows in self.table.values():
            if cmd_name in rows:
                module = import_module(f"whorl.interfaces.cli.commands.{rows[cmd_name][0]}")
                found = vars(module)["COMMANDS"][cmd_name]
                assert isinstance(found, click.Command)
                return found
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds a command; for an unknown one, names the nearest."""
        name = args[0]
        command = self.get_command(ctx, name)
        if command is None:
            hint = did_you_mean(name, self.list_commands(ctx))
            raise click.UsageError(
                f"there is no command {name!r}{'; ' + hint if hint else ''}", ctx
            )
        return name, command, args[1:]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Ends with the exit codes."""
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), words) for code, words in EXITS.items()])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands by section, without importing them."""
        for section, rows in self.table.items():
            if section:
                with formatter.section(section):
                    formatter.write_dl([(name, words) for name, (_, words) in rows.items()])


def _with_kind_of_events(words: list[str]) -> list[str]:
    """The words with `--events=KIND` for `--events`: click would take any word for the kind."""
    made: list[str] = []
    waiting = iter(words)
    for word in waiting:
        if word == "--":
            return [*made, word, *waiting]
        if word in EVENTS and made and made[-1] == f"--events={EVENTS[0]}":
            made[-1] = f"--events={word}"
        else:
            made.append(f"--events={EVENTS[0]}" if word == "--events" else word)
    return made


def build_group(table: CommandTable) -> LazyGroup:
    """The group of a table of commands."""

    @click.group(cls=LazyGroup, help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
    @click.option("--store", metavar="PATH", help="Folder or file of the store.")
    @click.option("--config", metavar="FILE", help="Configuration instead of whorl.toml.")
    @click.version_option(__version__, message="%(prog)s %(version)s")
    @click.pass_context
    def group(ctx: click.Context, store: str | None, config: str | None) -> None:
        ctx.obj = {"store": store, "config": config}

    assert isinstance(group, LazyGroup)
    group.table = table
    return group
