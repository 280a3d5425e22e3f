"""Asks the user at the terminal what a run waits for, and reads the answer."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from whorl.interfaces.cli.summary import gate_lines
from whorl.interfaces.cli.terminal import echo
from whorl.lazily import dataclass
from whorl.runtimes.journal.folding import fold
from whorl.services.inspecting.results import loop_frame, open_gates
from whorl.services.steering import asked, decided

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whorl.interpreter.events import Event
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore

_LOOK_S = 0.3
_MORE_ITERATIONS = 3
# What may be answered, by the reason of the question; any other question is a plain gate.
_CHOICES = {
    "iteration": ("accept", "continue with feedback", "later"),
    "limit": ("accept", "continue", "reject", "later"),
}
_USUAL = ("approve", "reject", "feedback", "later")
_YES = frozenset({"approve", "accept"})


class AnsweredElsewhere(Exception):
    """Another client has answered, or the time of the question is over."""


class Skipped(Exception):
    """The user leaves this and all other questions open."""


async def ask(store: SqliteStore, run: RunId, gate: dict[str, Any]) -> Event | None:
    """Asks the user a question of a run; returns None if they will answer later."""
    import termios

    # Text that was typed before the question was shown is not an answer to it.
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    question = _Question(store, run, gate["address"], gate["reason"])
    return await question.answer("\n".join(gate_lines(gate)))


@dataclass(slots=True)
class _Question:
    """A question of a run at an address."""

    store: SqliteStore
    run: RunId
    address: str
    reason: str
    _seen: int | None = None
    _was_open: bool = True

    def is_open(self) -> bool:
        """Returns whether the run still waits for the answer; cheap if the store is unchanged."""
        version = self.store.version()
        if version != self._seen:
            gates = open_gates(self.store, self.run)
            self._was_open = any(gate.address == self.address for gate in gates)
            self._seen = version
        return self._was_open

    async def answer(self, about: str) -> Event | None:
        choices = list(_CHOICES.get(self.reason, _USUAL))
        place = self.address.partition("/:")[0]
        limit = loop_frame(fold(self.store, self.run).machine, place).get("limit_reason")
        if self.reason == "limit" and limit != "max_iterations":
            # `whorl continue` gives more time or money.
            choices.remove("continue")
        chosen = await self._choice(choices, f"{about}\n")
        feedback = ""
        if chosen == "feedback":
            while not feedback:
                feedback = await self._line("your words: ")
            chosen = await self._choice(["approve", "reject", "later"])
        elif chosen == "continue":
            return asked("run.continued", {"at": place, "iterations": _MORE_ITERATIONS})
        elif chosen not in (*_YES, "later"):
            feedback = await self._line("your words (Enter for none): ")
        if chosen == "later":
            return None
        approved = chosen in _YES
        return decided(self.store, self.run, self.address, approved=approved, feedback=feedback)

    async def _choice(self, choices: Sequence[str], about: str = "") -> str:
        words = "  ".join(f"[{choice[0]}]{choice[1:]}" for choice in choices)
        while True:
            typed = (await self._line(f"{about}{words}: ")).lower()
            about = ""
            for choice in choices:
                if typed and choice.startswith(typed):
                    return choice

    async def _line(self, words: str) -> str:
        typed = await _read_line(words, self.is_open)
        if typed is not None:
            return typed
        raise Skipped if self.is_open() else AnsweredElsewhere


async def _read_line(words: str, is_of_interest: Callable[[], bool]) -> str | None:
    """Reads a line; returns None after Ctrl-C or Ctrl-D, or if it is not needed any more.

    The event loop keeps running.
    """
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[str | None] = loop.create_future()
    number, parts = sys.stdin.fileno(), bytearray()

    def take() -> None:
        part = os.read(number, 4096)
        parts.extend(part)
        if not typed.done() and (not part or part.endswith(b"\n")):
            typed.set_result(parts.decode("utf-8", "replace").strip() if part else None)

    def leave() -> None:
        if not typed.done():
            typed.set_result(None)

    loop.add_reader(number, take)
    before = signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(leave))
    try:
        echo(words, nl=False, err=True)
        while not typed.done() and is_of_interest():
            await asyncio.wait({typed}, timeout=_LOOK_S)
    finally:
        signal.signal(signal.SIGINT, before)
        loop.remove_reader(number)
    line = typed.result() if typed.done() else None
    if line is None:
        echo(err=True)
    return line
