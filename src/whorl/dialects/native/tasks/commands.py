"""Commands of the shell, word by word: which word names the program, and which values steer it."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from whorl.ir import Constant, Expression
from whorl.ir.checks.expressions import taking_code
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.ir import Value
    from whorl.language import Json


_COMPARES = re.compile(r"\s-(?:eq|ne|lt|le|gt|ge)\s")
_SUBSCRIPT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[[^\]]*")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
# Words before a command that are not the command.
_LEADING = frozenset(
    {"if", "then", "elif", "else", "while", "until", "do", "for", "!", "{", "time", "coproc"}
    | {"function", "sudo", "env", "nohup", "exec", "command", "builtin", "nice", "xargs"}
)
# Commands that take their words for code, and those that do so with the names of variables.
_CODE = frozenset({"eval", "let", "trap", "alias", "source", "."})
_NAMES = frozenset(
    ("declare", "typeset", "local", "readonly", "export", "unset", "read", "mapfile", "readarray")
)
# An option with its value in the same word.
_ATTACHED = re.compile(r"--[a-z-]+=|-[A-Za-z]")
# Programs that an option makes run commands, load code or write files of any name.
_STEERED = re.compile(
    r"(?:.*/)?(git|hg|svn|tar|find|rsync|ssh|scp|sftp|curl|wget|zip|sort|make|npm|npx|yarn|pip|docker"
    r"|podman|sqlite3|psql|mysql|tcpdump|gcc|cc|go|cargo|man|less|vim?|awk|gawk|sed)"
)
QUOTE = "\0"


@dataclass(slots=True)
class Heredoc:
    """A here-document whose lines are to come; `reader` takes them for code."""

    word: str
    dashed: bool
    quoted: bool
    reader: str


@dataclass(slots=True)
class Command:
    """A command so far; `piped` is the one whose output it reads.

    `fed` says that a here-string comes, `place` is where a value stands in the command.
    """

    words: list[str] = field(default_factory=list)
    word: str = ""
    fed: bool = False
    place: int | None = None
    document: Heredoc | None = None
    piped: Command | None = None

    def end_word(self) -> list[str]:
        """The words from the name of the command on."""
        if self.word:
            self.words.append(self.word.replace(QUOTE, ""))
            self.word = ""
        return self.named()

    def named(self) -> list[str]:
        """The complete words from the name of the command on."""
        for at, word in enumerate(self.words):
            if word not in _LEADING and not _ASSIGNMENT.match(word):
                return self.words[at:]
        return []


def steered_by_options(words: Sequence[str]) -> str:
    """The program that would take a value behind these words for an option; empty: there is none.

    Behind `--` there are no options.
    """
    program = _STEERED.fullmatch(words[0]) if words else None
    return "" if program is None or "--" in words else program[1]


def steered_values(argv: Sequence[Value]) -> list[Json]:
    """The places of values in a list of arguments that its program could take for options."""
    found: list[Json] = []
    words: list[str] = []
    for index, item in enumerate(argv):
        word = str(item.value) if isinstance(item, Constant) else "x"
        is_whole = isinstance(item, Expression) and item.source.startswith("{")
        if is_whole and steered_by_options(words):
            found.append(index)
        if words or word not in _LEADING:
            words.append(word)
    return found


def repeated_evaluation(command: Command, reader: str, rest: str) -> str:
    """Why the shell would take a value for code, although it comes from a variable.

    `reader` takes the here-document for code that the value stands in, `rest` is what follows it.
    """
    words = command.named()
    first, last = (words[0], words[-1]) if words else ("", "")
    is_code = first in _CODE or (first == "printf" and last == "-v")
    if reader := reader or (first if is_code else ""):
        return f"{reader!r} would run the value as code"
    if first in _NAMES and "=" not in command.word:
        return f"{first!r} would use the value as the name of a variable, which may contain code"
    if _SUBSCRIPT.match(command.word) and "=" not in command.word:
        return "an index of an array would run the value as code"
    attached = _ATTACHED.match(command.word.replace(QUOTE, ""))
    option = [attached[0].removesuffix("=")] if attached else []
    # `env` stands before a command, and may take a word for the whole of it.
    for before in (words, command.words):
        if reader := taking_code([*before, *option], as_input=command.fed):
            return f"{reader!r} would run the value as code"
    if first in ("test", "[") and last in ("-v", "-R"):
        return f"{last!r} would use the value as the name of a variable"
    rest = rest.partition("]]")[0].partition("\n")[0] if first == "[[" else ""
    if first == "[[" and _COMPARES.search(" " + " ".join(words[1:]) + " " + rest):
        return "a comparison of numbers in [[ ]] would run the value as code"
    return ""
