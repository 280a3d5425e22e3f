"""What every kind of task is made from, and what our own kinds have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from whorl.providers.task import Effect, Estimate, Request, TaskKind, Tasks, Threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language import Json
    from whorl.providers.models.client import Models
    from whorl.providers.outbound.client import Outbound
    from whorl.providers.settings import Settings
    from whorl.providers.tools.servers import Servers


class Memories(Protocol):
    """Where tasks keep records from run to run: the store of the runs has such a place."""

    def memory(self, key: str) -> list[Json]:
        """The records under a key, oldest first."""

    async def remember(self, key: str, record: Json, *, once: str, keep: int) -> bool:
        """Adds a record and keeps the newest ones; False: one whose `id` is `once` is there."""


@dataclass(frozen=True, slots=True)
class Context:
    """Given to every kind of task when it is first used, ours and those of plugins.

    `plugin` finds the kind of task that another package adds under a name, if one does;
    `memories` gives the place for records, once there is one.
    """

    settings: Settings
    outbound: Outbound
    models: Models
    functions: Tasks
    servers: Servers
    plugin: Callable[[str], TaskKind | None]
    threads: Threads
    memories: Callable[[], Memories | None] = lambda: None


class OwnTask:
    """What our own kinds have in common: a call without a price, unless one says otherwise."""

    effect: Effect = "outside"
    calls = 1

    def __init__(self, context: Context) -> None:
        self._context = context
        self._settings = context.settings

    def estimate(self, request: Request) -> Estimate:
        return Estimate(calls=self.calls)
