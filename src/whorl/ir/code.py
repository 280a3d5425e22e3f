"""Programs that take a word of their command line, or their input, for code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def taking_code(words: Sequence[str], *, as_input: bool = False) -> str:
    """Who takes the next word for code, or, with `as_input`, what it reads; else nothing."""
    for at, word in enumerate(words):
        flag = _SHELL_FLAG if _SHELL.fullmatch(word) else _OTHER_FLAG
        if flag is _OTHER_FLAG and _OTHER.fullmatch(word) is None:
            continue
        rest = words[at + 1 :]
        if rest and flag.fullmatch(rest[-1]):
            return f"{word} {rest[-1]}"
        if as_input and at == 0 and all(one.startswith("-") for one in rest):
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
