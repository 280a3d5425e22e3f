"""Shell scripts with values in them: each {{ }} becomes a variable, never text of the script.

The shell is followed just far enough to know how a variable is expanded at each place. A mistake
in that could only leave a variable unexpanded or split into words: values are never in the script.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from whorl.ir.checks.expressions import taking_code

PREFIX = "WHORL_"
PLACES_MAX = 200
LENGTH_MAX = 262_144

_HEREDOC = re.compile(r"<<(-?)[ \t]*(\\?)(['\"]?)([A-Za-z_][A-Za-z0-9_.-]*)\3")
_TAG = re.compile(r"\{%-?\s*(?:if|elif|else|endif|for|endfor|set|endset|macro|with|raw|filter)\b")
_SEPARATORS = ";&|\n()"
_COMPARES = re.compile(r"\s-(?:eq|ne|lt|le|gt|ge)\s")
_SUBSCRIPT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[[^\]]*")
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
_WORD_MAX = 64
_QUOTE = "\0"
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_ADVICE = "compute the text in a `value` step, or pass it through `env` or `stdin`"


@dataclass(frozen=True, slots=True)
class Fault:
    """A place in a script that cannot hold a value."""

    message: str
    offset: int
    length: int
    help: str = _ADVICE


@dataclass(frozen=True, slots=True)
class Placed:
    """An expression of a script, with where its text begins."""

    source: str
    offset: int


@dataclass(slots=True)
class _Heredoc:
    """A here-document whose lines are to come; `reader` takes them for code."""

    word: str
    dashed: bool
    quoted: bool
    reader: str


@dataclass(slots=True)
class Script:
    """A script with variables in place of its expressions."""

    text: str
    placed: list[Placed] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def read_script(source: str) -> Script:
    """Puts a variable in the place of each {{ }} of a script."""
    return _Scanner(source).scan()


@dataclass(slots=True)
class _Context:
    """A stretch of script with rules of its own, and the words of its present command."""

    kind: str
    start: int
    depth: int = 0
    words: list[str] = field(default_factory=list)
    word: str = ""
    # Whether a here-string comes, and where a value stands whose text goes on through a pipe.
    fed: bool = False
    place: int | None = None
    piped: int | None = None
    # The here-document of the command, and the one whose text comes through a pipe.
    document: _Heredoc | None = None
    piped_document: _Heredoc | None = None

    def end_word(self) -> None:
        if self.word:
            self.words.append(self.word.replace(_QUOTE, ""))
            self.word = ""

    def spell(self, text: str) -> None:
        if len(self.word) < _WORD_MAX:
            self.word += text

    def end_command(self, *, piped: bool = False) -> None:
        self.piped = self.place if piped else None
        self.piped_document = self.document if piped else None
        self.document = None
        self.words = []
        self.word = ""
        self.fed = False
        self.place = None


class _Scanner:
    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.places = 0
        self.out: list[str] = []
        self.script = Script("")
        self.stack = [_Context("command", 0)]
        self.heredocs: list[_Heredoc] = []

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
                _STEPS[self.stack[-1].kind](self)
        self._check_end()
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
            if context.kind in ("command", "substitution"):
                context.spell(text)
                return
            if context.kind not in ("single", "double"):
                return

    def _fault(self, message: str, offset: int, length: int, help_text: str = _ADVICE) -> None:
        if len(self.script.faults) < 20:
            self.script.faults.append(Fault(message, offset, length, help_text))

    # Placing a value.

    def _place(self) -> None:
        start = self.at
        end = _expression_end(self.source, start + 2)
        if end is None:
            self._fault("'{{' is not closed by '}}'", start, 2, "close it, or write {{ '{{' }}")
            self.at = len(self.source)
            return
        inner_start = start + 3 if self.source.startswith("-", start + 2) else start + 2
        inner = self.source[inner_start : end - 2].removesuffix("-")
        self.places += 1
        if self.places > PLACES_MAX:
            self._fault(f"a script holds at most {PLACES_MAX} values", start, end - start)
            self.at = len(self.source)
            return
        reason = self._refusal(start, end)
        if reason:
            self._fault(reason, start, end - start)
        else:
            self.script.placed.append(Placed(inner, inner_start))
            variable = f"${{{PREFIX}{len(self.script.placed)}}}"
            self.out.append(self._quoted(variable))
        self.context.word += "x"
        for context in self.stack:
            context.place = start
        self.at = end

    def _quoted(self, variable: str) -> str:
        match self.context.kind:
            case "single":
                return f"'\"{variable}\"'"
            case "ansi":
                return f"'\"{variable}\"$'"
            case "double" | "heredoc":
                return variable
            case _:
                return f'"{variable}"'

    def _refusal(self, start: int, end: int) -> str:
        kind = self.context.kind
        before = self.source[start - 1] if start else ""
        if kind in _REFUSED:
            return f"a value cannot stand {_REFUSED[kind]}"
        if before == "\\" and kind in ("command", "double", "heredoc", "ansi"):
            return "a value cannot stand behind a backslash"
        if before == "$" and kind != "single":
            return "a value is written without '$' before it"
        return self._repeated_evaluation(end)

    def _repeated_evaluation(self, end: int) -> str:
        """Why the shell would take the value for code, although it comes from a variable."""
        command = next(c for c in reversed(self.stack) if c.kind in ("command", "substitution"))
        words = _without_leading(command.words)
        first = words[0] if words else ""
        if self.context.kind == "heredoc" and self.heredocs[0].reader:
            return f"{self.heredocs[0].reader!r} would take the value for code"
        if first in _CODE or (first == "printf" and words[-1] == "-v"):
            return f"{first!r} would take the value for code"
        if first in _NAMES and "=" not in command.word:
            return f"{first!r} would take the value for the name of a variable, which may hold code"
        if _SUBSCRIPT.match(command.word) and "=" not in command.word:
            return "an index of an array would take the value for code"
        if reader := taking_code(words, as_input=command.fed):
            return f"{reader!r} would take the value for code"
        if first in ("test", "[") and words[-1] in ("-v", "-R"):
            return f"{words[-1]!r} would take the value for the name of a variable"
        if first == "[[":
            rest = self.source[end:].partition("]]")[0].partition("\n")[0]
            if _COMPARES.search(" " + " ".join(words[1:]) + " " + rest):
                return "a comparison of numbers in [[ ]] would take the value for code"
        return ""

    # Following the shell.

    def _in_command(self) -> None:
        source, at, context = self.source, self.at, self.context
        mark = source[at]
        if mark == "\\":
            context.spell(_QUOTE + source[at + 1 : at + 2].strip("{\n"))
            self._copy(1 if source.startswith("{{", at + 1) else 2)
        elif mark == "#" and not context.word and (at == 0 or source[at - 1] in " \t\n;&|("):
            self._push("comment", 1)
        elif mark in "'\"`":
            context.spell(_QUOTE)
            self._push({"'": "single", '"': "double", "`": "backtick"}[mark], 1)
        elif mark == "$":
            self._dollar(in_quotes=False)
        elif mark == "<" and source.startswith("<<", at):
            self._heredoc_mark()
        elif mark in _SEPARATORS:
            self._separator(mark)
        elif mark in " \t<>":
            context.end_word()
            self._copy()
        else:
            context.spell(mark)
            self._copy()

    def _separator(self, mark: str) -> None:
        context = self.context
        context.end_word()
        words = _without_leading(context.words)
        if mark == "(" and self.source.startswith("((", self.at) and not words:
            self._push("arithmetic", 2)
            return
        self._check_pipe(context)
        if mark == "(":
            context.depth += 1
        if mark == ")" and context.depth == 0 and context.kind == "substitution":
            self._pop()
            return
        if mark == ")":
            context.depth = max(0, context.depth - 1)
        around = self.source[max(0, self.at - 1) : self.at + 2]
        context.end_command(piped=mark == "|" and "||" not in around)
        self._copy()
        if mark == "\n" and self.heredocs:
            self._open_heredoc()

    def _check_pipe(self, context: _Context) -> None:
        """A value that goes through a pipe into a shell is code there."""
        reader = taking_code(_without_leading(context.words), as_input=True)
        if reader and context.piped is not None:
            self._fault(f"{reader!r} would take the value for code", context.piped, 2)
        if reader and context.piped_document is not None:
            context.piped_document.reader = reader

    def _dollar(self, *, in_quotes: bool) -> None:
        source, at = self.source, self.at
        self._spell("$")
        if source.startswith("$((", at):
            self._push("arithmetic", 3)
        elif source.startswith("$(", at):
            self._push("substitution", 2)
        elif source.startswith("${", at) and not source.startswith("${{", at):
            self._push("parameter", 2)
        elif source.startswith("$'", at) and not in_quotes:
            self._push("ansi", 2)
        else:
            self._copy()

    def _heredoc_mark(self) -> None:
        context = self.context
        if self.source.startswith("<<<", self.at):
            context.end_word()
            context.fed = True
            self._copy(3)
            return
        found = _HEREDOC.match(self.source, self.at)
        if found is None:
            self._copy(2)
            if self.source[self.at : self.at + 16].lstrip(" \t-").startswith("{{"):
                self._fault("a value cannot be the end word of a here-document", self.at, 2)
            return
        context.end_word()
        reader = taking_code(_without_leading(context.words), as_input=True)
        quoted = bool(found[2] or found[3])
        context.document = _Heredoc(found[4], bool(found[1]), quoted, reader)
        self.heredocs.append(context.document)
        self._copy(found.end() - self.at)

    def _open_heredoc(self) -> None:
        kind = "quoted heredoc" if self.heredocs[0].quoted else "heredoc"
        self.stack.append(_Context(kind, self.at))
        self._close_heredoc()

    def _close_heredoc(self) -> None:
        """At the start of a line: ends the here-document if this is its end word."""
        word, dashed = self.heredocs[0].word, self.heredocs[0].dashed
        end = self.source.find("\n", self.at)
        line = self.source[self.at : end if end >= 0 else len(self.source)]
        if (line.lstrip("\t") if dashed else line) != word:
            return
        self.heredocs.pop(0)
        self._pop(len(line) + (1 if end >= 0 else 0))
        if self.heredocs:
            self._open_heredoc()

    def _in_heredoc(self) -> None:
        mark = self.source[self.at]
        if mark == "\n":
            self._copy()
            self._close_heredoc()
        elif mark == "\\" and self.context.kind == "heredoc":
            self._copy(1 if self.source.startswith(("{{", "\n"), self.at + 1) else 2)
        elif mark == "$" and self.context.kind == "heredoc":
            self._dollar(in_quotes=True)
        else:
            self._copy()

    def _in_quotes(self) -> None:
        kind, mark = self.context.kind, self.source[self.at]
        if mark == _CLOSES[kind]:
            self._pop()
        elif mark == "\\" and kind != "single":
            self._copy(1 if self.source.startswith("{{", self.at + 1) else 2)
        elif mark == "$" and kind in ("double", "parameter"):
            self._dollar(in_quotes=True)
        elif mark == "`" and kind == "double":
            self._push("backtick", 1)
        else:
            if kind in ("single", "double"):
                self._spell(mark)
            self._copy()

    def _in_comment(self) -> None:
        if self.source[self.at] == "\n":
            # The end of the line belongs to the script around the comment.
            self.stack.pop()
        else:
            self._copy()

    def _in_arithmetic(self) -> None:
        context, mark = self.context, self.source[self.at]
        if mark == "(":
            context.depth += 1
        elif mark == ")" and context.depth == 0:
            self._pop(2 if self.source.startswith("))", self.at) else 1)
            return
        elif mark == ")":
            context.depth -= 1
        self._copy()

    def _check_end(self) -> None:
        context = self.stack[-1]
        context.end_word()
        self._check_pipe(context)
        unclosed = _UNCLOSED.get(context.kind)
        if unclosed and self.script.placed:
            self._fault(f"{unclosed} is not closed", context.start, 1, "close it")


_STEPS = {
    "command": _Scanner._in_command,
    "substitution": _Scanner._in_command,
    "comment": _Scanner._in_comment,
    "single": _Scanner._in_quotes,
    "double": _Scanner._in_quotes,
    "ansi": _Scanner._in_quotes,
    "backtick": _Scanner._in_quotes,
    "parameter": _Scanner._in_quotes,
    "arithmetic": _Scanner._in_arithmetic,
    "heredoc": _Scanner._in_heredoc,
    "quoted heredoc": _Scanner._in_heredoc,
}
_CLOSES = {"single": "'", "double": '"', "ansi": "'", "backtick": "`", "parameter": "}"}
_REFUSED = {
    "comment": "in a comment of a script",
    "quoted heredoc": "in a here-document whose end word is quoted: the shell would not expand it",
    "backtick": "between backticks; write $( ... )",
    "parameter": "inside of ${ ... }",
    "arithmetic": "in a calculation of the shell, which would take it for code",
}
_UNCLOSED = {
    "single": "a single quote",
    "double": "a double quote",
    "ansi": "a quote",
    "backtick": "a backtick",
    "substitution": "'$('",
    "parameter": "'${'",
    "arithmetic": "a calculation",
}


def _without_leading(words: list[str]) -> list[str]:
    """The words of a command from its name on."""
    for at, word in enumerate(words):
        if word not in _LEADING and not re.match(r"[A-Za-z_][A-Za-z0-9_]*=", word):
            return words[at:]
    return []


def _expression_end(source: str, at: int) -> int | None:
    """Finds the end of the `}}` that closes an expression, quotes and brackets in it aside."""
    open_brackets: list[str] = []
    quote = ""
    while at < len(source):
        mark = source[at]
        if quote:
            if mark == "\\":
                at += 1
            elif mark == quote:
                quote = ""
        elif not open_brackets and source.startswith("}}", at):
            return at + 2
        elif mark in "'\"":
            quote = mark
        elif mark in _CLOSING:
            open_brackets.append(_CLOSING[mark])
        elif open_brackets and mark == open_brackets[-1]:
            open_brackets.pop()
        at += 1
    return None
