"""A stand-in for all kinds of tasks: every call is priced, and is counted by its address."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from whorl.providers.task import Estimate, Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language import Json
    from whorl.providers.task import Effect, Emit, Request


async def replied(request: Request, emit: Emit) -> Reply:
    return Reply("ok", Usage(calls=1))


class Priced:
    """All kinds of tasks at once, done by one function."""

    def __init__(self, perform: Callable[..., Any] = replied, effect: Effect = "priced") -> None:
        self.sent: Counter[str] = Counter()
        self._perform, self._effect = perform, effect

    def kind(self, name: str) -> Any:
        return self

    def effect(self, name: str, inputs: dict[str, Json]) -> Effect:
        return self._effect

    def redacted(self, value: Json) -> Json:
        return value

    def estimate(self, request: Request) -> Estimate:
        return Estimate(calls=1)

    def perform(self, request: Request, emit: Emit) -> Any:
        self.sent[request.address] += 1
        return self._perform(request, emit)
