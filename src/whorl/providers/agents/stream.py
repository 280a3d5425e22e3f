"""What an agent program prints, followed as it comes: lines, events, and what is shown of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.providers.agents.protocol import AgentOutput
from whorl.providers.json_values import NotJson, as_json, clean, parse_json
from whorl.providers.redaction import Secret, StreamedText

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whorl.language import Json
    from whorl.providers.processes import (
        Finished,
    )
    from whorl.providers.task import Emit

LINE_MAX = 8_000_000
EMITTED_MAX = 1_000_000
NOISE_MAX = 2_000


class Stream:
    """Cuts pieces of output into lines, and gives each event to `output`.

    Without one all that is printed is the answer, and is passed on as it is. `when_ended` is called
    with each event from the one on that says that the work is over. `noise` is the last of what
    was no event: a program that breaks often says why on stdout.
    """

    def __init__(self, output: AgentOutput | None, emit: Emit, secrets: Sequence[Secret]) -> None:
        self.output = output
        self._emit = emit
        self._shown = StreamedText(secrets)
        self._pieces: list[str] = []
        self._length = 0
        self._emitted = 0
        self.events = 0
        self.when_ended: Callable[[], None] = lambda: None
        self.noise = ""

    def add(self, piece: str) -> None:
        if self.output is None:
            self._show(self._shown.take(clean(piece)))
            return
        first, *lines = piece.split("\n")
        self._keep(first)
        for line in lines:
            self._end_line()
            self._keep(line)

    def end(self) -> None:
        self._end_line()
        self._show(self._shown.rest(is_whole=True))

    def _keep(self, piece: str) -> None:
        # A line that is too long is cut, and so it is no event; its end is still waited for.
        self._length += len(piece)
        if self._length <= LINE_MAX:
            self._pieces.append(piece)

    def _end_line(self) -> None:
        line = "".join(self._pieces).strip()
        self._pieces, self._length = [], 0
        if not line or self.output is None:
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
        self._show(self._shown.take(clean(self.output.take(event))))
        if self.output.ended:
            self.when_ended()

    def _show(self, text: str) -> None:
        if text and self._emitted < EMITTED_MAX:
            self._emitted += len(text)
            self._emit(text)


def output_of(finished: Finished, stream: Stream) -> AgentOutput:
    """What the program said; one that speaks no JSON at all is taken at its word."""
    output = stream.output
    if output is None or (stream.events == 0 and finished.exit_code == 0):
        text = finished.stdout.strip()
        is_answer = output is None or bool(text)
        detail: dict[str, Json] = {"format": "text"} if output else {}
        return AgentOutput(text=text, ended=is_answer, detail=detail, is_plain=True)
    if not output.ended and stream.noise:
        output.detail["noise"] = stream.noise
    return output
