"""Plain letters instead of signs, for terminals that know no others."""

from __future__ import annotations

import codecs
import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

_LETTERS = {
    "✓": "+", "✗": "x", "⏸": "=", "●": "*", "○": "o", "↻": "@", "⇉": "*", "→": "->", "·": "-",
    "…": "...", "★": "*", "≥": ">=", "Δ": "d", "├": "|", "└": "`", "│": "|", "─": "-",
}  # fmt: skip
_LETTERS |= dict(zip("▁▂▃▄▅▆▇█", "12345678", strict=True))
_TABLE = str.maketrans(_LETTERS)


def is_plain(environment: Mapping[str, str]) -> bool:
    """Whether the person's locale, or what they said to Python, has plain letters only."""
    names = ("LC_ALL", "LC_CTYPE", "LANG")
    locale = next((environment[name] for name in names if environment.get(name)), "")
    said = environment.get("PYTHONIOENCODING", "").partition(":")[0]
    return locale in ("C", "POSIX") or (bool(said) and _is_ascii(said))


def plain(text: str) -> str:
    """The text with letters for our signs; all else is left as it is."""
    return text.translate(_TABLE)


class PlainStream(io.TextIOWrapper):
    """A stream that writes letters for signs."""

    def write(self, text: str) -> int:
        """Writes a text."""
        super().write(plain(text))
        return len(text)


def make_streams_plain() -> None:
    """What is said beside the output is plain; the output itself only on a terminal.

    A file or a program gets every letter of a result, whatever the locale is.
    """
    if not is_plain(os.environ):
        return
    sys.stderr = _made_plain(sys.stderr)
    if sys.stdout.isatty():
        sys.stdout = _made_plain(sys.stdout)


def _made_plain(stream: TextIO) -> TextIO:
    # click takes a stream of ASCII for a mistake and writes UTF-8 to what is below it.
    return PlainStream(stream.buffer, encoding="utf-8", errors="replace", line_buffering=True)


def _is_ascii(name: str) -> bool:
    try:
        return codecs.lookup(name).name == "ascii"
    except LookupError:
        return False
