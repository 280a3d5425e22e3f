"""A stand-in for all kinds of tasks: every call is priced, and is counted by its address."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from whorl.providers.task import Estimate

if TYPE_CHECKING:
    from typing import Self

    from whorl.language import Json
    from whorl.providers.task import Request


class Priced:
    """What workers are asked before a call; how it is answered is up to those who inherit."""

    def __init__(self) -> None:
        self.sent: Counter[str] = Counter()

    def kind(self, name: str) -> Self:
        return self

    def effect(self, name: str, inputs: dict[str, Json]) -> str:
        return "priced"

    def redacted(self, value: Json) -> Json:
        return value

    def estimate(self, request: Request) -> Estimate:
        return Estimate(calls=1)
