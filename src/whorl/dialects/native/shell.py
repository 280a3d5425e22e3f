"""Reads shell scripts with values: each {{ }} becomes a variable, never text of a script.

A character stands for each value while the script is split into commands, just far enough to know
how a variable is expanded at each place. A mistake in that could only leave a variable unexpanded
or split into words: values are never in the script. A script with values has no here-documents.
"""

from __future__ import annotations

import re
from dataclasses import field
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, cast

from whorl import ir
from whorl.ir.checks.commands import ADVICE, VALUE, input_reader, is_steering, refusal, started
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.language import Json


# Commands, word by word: which word names the program, and which values steer it.

_COMPARES = re.compile(r"\s-(?:eq|ne|lt|le|gt|ge)\s")
_SUBSCRIPT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[[^\]]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
# Words before a command that are not the command.
_LEADING = frozenset(
    ("if", "then", "elif", "else", "while", "until", "do", "for", "!", "{", "coproc", "function")
)
# Commands that take their words for code, and those that do so with all but `NAME=value`.
_CODE = frozenset({"eval", "let", "trap", "alias", "source", "."})
_NAMES = frozenset(
    ("declare", "typeset", "local", "readonly", "export", "unset", "read", "mapfile", "readarray")
)
# Programs that an option makes run commands, load code or write files of any name.
_STEERED = re.compile(
    r"(?:.*/)?(git|hg|svn|tar|find|rsync|ssh|scp|sftp|curl|wget|zip|sort|make|npm|npx|yarn|pip|docker"
    r"|podman|sqlite3|psql|mysql|tcpdump|gcc|cc|go|cargo|man|less|vim?|awk|gawk|sed)"
)


@dataclass(slots=True)
class Command:
    """A command so far: its complete words, and the beginning of the next one.

    Each of the values has the number of its word and what is before it there. The command `is_fed`
    if a value may be its input; `redirects` is the mark before the name of a file that comes next.
    """

    start: int
    words: list[str] = field(default_factory=list)
    word: str = ""
    values: list[tuple[int, str, str]] = field(default_factory=list)
    is_fed: bool = False
    redirects: str = ""

    def add(self, values: Sequence[str], before: str = "", behind: str = "") -> None:
        """Adds values to the present word, which has a mark for each of them."""
        self.word += before
        for value in values:
            self.values.append((len(self.words), self.word, value))
            self.word += VALUE
        self.word += behind

    def end_word(self) -> None:
        word, self.word = self.word, ""
        if word and self.redirects:
            self.is_fed = self.is_fed or (self.redirects == "<" and VALUE in word)
            self.values = [each for each in self.values if each[0] < len(self.words)]
            self.redirects = ""
        elif word:
            self.words.append(word)


def named(words: Sequence[str]) -> Sequence[str]:
    """Returns the words from the name of a command on."""
    named = (at for at, w in enumerate(words) if w not in _LEADING and not _ASSIGNMENT.match(w))
    return words[next(named, len(words)) :]


def steered_by_options(words: Sequence[str]) -> str:
    """Returns the program that could take a value after these words for an option, or "".

    After `--` there are no options.
    """
    words = started(words)
    program = _STEERED.fullmatch(words[0]) if words else None
    return "" if program is None or "--" in words else program[1]


def steered_values(argv: Sequence[ir.Value]) -> list[Json]:
    """Returns the indexes of values in an argument list that its program could take for options."""
    found: list[Json] = []
    words: list[str] = []
    for index, item in enumerate(argv):
        word = str(item.value) if isinstance(item, ir.Constant) else "x"
        is_whole = isinstance(item, ir.Expression) and item.source.startswith("{")
        if is_whole and steered_by_options(words):
            found.append(index)
        words.append(word)
    return found


def evaluation(before: Sequence[str], prefix: str, whole: Sequence[str]) -> str:
    """Returns why a value of a command would run as code, although it comes from a variable.

    It is behind a prefix, after the words before; the result is empty if it is only a word.
    """
    words, reader = named(before), ""
    first, *others = started(words) or [""]
    if (assigned := _ASSIGNMENT.match(prefix)) and is_steering(assigned[1]):
        return f"the variable {assigned[1]!r} decides which programs run, and a value would set it"
    if first in _CODE or (first in _NAMES and "=" not in prefix):
        reader = repr(first)
    elif first in ("printf", "test", "[") and others[-1:] in (["-v"], ["-R"]):
        reader = f"'{first} {others[-1]}'"
    elif _SUBSCRIPT.match(prefix) and "=" not in prefix:
        reader = "an index of an array"
    elif first == "[[" and "$(" not in prefix and _COMPARES.search(" ".join(whole)):
        reader = "a comparison of numbers in [[ ]]"
    return f"{reader} would run the value as code" if reader else refusal(words, prefix)


# What a shell script with values in it is read into, and where its expressions end.

# Texts and brackets of an expression; a text that is not closed ends with the script.
_TOKEN = re.compile(r"""(['"])(?:\\.|(?!\1)[^\\])*(?:\1|\\?\Z)|[](){}[]""", re.DOTALL)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_PLACE_ADVICE = "compute the text in a `value` step, or pass it through `env` or `stdin`"


class Fault(NamedTuple):
    """A place in a script that cannot hold a value."""

    message: str
    offset: int
    length: int
    help: str = _PLACE_ADVICE


class Placed(NamedTuple):
    """An expression of a script, with where its text begins, and the variable in its place.

    The name of the variable ends with that of a program which must not take the value for one of
    its options.
    """

    source: str
    offset: int
    name: str


@dataclass(slots=True)
class Script:
    """A script with variables in place of its expressions."""

    text: str
    placed: list[Placed] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def expression_end(source: str, at: int) -> int | None:
    """Finds the end of the `}}` that closes an expression; skips quotes and brackets in it."""
    open_brackets: list[str] = []
    for token in _TOKEN.finditer(source, at):
        mark = token[0]
        if not open_brackets and source.startswith("}}", token.start()):
            return token.start() + 2
        if mark in _CLOSING:
            open_brackets.append(_CLOSING[mark])
        elif open_brackets and mark == open_brackets[-1]:
            open_brackets.pop()
    return None


PREFIX = "WHORL_"
PLACES_MAX = 200
LENGTH_MAX = 262_144
# How a variable is written outside of quotes, inside of single ones, and in an expanded text.
BARE, SINGLE, EXPANDED = '"{}"', "'\"{}\"'", "{}"

_FAULTS_MAX = 20
_DEPTH_MAX = 30
# The characters that stand for values; no font has them.
_FIRST = 0x10F000
_V = "\U0010f000-\U0010f0ff"
_VALUE = re.compile(f"([{_V}])")
_TAG = re.compile(r"\{%-?\s*(?:if|elif|else|endif|for|endfor|set|endset|macro|with|raw|filter)\b")
# What the shell expands everywhere; then the rest of texts in double quotes, and of commands.
_EXPANSION = rf"""
    (?P<escape>\\[^{_V}]) | (?P<glued>[\\$](?=[{_V}])) | (?P<value>[{_V}])
    | (?P<backtick>`(?:\\.|[^`\\])*`) | (?P<parameter>\$\{{) | (?P<arithmetic>\$\(\() |"""
_TEXT = re.compile(
    rf"""{_EXPANSION} (?P<inner>\$\() | (?P<quote>") | (?P<open>`) | (?P<text>[^\\$`"{_V}]+ | .)""",
    re.DOTALL | re.VERBOSE,
)
_COMMAND = re.compile(
    rf"""{_EXPANSION} (?P<calculation>\(\() | (?P<inner>[$<>]?\() | (?P<quote>")
    | (?P<single>'[^']*') | (?P<ansi>\$'(?:\\.|[^'\\])*') | (?P<open>\$?['`])
    | (?P<comment>(?<![^\s;&|(])\#[^\n]*) | (?P<document><<(?!<))
    | (?P<redirect><<<|&>>?|>>|>\||[<>]&?) | (?P<end>\|\||\|&?|&&|[;&\n)]) | (?P<blank>[ \t]+)
    | (?P<text>[^\\\#'"`$<>;&|\n() \t{_V}]+ | .)""",
    re.DOTALL | re.VERBOSE,
)
_UNCLOSED = "a quote or a bracket is not closed"
_BRACKETS = (re.compile(r"\\.|[()]", re.DOTALL), re.compile(r"\\.|[{}]", re.DOTALL))
_IN_ARITHMETIC = "in shell arithmetic, which would run it as code"
_REFUSED = {
    "comment": "in a comment of a script",
    "backtick": "between backticks; write $( ... )",
    "ansi": "in a text that begins with $'",
    "parameter": "inside of ${ ... }",
    "arithmetic": _IN_ARITHMETIC,
    "calculation": _IN_ARITHMETIC,
}


class _UnclearError(Exception):
    """A script cannot be followed; the arguments are the message and the place."""


def read_script(source: str) -> Script:
    """Replaces each {{ }} of a script by a variable."""
    if len(source) > LENGTH_MAX:
        words = f"a script has at most {LENGTH_MAX:,} characters"
        return Script(source, faults=[Fault(words, 0, 1, "run a file")])
    return _Reader(source).read()


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.faults: dict[int, Fault] = {}
        # Where each expression begins and ends; how its variable is written, and for which program.
        self.extents: list[tuple[int, int]] = []
        self.variables: dict[str, tuple[str, str]] = {}
        self.depth = 0
        self.text = self._cut()
        self.first = self.text.find(chr(_FIRST))

    def _cut(self) -> str:
        """Returns the script with a character for each expression."""
        source, parts, at = self.source, [""], 0
        while (start := source.find("{{", at)) >= 0:
            end = expression_end(source, start + 2)
            parts.append(source[at:start])
            if end is None or len(self.extents) == PLACES_MAX:
                fault = Fault(f"a script holds at most {PLACES_MAX} values", start, 2)
                if end is None:
                    advice = "close it, or write {{ '{{' }}"
                    fault = Fault("'{{' is not closed by '}}'", start, 2, advice)
                self.faults[start] = fault
                return "".join(parts)
            parts.append(chr(_FIRST + len(self.extents)))
            self.extents.append((start, end))
            at = end
        return "".join([*parts, source[at:]])

    def read(self) -> Script:
        for tag in islice(_TAG.finditer(self.text), _FAULTS_MAX):
            self._fault("a shell script cannot contain template tags", tag.start())
        script = Script(self.source)
        if self.extents and _VALUE.search(self.source):
            self.faults[0] = Fault("a script with values holds no private characters", 0, 1)
        elif self.extents:
            try:
                self._commands(0, len(self.text))
            except _UnclearError as fault:
                self._fault(*fault.args)
            script.text = _VALUE.sub(lambda value: self._variable(value[0], script), self.text)
        script.faults += [self.faults[at] for at in sorted(self.faults)[:_FAULTS_MAX]]
        return script

    def _variable(self, value: str, script: Script) -> str:
        """Returns the variable in the place of a value."""
        start, end = self.extents[ord(value) - _FIRST]
        if start in self.faults or value not in self.variables:
            return ""
        start += 3 if self.source.startswith("-", start + 2) else 2
        quotes, program = self.variables[value]
        name = f"{PREFIX}{len(script.placed) + 1}{'_' * bool(program)}{program}"
        script.placed.append(Placed(self.source[start : end - 2].removesuffix("-"), start, name))
        return quotes.format(f"${{{name}}}")

    def _fault(self, message: str, at: int, advice: str = _PLACE_ADVICE) -> None:
        before = self.extents[: len(_VALUE.findall(self.text, 0, at))]
        offset = at + sum(end - start - 1 for start, end in before)
        self.faults.setdefault(offset, Fault(message, offset, 1, advice))

    def _refuse(self, values: Sequence[str], message: str, advice: str = _PLACE_ADVICE) -> None:
        for start, end in (self.extents[ord(value) - _FIRST] for value in values):
            self.faults.setdefault(start, Fault(message, start, end - start, advice))

    def _place(self, value: str, quotes: str, command: Command) -> None:
        """Puts a value into the present word of a command."""
        program = "" if command.word else steered_by_options(named(command.words))
        self.variables[value] = quotes, program
        command.add(value)

    def _commands(self, at: int, end: int, words: Sequence[str] = (), closing: str = "") -> int:
        """Reads commands up to a closing bracket; returns where they end."""
        start, command, cases = at, Command(at, list(words)), 0
        self.depth += 1
        while at < end and self.depth < _DEPTH_MAX:
            token = cast("re.Match[str]", _COMMAND.match(self.text, at, end))
            kind, written, begin, at = token.lastgroup, token[0], at, token.end()
            if kind == "comment" and command.word:
                command.word, at = f"{command.word}#", begin + 1
            elif kind == "single":
                for part in _VALUE.split(written[1:-1]):
                    if _VALUE.match(part):
                        self._place(part, SINGLE, command)
                    else:
                        command.word += part
            elif kind == "blank":
                command.end_word()
            elif kind == "text":
                command.word += written
            elif kind == "end" or (written == "(" and not command.word.endswith("=")):
                cases += self._end(command)
                # What comes before a pipe may be a group or a loop, with any of the values so far.
                is_fed = written in ("|", "|&") and self.first < at
                if written == closing and not cases:
                    self.depth -= 1
                    return at
                at = self._commands(at, end, closing=")") if written == "(" else at
                command = Command(at, is_fed=is_fed)
            elif kind == "redirect":
                # A number before the mark is not a word.
                command.word = "" if command.word.isdigit() else command.word
                command.end_word()
                command.redirects = "<" if written in ("<", "<<<") else ">"
            elif kind == "document":
                raise _UnclearError("a script with values has no here-documents", begin)
            else:
                at = self._expanded(token, end, command, BARE)
        if closing or at < end:
            raise _UnclearError(_UNCLOSED, max(0, start - 1))
        self._end(command)
        return at

    def _expanded(self, token: re.Match[str], end: int, command: Command, quotes: str) -> int:
        """Reads what the shell expands in a word or a text; returns where it ends."""
        kind, written, begin, at = token.lastgroup or "", token[0], token.start(), token.end()
        if kind == "value":
            self._place(written, quotes, command)
        elif kind == "glued":
            what = "a backslash" if written == "\\" else "a '$'"
            self._refuse(self.text[at], f"a value cannot be used after {what}")
        elif kind == "quote":
            return self._text(at, end, command)
        elif kind == "inner":
            # The words of an array are no command.
            at = self._commands(at, end, ("=",) if written == "(" else (), ")")
            command.add(_VALUE.findall(self.text, begin, at), "$(", ")")
        elif kind == "open":
            raise _UnclearError(_UNCLOSED, begin)
        elif kind in _REFUSED:
            at = self._closed(written, at, end)
            values = _VALUE.findall(self.text, begin, at)
            self._refuse(values, f"a value cannot be used {_REFUSED[kind]}")
            command.word += "$" if kind in ("arithmetic", "parameter") else ""
        else:
            command.word += written[1:].strip("\n") if kind == "escape" else written
        return at

    def _text(self, at: int, end: int, command: Command) -> int:
        """Reads a text in double quotes; returns where it ends."""
        start = at
        while at < end:
            token = cast("re.Match[str]", _TEXT.match(self.text, at, end))
            if token.lastgroup == "quote":
                return token.end()
            at = self._expanded(token, end, command, EXPANDED)
        raise _UnclearError(_UNCLOSED, start - 1)

    def _closed(self, opening: str, at: int, end: int) -> int:
        """Returns where an expansion of this opening ends, by the number of its brackets."""
        depth = opening.count("(") + opening.count("{")
        for bracket in _BRACKETS["{" in opening].finditer(self.text, at, end) if depth else ():
            depth += (bracket[0] in "({") - (bracket[0] in ")}")
            at = bracket.end()
            if not depth:
                break
        if depth:
            raise _UnclearError(_UNCLOSED, at)
        return at

    def _end(self, command: Command) -> int:
        """Ends a command, and reports each value that it would run; counts `case` and `esac`."""
        command.end_word()
        words = command.words
        for number, prefix, value in command.values:
            if reason := evaluation(words[:number], prefix, words):
                self._refuse(value, reason, ADVICE)
        reader = input_reader(named(words)) if command.is_fed else ""
        if reader:
            self._fault(f"{reader!r} would run the value as code", command.start, ADVICE)
        return {"case": 1, "esac": -1}.get("".join(named(words)[:1]), 0)
