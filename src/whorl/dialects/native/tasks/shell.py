"""Shell scripts with values in them: each {{ }} becomes a variable, never text of the script.

The shell is followed just far enough to know how a variable is expanded at each place. A mistake
in that could only leave a variable unexpanded or split into words: values are never in the script.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import NamedTuple

from whorl.dialects.native.tasks.commands import (
    QUOTE,
    Command,
    Heredoc,
    repeated_evaluation,
    steered_by_options,
)
from whorl.ir.checks.expressions import taking_code
from whorl.lazily import dataclass

PREFIX = "WHORL_"
PLACES_MAX = 200
LENGTH_MAX = 262_144
# How a variable is written inside of quotes of each kind; elsewhere it gets quotes of its own.
QUOTED = {"ansi": "'\"{}\"$'", "single": "'\"{}\"'", "double": "{}", "heredoc": "{}"}
BARE = '"{}"'

_HEREDOC = re.compile(r"<<(-?)[ \t]*(\\?)(['\"]?)([A-Za-z_][A-Za-z0-9_.-]*)\3")
_TAG = re.compile(r"\{%-?\s*(?:if|elif|else|endif|for|endfor|set|endset|macro|with|raw|filter)\b")
_ORDINARY = re.compile(r"""[^\\#'"`$<>;&|\n() \t{]+""")
# Texts and brackets of an expression; a text that is not closed ends with the script.
_TOKEN = re.compile(r"""(['"])(?:\\.|(?!\1)[^\\])*(?:\1|\\?\Z)|[](){}[]""", re.DOTALL)
_WORD_MAX = 64
_FAULTS_MAX = 20
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_QUOTES = {"'": "single", '"': "double", "`": "backtick"}
_DOLLARS = {"$((": "arithmetic", "$(": "substitution", "${": "parameter", "$'": "ansi"}
_COMMANDS = ("command", "substitution")
_CLOSES = {"single": "'", "double": '"', "ansi": "'", "backtick": "`", "parameter": "}"}
_ESCAPING = ("double", "ansi", "backtick", "parameter", "heredoc")
_EXPANDING = ("double", "parameter", "heredoc")
_REFUSED = {
    "comment": "in a comment of a script",
    "quoted heredoc": "in a here-document whose end word is quoted: the shell would not expand it",
    "backtick": "between backticks; write $( ... )",
    "parameter": "inside of ${ ... }",
    "arithmetic": "in shell arithmetic, which would run it as code",
}
_UNCLOSED = {"single": "a single quote", "double": "a double quote", "ansi": "a quote"}
_UNCLOSED |= {"backtick": "a backtick", "substitution": "'$('", "parameter": "'${'"}
_UNCLOSED["arithmetic"] = "a calculation"
_ADVICE = "compute the text in a `value` step, or pass it through `env` or `stdin`"


class Fault(NamedTuple):
    """A place in a script that cannot hold a value."""

    message: str
    offset: int
    length: int
    help: str = _ADVICE


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


@dataclass(slots=True)
class _Context:
    """A stretch of script with rules of its own, and its present command or here-document."""

    kind: str
    start: int
    document: Heredoc | None = None
    depth: int = 0
    command: Command = field(default_factory=Command)


def read_script(source: str) -> Script:
    """Puts a variable in the place of each {{ }} of a script."""
    return _Scanner(source).scan()


class _Scanner:
    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.places = 0
        self.out: list[str] = []
        self.script = Script("")
        self.stack = [_Context("command", 0)]
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
                _STEPS.get(self.context.kind, _Scanner._in_text)(self)
        self._check_pipe(self.context.command)
        unclosed = _UNCLOSED.get(self.context.kind)
        if unclosed and self.script.placed:
            self._fault(f"{unclosed} is not closed", self.context.start, 1, "close it")
        self.script.text = "".join(self.out)
        return self.script

    @property
    def context(self) -> _Context:
        return self.stack[-1]

    def _copy(self, count: int = 1) -> None:
        self.out.append(self.source[self.at : self.at + count])
        self.at += count

    def _push(self, kind: str, count: int) -> None:
        self.stack.append(_Context(kind, self.at))
        self._copy(count)

    def _pop(self, count: int = 1) -> None:
        self.stack.pop()
        self._copy(count)

    def _spell(self, text: str) -> None:
        """A quoted part belongs to the word of the command that it stands in."""
        for context in reversed(self.stack):
            if context.kind in _COMMANDS:
                context.command.word += text[: max(0, _WORD_MAX - len(context.command.word))]
            if context.kind not in ("single", "double"):
                return

    def _fault(self, message: str, offset: int, length: int, help_text: str = _ADVICE) -> None:
        if len(self.script.faults) < _FAULTS_MAX:
            self.script.faults.append(Fault(message, offset, length, help_text))

    def _place(self) -> None:
        """Puts a variable in the place of a value."""
        start, end = self.at, _expression_end(self.source, self.at + 2)
        self.places += 1
        if end is None or self.places > PLACES_MAX:
            self.at = len(self.source)
            if end is None:
                self._fault("'{{' is not closed by '}}'", start, 2, "close it, or write {{ '{{' }}")
            else:
                self._fault(f"a script holds at most {PLACES_MAX} values", start, end - start)
            return
        if reason := self._refusal(start, end):
            self._fault(reason, start, end - start)
        else:
            inner_start = start + 3 if self.source.startswith("-", start + 2) else start + 2
            inner = self.source[inner_start : end - 2].removesuffix("-")
            name = f"{PREFIX}{len(self.script.placed) + 1}{self._steered()}"
            self.script.placed.append(Placed(inner, inner_start, name))
            self.out.append(QUOTED.get(self.context.kind, BARE).format(f"${{{name}}}"))
        self.context.command.word += "x"
        for context in self.stack:
            context.command.place = start
        self.at = end

    def _steered(self) -> str:
        """The program that would take a value for an option, which begins a word of its own."""
        if self.context.kind not in (*_COMMANDS, "single", "double"):
            return ""
        command = next(c for c in reversed(self.stack) if c.kind in _COMMANDS).command
        program = steered_by_options(command.named())
        return f"_{program}" if program and not command.word.strip(QUOTE) else ""

    def _refusal(self, start: int, end: int) -> str:
        kind = self.context.kind
        before = self.source[start - 1] if start else ""
        if kind in _REFUSED:
            return f"a value cannot be used {_REFUSED[kind]}"
        if before == "\\" and kind in ("command", "double", "heredoc", "ansi"):
            return "a value cannot be used after a backslash"
        if before == "$" and kind != "single":
            return "a value is written without '$' before it"
        command = next(c for c in reversed(self.stack) if c.kind in _COMMANDS).command
        reader = self.context.document.reader if self.context.document else ""
        return repeated_evaluation(command, reader, self.source[end:])

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
        elif mark in ";&|\n()":
            self._separator(mark, command)
        elif mark in " \t<>":
            command.end_word()
            self._copy()
        else:
            run = _ORDINARY.match(source, at)
            self._spell(run[0] if run else mark)
            self._copy(len(run[0]) if run else 1)

    def _separator(self, mark: str, command: Command) -> None:
        context = self.context
        if not command.end_word() and self.source.startswith("((", self.at):
            self._push("arithmetic", 2)
            return
        self._check_pipe(command)
        if mark == ")" and context.depth == 0 and context.kind == "substitution":
            self._pop()
            return
        context.depth = max(0, context.depth + {"(": 1, ")": -1}.get(mark, 0))
        around = self.source[max(0, self.at - 1) : self.at + 2]
        command.piped = None
        context.command = Command(piped=command if mark == "|" and "||" not in around else None)
        self._copy()
        if mark == "\n" and self.heredocs:
            self._open_heredoc()

    def _check_pipe(self, command: Command) -> None:
        """A value that goes through a pipe into a shell is code there."""
        reader = taking_code(command.end_word(), as_input=True)
        if reader and command.piped is not None:
            if command.piped.place is not None:
                self._fault(f"{reader!r} would run the value as code", command.piped.place, 2)
            if command.piped.document is not None:
                command.piped.document.reader = reader

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
            command.end_word()
            command.fed = True
            self._copy(3)
            return
        match = _HEREDOC.match(self.source, self.at)
        if match is None:
            self._copy(2)
            if self.source[self.at : self.at + 16].lstrip(" \t-").startswith("{{"):
                self._fault("a value cannot be the end word of a here-document", self.at, 2)
            return
        reader = taking_code(command.end_word(), as_input=True)
        command.document = Heredoc(match[4], bool(match[1]), bool(match[2] or match[3]), reader)
        self.heredocs.append(command.document)
        self._copy(match.end() - self.at)

    def _open_heredoc(self) -> None:
        document = self.heredocs.pop(0)
        kind = "quoted heredoc" if document.quoted else "heredoc"
        self.stack.append(_Context(kind, self.at, document))
        self._close_heredoc(document)

    def _close_heredoc(self, document: Heredoc) -> None:
        """At the start of a line: ends the here-document if this is its end word."""
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

    def _in_arithmetic(self) -> None:
        context, mark = self.context, self.source[self.at]
        if mark == ")" and context.depth == 0:
            self._pop(2 if self.source.startswith("))", self.at) else 1)
            return
        context.depth += {"(": 1, ")": -1}.get(mark, 0)
        self._copy()


_STEPS = {
    "command": _Scanner._in_command,
    "substitution": _Scanner._in_command,
    "arithmetic": _Scanner._in_arithmetic,
}


def _expression_end(source: str, at: int) -> int | None:
    """Finds the end of the `}}` that closes an expression, quotes and brackets in it aside."""
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
