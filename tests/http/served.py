"""A real server on a real socket, in a thread, and a project for it."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import command_line
import httpx2
import pytest
from command_line import COMMANDING, FAILING, GATED, REVIEWS, SLOW, start_process

from trusted import TRUSTED
from waiting import PATIENCE_S, wait_until
from whorl.interfaces.http.server import ListenOptions, Server, serving
from whorl.services.project import find_project

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Spawn = Callable[..., subprocess.Popen[str]]

TOKEN = "t0ken-" + "0123456789abcdefghijklmnopqrstuv"

FAILURE = '{status = 400, text = "no such model"}'
CONFIG = f"""
[defaults]
provider = "canned"
model = "m"

[allow]
commands = ["sh"]

[providers.canned]
kind = "scripted"

[[providers.canned.replies]]
match = "Write"
by = "iteration"
replies = ["draft one", "draft two", "draft three", "draft four"]

[[providers.canned.replies]]
match = "Fail"
replies = [{FAILURE}, {FAILURE}, "well"]

[[providers.canned.replies]]
match = "Never"
replies = [{FAILURE}]
{REVIEWS}"""

DESCRIPTION = "name: polish\ndescription: Writes until it is good.\n"
POLISH = command_line.POLISH.replace("name: polish\n", DESCRIPTION)

TIMED = """
whorl: 1
name: timed
steps: {check: {approve: {message: "Now?"}, timeout: 400ms}}
"""

BIG = """
whorl: 1
name: big
steps:
  many: {value: "{{ 'abcdefghij' * 3000 }}"}
  show: {ask: "Write {{ many }}"}
"""

SPEAKING = """
whorl: 1
name: speaking
steps: {speak: {run: "sleep 0.5; echo one; sleep 0.4; echo two"}}
"""

BROKEN = "whorl: 1\nname: broken\nsteps: {a: {asq: hello}}\n"

WORKFLOWS = {
    "polish.yaml": POLISH,
    "gated.yaml": GATED,
    "timed.yaml": TIMED,
    "slow.yaml": SLOW,
    "failing.yaml": FAILING,
    "big.yaml": BIG,
    "speaking.yaml": SPEAKING,
    "commanding.yaml": COMMANDING,
    "flows/broken.yaml": BROKEN,
    "notes.json": '{"some": "other file"}',
}


def make_project(folder: Path, config: str = CONFIG) -> Path:
    """Writes a project into a folder."""
    (folder / "flows").mkdir()
    (folder / "whorl.toml").write_text(config)
    for name, text in WORKFLOWS.items():
        (folder / name).write_text(text)
    return folder


class Client:
    """A client that has the token."""

    def __init__(self, address: str, token: str = TOKEN) -> None:
        self.address = address
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.http = httpx2.Client(
            base_url=address, headers=headers, timeout=PATIENCE_S, trust_env=False
        )

    def close(self) -> None:
        """Closes its connections."""
        self.http.close()

    def get(self, path: str, **query: Any) -> Any:
        """The JSON of an answer that must be 200."""
        answer = self.http.get(f"/api{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: dict[str, Any] | None = None, status: int = 202) -> Any:
        """The JSON of an answer that must have this status."""
        answer = self.http.post(f"/api{path}", json=body or {})
        assert answer.status_code == status, answer.text
        return answer.json()

    def start(self, workflow: str, **fields: Any) -> str:
        """Starts a run; gives its id."""
        return str(self.post("/runs", {"workflow": workflow, **fields}, 201)["run"])

    def finish(self, workflow: str = "polish.yaml", *statuses: str, **fields: Any) -> Any:
        """Starts a run (with a task, if it is of the usual loop); the run once it is at rest."""
        if workflow == "polish.yaml":
            fields = {"inputs": {"task": "x"}} | fields
        return self.wait(self.start(workflow, **fields), *statuses)

    def turns(self, run: str, beyond: int = 1) -> None:
        """Waits until the loop of a run is beyond an iteration."""
        wait_until(lambda: self.get(f"/runs/{run}")["iteration"] > beyond)

    def kinds(self, run: str) -> list[str]:
        """The kinds of the entries of a run."""
        return [event["kind"] for event in self.get(f"/runs/{run}/events", limit=5000)["events"]]

    def wait(self, run: str, *statuses: str) -> Any:
        """The run once it has one of these statuses."""
        wanted = statuses or ("succeeded", "failed", "cancelled", "waiting", "paused")
        found: dict[str, Any] = {}

        def is_there() -> bool:
            found.update(self.get(f"/runs/{run}"))
            return found["status"] in wanted

        wait_until(is_there)
        return found

    @contextmanager
    def stream(self, path: str, **headers: str) -> Iterator[Iterator[dict[str, Any]]]:
        """The events of a stream: `event`, `id`, `data`."""
        accept = {"Accept": "text/event-stream"} | headers
        with self.http.stream("GET", f"/api{path}", headers=accept) as answer:
            assert answer.status_code == 200, answer.read()
            yield _events(answer.iter_lines())


def _events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    event: dict[str, Any] = {}
    end = time.monotonic() + PATIENCE_S
    for line in lines:
        # A stream that says that it is still there would be waited for without end.
        assert time.monotonic() < end, "the stream says nothing that is waited for"
        if not line:
            if event:
                yield event
            event = {}
        elif not line.startswith(":"):
            name, _, text = line.partition(": ")
            event[name] = json.loads(text) if name == "data" else text


class Running:
    """A server that runs in a thread."""

    def __init__(
        self, folder: Path, place: ListenOptions, environment: dict[str, str] | None = None
    ) -> None:
        self._folder = folder
        self._environment = TRUSTED if environment is None else environment
        self._place = place
        self._ready = threading.Event()
        self._server: Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._fault: BaseException | None = None
        self.address = ""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(PATIENCE_S), "the server did not start"
        if self._fault is not None:
            raise self._fault

    @property
    def port(self) -> int:
        """The port that it listens at."""
        return int(self.address.rpartition(":")[2])

    def stop(self) -> None:
        """Ends it as a signal would."""
        if self._server is not None:
            self._server.should_exit = True
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "the server did not end"

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as fault:
            self._fault = fault
            self._ready.set()

    async def _serve(self) -> None:
        project = find_project(self._environment, folder=self._folder)
        async with serving(project, self._place) as (server, address):
            self._server, self.address = server, address
            self._ready.set()
            await server.answer()


@contextmanager
def running(
    folder: Path, place: ListenOptions | None = None, environment: dict[str, str] | None = None
) -> Iterator[Running]:
    """A server on a project, until the block ends."""
    server = Running(folder, place or ListenOptions(token=TOKEN), environment)
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def connected(
    folder: Path, place: ListenOptions | None = None, environment: dict[str, str] | None = None
) -> Iterator[Client]:
    """A client of a server on a project, until the block ends."""
    with running(folder, place, environment) as server:
        client = Client(server.address)
        try:
            yield client
        finally:
            client.close()


def serving_process(spawn: Spawn, *words: str) -> tuple[subprocess.Popen[str], Client]:
    """A server in a process of its own, once it listens, and a client of it."""
    process = spawn("serve", "--port", "0", "--no-open", *words)
    assert process.stdout is not None
    address, _, token = process.stdout.readline().strip().partition("/#token=")
    return process, Client(address, token or TOKEN)


def raw(address: str, sent: bytes) -> bytes:
    """What a server answers to bytes, until it closes."""
    host, _, port = address.removeprefix("http://").rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE_S) as sock:
        sock.sendall(sent)
        found = b""
        with suppress(TimeoutError, ConnectionResetError):
            while part := sock.recv(65536):
                found += part
        return found


def at_once(client: Client, path: str, body: dict[str, Any], count: int = 6) -> list[int]:
    """The statuses of the same request, sent several times in parallel."""

    def send(_: int) -> int:
        return int(client.http.post(f"/api{path}", json=body).status_code)

    with ThreadPoolExecutor(count) as pool:
        return sorted(pool.map(send, range(count)))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a configuration and workflows."""
    return make_project(tmp_path)


@pytest.fixture
def client(project: Path) -> Iterator[Client]:
    """A client of a server on the project."""
    with connected(project) as client:
        yield client


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a server that all tests of a module share; it takes drafts, too."""
    folder = make_project(tmp_path_factory.mktemp("shared"))
    with connected(folder, ListenOptions(token=TOKEN, edits=True)) as client:
        yield client


@pytest.fixture
def spawn(project: Path) -> Spawn:
    """Starts a command in a process of its own, in the project."""
    # A process whose disk is full leaves half of a compiled file to all others.
    environment = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", **TRUSTED}
    return lambda *words: start_process(project, environment, *words)
