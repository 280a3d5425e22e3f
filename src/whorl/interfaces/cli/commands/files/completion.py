"""The command `completion`, and what a shell is answered: commands, options, and their values."""

from __future__ import annotations

import os
import re
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any

import click
from click import shell_completion as shells
from click.shell_completion import CompletionItem

from whorl.interfaces.cli.group import LazyGroup
from whorl.interfaces.cli.terminal import echo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whorl.services.project import Project

VARIABLE = "_WHORL_COMPLETE"
RUNS_MAX = 50
# Looking through more of a journal takes longer than one waits for a key.
ENTRIES_MAX = 20_000
_ATTEMPT = re.compile(r"#[0-9]+(?=/|$)")
_FILES = re.compile(r"FILE|PATH|OUT|OTHER|DATABASE|FOLDER")
# What is given by -i.
_INPUT = "INPUT"
_PLACES = re.compile(r"ADDRESS|STEP|LOOP")
# A shell puts what it is offered on its line, and runs that: names come from other people's files.
_HARMLESS = re.compile(r"[\w.,:=@%+/\[\]-]*")
_SHELLS: dict[str, type[shells.ShellComplete]] = {
    "bash": shells.BashComplete,
    "zsh": shells.ZshComplete,
    "fish": shells.FishComplete,
}


# Unlike click's own, it takes no word for a pattern of file names, and quotes what it would run.
# The value of an input follows its name at once.
_BASH = r"""%(complete_func)s() {
    local IFS=$'\n' response type value

    response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD \
        %(complete_var)s=bash_complete $1)

    while IFS=, read -r type value; do
        if [[ $type == 'dir' ]]; then
            COMPREPLY=()
            compopt -o dirnames
        elif [[ $type == 'file' ]]; then
            COMPREPLY=()
            compopt -o default
        elif [[ $type == 'plain' ]]; then
            [[ $value != *[[:space:]\'\"\`\\\$\;\&\|\<\>\(\)\{\}\*\?\!\~\#]* ]] ||
                printf -v value %%q "$value"
            COMPREPLY+=("$value")
            [[ $value != *= ]] || compopt -o nospace
        fi
    done <<< "$response"

    return 0
}

%(complete_func)s_setup() {
    complete -o nosort -F %(complete_func)s %(prog_name)s
}

%(complete_func)s_setup;
"""


@click.command()
@click.argument("shell", type=click.Choice(list(_SHELLS)))
@click.pass_context
def completion(ctx: click.Context, *, shell: str) -> None:
    """Print the script that makes a SHELL complete commands, options, runs, steps, files, names.

    \b
      whorl completion bash >> ~/.bashrc
      whorl completion zsh > ~/.zfunc/_whorl   # with ~/.zfunc in fpath
      whorl completion fish > ~/.config/fish/completions/whorl.fish
    """
    made = _SHELLS[shell](ctx.find_root().command, {}, "whorl", VARIABLE)
    script = _BASH if shell == "bash" else made.source_template
    echo(script % made.source_vars(), nl=False)


def answer(group: LazyGroup, instruction: str) -> int:
    """Prints what can follow, for the script of a shell; what goes wrong is nobody's to read."""
    shell = _SHELLS.get(instruction.partition("_")[0])
    if shell is None:
        return 1
    made = shell(group, {}, "whorl", VARIABLE)
    try:
        words, incomplete = made.get_completion_args()
        items = _items(group, words, incomplete)
    except Exception:  # noqa: BLE001 - the edge: a shell that completes shows no messages
        return 1
    offered = [item for item in items if item.type != "plain" or _HARMLESS.fullmatch(item.value)]
    echo("\n".join(map(made.format_completion, offered)))
    return 0


def _items(group: LazyGroup, words: list[str], incomplete: str) -> list[CompletionItem]:
    ctx = shells._resolve_context(group, {}, "whorl", words)
    part, incomplete = shells._resolve_incomplete(ctx, words, incomplete)
    if isinstance(part, LazyGroup) and not incomplete.startswith("-"):
        rows = [row for section, rows in part.table.items() if section for row in rows.items()]
        return [CompletionItem(n, help=h) for n, (_, h) in rows if n.startswith(incomplete)]
    wanted = (part.metavar or "") if isinstance(part, click.Parameter) else ""
    if isinstance(part, click.Option) and part.name == "inputs":
        wanted = _INPUT
    # Where the value of an option is still to come, click reads nothing of what is before it.
    is_option = bool(words) and words[-1].startswith("-")
    known = shells._resolve_context(group, {}, "whorl", words[:-1]) if is_option else ctx
    found = [CompletionItem(text) for text in _named(known, wanted, incomplete)]
    if _FILES.search(wanted) and not found:
        return [CompletionItem(incomplete, type="file")]
    return found or part.shell_complete(ctx, incomplete)


def _named(ctx: click.Context, wanted: str, incomplete: str) -> list[str]:
    """The names that begin with what is there: templates, codes, runs, places, inputs of a file."""
    from whorl.services.project import find_project

    if wanted in _KNOWN:
        return [name for name in _KNOWN[wanted]() if name.startswith(incomplete)]
    root = ctx.find_root().params
    given: dict[str, Any] = ctx.params
    store = given.get("store") or root.get("store")
    project = find_project(os.environ, store=store, is_checked=False)
    names: Iterator[str] = iter(())
    if "RUN" in wanted:
        run, slash, _ = incomplete.partition("/")
        names = _runs(project)
        if slash:
            names = (f"{run}/{place}" for place in _addresses(project, run))
    elif _PLACES.search(wanted) and given.get("run"):
        names = _addresses(project, str(given["run"]).partition("/")[0])
    elif wanted == _INPUT and given.get("file"):
        names = _inputs(project, str(given["file"]))
    elif _PLACES.search(wanted) and given.get("file"):
        names = _steps(project, str(given["file"]))
    # A name that begins with a dash would be read as an option.
    words = [name for name in dict.fromkeys(names) if not name.startswith("-")]
    return [word for word in words if word.startswith(incomplete)]


def _templates() -> list[str]:
    from whorl.templates import TEMPLATES

    return [template.name for template in TEMPLATES]


def _codes() -> list[str]:
    from whorl.explanations import codes

    return [*codes(), "function"]


_KNOWN: dict[str, Callable[[], list[str]]] = {
    "[TEMPLATE]": _templates,
    "CODE | function NAME": _codes,
}


def _runs(project: Project) -> Iterator[str]:
    yield "last"
    if project.has_runs():
        with closing(project.open_store()) as store:
            yield from [row.id for row in store.runs(limit=RUNS_MAX)]


def _addresses(project: Project, text: str) -> Iterator[str]:
    from whorl.services.runs import find_run

    with closing(project.open_store()) as store:
        for entry in islice(store.read(find_run(store, text)), ENTRIES_MAX):
            if entry.event.address:
                yield _ATTEMPT.sub("", entry.event.address)


def _steps(project: Project, file: str) -> Iterator[str]:
    from whorl.ir.walk import index_nodes

    yield from index_nodes(project.read(file).workflow)


def _inputs(project: Project, file: str) -> Iterator[str]:
    workflow = project.read(project.locate(file)).workflow
    yield from (f"{port.name}=" for port in workflow.inputs)
