"""Every command that is printed or documented exists, with the options that it is given."""

from __future__ import annotations

import ast
import re
import shlex
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from whorl.interfaces.cli import COMMANDS
from whorl.interfaces.cli.group import build_group

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent.parent
# In quotes or backticks, or alone on a line, also after the prompt of a shell.
QUOTED = re.compile(r"`(whorl [^`]*)`")
ALONE = re.compile(r"(?m)^[ \t]*(?:\$ |- run: |next: )?(whorl [a-z-].*)$")
CALLED = re.compile(r"(?<![\w.-])(whorl (?=--config|[a-z])[^;|&\n]*)")
PLACES = {
    "pages": ("docs/**/*.md", "src/whorl/explanations/*.md", "examples/**/*.md", "*.md"),
    "page": ("web/src/**/*.ts", "web/src/**/*.tsx"),
    "files": ("action.yml", "compose.yaml", "Containerfile", "Makefile", ".github/**/*.yml"),
    "source": ("src/whorl/**/*.py",),
}
# What ends a command in a line of a shell.
_ENDS = frozenset({"|", "||", "&&", ";", ">", ">>", "<", "&", "#"})
# A page that names what was before.
HISTORY = "CHANGELOG.md"


def printed(kind: str) -> Iterator[tuple[str, str]]:
    """The commands in all files of a kind, and where each of them is."""
    for pattern in PLACES[kind]:
        for path in ROOT.glob(pattern):
            text = path.read_text(encoding="utf-8")
            name = path.relative_to(ROOT).as_posix()
            if name == HISTORY or "foreign_verbs" in name:
                continue
            if kind == "source":
                yield from ((name, line) for line in source_commands(text))
                continue
            patterns = {"pages": (QUOTED, ALONE), "page": (QUOTED,), "files": (CALLED,)}[kind]
            for each in patterns:
                yield from ((name, found[1]) for found in each.finditer(text))


def source_commands(text: str) -> Iterator[str]:
    """The commands in the strings of a program, and those that are made of words."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for pattern in (QUOTED, ALONE):
                yield from (found[1] for found in pattern.finditer(node.value))
        elif isinstance(node, ast.JoinedStr):
            parts = (one.value if isinstance(one, ast.Constant) else "X" for one in node.values)
            yield from (found[1] for found in QUOTED.finditer("".join(map(str, parts))))
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("pasted", "Command"):
            given = node.args
            if given and isinstance(given[0], ast.List):
                given = given[0].elts
            words = [one.value if isinstance(one, ast.Constant) else "X" for one in given]
            if words and words[0] != "X":
                yield shlex.join(["whorl", *map(str, words)])


@cache
def mistake(line: str) -> str:
    """What is wrong with a command; nothing where it exists with all of its options."""
    try:
        words = shlex.split(line.rstrip("\\"), comments=True)[1:]
    except ValueError:
        # The rest of it is on other lines.
        words = line.replace("'", " ").replace('"', " ").split()[1:]
    command: click.Command = build_group(COMMANDS)
    context = click.Context(command, info_name="whorl")
    at = 0
    while at < len(words) and words[at] not in _ENDS:
        word, at = words[at], at + 1
        name = word.partition("=")[0]
        if name.startswith("-") and re.fullmatch(r"--?[a-z][a-z-]*", name):
            known = {each: one for one in command.get_params(context) for each in one.opts}
            known |= {n: one for one in command.get_params(context) for n in one.secondary_opts}
            if name not in known and name[:2] not in known:
                return f"{context.command_path} has no option {name}"
            option = known.get(name)
            # What follows is its value, which may look like anything.
            takes = isinstance(option, click.Option) and not option.is_flag and not option.count
            at += takes and "=" not in word and not getattr(option, "_flag_needs_value", False)
        elif isinstance(command, click.Group):
            if not re.fullmatch(r"[a-z][a-z-]*", word):
                return ""
            found = command.get_command(context, word)
            if found is None:
                return f"{context.command_path} has no command {word}"
            command, context = found, click.Context(found, info_name=word, parent=context)
    return ""


@pytest.mark.parametrize("kind", PLACES)
def test_printed_commands_exist(kind: str) -> None:
    found = sorted(set(printed(kind)))

    assert len(found) > 3
    assert [(name, line, why) for name, line in found if (why := mistake(line))] == []


def test_a_command_that_does_not_exist_is_found() -> None:
    assert mistake("whorl approve last") == "whorl has no command approve"
    assert mistake("whorl runs aprove last") == "whorl runs has no command aprove"
    assert mistake("whorl --store x run a.yaml --odd 3 # odd") == "whorl run has no option --odd"
    assert mistake("whorl run a.yaml -i --key=3 | grep --odd x") == ""
