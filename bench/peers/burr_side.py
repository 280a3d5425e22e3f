"""The loops of the comparison on Burr."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

PACKAGE = "burr"
SETTINGS = "SQLite persister after every action, its defaults; no tracker"


def one_loop(folder: Path, iterations: int) -> None:
    """Two trivial actions, repeated."""
    _run(folder, iterations, "ok", is_growing=False)


def growing_loop(folder: Path, iterations: int, text: str) -> None:
    """Each iteration adds a text to the state."""
    _run(folder, iterations, text, is_growing=True)


def _run(folder: Path, iterations: int, text: str, *, is_growing: bool) -> None:
    from burr.core import ApplicationBuilder, State, action
    from burr.core.persistence import SQLitePersister

    @action(reads=["texts"], writes=["texts"])
    def first(state: State) -> State:
        return state.append(texts=text) if is_growing else state.update(texts=[text])

    @action(reads=["count"], writes=["count"])
    def second(state: State) -> State:
        return state.update(count=state["count"] + 1)

    persister = SQLitePersister(str(folder / "burr.db"))
    persister.initialize()
    builder: Any = ApplicationBuilder().with_actions(first=first, second=second)
    application = (
        builder.with_transitions(("first", "second"), ("second", "first"))
        .with_state(count=0, texts=[])
        .with_entrypoint("first")
        .with_identifiers(app_id="1", partition_key="bench")
        .with_state_persister(persister)
        .build()
    )
    for _ in range(iterations):
        application.step()
        application.step()
    assert application.state["count"] == iterations
    persister.cleanup()


def many_loops(folder: Path, loops: int, iterations: int, seconds: float) -> None:
    """Loops of one action that waits, at once."""
    from burr.core import ApplicationBuilder, State, action
    from burr.integrations.persisters.b_aiosqlite import AsyncSQLitePersister

    @action(reads=["count"], writes=["count"])
    async def turn(state: State) -> State:
        await asyncio.sleep(seconds)
        return state.update(count=state["count"] + 1)

    async def work() -> None:
        persister = await AsyncSQLitePersister.from_values(str(folder / "burr.db"))
        await persister.initialize()

        async def one(number: int) -> None:
            builder: Any = ApplicationBuilder().with_actions(turn=turn)
            application = await (
                builder.with_transitions(("turn", "turn"))
                .with_state(count=0)
                .with_entrypoint("turn")
                .with_identifiers(app_id=str(number), partition_key="bench")
                .with_state_persister(persister)
                .abuild()
            )
            for _ in range(iterations):
                await application.astep()
            assert application.state["count"] == iterations

        await asyncio.gather(*(one(number) for number in range(loops)))
        await persister.cleanup()

    asyncio.run(work())
