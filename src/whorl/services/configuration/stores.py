"""Whether what lies in a store may act: its tokens, schedules, hooks, memories, runs to go on.

A store lies in a folder, so it may come from whoever wrote the folder. What is in it counts where
this user has made it, or has taken it over: then it has a mark, which is made of its path with the
user's key, and which nobody else can make. One that was copied or moved has none that fits.
"""

from __future__ import annotations

import os
import shlex
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final

from whorl.errors import ProviderError, StoreError, UsageError, plural, safe
from whorl.lazily import dataclass
from whorl.runtimes.journal.keys import Seals, mark_of, seals_from
from whorl.runtimes.service.tables import rows
from whorl.runtimes.sqlite.schema import MARK
from whorl.services.configuration.trust import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import apsw

    from whorl.language import Json
    from whorl.language.libraries import Amendment
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project

CODE: Final = "W908"
# So many of each are counted at most.
_COUNTED_MAX: Final = 10_000
# By what it is called: the table, and which of its rows would act; of a mirror, others drive runs.
_ACTING: Final = {
    "token": ("tokens", "tokens"),
    "schedule": ("schedules", "schedules"),
    "hook": ("hooks", "hooks"),
    "experiment": ("experiments", "experiments WHERE state = 'asked'"),
    "run": (
        "upkeep",
        """runs JOIN upkeep ON upkeep.run = number LEFT JOIN queue ON queue.run = number
        WHERE (status = 'running' AND (kept OR began = 0)) OR due IS NOT NULL""",
    ),
    "memory": ("memories", "(SELECT DISTINCT key FROM memories)"),
}
_IN_MIRRORS: Final = {
    "token": _ACTING["token"],
    "schedule": ("schedules", "schedules WHERE trigger <> ''"),
    "hook": _ACTING["hook"],
}
_NAMES: Final = {"experiment": "experiment that was asked for", "run": "run that would go on"}
_SEVERAL: Final = {
    "experiment": "experiments that were asked for",
    "run": "runs that would go on",
    "memory": "memories",
}


def acting_in(store: SqliteStore) -> dict[str, int]:
    """What in a store gives somebody rights, or would be started by a server: how many of each."""
    found = {}
    for name, (table, which) in (_IN_MIRRORS if store.is_mirror else _ACTING).items():
        counted = f"SELECT count(*) FROM (SELECT 1 FROM {which} LIMIT {_COUNTED_MAX})"
        for (number,) in rows(store, table, counted):
            if number:
                found[name] = int(number)
    return found


def acting_words(acting: dict[str, int]) -> str:
    """Such as `1 token and 2 schedules`."""
    parts = [
        plural(number, _NAMES.get(name, name), _SEVERAL.get(name, ""))
        for name, number in acting.items()
    ]
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


@dataclass(frozen=True, slots=True)
class HeldStore:
    """The file of a store as a person is shown it who may take it over."""

    path: Path
    is_mirror: bool
    is_marked: bool
    acting: dict[str, int]

    @property
    def is_strange(self) -> bool:
        return bool(self.acting) and not self.is_marked


def look_into(project: Project) -> HeldStore | None:
    """The store of a project; None where there is none yet."""
    is_mirror = project.is_on_cluster
    path = project.mirror if is_mirror else project.store
    if not project.has_runs() or not path.exists():
        return None
    with closing(_open(project, path, is_mirror=is_mirror)) as store:
        return HeldStore(path, is_mirror, is_marked(store), acting_in(store))


async def settle(project: Project, held: HeldStore, *, trusts: bool) -> None:
    """Takes a store over, or gives it up."""
    async with _open(project, held.path, is_mirror=held.is_mirror) as store:
        await (take_over(store) if trusts else give_up(store))


def _open(project: Project, path: Path, *, is_mirror: bool) -> SqliteStore:
    from whorl.runtimes.sqlite import SqliteStore

    return SqliteStore(path, seals=seals_from(project.environment), is_mirror=is_mirror)


def is_marked(store: SqliteStore) -> bool:
    """Whether this user has made the store where it lies now, or has taken it over there."""
    # A key that cannot be used marks nothing; whoever takes a store over is told why.
    with suppress(StoreError):
        known = {mark for (mark,) in rows(store, "marks", "SELECT mark FROM marks")}
        return bool(known) and any(mark_of(own, store.path) in known for own in _keys(store.seals))
    return False


def _keys(seals: Seals) -> Iterator[Seals]:
    """The key that is given, and the one in the user's file, which may have been used before."""
    yield seals
    if seals.given and seals.file is not None and seals.file.exists():
        yield Seals(seals.file)


async def take_over(store: SqliteStore) -> None:
    """Lets what lies in a store act, from now on; raises UsageError W909 for another user's."""
    own = getattr(os, "geteuid", lambda: None)()
    if own is not None and os.stat(store.path).st_uid != own:
        words = f"the store {store.path!r} belongs to another user"
        advice = f"copy it into a folder of your own; in a container, {VARIABLE}=1 allows it"
        raise UsageError(words, help=advice, code="W909")
    await _write(store, MARK)


async def give_up(store: SqliteStore) -> None:
    """Takes the mark of this user away."""
    if is_marked(store):
        await _write(store, "DELETE FROM marks WHERE mark = ?")


def is_strange(project: Project, store: SqliteStore) -> bool:
    """Whether something lies in the store that others may have put there, so that it waits."""
    return not (project.trusts or is_marked(store)) and bool(acting_in(store))


async def may_act(project: Project, store: SqliteStore) -> bool:
    """Whether what lies in a store counts. One in which nothing could act is taken over."""
    if project.trusts or is_marked(store):
        return True
    if is_strange(project, store):
        return False
    # What is made from now on is this user's; without a key it is so for this process.
    with suppress(StoreError, UsageError):
        await take_over(store)
    return True


async def check_may_act(project: Project, store: SqliteStore) -> None:
    """Raises UsageError W908 where something lies in the store that others may have put there."""
    if not await may_act(project, store):
        raise refusal(project, store)


def refusal(project: Project, store: SqliteStore) -> UsageError:
    """Why what lies in a store does not count."""
    held = acting_words(acting_in(store))
    words = f"the store {safe(store.path)!r} was not made here, and its {held} may be a stranger's"
    named = f"--store {shlex.quote(str(project.store))} " if project.is_store_named else ""
    advice = (
        f"`whorl {named}trust` shows what it holds, and takes it over; for one call, or in CI and "
    )
    advice += f"containers, set {VARIABLE}=1 in the environment"
    return UsageError(words, help=advice, code=CODE)


@dataclass(frozen=True, slots=True)
class OwnMemories:
    """The memories of a store, for tasks: a stranger's are neither read nor added to."""

    project: Project
    store: SqliteStore

    async def memory_records(self, key: str) -> list[Json]:
        await self._check()
        return await self.store.memory_records(key)

    async def remember(self, key: str, record: Json, *, once: str, keep: int) -> bool:
        await self._check()
        return await self.store.remember(key, record, once=once, keep=keep)

    async def amend(
        self, key: str, change: Callable[[list[Json]], Amendment], *, keep: int
    ) -> Amendment:
        await self._check()
        return await self.store.amend(key, change, keep=keep)

    async def _check(self) -> None:
        try:
            await check_may_act(self.project, self.store)
        except UsageError as fault:
            raise ProviderError(f"{fault}; {fault.help}", code=fault.code) from fault


async def _write(store: SqliteStore, statement: str) -> None:
    mark = mark_of(store.seals, store.path)

    def apply(connection: apsw.Connection) -> None:
        connection.execute(statement, (mark,))

    await store.change(apply)
