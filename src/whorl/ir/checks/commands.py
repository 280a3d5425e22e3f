"""No value is put where the program of a command would take it for code (W021)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from whorl.errors import Diagnostic
from whorl.ir.nodes import Task
from whorl.ir.values import Constant, Items

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whorl.ir.checks.subject import Subject

_ADVICE = 'write the command as a text, `run: "..."`, or pass the value through `env` or `stdin`'

# Programs that take a word of their command line, or their input, for code.
_SHELL: Final = re.compile(r"(?:.*/)?(?:(?:ba|da|z|k|a|fi|tc|c)?sh|su|runuser)|\$.*")
_OTHER: Final = re.compile(
    r"(?:.*/)?(?:python[0-9.]*|pypy[0-9.]*|perl|ruby|node|nodejs|deno|bun|php|lua|Rscript|osascript"
    r"|tclsh|psql|mysql)"
)
_REMOTE: Final = re.compile(r"(?:.*/)?(?:ssh|rsh|mosh)")
# Those whose program is their first plain word, and their options that take another word.
_PROGRAM_FIRST: Final = re.compile(r"(?:.*/)?(?:[gmn]?awk|g?sed)")
_WITH_A_WORD: Final = frozenset({"-v", "-F", "-f", "--assign", "--file", "--field-separator"})
_SHELL_FLAG: Final = re.compile(r"-[A-Za-z]*c|--command")
_OTHER_FLAG: Final = re.compile(r"-[A-Za-z]*[cerEp]|--(?:command|eval|execute|run|print)")


def check_commands(subject: Subject) -> Iterator[Diagnostic]:
    """Reports lists of arguments such as `[sh, -c, "echo {{ x }}"]`."""
    for path, node in subject.nodes():
        if not isinstance(node, Task) or node.kind != "run":
            continue
        argv = next((value for name, value in node.inputs.entries if name == "argv"), None)
        if not isinstance(argv, Items):
            continue
        words: list[str] = []
        for item in argv.items:
            if isinstance(item, Constant):
                words.append(str(item.value))
                continue
            if reader := taking_code(words):
                span = subject.places.span(item) or subject.places.node(path)
                message = f"{reader!r} would take the value for code"
                yield Diagnostic("W021", message, span, "here", _ADVICE)
            words.append("x")


def taking_code(words: Sequence[str], *, as_input: bool = False) -> str:
    """Who takes the next word for code, or, with `as_input`, what it reads; else nothing."""
    for at, word in enumerate(words):
        flag = _SHELL_FLAG if _SHELL.fullmatch(word) else _OTHER_FLAG
        if flag is _OTHER_FLAG and _OTHER.fullmatch(word) is None:
            continue
        rest = words[at + 1 :]
        if rest and flag.fullmatch(rest[-1]):
            return f"{word} {rest[-1]}"
        if as_input and at == 0 and all(other.startswith("-") for other in rest):
            return word
    if not words:
        return ""
    first, plain = words[0], [word for word in words[1:] if not word.startswith("-")]
    if _REMOTE.fullmatch(first) and (as_input or plain):
        return first
    if _PROGRAM_FIRST.fullmatch(first) and not as_input and words[-1] not in _WITH_A_WORD:
        named = sum(word in _WITH_A_WORD for word in words)
        return first if len(plain) <= named and "-f" not in words else ""
    return ""
