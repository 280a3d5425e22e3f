"""A run that is left while the disk is full belongs to nobody once there is room."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from conformance.local import CountingStore
from crash.test_drain import World
from whorl.dialects import read_workflow
from whorl.errors import StoreError
from whorl.runtimes.starting import Start

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from whorl.runtimes.journal.journal import RunId

GATED = """
whorl: 1
name: gated
steps:
  check: {approve: {message: "Now?"}}
"""


def test_a_run_is_given_up_once_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path)
    release, refused = CountingStore.release, 0

    async def full(
        store: CountingStore, run: RunId, owner: int, *, is_stopped: bool = False
    ) -> None:
        nonlocal refused
        if refused < 3:
            refused += 1
            raise StoreError("there is no room")
        await release(store, run, owner, is_stopped=is_stopped)

    monkeypatch.setattr(CountingStore, "release", full)

    async def work() -> str:
        runtime = world.process()
        run, _ = await runtime.start(read_workflow(GATED, "gated.yaml").workflow, Start())
        status = await asyncio.wait_for(runtime.drive(run), 60)
        assert not world.store.is_owned(run)
        return status

    try:
        assert world.loop.run_until_complete(work()) == "waiting"
        assert refused == 3
    finally:
        world.loop.close()
        world.store.close()
