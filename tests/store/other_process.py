"""A process of its own that works on a store: started by tests with a path and a task."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from journal_makers import event, iteration, new_run, started

from whorl.errors import WhorlError
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def say(text: str) -> None:
    print(text, flush=True)


async def own(store: SqliteStore, run_id: str) -> None:
    """Claims a run, then appends an iteration for each line that it is given."""
    run = RunId(run_id)
    owner = await store.claim(run)
    say(f"owner {owner}")
    for number, _ in enumerate(sys.stdin, 1):
        try:
            say(f"seq {await store.append(run, owner, iteration(number))}")
        except WhorlError as error:
            say(f"{type(error).__name__} {error}")


async def work(store: SqliteStore, name: str, count: str) -> None:
    """Appends to a run of its own, and posts to everybody's."""
    run, owner = await started(store, name)
    for number in range(1, int(count) + 1):
        await store.append(run, owner, iteration(number))
    await store.release(run, owner)
    say("done")


async def race(store: SqliteStore, name: str, key: str) -> None:
    """Makes a run for a key as soon as it is told to."""
    say("ready")
    sys.stdin.readline()
    run, created = await store.create(new_run(name, key=key), event("run.started"))
    say(f"{run} {created}")


TASKS: dict[str, Callable[..., Awaitable[None]]] = {"own": own, "work": work, "race": race}


async def main(path: str, task: str, *words: str) -> None:
    async with SqliteStore(path) as store:
        await TASKS[task](store, *words)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
