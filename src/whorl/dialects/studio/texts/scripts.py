"""Scripts of transforms: a reference, then pipes; without a reference they apply to the input."""

from __future__ import annotations

import re
from dataclasses import dataclass

from whorl.dialects.studio.functions.pipes import ARGUMENTS, PIPES
from whorl.errors import did_you_mean

PIPES_MAX = 30
_CALL = re.compile(r"([A-Za-z_]\w*)\s*(?:\((.*)\))?", re.DOTALL)
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
_QUOTES = "'\""


class ScriptFault(ValueError):
    """A script that cannot be carried out; `offset` counts characters into it."""

    def __init__(self, message: str, offset: int, help: str = "") -> None:  # noqa: A002
        super().__init__(message)
        self.offset = offset
        self.help = help


@dataclass(frozen=True, slots=True)
class Pipe:
    """One pipe with its arguments."""

    name: str
    arguments: tuple[str | int | float, ...]


@dataclass(frozen=True, slots=True)
class Script:
    """What is piped (empty: the input), and through what."""

    reference: str
    offset: int
    pipes: tuple[Pipe, ...]


def read_script(source: str) -> Script:
    """Reads a script; raises ScriptFault."""
    parts = _split(source, "|")
    first = parts[0][0].strip()
    offset = parts[0][1] + len(parts[0][0]) - len(parts[0][0].lstrip())
    bare = first.removeprefix("{{").removesuffix("}}").strip()
    call = _CALL.fullmatch(bare)
    is_pipe = call is not None and call[1] in PIPES
    reference = "" if not first or is_pipe else bare
    rest = parts if is_pipe else parts[1:]
    if len(rest) > PIPES_MAX:
        raise ScriptFault(f"a script has at most {PIPES_MAX} pipes", rest[PIPES_MAX][1])
    return Script(reference, offset, tuple(_pipe(text, at) for text, at in rest))


def _pipe(text: str, offset: int) -> Pipe:
    offset += len(text) - len(text.lstrip())
    written = text.strip()
    found = _CALL.fullmatch(written)
    if found is None or found[1] not in PIPES:
        name = found[1] if found else written
        raise ScriptFault(
            f"there is no pipe {name[:40]!r}",
            offset,
            did_you_mean(name, PIPES) or f"there is {', '.join(PIPES)}",
        )
    arguments = _arguments(found[1], found[2])
    least, most = ARGUMENTS[found[1]]
    if not least <= len(arguments) <= most:
        wanted = str(least) if least == most else f"{least} or {most}"
        raise ScriptFault(f"pipe {found[1]!r} takes {wanted} arguments", offset)
    return Pipe(found[1], arguments)


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
