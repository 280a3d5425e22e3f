"""What an agent program prints: followed as it comes, then turned into a reply or an error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.errors import ProviderError
from whorl.language.schema import fit
from whorl.providers.agents.programs import AgentOutput
from whorl.providers.json_values import NotJson, as_json, clean, parse_json, shorten
from whorl.providers.models.answers import typed_answer
from whorl.providers.redaction import StreamedText, redact, redact_error
from whorl.providers.task import Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whorl.language import Json
    from whorl.providers.agents.programs import Invocation
    from whorl.providers.commands import Finished
    from whorl.providers.redaction import Secret
    from whorl.providers.task import Emit

LINE_MAX = 8_000_000
EMITTED_MAX = 1_000_000
NOISE_MAX = 2_000
ANSWER_MAX = 1_000_000
WORDS_MAX = 500
STDERR_MAX = 10_000

# Faults of a server that may be gone when the same is tried again.
RETRYABLE = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_COLOR = re.compile(r"\x1b\[[0-9;]*m")


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
        """Takes a piece of output, which ends anywhere."""
        if self.output is None:
            self._show(self._shown.take(clean(piece)))
            return
        first, *lines = piece.split("\n")
        self._keep(first)
        for line in lines:
            self._end_line()
            self._keep(line)

    def end(self) -> None:
        """The output is over; its last line may lack its end."""
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
        return AgentOutput(text=text, ended=is_answer, detail={"format": "text"} if output else {})
    if not output.ended and stream.noise:
        output.detail["noise"] = stream.noise
    return output


def reply_of(
    invocation: Invocation,
    output: AgentOutput,
    finished: Finished,
    *,
    cost_usd: float | None,
    secrets: Sequence[Secret],
) -> Reply:
    """The reply; raises ProviderError P105, P109 or P130, with what the work has cost."""
    usage = Usage(1, output.input_tokens, output.output_tokens, cost_usd)
    text = shorten(clean(output.text), ANSWER_MAX)
    named: dict[str, Json] = {"session": output.session, "model": output.model}
    named["cut"] = len(output.text) > ANSWER_MAX
    detail: dict[str, Json] = {"agent": invocation.agent, "exit_code": finished.exit_code}
    detail |= {name: value for name, value in named.items() if value} | output.detail
    paid = detail | {"usage": usage.as_json()}
    failure = _failure(f"agent {invocation.agent!r}", output, finished)
    if failure is not None:
        # The driver keeps a value beside the error: nothing that was paid for is lost.
        raise redact_error(failure, secrets, paid | ({"value": text} if text else {}))
    value: Json = text
    schema = invocation.schema
    if schema is not None:
        # What the program checked itself is checked again.
        structured = output.structured
        is_text = structured is None
        value, faults = typed_answer(schema, text) if is_text else fit(schema, structured)
        if faults:
            why = f"the answer of agent {invocation.agent!r} does not fit: {'; '.join(faults[:3])}"
            unfit: dict[str, Json] = {"answer": text, "errors": [*faults]}
            raise redact_error(ProviderError(why, code="P105"), secrets, paid | unfit)
    if invocation.whole:
        typed = value if schema is not None else None
        kept = {name: detail.get(name) for name in ("session", "model", "exit_code")}
        value = {"text": text, "value": typed, **kept}
    shown = {name: redact(entry, secrets) for name, entry in detail.items()}
    return Reply(redact(value, secrets), usage, shown)


def _failure(name: str, output: AgentOutput, finished: Finished) -> ProviderError | None:
    """Why the work failed, by the program's own words first; None when it is done."""
    if output.error:
        words = shorten(_COLOR.sub("", output.error), WORDS_MAX)
        return ProviderError(
            f"{name} failed: {words}",
            code="P130",
            retryable=output.status in RETRYABLE,
            detail={"status": output.status} if output.status else {},
        )
    texts = (finished.stderr, str(output.detail.get("noise", "")), finished.stdout)
    lines = [line for text in texts for line in _COLOR.sub("", text).strip().splitlines()[-1:]]
    words = f": {shorten(lines[0], WORDS_MAX)}" if lines else ""
    if finished.exit_code != 0:
        message = f"{name} ended with exit code {finished.exit_code}{words}"
        return ProviderError(message, code="P109", detail={"stderr": finished.stderr[-STDERR_MAX:]})
    if not output.ended:
        return ProviderError(f"{name} ended without a result{words}", code="P130")
    return None
