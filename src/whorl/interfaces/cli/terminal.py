"""What the terminal can show: its width, its colours, and no text that would steer it."""

from __future__ import annotations

import io
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from whorl.errors import UNSAFE_LETTERS, columns, escaped, visible
from whorl.lazily import regex

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator
    from typing import TextIO

# The sign and the colour of the state of a run or a step.
SIGNS = {
    **dict.fromkeys(("failed", "timed_out"), ("✗", "red")),
    **dict.fromkeys(("cancelled", "rejected"), ("✗", "yellow")),
    **dict.fromkeys(("waiting", "paused", "interrupted"), ("⏸", "yellow")),
    "succeeded": ("✓", "green"),
    "running": ("●", "yellow"),
    "retrying": ("↻", "yellow"),
    "skipped": ("-", "dim"),
}


def is_colored() -> bool:
    """Returns whether the terminal shows colours: `NO_COLOR` is unset and it is not `dumb`."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, color: str | None = None, *, bold: bool = False, dim: bool = False) -> str:
    """Returns a safe text in a colour, if colours are on; `echo` leaves them out for a pipe.

    `echo` removes everything else that a terminal would obey, so styles of ours have a mark.
    """
    if not is_colored():
        return text
    styled = click.style("|", fg=color, bold=bold or None, dim=dim or None)
    return styled.replace("\x1b[", f"\x1b[{_MARK};").replace("|", text)


# No other program can write it, so a style that has it was painted here.
_MARK = str(int.from_bytes(os.urandom(8), "big"))
# A word with the space before it, or a command.
_PARTS = regex(r"\s*(?:`[^`]*`|[^\s`])+")
_STEERING = regex(f"\x1b\\[{_MARK};(?P<ours>[0-9;]*m)|\r\n|(?![\n\t]){UNSAFE_LETTERS}")


def cleaned(text: str) -> str:
    """Returns the text as a terminal may get it: lines, tabs, our styles, symbols for the rest."""
    if text.isascii() and text.isprintable():
        return text

    def picture(match: re.Match[str]) -> str:
        if match["ours"] is not None:
            return f"\x1b[{match['ours']}"
        return match[0] if match[0] == "\r\n" else visible(match[0])

    return _STEERING.sub(picture, text)


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Prints a text. Every command prints in this way, so that all its output is cleaned.

    Names and texts come from files, stores and servers of others.
    """
    click.echo(cleaned(str(text)), err=err, nl=nl)


def hand_over(text: str) -> None:
    """Prints a result for a file or a program unchanged, except for colours."""
    click.echo(text)


def is_ours(*streams: TextIO) -> bool:
    """Returns whether all streams are the terminal, and this process is in its foreground.

    The system stops a background process that reads from its terminal, or changes it.
    """
    try:
        are_terminals = all(stream.isatty() for stream in streams)
        return are_terminals and os.tcgetpgrp(streams[0].fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False


# The width of lines where no terminal has one.
_WIDTH = 100


def room() -> int:
    """Returns the width of the terminal."""
    if not sys.stdout.isatty() and not sys.stderr.isatty():
        return _WIDTH
    from shutil import get_terminal_size

    return get_terminal_size((_WIDTH, 24)).columns


def shortened(words: str) -> str:
    """Returns a line as far as the terminal has room for it."""
    width = room()
    while columns(words) > width:
        words = words[: max(0, len(words) - 1 - (columns(words) - width)) or 0].rstrip() + "…"
    return words


def _wrapped(words: str) -> list[str]:
    """Returns a line as lines that fit the terminal; a command in backticks is not cut."""
    width = room() if sys.stderr.isatty() else 0
    if not width or len(words) <= width or "\n" in words or "\x1b" in words or words[:5] == "next:":
        return [words]
    lines, indent = [""], " " * (len(words) - len(words.lstrip()) + 2)
    for part in _PARTS.findall(words):
        if lines[-1].strip() and columns(lines[-1] + part) > width:
            lines.append(indent)
            part = part.lstrip()
        lines[-1] += part
    return lines


_silent = False


@contextmanager
def silence() -> Iterator[None]:
    """Silences `say`; errors are echoed."""
    global _silent  # noqa: PLW0603
    _silent = True
    try:
        yield
    finally:
        _silent = False


def say(*lines: str) -> None:
    """Prints lines for the user on stderr."""
    for words in () if _silent else lines:
        for part in _wrapped(words):
            echo(part, err=True)


def print_lines(lines: Iterable[str]) -> None:
    for words in lines:
        echo(words)


def indented(lines: Iterable[str]) -> Iterator[str]:
    """Indents lines that belong to the one above them."""
    return (f"  {words}" for words in lines)


def badge(status: str, mark: str = "") -> tuple[str, str]:
    """Returns the words and the colour for a run; a success with a mark has its own."""
    if status == "succeeded" and mark:
        return f"! {mark}", "yellow"
    sign, color = SIGNS.get(status, ("·", "white"))
    return f"{sign} {status}", color


def replace_unknown_letters() -> None:
    """Replaces what the output cannot encode, such as half characters in names of files."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def json_text(value: object, indent: int | None = None) -> str:
    """Returns a value as JSON; what a terminal would obey or not show is escaped."""
    # Help and completion start without it.
    import json

    return escaped(json.dumps(value, ensure_ascii=False, indent=indent))
