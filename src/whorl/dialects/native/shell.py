"""Reads shell scripts with values: each {{ }} becomes a variable, never text of a script.

The shell is followed just far enough to know how a variable is expanded at each place. A mistake in
that could only leave a variable unexpanded or split into words: values are never in the script.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

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
QUOTE = "\0"


@dataclass(slots=True)
class Heredoc:
    """A here-document whose lines are to come; `reader` would run them as code."""

    word: str
    dashed: bool
    quoted: bool
    reader: str


@dataclass(slots=True)
class Command:
    """A command so far: its complete words, and the beginning of the next one.

    It `has_value` somewhere, or `is_fed` one as its input; `redirects` is the mark before the name
    of a file that comes next.
    """

    start: int
    words: list[str] = field(default_factory=list)
    word: str = ""
    has_value: bool = False
    is_fed: bool = False
    redirects: str = ""

    def named(self) -> list[str]:
        """Returns the complete words from the name of the command on."""
        for at, word in enumerate(self.words):
            if word not in _LEADING and not _ASSIGNMENT.match(word):
                return self.words[at:]
        return []


@dataclass(slots=True)
class Context:
    """A stretch of script with rules of its own, and its present command or here-document."""

    kind: str
    start: int
    command: Command
    document: Heredoc | None = None
    depth: int = 0


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


def evaluation(command: Command, rest: str) -> str:
    """Returns why a value in a command would run as code, although it comes from a variable.

    `rest` is what follows the value; the result is empty if it is only a word.
    """
    if command.redirects:
        return ""
    words, word, reader = command.named(), command.word, ""
    first, *others = started(words) or [""]
    if (assigned := _ASSIGNMENT.match(word)) and is_steering(assigned[1]):
        return f"the variable {assigned[1]!r} decides what is run, and the value would be that"
    if first in _CODE or (first in _NAMES and "=" not in word):
        reader = repr(first)
    elif first in ("printf", "test", "[") and others[-1:] in (["-v"], ["-R"]):
        reader = f"'{first} {others[-1]}'"
    elif _SUBSCRIPT.match(word) and "=" not in word:
        reader = "an index of an array"
    elif first == "[[":
        rest = rest.partition("]]")[0].partition("\n")[0]
        if _COMPARES.search(f" {' '.join(others)} {rest}"):
            reader = "a comparison of numbers in [[ ]]"
    if reader:
        return f"{reader} would run the value as code"
    return refusal(words, word.replace(QUOTE, ""))


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
# How a variable is written inside of quotes of each kind; elsewhere it gets quotes of its own.
QUOTED = {"ansi": "'\"{}\"$'", "single": "'\"{}\"'", "double": "{}", "heredoc": "{}"}
BARE = '"{}"'

_HEREDOC = re.compile(r"<<(-?)[ \t]*(\\?)(['\"]?)([A-Za-z_][A-Za-z0-9_.-]*)\3")
_TAG = re.compile(r"\{%-?\s*(?:if|elif|else|endif|for|endfor|set|endset|macro|with|raw|filter)\b")
_ORDINARY = re.compile(r"""[^\\#'"`$<>;&|\n() \t{]+""")
_FAULTS_MAX = 20
_QUOTES = {"'": "single", '"': "double", "`": "backtick"}
_DOLLARS = {"$((": "arithmetic", "$(": "substitution", "${": "parameter", "$'": "ansi"}
_COMMANDS = ("command", "substitution")
_CLOSES = {"single": "'", "double": '"', "ansi": "'", "backtick": "`", "parameter": "}"}
_CLOSED = (*_CLOSES, "substitution", "arithmetic")
_ESCAPING = ("double", "ansi", "backtick", "parameter", "heredoc")
_EXPANDING = ("double", "parameter", "heredoc")
_REFUSED = {
    "comment": "in a comment of a script",
    "quoted heredoc": "in a here-document whose end word is quoted: the shell would not expand it",
    "backtick": "between backticks; write $( ... )",
    "parameter": "inside of ${ ... }",
    "arithmetic": "in shell arithmetic, which would run it as code",
}


def read_script(source: str) -> Script:
    """Replaces each {{ }} of a script by a variable."""
    return _Scanner(source).scan()


class _Scanner:
    def __init__(self, source: str) -> None:
        self.source = source
        self.has_values = "{{" in source
        self.at = 0
        self.places = 0
        self.out: list[str] = []
        self.script = Script("")
        self.stack = [self._context("command")]
        self.heredocs: list[Heredoc] = []

    def scan(self) -> Script:
        if len(self.source) > LENGTH_MAX:
            self._fault(f"a script has at most {LENGTH_MAX:,} characters", 0, 1, "call a program")
            return self.script
        while self.at < len(self.source):
            if self.source.startswith("{{", self.at):
                self._place()
            elif self.source.startswith("{%", self.at) and _TAG.match(self.source, self.at):
                self._fault("a shell script holds no template tags", self.at, 2)
                self._copy(2)
            else:
                self._in_command() if self.context.kind in _COMMANDS else self._in_text()
        self._end_command(self.context.command)
        if self.context.kind in _CLOSED and self.script.placed:
            self._fault("a quote or a bracket is not closed", self.context.start, 1, "close it")
        self.script.text = "".join(self.out)
        return self.script

    @property
    def context(self) -> Context:
        return self.stack[-1]

    def _copy(self, count: int = 1) -> None:
        self.out.append(self.source[self.at : self.at + count])
        self.at += count

    def _context(self, kind: str, document: Heredoc | None = None) -> Context:
        return Context(kind, self.at, Command(self.at), document)

    def _push(self, kind: str, count: int) -> None:
        self.stack.append(self._context(kind))
        self._copy(count)

    def _pop(self, count: int = 1) -> None:
        self.stack.pop()
        self._copy(count)

    def _spell(self, text: str) -> None:
        """Adds a quoted part to the word of the command that contains it."""
        for context in reversed(self.stack):
            if context.kind in _COMMANDS:
                context.command.word += text
            if context.kind not in ("single", "double"):
                return

    def _fault(
        self, message: str, offset: int, length: int, help_text: str = _PLACE_ADVICE
    ) -> None:
        if len(self.script.faults) < _FAULTS_MAX:
            self.script.faults.append(Fault(message, offset, length, help_text))

    def _place(self) -> None:
        """Replaces a value by a variable."""
        start, end = self.at, expression_end(self.source, self.at + 2)
        self.places += 1
        if end is None or self.places > PLACES_MAX:
            self.at = len(self.source)
            if end is None:
                self._fault("'{{' is not closed by '}}'", start, 2, "close it, or write {{ '{{' }}")
            else:
                self._fault(f"a script holds at most {PLACES_MAX} values", start, end - start)
            return
        if reason := self._refusal(start):
            self._fault(reason, start, end - start)
        elif reason := self._evaluated(end):
            self._fault(reason, start, end - start, ADVICE)
        else:
            inner_start = start + 3 if self.source.startswith("-", start + 2) else start + 2
            inner = self.source[inner_start : end - 2].removesuffix("-")
            name = f"{PREFIX}{len(self.script.placed) + 1}{self._steered()}"
            self.script.placed.append(Placed(inner, inner_start, name))
            self.out.append(QUOTED.get(self.context.kind, BARE).format(f"${{{name}}}"))
        self._mark()
        self.at = end

    def _mark(self) -> None:
        """Records that the commands around this place have a value."""
        self._spell(VALUE)
        for context in self.stack:
            command = context.command
            command.has_value = True
            command.is_fed = command.is_fed or command.redirects == "<"

    def _steered(self) -> str:
        """Returns the program that could take a value, a word of its own, for an option, or ""."""
        if self.context.kind not in (*_COMMANDS, "single", "double"):
            return ""
        command = next(c for c in reversed(self.stack) if c.kind in _COMMANDS).command
        program = steered_by_options(command.named())
        return f"_{program}" if program and not command.word.strip(QUOTE) else ""

    def _refusal(self, start: int) -> str:
        kind = self.context.kind
        before = self.source[start - 1] if start else ""
        if kind in _REFUSED:
            return f"a value cannot be used {_REFUSED[kind]}"
        if before == "\\" and kind in ("command", "double", "heredoc", "ansi"):
            return "a value cannot be used after a backslash"
        if before == "$" and kind != "single":
            return "a value is written without '$' before it"
        return ""

    def _evaluated(self, end: int) -> str:
        """Returns why the value before `end` would run as code, in its command or one around it."""
        rest = self.source[end:]
        for context in reversed(self.stack):
            if context.document and context.document.reader:
                return f"{context.document.reader!r} would run the value as code"
            if context.kind in _COMMANDS:
                if reason := evaluation(context.command, rest):
                    return reason
                # Of a command around this one, the output of this one is the word.
                rest = ""
        return ""

    def _in_command(self) -> None:
        source, at, command = self.source, self.at, self.context.command
        mark = source[at]
        if mark == "\\":
            self._spell(QUOTE + source[at + 1 : at + 2].strip("{\n"))
            self._copy(1 if source.startswith("{{", at + 1) else 2)
        elif mark == "#" and not command.word and (at == 0 or source[at - 1] in " \t\n;&|("):
            self._push("comment", 1)
        elif mark in _QUOTES:
            self._spell(QUOTE)
            self._push(_QUOTES[mark], 1)
        elif mark == "$":
            self._dollar()
        elif source.startswith("<<", at):
            self._heredoc_mark(command)
        elif mark in "<>" or source[at : at + 2] == "&>" or (mark in "&|" and self._before("<>")):
            # A number before the mark is not a word.
            command.word = "" if command.word.isdigit() else command.word
            self._end_word(command)
            command.redirects = mark
            self._copy()
        elif mark in ";&|\n()":
            self._separator(mark, command)
        elif mark in " \t":
            self._end_word(command)
            self._copy()
        else:
            run = _ORDINARY.match(source, at)
            self._spell(run[0] if run else mark)
            self._copy(len(run[0]) if run else 1)

    def _before(self, marks: str) -> bool:
        return self.at > 0 and self.source[self.at - 1] in marks

    def _end_word(self, command: Command) -> list[str]:
        """Ends the present word; returns the words of the command from its name on."""
        word, command.word = command.word.replace(QUOTE, ""), ""
        if word and not command.redirects:
            command.words.append(word)
        if word:
            command.redirects = ""
        return command.named()

    def _end_command(self, command: Command) -> None:
        """Ends a command; reports a fault if its program would run its input as code."""
        reader = input_reader(self._end_word(command))
        if reader and command.is_fed and self.has_values:
            self._fault(f"{reader!r} would run the value as code", command.start, 1, ADVICE)

    def _separator(self, mark: str, command: Command) -> None:
        context = self.context
        if not self._end_word(command) and self.source.startswith("((", self.at):
            self._push("arithmetic", 2)
            return
        # `bash <( ... )` reads what the commands print.
        command.is_fed = command.is_fed or (mark == "(" and command.redirects == "<")
        self._end_command(command)
        if mark == ")" and context.depth == 0 and context.kind == "substitution":
            self._pop()
            return
        context.depth = max(0, context.depth + {"(": 1, ")": -1}.get(mark, 0))
        is_piped = mark == "|" and "||" not in self.source[max(0, self.at - 1) : self.at + 2]
        is_piped = is_piped or (mark == "&" and self._before("|"))
        # A group or a loop gives what the commands in it do.
        is_group = command.named()[:1] in ([], ["}"], ["done"], ["fi"]) and self.places > 0
        # The words of an array are no command.
        words = ["="] if mark == "(" and self._before("=") else []
        is_fed = is_piped and (command.has_value or command.is_fed or is_group)
        context.command = Command(self.at + 1, words, is_fed=is_fed)
        self._copy()
        if mark == "\n" and self.heredocs:
            self._open_heredoc()

    def _dollar(self) -> None:
        self._spell("$")
        for mark, kind in _DOLLARS.items():
            is_other = mark == "${" and self.source.startswith("${{", self.at)
            is_quoted = mark == "$'" and self.context.kind not in _COMMANDS
            if self.source.startswith(mark, self.at) and not is_other and not is_quoted:
                self._push(kind, len(mark))
                return
        self._copy()

    def _heredoc_mark(self, command: Command) -> None:
        if self.source.startswith("<<<", self.at):
            self._end_word(command)
            command.redirects = "<"
            self._copy(3)
            return
        match = _HEREDOC.match(self.source, self.at)
        if match is None:
            self._copy(2)
            if self.source[self.at : self.at + 16].lstrip(" \t-").startswith("{{"):
                self._fault("a value cannot be the end word of a here-document", self.at, 2)
            return
        reader = input_reader(self._end_word(command))
        is_quoted = bool(match[2] or match[3])
        command.has_value = command.has_value or not is_quoted
        self.heredocs.append(Heredoc(match[4], bool(match[1]), is_quoted, reader))
        self._copy(match.end() - self.at)

    def _open_heredoc(self) -> None:
        document = self.heredocs.pop(0)
        kind = "quoted heredoc" if document.quoted else "heredoc"
        self.stack.append(self._context(kind, document))
        self._close_heredoc(document)

    def _close_heredoc(self, document: Heredoc) -> None:
        """Ends the here-document if the line that starts here is its end word."""
        end = self.source.find("\n", self.at)
        line = self.source[self.at : end if end >= 0 else len(self.source)]
        if (line.lstrip("\t") if document.dashed else line) == document.word:
            self._pop(len(line) + 1)
            if self.heredocs:
                self._open_heredoc()

    def _in_text(self) -> None:
        context, mark = self.context, self.source[self.at]
        kind, document = context.kind, context.document
        if mark == _CLOSES.get(kind):
            self._pop()
        elif kind == "arithmetic" and mark in "()":
            context.depth += 1 if mark == "(" else -1
            count = 2 if self.source.startswith("))", self.at) else 1
            self._pop(count) if context.depth < 0 else self._copy()
        elif mark == "\n" and kind == "comment":
            # The end of the line belongs to the script around the comment.
            self.stack.pop()
        elif mark == "\n" and document is not None:
            self._copy()
            self._close_heredoc(document)
        elif mark == "\\" and kind in _ESCAPING:
            ends = ("{{", "\n") if document else "{{"
            self._copy(1 if self.source.startswith(ends, self.at + 1) else 2)
        elif mark == "$" and kind in _EXPANDING:
            self._dollar()
        elif mark == "`" and kind == "double":
            self._push("backtick", 1)
        else:
            self._spell(mark)
            self._copy()
