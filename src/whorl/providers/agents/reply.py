"""Turns what an agent program said, and how it ended, into a reply or an error that says why."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.errors import ProviderError
from whorl.language.schema import fit
from whorl.providers.agents.runner import RETRYABLE, Said
from whorl.providers.models.answers import typed_answer
from whorl.providers.models.asking import usage_json
from whorl.providers.secrets import redact
from whorl.providers.task import Reply, Usage
from whorl.providers.texts import clean, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.language import Json
    from whorl.providers.agents.order import Order
    from whorl.providers.agents.runner import Reader
    from whorl.providers.agents.stream import Stream
    from whorl.providers.programs import Finished
    from whorl.providers.secrets import Secret

ANSWER_MAX = 1_000_000
WORDS_MAX = 500
STDERR_MAX = 10_000

_COLOR = re.compile(r"\x1b\[[0-9;]*m")


def said_in(finished: Finished, reader: Reader | None, stream: Stream) -> Said:
    """What the program said; one that speaks no JSON at all is taken at its word."""
    if reader is None or (stream.events == 0 and finished.exit_code == 0):
        text = finished.stdout.strip()
        is_answer = reader is None or bool(text)
        return Said(text=text, ended=is_answer, detail={"format": "text"} if reader else {})
    if not reader.said.ended and stream.noise:
        reader.said.detail["noise"] = stream.noise
    return reader.said


def reply_of(
    order: Order,
    said: Said,
    finished: Finished,
    *,
    cost_usd: float | None,
    secrets: Sequence[Secret],
) -> Reply:
    """The reply; raises ProviderError P105, P109 or P130, with what the work has cost."""
    usage = Usage(1, said.input_tokens, said.output_tokens, cost_usd)
    text = shorten(clean(said.text), ANSWER_MAX)
    detail = _detail(order, said, finished)
    paid = detail | {"usage": usage_json(usage)}
    failure = _failure(order, said, finished)
    if failure is not None:
        # The driver keeps a value beside the error: nothing that was paid for is lost.
        raise _told(failure, paid | ({"value": text} if text else {}), secrets)
    value: Json = text
    if order.schema is not None:
        value, faults = _typed(order.schema, said, text)
        if faults:
            told: list[Json] = [*faults]
            raise _told(_unfit(order, faults), paid | {"answer": text, "errors": told}, secrets)
    if order.whole:
        typed = value if order.schema is not None else None
        kept = {name: detail.get(name) for name in ("session", "model", "exit_code")}
        value = {"text": text, "value": typed, **kept}
    return Reply(redact(value, secrets), usage, _redacted(detail, secrets))


def _detail(order: Order, said: Said, finished: Finished) -> dict[str, Json]:
    detail: dict[str, Json] = {"agent": order.agent, "exit_code": finished.exit_code}
    for name, value in (("session", said.session), ("model", said.model)):
        if value:
            detail[name] = value
    if len(said.text) > ANSWER_MAX:
        detail["cut"] = True
    return detail | said.detail


def _failure(order: Order, said: Said, finished: Finished) -> ProviderError | None:
    """Why the work failed, by the program's own words first; None when it is done."""
    name = f"agent {order.agent!r}"
    if said.error:
        words = shorten(_COLOR.sub("", said.error), WORDS_MAX)
        status = {"status": said.status} if said.status else {}
        retryable = said.status in RETRYABLE
        message = f"{name} failed: {words}"
        return ProviderError(message, code="P130", retryable=retryable, detail={**status})
    words = _last_words(said, finished)
    if finished.exit_code != 0:
        message = f"{name} ended with exit code {finished.exit_code}{words}"
        return ProviderError(message, code="P109", detail={"stderr": finished.stderr[-STDERR_MAX:]})
    if not said.ended:
        return ProviderError(f"{name} ended without a result{words}", code="P130")
    return None


def _last_words(said: Said, finished: Finished) -> str:
    noise = said.detail.get("noise")
    for text in (finished.stderr, noise, finished.stdout):
        lines = _COLOR.sub("", text).strip().splitlines() if isinstance(text, str) else []
        if lines:
            return f": {shorten(lines[-1], WORDS_MAX)}"
    return ""


def _typed(schema: Json, said: Said, text: str) -> tuple[Json, list[str]]:
    """The typed answer; what the program checked itself is checked again."""
    if said.structured is not None:
        return fit(schema, said.structured)
    return typed_answer(schema, text)


def _unfit(order: Order, faults: list[str]) -> ProviderError:
    listed = "; ".join(faults[:3])
    return ProviderError(f"the answer of agent {order.agent!r} does not fit: {listed}", code="P105")


def _told(
    fault: ProviderError, detail: dict[str, Json], secrets: Sequence[Secret]
) -> ProviderError:
    """The error with its detail, and with no secret in either."""
    kept: dict[str, object] = {**fault.detail, **_redacted(detail, secrets)}
    if isinstance(stderr := kept.get("stderr"), str):
        kept["stderr"] = redact(stderr, secrets)
    message = redact(str(fault), secrets)
    return ProviderError(message, code=fault.code, retryable=fault.retryable, detail=kept)


def _redacted(detail: dict[str, Json], secrets: Sequence[Secret]) -> dict[str, Json]:
    return {name: redact(value, secrets) for name, value in detail.items()}
