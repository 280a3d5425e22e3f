"""The code blocks of a page, and the commands in those of a shell, with the output shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)


class Block(NamedTuple):
    """A block with its language and the number of its first line."""

    language: str
    text: str
    line: int


class Command(NamedTuple):
    """A command as it is pasted, and what the page shows below it (nothing: it shows none)."""

    text: str
    shown: str
    line: int


def blocks_of(page: Path) -> list[Block]:
    """All blocks of a page, in its order."""
    text = page.read_text()
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start()) + 2)
        for found in _BLOCK.finditer(text)
    ]


def commands_of(block: Block) -> list[Command]:
    """The commands of a block: each line of `sh`, each line with a `$` of `console`."""
    commands: list[Command] = []
    is_open = False
    for number, line in enumerate(block.text.splitlines()):
        if is_open:
            last = commands.pop()
            commands.append(last._replace(text=f"{last.text}\n{line}"))
        elif block.language == "sh" and line:
            commands.append(Command(line, "", block.line + number))
        elif line.startswith("$ "):
            commands.append(Command(line[2:], "", block.line + number))
        elif block.language == "console":
            last = commands.pop()
            commands.append(last._replace(shown=f"{last.shown}{line}\n"))
        is_open = commands[-1].text.endswith("\\")
    return commands
