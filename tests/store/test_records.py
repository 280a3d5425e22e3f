"""Records of steps are the same, however much of the journal is left out to find them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from crash.priced import Priced
from whorl.dialects import read_workflow
from whorl.providers.task import Emit, Reply, Request, Usage
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import Start
from whorl.services.records import document, records_of

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.runtimes.journal.journal import RunId

_LONG = """
whorl: 1
steps:
  first: {value: 1}
  warm: {repeat: {at_most: 600, steps: {think: {use: thing}}}}
  all:
    each: "{{ range(1000) | list }}"
    at_once: 5
    steps:
      half: {value: "{{ item / 2 }}"}
      do: {use: thing}
      both: {value: "{{ do }} and {{ half }}"}
  middle: {value: "{{ all | length }}"}
  cool: {repeat: {at_most: 600, steps: {think: {use: thing}, count: {value: "{{ iteration }}"}}}}
  last: {value: "{{ middle }}"}
"""


async def _told(request: Request, emit: Emit) -> Reply:
    """One call, which tells where it was done."""
    return Reply(f"by {request.address}", Usage(calls=1))


@pytest.mark.slow
def test_what_is_left_out_of_a_fold_changes_no_record(tmp_path: Path) -> None:
    """Long loops and lists are passed by with snapshots, in whichever part a place lies."""
    store = SqliteStore(tmp_path / "runs.db")

    async def work() -> RunId:
        runtime = LocalRuntime(store, Priced(_told, "none"))
        run, _ = await runtime.start(read_workflow(_LONG, "long.yaml").workflow, Start())
        assert await runtime.drive(run) == "succeeded"
        return run

    run = asyncio.run(work())
    whole = [*map(document, records_of(store, run, depth=None, limit=100_000).records)]

    for at in ("", "first", "warm[300]", "all", "all[1]", "all[900]/both", "cool[599]", "last"):
        found = [*map(document, records_of(store, run, at).records)]
        wanted = [record for record in whole if _is_at(record["address"], at)]
        assert found == wanted, at
    store.close()


def _is_at(address: object, at: str) -> bool:
    text = str(address)
    is_inside = not at or text == at or text.startswith((f"{at}/", f"{at}["))
    return is_inside and "[" not in text[len(at) :]
