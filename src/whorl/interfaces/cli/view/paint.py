"""Colours of the terminal, unless the person wants none."""

from __future__ import annotations

import os

import click


def paint(text: str, color: str | None = None, *, bold: bool = False, dim: bool = False) -> str:
    """The text in a colour; `NO_COLOR` leaves it as it is, and so does a pipe when it is echoed."""
    if os.environ.get("NO_COLOR"):
        return text
    return click.style(text, fg=color, bold=bold or None, dim=dim or None)
