"""What every kind of task is made from, and what our own kinds have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from whorl.lazily import dataclass
from whorl.providers.task import Effect, Estimate, Request, TaskKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language import Json
    from whorl.language.libraries import Amendment
    from whorl.providers.functions import Tasks, Threads
    from whorl.providers.models.client import Models
    from whorl.providers.outbound.client import Outbound
    from whorl.providers.settings import Settings
    from whorl.providers.tools.servers import Servers

# What is to be done with records, given all of them, oldest first.
Change: TypeAlias = "Callable[[list[Json]], Amendment]"


class Memories(Protocol):
    """Where tasks keep records from run to run: the store of the runs has such a place."""

    async def memory_records(self, key: str) -> list[Json]:
        """The records under a key, oldest first."""

    async def remember(self, key: str, record: Json, *, once: str, keep: int) -> bool:
        """Adds a record and keeps the newest ones; False: one whose `id` is `once` is there."""

    async def amend(self, key: str, change: Change, *, keep: int) -> Amendment:
        """Changes the records under a key in one step, which nobody else comes between."""


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
