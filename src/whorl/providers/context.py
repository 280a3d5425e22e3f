"""What a kind of task is made from: the settings and the shared ways to the outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language import Json
    from whorl.providers.functions import Tasks
    from whorl.providers.models.asking import Models
    from whorl.providers.outbound import Outbound
    from whorl.providers.settings import Settings
    from whorl.providers.task import TaskKind
    from whorl.providers.threads import Threads
    from whorl.providers.tools.servers import Servers


class Memories(Protocol):
    """Where tasks keep records from run to run: the store of the runs has such a place."""

    def memory(self, key: str) -> list[Json]:
        """The records under a key, oldest first."""

    async def remember(self, key: str, record: Json, *, once: str, keep: int) -> bool:
        """Adds a record and keeps the newest ones; False: one whose `id` is `once` is there."""


def _no_memories() -> Memories | None:
    return None


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
    memories: Callable[[], Memories | None] = _no_memories
