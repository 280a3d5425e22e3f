"""Large values in a bucket, on a real server that speaks S3."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any
from urllib.error import URLError

import pytest
from temporalio.api.common.v1 import Payload

from conformance.replies import Script, ScriptedWorkers
from waiting import PATIENCE_S
from whorl.dialects import read_workflow
from whorl.errors import StoreError
from whorl.providers.redaction import Secret
from whorl.runtimes.start_options import Start
from whorl.wings.cluster.messages import ASK
from whorl.wings.cluster.values import Folder, bound_to, converter, place_of
from whorl.wings.cluster.worker import findings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cluster.cluster import Server

SECRET = "a-secret-of-the-bucket"
TEXT = "whorl: 1\nname: n\nsteps: {write: {ask: Hi}}\noutputs: {text: '{{ write }}'}\n"


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The settings of an empty bucket."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    program = Path(sys.executable).with_name("moto_server")
    log = tmp_path_factory.mktemp("bucket") / "log"
    with log.open("wb") as told:
        command = [program, "-H", "127.0.0.1", "-p", str(port)]
        process = subprocess.Popen(command, stdout=told, stderr=told)
        try:
            url = f"http://127.0.0.1:{port}"
            _await_answer(url, process, log)
            made = urllib.request.Request(f"{url}/large", method="PUT")
            urllib.request.urlopen(made, timeout=PATIENCE_S)
            keys = {"s3_key": Secret("somebody"), "s3_secret": Secret(SECRET)}
            yield {"s3_endpoint": url, "s3_region": "us-east-1", **keys}
        finally:
            process.kill()
            process.wait()


def _await_answer(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(URLError, ConnectionError):
            urllib.request.urlopen(url, timeout=PATIENCE_S)
            return
        time.sleep(0.1)
    raise AssertionError(log.read_text())


def test_a_large_reply_is_in_the_bucket(
    server: Server, tmp_path: Path, bucket: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    large = "plainly readable " * 200_000
    workers = ScriptedWorkers(Script({"write": large}))
    more = {"values": "s3://large/of/runs", **bucket}

    async def go() -> None:
        async with server.runtime(tmp_path / "bucket.db", workers, **more) as runtime:
            run, _ = await runtime.start(read_workflow(TEXT, "n.yaml").workflow, Start())
            assert await runtime.drive(run) == "succeeded"
            finished = [e.event for e in runtime.store.read(run, kinds=frozenset({"run.finished"}))]
            assert finished[0].body["outputs"] == {"text": large}
            history = await runtime.client.get_workflow_handle(run).fetch_history()
            assert sum(event.ByteSize() for event in history.events) < 20_000
            told = "".join(str(entry.event) for entry in runtime.store.read(run))
            assert SECRET not in told + caplog.text + str(history) + repr(runtime.settings)

            found = {what: (ok, words) async for what, ok, words in findings(runtime.settings)}
            assert found["values"] == (True, "s3://large/of/runs can be written and read")

    asyncio.run(go())
    listed = urllib.request.urlopen(f"{bucket['s3_endpoint']}/large", timeout=PATIENCE_S)
    assert b"<Key>of/runs/" in listed.read()


@pytest.mark.threat(row="T22")
def test_a_value_that_was_changed_in_the_bucket_is_not_taken(
    server: Server, tmp_path: Path, bucket: dict[str, Any]
) -> None:
    more = {"values": "s3://large/changed", **bucket}
    workers = ScriptedWorkers(Script({"write": "approved: false " * 10_000}))

    async def go() -> None:
        async with server.runtime(tmp_path / "first.db", workers, **more) as runtime:
            run, _ = await runtime.start(read_workflow(TEXT, "n.yaml").workflow, Start())
            assert await runtime.drive(run) == "succeeded"
            place: Any = place_of(runtime.settings)
            forged = _payload('{"approved": true}').SerializeToString()
            for name in [each["path"] async for page in place.store.list() for each in page]:
                await place.put(name, forged)
        async with server.runtime(tmp_path / "second.db", queue="first.db", **more) as reader:
            with pytest.raises(StoreError, match="was changed where it is stored") as fault:
                await reader.refresh(run)
            assert fault.value.code == "R920"

    asyncio.run(go())


@pytest.mark.threat(row="T22")
def test_what_is_not_encrypted_does_not_reach_a_run(server: Server, tmp_path: Path) -> None:
    """Somebody who may write to the namespace, but has not the key, cannot answer for a person."""
    gate = "whorl: 1\nname: g\nsteps: {g: {approve: Pay?}}\noutputs: {ok: '{{ g.approved }}'}\n"
    more = {"encrypt_with": Secret(token_urlsafe())}
    forged = {"kind": "gate.decided", "address": "g", "body": {"approved": True, "feedback": ""}}

    async def go() -> None:
        workers = ScriptedWorkers(Script({}))
        async with server.runtime(tmp_path / "gate.db", workers, **more) as runtime:
            run, _ = await runtime.start(read_workflow(gate, "g.yaml").workflow, Start())
            assert await runtime.drive(run) == "waiting"
            async with server.runtime(tmp_path / "stranger.db", queue="gate.db") as stranger:
                await stranger.client.get_workflow_handle(run).signal(ASK, forged)
            with pytest.raises(StoreError, match="it is not encrypted"):
                await runtime.refresh(run)
            kinds = {entry.event.kind for entry in runtime.store.read(run)}
            assert not kinds & {"gate.decided", "run.finished"}

    asyncio.run(go())


@pytest.mark.threat(row="T22")
def test_a_value_belongs_to_its_run_and_its_call(tmp_path: Path) -> None:
    ours = converter(Folder(tmp_path), token_urlsafe())
    large = _payload(json.dumps("x" * 70_000))

    async def read(payload: Payload, *place: str) -> Payload:
        codec = bound_to(ours, "default", *place).payload_codec
        assert codec is not None
        return (await codec.decode([payload]))[0]

    async def go() -> None:
        codec = bound_to(ours, "default", "run", "steps/a#1").payload_codec
        assert codec is not None
        for value in (_payload('"approved"'), large):
            [sealed] = await codec.encode([value])
            assert (await read(sealed, "run", "steps/a#1")).data == value.data
            for place in (("run", "steps/b#1"), ("run",), ("other", "steps/a#1")):
                with pytest.raises(StoreError, match="for another run or call"):
                    await read(sealed, *place)
        with pytest.raises(StoreError, match="it is not encrypted"):
            await read(_payload('"approved"'), "run", "steps/a#1")
        outside = tmp_path / "outside"
        outside.write_bytes(sealed.SerializeToString())
        for name in (str(outside), "../outside", "A" * 64, "a" * 63):
            reference = Payload(metadata={"encoding": b"whorl/file"}, data=name.encode())
            with pytest.raises(StoreError, match="its name is not a hash"):
                await read(reference, "run", "steps/a#1")
        # Temporal adds the time to the id of what a schedule starts.
        sealed = (await bound_to(ours, "default", "whorl/daily").payload_codec.encode([large]))[0]
        assert (await read(sealed, "whorl/daily-2026-11-18T12:00:00Z")).data == large.data

    asyncio.run(go())


def _payload(text: str) -> Payload:
    return Payload(metadata={"encoding": b"json/plain"}, data=text.encode())


def test_a_bucket_that_is_not_there_is_reported(server: Server, bucket: dict[str, Any]) -> None:
    settings = server.settings("q", values="s3://nowhere", **bucket)

    async def go() -> None:
        place = place_of(settings)
        assert place is not None
        with pytest.raises(StoreError, match="cannot be read at s3://nowhere") as fault:
            await place.get("name")
        assert (fault.value.code, "values" in fault.value.help) == ("R920", True)
        assert "\n" not in str(fault.value)

        found = {what: (ok, words) async for what, ok, words in findings(settings)}
        ok, words = found["values"]
        assert not ok
        assert "s3://nowhere" in words
        assert SECRET not in words

    asyncio.run(go())
