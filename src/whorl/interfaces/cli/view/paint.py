"""What the terminal can show: its width, and colours unless the person or it wants none."""

from __future__ import annotations

import os
import shutil
import sys

import click


def is_colored() -> bool:
    """Whether a terminal gets colours: not with `NO_COLOR`, and not one that has none."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, color: str | None = None, *, bold: bool = False, dim: bool = False) -> str:
    """The text in a colour, if there are any; a pipe gets it plain when it is echoed."""
    if not is_colored():
        return text
    return click.style(text, fg=color, bold=bold or None, dim=dim or None)


def room() -> int | None:
    """How many columns the terminal has; None on a pipe, which takes lines of any length."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
