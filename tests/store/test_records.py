"""Records of steps cost a run nothing: they are derived from a journal that holds no more."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from whorl.dialects import read_workflow
from whorl.providers.registry import Providers
from whorl.providers.task import Effect, Emit, Estimate, Reply, Request, Usage
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import Start
from whorl.services.project import Project
from whorl.services.records import document, records_of
from whorl.services.runs import open_runtime

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.language import Json
    from whorl.runtimes.journal.journal import RunId

_FILE = """
whorl: 1
variables: {count: 0}
steps:
  sum: {value: "{{ 40 + 2 }}"}
  add: {set: {count: "{{ count + sum }}"}}
  pick:
    if: sum > 40
    then: {large: {value: "{{ sum * 1000 + 517 }}"}}
    else: {small: {value: tiny}}
  all:
    each: "{{ [3, 5] }}"
    steps: {square: {value: "{{ item * item }}"}, odd: {if: item > 3, value: more}}
outputs: {text: done}
"""


async def _run(folder: Path) -> RunId:
    project = Project(folder, None, folder / "runs.db", {})
    async with open_runtime(project, Providers(project.settings())) as runtime:
        run, _ = await runtime.start(read_workflow(_FILE, "file.yaml").workflow, Start())
        assert await runtime.drive(run) == "succeeded"
        return run


def test_what_is_computed_has_records_and_no_entries(tmp_path: Path) -> None:
    run = asyncio.run(_run(tmp_path))
    store = SqliteStore(tmp_path / "runs.db")
    entries = [entry.event for entry in store.read(run)]
    before = [path.read_bytes() for path in sorted(tmp_path.glob("runs.db*"))]

    records = records_of(store, run, depth=None).records

    outputs = {record.address: record.output for record in records}
    assert outputs["add"] == {"count": 42}
    assert outputs["pick/large"] == 42_517
    assert outputs["all[2]/square"] == 25
    assert [(r.address, r.reason) for r in records if r.status == "skipped"] == [
        ("pick/small", "branch"),
        ("all[1]/odd", "condition"),
    ]
    # The case that was taken and the skipped step have always been told; what is computed is not.
    kinds = ["run.started", "node.finished", "node.skipped", "run.finished"]
    assert [event.kind for event in entries] == kinds
    assert "42517" not in str(entries)
    assert before == [path.read_bytes() for path in sorted(tmp_path.glob("runs.db*"))]
    store.close()


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


class _Workers:
    """One task of one call, without effects, which tells where it was done."""

    def kind(self, name: str) -> Any:
        return self

    def effect(self, name: str, inputs: dict[str, Json]) -> Effect:
        return "none"

    def redacted(self, value: Json) -> Json:
        return value

    def estimate(self, request: Request) -> Estimate:
        return Estimate()

    async def perform(self, request: Request, emit: Emit) -> Reply:
        return Reply(f"by {request.address}", Usage(calls=1))


@pytest.mark.slow
def test_what_is_left_out_of_a_fold_changes_no_record(tmp_path: Path) -> None:
    """Long loops and lists are passed by with snapshots, in whichever part a place lies."""
    store = SqliteStore(tmp_path / "runs.db")

    async def work() -> RunId:
        runtime = LocalRuntime(store, _Workers())
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
