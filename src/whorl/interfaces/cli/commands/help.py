"""What helps at the command line: `explain`, `completion`, and what a shell is answered."""

from __future__ import annotations

import os
import re
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any

import click
from click import shell_completion as shells
from click.shell_completion import CompletionItem

from whorl import explanations
from whorl.errors import UsageError, did_you_mean
from whorl.interfaces.cli.group import LazyGroup
from whorl.interfaces.cli.terminal import echo, print_lines, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.services.project import Project

VARIABLE = "_WHORL_COMPLETE"
RUNS_MAX = 50
# Looking through more of a journal takes longer than one waits for a key.
ENTRIES_MAX = 20_000
_ATTEMPT = re.compile(r"#[0-9]+(?=/|$)")
_FILES = re.compile(r"FILE|PATH|OUT|OTHER|DATABASE|FOLDER")
_PLACES = re.compile(r"ADDRESS|STEP|LOOP")
# What is given by -i, a template, a code.
_INPUT, _TEMPLATE, _CODE = "INPUT", "[TEMPLATE]", "CODE | function NAME"
# A shell puts what it is offered on its line, and runs that: names come from other people's files.
_HARMLESS = re.compile(r"[\w.,:=@%+/\[\]-]*")
_SHELLS: dict[str, type[shells.ShellComplete]] = {
    "bash": shells.BashComplete,
    "zsh": shells.ZshComplete,
    "fish": shells.FishComplete,
}


@click.command()
@click.argument("what", metavar=_CODE, nargs=-1)
def explain(what: tuple[str, ...]) -> None:
    """Explain an error CODE, or a function of expressions by its NAME.

    \b
      whorl explain W004
      whorl explain function addDays
    """
    code, *others = what or ("",)
    if code == "function":
        print_lines(_functions(others))
    elif len(what) != 1:
        message = f"one code is explained at a time, not {len(what)}"
        if not what:
            message = "name the code that is to be explained: a message has it"
        raise UsageError(message, help="whorl explain W004")
    elif (page := explanations.explain(code)) is not None:
        echo(page.rstrip())
    else:
        raise UsageError(f"no error has the code {code!r}", help=_near_codes(code))


def _near_codes(word: str) -> str:
    """The codes that are like a word, or whose titles have it."""
    codes = explanations.codes()
    letter, digits = word[:1].upper(), word[1:]
    padded = f"{letter}{digits:0>3}" if digits.isdigit() else word
    if padded in codes or (near := did_you_mean(padded, codes)):
        return f"did you mean {padded!r}?" if padded in codes else near
    titles = ((code, explanations.title(code)) for code in codes)
    found = [f"{code} ({title})" for code, title in titles if word.lower() in title.lower()]
    if found:
        return f"did you mean {', '.join(found[:5])}?"
    return "write a code as a message has it, such as W004; the page `Error codes` lists all"


def _functions(names: list[str]) -> list[str]:
    """All functions, filters and tests of a name, from the tables that the language uses."""
    from whorl.language import LanguageError, Library, functions
    from whorl.language.libraries import libraries, open_library

    if len(names) != 1:
        message = "name the function that is to be explained"
        raise UsageError(message, help="whorl explain function addDays")
    wanted = names[0].removesuffix("()").lstrip("@").lower()
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
        advice = did_you_mean(names[0], listed) or "docs/reference lists all of them"
        raise UsageError(f"there is no function {names[0]!r}", help=advice)
    return lines[1:]


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
        items = _items(group, *made.get_completion_args())
    except Exception:  # noqa: BLE001 - the edge: a shell that completes shows no messages
        return 1
    offered = [item for item in items if item.type != "plain" or _HARMLESS.fullmatch(item.value)]
    echo("\n".join(map(made.format_completion, offered)))
    return 0


def _items(group: LazyGroup, words: list[str], incomplete: str) -> list[CompletionItem]:
    ctx = shells._resolve_context(group, {}, "whorl", words)
    part, incomplete = shells._resolve_incomplete(ctx, words, incomplete)
    if isinstance(part, LazyGroup) and not incomplete.startswith("-"):
        rows = [row for section, rows in part.sections().items() if section for row in rows.items()]
        return [CompletionItem(n, help=h) for n, (_, h) in rows if n.startswith(incomplete)]
    wanted = (part.metavar or "") if isinstance(part, click.Parameter) else ""
    if isinstance(part, click.Option) and part.name == "inputs":
        wanted = _INPUT
    # Where the value of an option is still to come, click reads nothing of what is before it.
    is_option = bool(words) and words[-1].startswith("-")
    known = shells._resolve_context(group, {}, "whorl", words[:-1]) if is_option else ctx
    names = dict.fromkeys(_names(known, wanted, incomplete))
    # A name that begins with a dash would be read as an option.
    found = [n for n in names if n.startswith(incomplete) and not n.startswith("-")]
    if _FILES.search(wanted) and not found:
        return [CompletionItem(incomplete, type="file")]
    return [*map(CompletionItem, found)] or part.shell_complete(ctx, incomplete)


def _names(ctx: click.Context, wanted: str, incomplete: str) -> Iterator[str]:
    """What may be meant: templates, codes, runs, places in a run, steps or inputs of a file."""
    from whorl.services.project import find_project

    if wanted == _TEMPLATE:
        from whorl.templates import TEMPLATES

        yield from (template.name for template in TEMPLATES)
    elif wanted == _CODE:
        yield from (*explanations.codes(), "function")
    given: dict[str, Any] = ctx.params
    store = given.get("store") or ctx.find_root().params.get("store")
    project = find_project(os.environ, store=store, is_checked=False)
    run, slash, _ = incomplete.partition("/")
    is_place = _PLACES.search(wanted)
    if "RUN" in wanted:
        yield from (f"{run}/{p}" for p in _places(project, run)) if slash else _runs(project)
    elif is_place and given.get("run"):
        yield from _places(project, str(given["run"]).partition("/")[0])
    elif given.get("file") and (is_place or wanted == _INPUT):
        from whorl.ir.walk import index_nodes

        workflow = project.read(project.locate(given["file"])).workflow
        inputs = (f"{port.name}=" for port in workflow.inputs)
        yield from inputs if wanted == _INPUT else index_nodes(workflow)


def _runs(project: Project) -> Iterator[str]:
    yield "last"
    if project.has_runs():
        with closing(project.open_store()) as store:
            yield from [row.id for row in store.runs(limit=RUNS_MAX)]


def _places(project: Project, text: str) -> Iterator[str]:
    from whorl.services.runs import find_run

    with closing(project.open_store()) as store:
        for entry in islice(store.read(find_run(store, text)), ENTRIES_MAX):
            if entry.event.address:
                yield _ATTEMPT.sub("", entry.event.address)
