"""The commands `help` and `completion`, and the answers to a shell that completes."""

from __future__ import annotations

import os
import re
from contextlib import closing
from typing import TYPE_CHECKING

import click
from click import shell_completion as shells
from click.shell_completion import CompletionItem

from whorl import explanations
from whorl.errors import UsageError, did_you_mean
from whorl.interfaces.cli.foreign_verbs import MOVED, near_command, unknown_command
from whorl.interfaces.cli.group import EXITS, LazyGroup
from whorl.interfaces.cli.terminal import echo, print_lines, say

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = "_WHORL_COMPLETE"
RUNS_MAX = 50
_FILES = re.compile(r"FILE|PATH|OUT|OTHER|DATABASE|FOLDER")


@click.command(name="help")
@click.argument("words", metavar="[COMMAND | CODE | FUNCTION | all]", nargs=-1)
@click.pass_context
def help_command(ctx: click.Context, *, words: tuple[str, ...]) -> None:
    """Show the help of a COMMAND, explain an error CODE or a FUNCTION of expressions, or list all.

    \b
      whorl help run
      whorl help server token
      whorl help W004
      whorl help addDays
      whorl help all
    """
    context = ctx.find_root()
    root = context.command
    assert isinstance(root, LazyGroup)
    if words == ("all",):
        print_lines(_all_lines(root, context))
        return
    command: click.Command | None = root
    for at, word in enumerate(words):
        outer = command
        command = outer.get_command(context, word) if isinstance(outer, click.Group) else None
        if command is None and isinstance(outer, click.Group) and len(words) > 1:
            raise unknown_command(outer, context, words[at:])
        if command is None:
            break
        context = click.Context(command, info_name=word, parent=context)
    if command is not None:
        echo(command.get_help(context))
    elif len(words) > 1:
        raise UsageError(f"`whorl {' '.join(words[:-1])}` has no commands")
    elif (page := explanations.explain(words[0])) is not None:
        echo(page.rstrip())
    else:
        print_lines(_functions(root, context, words[0]))


def _all_lines(root: LazyGroup, ctx: click.Context) -> Iterator[str]:
    """A line for each command, the options of all commands, and the exit codes."""
    yield from ("Usage: whorl COMMAND [ARGS]...", "")
    yield from (f"  {path:<24}{words}" for path, words in commands_in(root, ctx))
    options = dict(filter(None, (each.get_help_record(ctx) for each in root.get_params(ctx))))
    for title, rows in (("Options of all commands", options), ("Exit codes", EXITS)):
        yield from ("", f"{title}:")
        yield from (f"  {name:<24}{words}" for name, words in rows.items())


def commands_in(group: click.Group, ctx: click.Context) -> Iterator[tuple[str, str]]:
    """The commands in a group and in its groups: their words, and their first lines."""
    lines = {}
    if isinstance(group, LazyGroup):
        lines = {n: words for rows in group.sections().values() for n, (_, words) in rows.items()}
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        if isinstance(command, click.Group):
            yield from ((f"{name} {path}", words) for path, words in commands_in(command, ctx))
        elif command is not None and not command.hidden:
            yield name, lines.get(name) or command.get_short_help_str(74)


def _functions(root: LazyGroup, ctx: click.Context, word: str) -> list[str]:
    """All functions, filters and tests of a name, from the tables that the language uses."""
    from whorl.language import LanguageError, Library, functions
    from whorl.language.libraries import libraries, open_library

    wanted = word.removesuffix("()").lstrip("@").lower()
    lines: list[str] = []
    listed: list[str] = []
    core = Library(functions=functions(), title="templates: {{ ... }}")
    for name in (*libraries().names(), ""):
        try:
            library = open_library(name) if name else core
        except LanguageError as fault:
            # A plugin that is broken is named, and what the others have is explained.
            say(f"warning: {fault}")
            continue
        for entry in library.functions if library.title else ():
            if entry.name.startswith("$"):
                continue  # readers write these; nobody else can
            listed.append(entry.name)
            if entry.name.lower() == wanted:
                family = f"{entry.kind} of the family {entry.family!r}, for {library.title}"
                lines += ["", library.signature(entry), f"  {entry.doc}", f"  {family}"]
    if not lines:
        advice = f"`whorl help {MOVED[word]}`: it has moved" if word in MOVED else ""
        advice = advice or did_you_mean(word, explanations.codes())
        advice = advice or did_you_mean(word, [near_command(root, ctx, word), *listed])
        advice = advice or "write a code as a message has it, such as W004"
        raise UsageError(f"there is no command, code or function {word!r}", help=advice)
    return lines[1:]


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, *, shell: str) -> None:
    """Print the script that makes a SHELL complete commands, options, runs and files.

    \b
      whorl project completion bash >> ~/.bashrc
      whorl project completion zsh > ~/.zfunc/_whorl   # with ~/.zfunc in fpath
      whorl project completion fish > ~/.config/fish/completions/whorl.fish
    """
    kind = shells.get_completion_class(shell)
    assert kind is not None
    made = kind(ctx.find_root().command, {}, "whorl", VARIABLE)
    echo(made.source_template % made.source_vars(), nl=False)


def answer(group: LazyGroup, instruction: str) -> int:
    """Prints what can follow, for the script of a shell; errors show no message."""
    shell = shells.get_completion_class(instruction.partition("_")[0])
    if shell is None:
        return 1
    made = shell(group, {}, "whorl", VARIABLE)
    try:
        items = _items(group, *made.get_completion_args())
    except Exception:  # noqa: BLE001 - the edge: a shell that completes shows no messages
        return 1
    echo("\n".join(map(made.format_completion, items)))
    return 0


def _items(group: LazyGroup, words: list[str], incomplete: str) -> list[CompletionItem]:
    """Returns commands, options, runs, or that a file follows; no name out of a file."""
    ctx = shells._resolve_context(group, {}, "whorl", words)
    part, incomplete = shells._resolve_incomplete(ctx, words, incomplete)
    if isinstance(part, LazyGroup) and not incomplete.startswith("-"):
        rows = [row for section, rows in part.sections().items() if section for row in rows.items()]
        return [CompletionItem(n, help=h) for n, (_, h) in rows if n.startswith(incomplete)]
    wanted = (part.metavar or "") if isinstance(part, click.Parameter) else ""
    if _FILES.search(wanted):
        return [CompletionItem(incomplete, type="file")]
    if "RUN" in wanted:
        store = ctx.params.get("store") or ctx.find_root().params.get("store")
        found = [run for run in ("last", *_runs(store)) if run.startswith(incomplete)]
        return [*map(CompletionItem, found)]
    return part.shell_complete(ctx, incomplete)


def _runs(store: str | None) -> list[str]:
    from whorl.services.project import find_project

    project = find_project(os.environ, store=store, is_checked=False)
    if not project.has_runs():
        return []
    with closing(project.open_store()) as opened:
        return [row.id for row in opened.runs(limit=RUNS_MAX)]
