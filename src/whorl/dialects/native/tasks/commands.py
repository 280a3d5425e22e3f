"""Commands of the shell, word by word: which word names the program, and which values steer it."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from whorl.ir import Constant, Expression
from whorl.ir.checks.commands import VALUE, input_reader, is_steering, refusal, started
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.ir import Value
    from whorl.language import Json


_COMPARES = re.compile(r"\s-(?:eq|ne|lt|le|gt|ge)\s")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)\+?=")
_SUBSCRIPT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[[^\]]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
# Words before a command that are not the command.
_LEADING = frozenset(
    ("if", "then", "elif", "else", "while", "until", "do", "for", "!", "{", "coproc", "function")
)
# A variable of a script, and those that `set` gives values.
VARIABLE = re.compile(r"\$\{?[!#]?([A-Za-z_][A-Za-z0-9_]*|[1-9@*])")
_ARGUMENTS = frozenset("123456789@*")
# Commands that take their words for code, and those that do so with the names of variables.
_CODE = frozenset({"eval", "let", "trap", "alias", "source", "."})
_NAMES = frozenset(
    ("declare", "typeset", "local", "readonly", "export", "unset", "read", "mapfile", "readarray")
)
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

    `fed` says that a here-string comes, `redirects` that the name of a file does; `place` is where
    a value stands in the command, `feeds` who runs what it prints. `tainted` are the variables of
    the whole script that hold values.
    """

    words: list[str] = field(default_factory=list)
    word: str = ""
    fed: bool = False
    place: int | None = None
    document: Heredoc | None = None
    piped: Command | None = None
    redirects: bool = False
    feeds: str = ""
    tainted: set[str] = field(default_factory=set)

    def end_word(self) -> list[str]:
        """The words from the name of the command on."""
        word, self.word = self.word.replace(QUOTE, ""), ""
        if word and not self.redirects:
            self.words.append(word)
            self.tainted |= self._tainted_by(word)
        self.redirects = self.redirects and not word
        return self.named()

    def is_new(self) -> bool:
        """Whether the next word names the program."""
        return not (self.named() or self.word.strip(QUOTE) or self.redirects)

    def redirect(self) -> None:
        """What follows is the name of a file, or a number."""
        if self.word.isdigit():
            self.word = ""
        self.end_word()
        self.redirects = True

    def _tainted_by(self, word: str) -> set[str]:
        """The variables that hold a value because of a word."""
        names, is_value = self.named(), VALUE in word or ("$" in word and self.place is not None)
        first = names[0] if names else ""
        if assigned := _ASSIGNMENT.match(word):
            return {assigned[1]} if is_value else set()
        if first in ("read", "mapfile", "readarray") and word != first:
            return {word}
        if first == "printf" and self.words[-2:-1] == ["-v"]:
            return {word}
        if self.words[0] == "for" and is_value:
            return {*self.words[1:2]}
        return {*_ARGUMENTS} if first == "set" and is_value else set()

    def named(self) -> list[str]:
        """The complete words from the name of the command on."""
        for at, word in enumerate(self.words):
            if word not in _LEADING and not _ASSIGNMENT.match(word):
                return self.words[at:]
        return []


@dataclass(slots=True)
class Context:
    """A stretch of script with rules of its own, and its present command or here-document."""

    kind: str
    start: int
    document: Heredoc | None = None
    depth: int = 0
    command: Command = field(default_factory=Command)


def steered_by_options(words: Sequence[str]) -> str:
    """The program that would take a value behind these words for an option; empty: there is none.

    Behind `--` there are no options.
    """
    words = started(words)
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
        words.append(word)
    return found


def repeated_evaluation(command: Command, rest: str, *, is_inside: bool = True) -> str:
    """Why the shell would take a value for code, although it comes from a variable.

    `rest` is what follows it; a value that is not inside is in another command, whose output stands
    in this one.
    """
    if command.redirects:
        return ""
    words, prefix = command.named(), command.word.replace(QUOTE, "")
    inner = started(words)
    first, last = (inner[0], inner[-1]) if inner else ("", "")
    if first in _CODE or (first == "printf" and last == "-v"):
        return f"{first!r} would run the value as code"
    reader = command.feeds or (input_reader(words) if command.fed else "")
    if reader:
        return f"{reader!r} would run the value as code"
    if reason := refusal(words, prefix):
        return reason
    return _of_the_shell(inner, command.word, rest) if is_inside else ""


def _of_the_shell(words: list[str], word: str, rest: str) -> str:
    """Why the shell itself would take a value in a word of a command for code."""
    first, last = (words[0], words[-1]) if words else ("", "")
    if (assigned := _ASSIGNED.match(word)) and is_steering(assigned[1]):
        return f"the variable {assigned[1]!r} decides what is run, and the value would be that"
    if first in _NAMES and "=" not in word:
        return f"{first!r} would use the value as the name of a variable, which may contain code"
    if _SUBSCRIPT.match(word) and "=" not in word:
        return "an index of an array would run the value as code"
    if first in ("test", "[") and last in ("-v", "-R"):
        return f"{last!r} would use the value as the name of a variable"
    rest = rest.partition("]]")[0].partition("\n")[0] if first == "[[" else ""
    if first == "[[" and _COMPARES.search(" " + " ".join(words[1:]) + " " + rest):
        return "a comparison of numbers in [[ ]] would run the value as code"
    return ""
