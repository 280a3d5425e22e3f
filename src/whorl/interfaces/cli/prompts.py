"""Asks the user at the terminal what a run waits for, and reads the answer."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Any

import click

from whorl.interfaces.cli.summary import gate_lines
from whorl.interfaces.cli.terminal import say
from whorl.runtimes.journal.folding import fold
from whorl.services.inspecting.results import loop_frame
from whorl.services.steering import asked, decided

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.interpreter.events import Event
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore

_MORE_ITERATIONS = 3
# What may be answered, by the reason of the question; any other question is a plain gate.
_CHOICES = {
    "iteration": ("accept", "continue with feedback", "later"),
    "limit": ("accept", "continue", "reject", "later"),
}
_USUAL = ("approve", "reject", "feedback", "later")


def ask(store: SqliteStore, run: RunId, gate: dict[str, Any]) -> Event | None:
    """Asks the user a question of a run; returns None if they will answer later.

    Raises click.Abort after Ctrl-C or Ctrl-D.
    """
    import termios

    # Text that was typed before the question was shown is not an answer to it.
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    say(*gate_lines(gate))
    # That of the event loop would wait for the line.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return _answer(store, run, gate["address"], gate["reason"])
    finally:
        signal.signal(signal.SIGINT, before)


def _answer(store: SqliteStore, run: RunId, address: str, reason: str) -> Event | None:
    choices, place = list(_CHOICES.get(reason, _USUAL)), address.partition("/:")[0]
    limit = loop_frame(fold(store, run).machine, place).get("limit_reason")
    if reason == "limit" and limit != "max_iterations":
        # `whorl continue` gives more time or money.
        choices.remove("continue")
    chosen, feedback = _choice(choices), ""
    if chosen == "later":
        return None
    if chosen == "continue":
        return asked("run.continued", {"at": place, "iterations": _MORE_ITERATIONS})
    if chosen == "feedback":
        while not feedback:
            feedback = _line("your words")
        chosen = _choice(["approve", "reject", "later"])
        if chosen == "later":
            return None
    is_yes = chosen in ("approve", "accept")
    if not is_yes and not feedback:
        feedback = _line("your words (Enter for none)")
    return decided(store, run, address, approved=is_yes, feedback=feedback)


def _choice(choices: Sequence[str]) -> str:
    words = "  ".join(f"[{choice[0]}]{choice[1:]}" for choice in choices)
    while True:
        typed = _line(words).lower()
        for choice in choices:
            if typed and choice.startswith(typed):
                return choice


def _line(words: str) -> str:
    typed: str = click.prompt(words, default="", show_default=False, err=True)
    return typed.strip()
