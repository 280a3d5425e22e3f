"""Performing a task: what it is expected to use, the call itself, and what came of it."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Protocol

from whorl.errors import ProviderError, UsageError
from whorl.interpreter.events import Event
from whorl.lazily import dataclass
from whorl.providers.redaction import StreamedText
from whorl.providers.task import Effect, Request, TaskKind
from whorl.runtimes.journal.sealed_secrets import failed_body

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from whorl.interpreter.events import Perform
    from whorl.language import Json
    from whorl.providers.redaction import Redaction
    from whorl.runtimes.journal.journal import RunId

GRACE_S = 0.5
# What an estimate says of a call, and a reservation holds for it.
RESERVED = ("cost_usd", "tokens", "input_tokens", "calls")


class Workers(Protocol):
    """Who performs tasks; `whorl.providers.registry` has the real ones."""

    def kind(self, name: str) -> TaskKind:
        """The kind of task of a name."""

    def effect(self, name: str, inputs: dict[str, Json]) -> Effect:
        """What performing a task of this kind with these inputs does to the world."""

    def redacted(self, value: Json) -> Json:
        """The same value without the operator's secrets."""


def end_of(cancelled: Event) -> Event:
    """What a machine notes of a run that is cancelled."""
    error: Json = {"code": "R107", "message": "cancelled", "path": "", "iteration": None}
    body: dict[str, Json] = {"status": "cancelled", "output": None, "outputs": {}, "error": error}
    return Event("run.finished", "", cancelled.at, body | {"usage": {}})


@dataclass(frozen=True, slots=True)
class Performing:
    """Performs the tasks of one run.

    `hold` is told of calls that wait for their provider, `show` of the text that tasks stream.
    """

    run: RunId
    workers: Workers
    redaction: Callable[[], Redaction | None]
    hold: Callable[[str, bool], None]
    show: Callable[[Perform, str], None]

    def has_effects(self, perform: Perform) -> bool:
        return self.workers.effect(perform.kind, perform.inputs) != "none"

    def intent(self, perform: Perform) -> dict[str, Json]:
        """What is written before a call: what it is given, and what it is expected to use."""
        request = self._request(perform, self.redaction())
        estimate = self.workers.kind(perform.kind).estimate(request)
        reserve = {name: amount for name in RESERVED if (amount := getattr(estimate, name))}
        body: dict[str, Json] = {"kind": perform.kind}
        if reserve:
            body["reserve"] = reserve
        if estimate.cap is not None:
            body["cap"] = asdict(estimate.cap)
        if estimate.at_worst is not None:
            body["at_worst"] = asdict(estimate.at_worst)
        if not perform.secure:
            body["inputs"] = self.workers.redacted(perform.inputs)
        return body

    async def answer(self, perform: Perform, cap: int | None) -> object:
        """Makes the call; gives what the kind of task gives, or raises what it raises."""
        kind, show = self.workers.kind(perform.kind), partial(self.show, perform)
        redaction = self.redaction()
        request = self._request(perform, redaction, cap)
        if redaction is None:
            return await _in_time(kind.perform(request, show), perform.timeout_s)
        stream = StreamedText((), redaction)
        call = kind.perform(request, lambda text: show(stream.take(text)))
        answer = await _in_time(call, perform.timeout_s)
        show(stream.rest())
        return answer

    def failed(
        self, perform: Perform, fault: BaseException, held: dict[str, Json]
    ) -> dict[str, Json]:
        """What is written of a fault: the provider's, the user's, or a mistake inside of a task."""
        if isinstance(fault, UsageError):
            fault = ProviderError(str(fault), code=fault.code)
        elif not isinstance(fault, ProviderError):
            fault = ProviderError(_words_of(fault), code="I900")
        is_priced = bool(held) and self.workers.effect(perform.kind, perform.inputs) == "priced"
        return failed_body(perform, fault, held, self.workers.redacted, is_priced=is_priced)

    def _request(
        self, perform: Perform, redaction: Redaction | None, cap: int | None = None
    ) -> Request:
        return Request(
            self.run,
            perform.address,
            perform.kind,
            perform.inputs,
            perform.attempt,
            f"{self.run}:{perform.key or perform.address}",
            perform.timeout_s,
            perform.returns,
            perform.session,
            perform.repair,
            cap,
            partial(self.hold, perform.address),
            *(() if redaction is None else (redaction.value,)),
        )


def _words_of(fault: BaseException) -> str:
    try:
        return f"{type(fault).__name__}: {fault}"
    except Exception:  # noqa: BLE001 - an error that cannot even be printed
        return type(fault).__name__


async def _in_time(call: Awaitable[object], limit_s: float | None) -> object:
    """What a call gives; most kinds keep to the time by themselves, and say more of it."""
    if limit_s is None:
        return await call
    try:
        async with asyncio.timeout(limit_s + GRACE_S) as deadline:
            return await call
    except TimeoutError:
        if not deadline.expired():
            raise
    message = f"no answer within {limit_s:g} s; raise the timeout of the step"
    raise ProviderError(message, code="P108", retryable=True)
