"""Somebody changes the file of a store, and knows how: nothing is executed, others go on (T17).

The checksums are made to fit wherever the one who changes it could do that.
"""

from __future__ import annotations

import asyncio
import json
import pickle
import shutil
import time
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from crash.priced import Priced
from whorl.dialects import read_workflow
from whorl.errors import StoreError
from whorl.interpreter import BEHAVIOUR
from whorl.interpreter.events import Event
from whorl.providers.task import Reply, Usage
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.sqlite.encoding import checksum
from whorl.runtimes.start_options import Start

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whorl.providers.task import Emit, Request

pytestmark = pytest.mark.threat(row="T17")

WORKFLOW = """
whorl: 1
name: gated
steps:
  first: {ask: "One"}
  turns: {repeat: {at_most: 3, steps: {a: {value: "{{ iteration }}"}}}}
  check: {approve: {message: "Go on?"}}
  second: {ask: "Two after {{ first }}"}
outputs: {first: "{{ first }}", second: "{{ second }}"}
"""


class Answering(Priced):
    """Answers every call, and counts them."""

    async def perform(self, request: Request, emit: Emit) -> Reply:
        self.sent[request.address] += 1
        return Reply("answer", Usage(calls=1))


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A store with two runs that wait for a person: the one that is attacked, and another."""
    path = tmp_path_factory.mktemp("waiting") / "runs.db"

    async def write() -> list[str]:
        async with SqliteStore(path) as store:
            runtime = LocalRuntime(store, Answering())  # type: ignore[arg-type]
            texts = (WORKFLOW, WORKFLOW.replace("name: gated", "name: other"))
            workflows = [read_workflow(text, "gated.yaml").workflow for text in texts]
            runs = [(await runtime.start(workflow, Start()))[0] for workflow in workflows]
            assert [await runtime.drive(run) for run in runs] == ["waiting"] * 2
            return [str(run) for run in runs]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("whorl.runtimes.journal.journal.SNAPSHOT_EVERY", 3)
        attacked, other = asyncio.run(write())
    return path, attacked, other


class Executed:
    """What would run, were it unpickled."""

    def __init__(self, canary: Path) -> None:
        self._canary = canary

    def __reduce__(self) -> Any:
        return type(self._canary).touch, (self._canary,)


@dataclass
class File:
    """The file as somebody sees it who opens it with SQLite; the attacked run has number 1."""

    connection: apsw.Connection
    canary: Path

    def do(self, statement: str, *values: Any) -> None:
        self.connection.execute(statement, values)

    def entry(self, change: str, *values: Any) -> None:
        """Changes the entry of the first reply, which all that follows needs."""
        self.do(f"UPDATE journal SET {change} WHERE run = 1 AND seq = 3", *values)
        self.fit_checksums()
        self.do("DELETE FROM snapshots WHERE run = 1")

    def state(self, state: Any) -> None:
        packed = state if isinstance(state, bytes) else zlib.compress(json.dumps(state).encode())
        self.do("UPDATE snapshots SET state = ? WHERE run = 1", packed)

    def reply(self, value: Any) -> None:
        """Forges what the first call was answered."""
        stored = "SELECT body FROM journal WHERE run = 1 AND seq = 3"
        told = json.loads(str(self.connection.execute(stored).fetchone()[0]))
        self.entry("body = ?", json.dumps(told | {"value": value}))

    def fit_checksums(self) -> None:
        entries = "SELECT id, seq, kind, at, address, body, large FROM journal"
        for number, seq, *row in self.connection.execute(entries).fetchall():
            fitting = (checksum((seq, *row[:2]), *row[2:]), number)
            self.connection.execute("UPDATE journal SET checksum = ? WHERE id = ?", fitting)


def _bomb() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -13)
    return b"".join(packer.compress(b"0" * (1 << 20)) for _ in range(64)) + packer.flush()


TAGGED = {
    "py/object": "subprocess.Popen",
    "py/reduce": [{"py/type": "os.system"}, {"py/tuple": ["touch canary"]}],
    "lc": 1,
    "type": "constructor",
    "id": ["os", "system"],
    "kwargs": {"command": "touch canary"},
    "__class__": "os.system",
    "{{ 7 * 7 }}": "{{ ''.__class__ }}",
}
DONE: dict[str, Any] = {"first": "answer", "second": "answer"}
# What is done to the file; the code of the error, or what the run then gives.
CASES: dict[str, tuple[Callable[[File], None], str | dict[str, Any]]] = {
    "J-01 an entry is a pickle": (
        lambda file: file.entry("body = ?", pickle.dumps(Executed(file.canary))),
        "R906",
    ),
    "J-02 a snapshot is a pickle": (
        lambda file: file.state(pickle.dumps(Executed(file.canary))),
        DONE,
    ),
    "J-03 a reply has the tags by which others make objects": (
        lambda file: file.reply(TAGGED),
        {"first": TAGGED, "second": "answer"},
    ),
    "J-04 a reply is a template": (
        lambda file: file.reply("{{ 7 * 7 }} ${7*7} @{mul(7,7)}"),
        {"first": "{{ 7 * 7 }} ${7*7} @{mul(7,7)}", "second": "answer"},
    ),
    "J-05 an entry is of a kind that nobody knows": (lambda file: file.entry("kind = 999"), "R901"),
    "J-06 an entry is missing": (
        lambda file: file.do(
            "DELETE FROM journal WHERE run = 1 AND seq = 3; DELETE FROM snapshots WHERE run = 1"
        ),
        "R906",
    ),
    "J-07 two entries have changed places": (
        lambda file: file.do(
            "UPDATE journal SET seq = 99 WHERE run = 1 AND seq = 2;"
            "UPDATE journal SET seq = 2 WHERE run = 1 AND seq = 3;"
            "UPDATE journal SET seq = 3 WHERE run = 1 AND seq = 99;"
            "DELETE FROM snapshots WHERE run = 1"
        ),
        "R906",
    ),
    "J-08 a reply is changed, its checksum is not": (
        lambda file: file.do(
            "UPDATE journal SET body = replace(body, 'answer', 'other') WHERE run = 1;"
            "DELETE FROM snapshots WHERE run = 1"
        ),
        "R906",
    ),
    "J-09 an entry is deflated from far more than it may hold": (
        lambda file: file.entry("body = ?", _bomb()),
        "R906",
    ),
    "J-10 an entry is nested deeper than a stack": (
        lambda file: file.entry("body = ?", '{"value":' + "[" * 200_000),
        "R906",
    ),
    "J-11 the workflow that the run started with is another one": (
        lambda file: file.do(
            "UPDATE payloads SET content = ?, deflated = 0 WHERE id ="
            " (SELECT workflow FROM runs WHERE number = 1)",
            json.dumps({"is": "Task", "kind": "run", "inputs": {"command": "touch canary"}}),
        ),
        "R906",
    ),
    "J-12 a run of a machine that is not known": (
        lambda file: file.do(f"UPDATE runs SET behaviour = {BEHAVIOUR + 1} WHERE number = 1"),
        "R901",
    ),
    "J-13 an entry lacks what its kind has": (
        lambda file: file.entry("kind = 4, body = '{}'"),
        "R906",
    ),
    "J-14 a snapshot is of another shape": (lambda file: file.state("{}"), DONE),
}


def _approve(store: SqliteStore, run: str, workers: Answering) -> dict[str, Any]:
    """Lets a run go on as a person would; gives its outputs."""
    runtime = LocalRuntime(store, workers)  # type: ignore[arg-type]
    yes = Event("gate.decided", "check", time.time(), {"approved": True, "feedback": ""})
    assert asyncio.run(runtime.drive(RunId(run), [yes])) == "succeeded"
    outputs: Any = [entry.event.body for entry in store.read(run)][-1]["outputs"]
    return dict(outputs)


@pytest.mark.parametrize(("change", "expected"), CASES.values(), ids=CASES)
def test_a_changed_store_executes_nothing_and_is_named(
    waiting: tuple[Path, str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[File], None],
    expected: str | dict[str, Any],
) -> None:
    original, attacked, other = waiting
    monkeypatch.chdir(tmp_path)
    path, canary = tmp_path / "runs.db", tmp_path / "canary"
    shutil.copy(original, path)
    with apsw.Connection(str(path)) as connection:
        change(File(connection, canary))
    workers = Answering()
    store = SqliteStore(path)
    try:
        if isinstance(expected, dict):
            assert _approve(store, attacked, workers) == expected
        else:
            with pytest.raises(StoreError, match=attacked) as caught:
                _approve(store, attacked, workers)
            assert caught.value.code == expected
            assert caught.value.help
            assert not workers.sent
        assert {row.id for row in store.runs()} == {attacked, other}
        assert _approve(store, other, workers) == DONE
    finally:
        store.close()
    assert not canary.exists()
