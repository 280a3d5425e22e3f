"""Follows what an agent program prints: lines of JSON as they come, everything bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.providers.secrets import held_back, redact
from whorl.providers.texts import NotJson, as_json, clean, parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whorl.providers.agents.runner import Reader
    from whorl.providers.secrets import Secret
    from whorl.providers.task import Emit

LINE_MAX = 8_000_000
EMITTED_MAX = 1_000_000
NOISE_MAX = 2_000


class Stream:
    """Cuts pieces of output into lines, and gives each event to the reader.

    Without a reader the output is the answer, and is passed on as it is.
    """

    def __init__(self, reader: Reader | None, emit: Emit, secrets: Sequence[Secret]) -> None:
        self._reader = reader
        self._emit = emit
        self._secrets = secrets
        self._pieces: list[str] = []
        self._length = 0
        self._emitted = 0
        self._held = ""
        self.events = 0
        # Called with each event from the one on that says that the work is over.
        self.when_ended: Callable[[], None] | None = None
        # The last of what was no event: a program that breaks often says why on stdout.
        self.noise = ""

    def add(self, piece: str) -> None:
        """Takes a piece of output, which ends anywhere."""
        if self._reader is None:
            self._tell(piece)
            return
        *lines, rest = piece.split("\n")
        for line in lines:
            self._keep(line)
            self._end_line()
        self._keep(rest)

    def end(self) -> None:
        """The output is over; its last line may lack its end."""
        self._end_line()
        self._tell("", is_last=True)

    def _keep(self, piece: str) -> None:
        # A line that is too long is cut, and so it is no event; its end is still waited for.
        self._length += len(piece)
        if self._length <= LINE_MAX:
            self._pieces.append(piece)

    def _end_line(self) -> None:
        line = "".join(self._pieces).strip()
        self._pieces, self._length = [], 0
        if not line or self._reader is None:
            return
        try:
            # A number that is no number is no reason to lose a result that was paid for.
            event = as_json(parse_json(line, in_part=True))
        except NotJson:
            event = None
        if not isinstance(event, dict):
            self.noise = f"{self.noise}\n{line[-NOISE_MAX:]}"[-NOISE_MAX:].strip()
            return
        self.events += 1
        self._tell(self._reader.take(event))
        if self._reader.said.ended and self.when_ended is not None:
            self.when_ended()

    def _tell(self, text: str, *, is_last: bool = False) -> None:
        if self._emitted >= EMITTED_MAX:
            return
        text = redact(self._held + clean(text), self._secrets)
        # The beginning of a secret waits for the next piece, which may hold its end.
        held = 0 if is_last else held_back(text, self._secrets)
        self._held = text[len(text) - held :]
        if shown := text[: len(text) - held]:
            self._emitted += len(shown)
            self._emit(shown)


def read_again(reader: Reader, output: str) -> None:
    """Reads the lines of an output whose middle was left out; its end tells how the work ended."""
    stream = Stream(reader, _ignore, ())
    stream.add(output)
    stream.end()


def _ignore(text: str) -> None:
    """Nobody looks on."""
