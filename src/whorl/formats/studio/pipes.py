"""Scripts of transforms: a path, and pipes that its value goes through."""

from __future__ import annotations

import re
from typing import NamedTuple

from whorl.dialects.reading.texts import called, quoted
from whorl.errors import did_you_mean
from whorl.formats.studio.functions.transforms import ARGUMENTS, PIPES
from whorl.language import LanguageError

PIPES_MAX = 30
_CALL = re.compile(r"([A-Za-z_]\w*)\s*(?:\((.*)\))?", re.DOTALL)
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
_QUOTES = "'\""
# The name of a pipe, and its arguments.
_Pipe = tuple[str, tuple[str | int | float, ...]]


class Script(NamedTuple):
    """A script of a transform: what is piped (empty: the input), and through what."""

    reference: str
    offset: int
    pipes: tuple[_Pipe, ...]


def piped(source: str, script: Script) -> str:
    """The source of a value through the pipes of a script."""
    for name, arguments in script.pipes:
        sources = [quoted(a) if isinstance(a, str) else repr(a) for a in arguments]
        source = called("pipe", source, quoted(name), *sources)
    return source


def read_script(source: str) -> Script:
    """Reads a script; raises LanguageError with the offset of the mistake."""
    parts = _split(source, "|")
    first = parts[0][0]
    bare = first.strip().removeprefix("{{").removesuffix("}}").strip()
    call = _CALL.fullmatch(bare)
    is_pipe = call is not None and call[1] in PIPES
    rest = parts if is_pipe else parts[1:]
    if len(rest) > PIPES_MAX:
        raise LanguageError(f"a script has at most {PIPES_MAX} pipes", rest[PIPES_MAX][1])
    pipes: list[_Pipe] = []
    for text, at in rest:
        offset = at + len(text) - len(text.lstrip())
        call = _CALL.fullmatch(text.strip())
        name = call[1] if call else text.strip()
        if call is None or name not in PIPES:
            advice = did_you_mean(name, PIPES) or f"there is {', '.join(PIPES)}"
            raise LanguageError(f"there is no pipe {name[:40]!r}", offset, advice)
        arguments = _arguments(name, call[2])
        least, most = ARGUMENTS[name]
        if not least <= len(arguments) <= most:
            wanted = str(least) if least == most else f"{least} or {most}"
            raise LanguageError(f"pipe {name!r} takes {wanted} arguments", offset)
        pipes.append((name, arguments))
    return Script("" if is_pipe else bare, len(first) - len(first.lstrip()), tuple(pipes))


def _arguments(name: str, written: str | None) -> tuple[str | int | float, ...]:
    if written is None or not written.strip():
        return ()
    if name == "join" and written.strip()[0] not in _QUOTES:
        # A separator without quotes is taken as it stands: join(, )
        return (written,)
    if name == "select":
        key, _, value = written.partition("=")
        return (str(_literal(key)), _literal(value.lstrip("=")))
    return tuple(_literal(part) for part, _ in _split(written, ","))


def _literal(written: str) -> str | int | float:
    text = written.strip()
    if len(text) > 1 and text[0] in _QUOTES and text[-1] == text[0]:
        return text[1:-1].replace("\\n", "\n").replace("\\t", "\t")
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    return text.removeprefix(".")


def _split(source: str, mark: str) -> list[tuple[str, int]]:
    """The parts between marks, those inside of quotes and parentheses aside, with their offsets."""
    parts: list[tuple[str, int]] = []
    start = depth = 0
    quote = ""
    quoted = mark != "|"
    for at, character in enumerate(source):
        if quote:
            quote = "" if character == quote else quote
        elif character in _QUOTES and (depth or quoted):
            quote = character
        elif character == "(":
            depth += 1
        elif character == ")":
            depth = max(0, depth - 1)
        elif character == mark and not depth:
            parts.append((source[start:at], start))
            start = at + 1
    return [*parts, (source[start:], start)]
