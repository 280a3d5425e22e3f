"""Sizes, times and shapes of requests, and clients that dawdle."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
import time
from http.client import HTTPConnection
from statistics import quantiles
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from served import TOKEN, Client, connected, make_project, raw, running, serving_process

from campaign import IS_CAMPAIGN
from threats import tally
from waiting import PATIENCE_S
from whorl.interfaces.http import limits
from whorl.interfaces.http import server as http_server
from whorl.interfaces.operations import ROUTES

if TYPE_CHECKING:
    from pathlib import Path

    from served import Spawn

pytestmark = pytest.mark.threat(row="T11")

UNSAVED = {"name": "new.yaml", "text": 'whorl: 1\nsteps: {a: {value: "done"}}\n'}
TRY: dict[str, Any] = UNSAVED | {"at": "a"}
SOURCE: dict[str, Any] = {"run": "r", "at": "l"}


def head(client: Client, *more: str, path: str = "/api/validate") -> bytes:
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: {client.address.removeprefix('http://')}",
        f"Authorization: Bearer {TOKEN}",
        "Content-Type: application/json",
        *more,
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def test_a_body_that_grows_too_large_is_cut_off(shared: Client) -> None:
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    sent = head(shared, "Transfer-Encoding: chunked") + chunk * 40
    answer = raw(shared.address, sent)

    assert answer == b"" or answer.startswith(b"HTTP/1.1 413")
    assert shared.get("/project")


def new_run(task: str) -> bytes:
    return b'{"workflow": "polish.yaml", "inputs": {"task": %s}}' % task.encode()


@pytest.fixture(scope="module")
def run(shared: Client) -> str:
    return str(shared.finish()["id"])


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        # What is of another type is not turned into the right one.
        ("runs/RUN/what-if", {"at_most": {"cost": True}}, 400, "W900"),
        ("runs/RUN/what-if", {"at_most": {"cost": "1.5"}}, 400, "W900"),
        ("tries", TRY | {"effects": "yes"}, 400, "W900"),
        ("tries", TRY | {"pins": 0}, 400, "W900"),
        ("tries", TRY | {"from": SOURCE | {"iteration": True}}, 400, "W900"),
        ("workflows/edit", UNSAVED | {"operations": [], "validate": 0}, 400, "W900"),
        ("runs/RUN/resume", {"budget_usd": True}, 400, "W900"),
        ("runs/RUN/resume", {"tokens": "3"}, 400, "W900"),
        ("runs/RUN/resume", {"seen": "3"}, 400, "W900"),
        ("validate", b"null", 400, "W900"),
        ("validate", {"workflow": "a.yaml", "text": "b"}, 400, "W900"),
        ("validate", {"text": "x", "name": "../../x.yaml"}, 200, "W027"),
        ("validate", {"text": "# " + "x" * 1_500_000}, 200, ""),
        ("runs", new_run("-1e400"), 400, "W900"),
        ("runs", new_run(str(2**70)), 400, "64 bits"),
        ("runs", b"abc", 400, '"the body is not valid JSON, see line 1, column 1"'),
    ],
)
def test_bodies_are_taken_or_refused(
    shared: Client, run: str, path: str, *, body: Any, status: int, words: str
) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers, path = {"Content-Type": "application/json"}, path.replace("RUN", run)
    answer = shared.http.post(f"/api/{path}", content=content, headers=headers)

    assert answer.status_code == status, answer.text
    assert words in answer.text
    headers["Content-Type"] += "; charset=latin-1"
    assert shared.http.post(f"/api/{path}", content=content, headers=headers).status_code == 415


def test_odd_characters_come_back_whole(shared: Client) -> None:
    sent = new_run('"a\\ud800b\\u001b[31m"')
    headers = {"Content-Type": "application/json"}
    started = shared.http.post("/api/runs", content=sent, headers=headers)
    found = shared.wait(started.json()["run"])

    assert found["status"] == "succeeded"
    assert found["inputs"]["task"] == "a\ufffdb\x1b[31m"


def test_words_for_people_have_no_control_characters(shared: Client) -> None:
    answer = shared.http.get("/api/runs/x/step", params={"at": "a\x1b[31m\u202eb"})
    text = "whorl: 1\nname: x\nsteps: {a: {'as\x7f\u202eq': b}}\n"
    found = shared.post("/validate", {"text": text}, 200)

    for words in (answer.text, json.dumps(found, ensure_ascii=False)):
        assert "\x1b" not in words
        assert "\u202e" not in words


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        b"GET  HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: /WC\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 40 + b"\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused_in_the_usual_shape(shared: Client, sent: bytes) -> None:
    first, _, rest = raw(shared.address, sent).partition(b"\r\n")
    headers, _, body = rest.partition(b"\r\n\r\n")

    assert first.startswith((b"HTTP/1.1 400", b"HTTP/1.1 421"))
    assert b"content-type: application/json" in headers.lower()
    assert b"connection: close" in headers.lower()
    assert json.loads(body)["error"]["code"] in ("W900", "W910")


def test_a_request_that_does_not_arrive_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "HEAD_S", 0.3)
    monkeypatch.setattr(limits, "DEADLINE_S", 1.5)
    with running(make_project(tmp_path)) as server:
        client = Client(server.address)
        silent = raw(server.address, b"")
        slow_head = raw(server.address, b"GET / HTTP/1.1\r\nHost:")
        slow_body = raw(server.address, head(client, "Content-Length: 100") + b'{"text"')
        client.get("/project")
        client.close()

    assert (silent, slow_head) == (b"", b"")
    assert slow_body.startswith(b"HTTP/1.1 408")


@pytest.mark.slow
def test_two_hundred_dawdling_connections_delay_no_other(project: Path, spawn: Spawn) -> None:
    """Slow loris: heads and bodies that come byte by byte; others are answered all the while."""
    (project / "token").write_text(TOKEN)
    process, client = serving_process(spawn, "--token-file", "token")
    client.close()
    try:
        answers = _answers_among_dawdlers(client.address, count=200, requests=100)
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_S)

    assert answers == [200] * 100


def _answers_among_dawdlers(address: str, *, count: int, requests: int) -> list[int]:
    """What healthy requests are answered, each on a connection of its own."""
    place = address.removeprefix("http://")
    host, _, port = place.rpartition(":")
    headers = {"Authorization": f"Bearer {TOKEN}"}
    body = f"POST /api/validate HTTP/1.1\r\nHost: {place}\r\nAuthorization: Bearer {TOKEN}\r\n"
    body += "Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
    beginnings = (b"GET /api/runs HTTP/1.1\r\nHost: ", body.encode())
    socks = []
    for number in range(count):
        sock = socket.create_connection((host, int(port)))
        sock.sendall(beginnings[number % 2])
        socks.append(sock)
    answers, took_ms = [], []
    try:
        for _ in range(requests):
            for sock in socks:
                with contextlib.suppress(OSError):
                    sock.send(b"x")
            began = time.perf_counter()
            connection = HTTPConnection(host, int(port), timeout=PATIENCE_S)
            connection.request("GET", "/api/runs", headers=headers)
            answer = connection.getresponse()
            answer.read()
            answers.append(answer.status)
            took_ms.append((time.perf_counter() - began) * 1000)
            connection.close()
    finally:
        for sock in socks:
            sock.close()
    # A campaign keeps the processors busy for hours: it says nothing about times.
    if not IS_CAMPAIGN:
        tally("most ms (p99) with 200 slow clients", quantiles(took_ms, n=100)[98])
    return answers


DEEP = [b"[" * 3_000, b'{"a":' * 3_000, b"[" * 50_000 + b"]" * 50_000, b"\xff\x00", b"1" * 5_000]
SIGNED = {
    "webhook-id": "m1",
    "webhook-timestamp": "1",
    "webhook-signature": "v1,AAAA",
    "x-hub-signature-256": "sha256=00",
}


@pytest.mark.sample(8)
@pytest.mark.threat(row="T23")
@pytest.mark.parametrize(("method", "address"), [row for row in ROUTES if row[0] != "GET"])
def test_no_body_breaks_the_server_with_or_without_a_token(
    shared: Client, caplog: pytest.LogCaptureFixture, method: str, address: str
) -> None:
    path = address.replace("{at:path}", "a").replace("{path:path}", "a")
    path = path.replace("{", "").replace("}", "")
    token = {"Authorization": f"Bearer {TOKEN}"}
    with httpx2.Client(base_url=shared.address, timeout=PATIENCE_S, trust_env=False) as stranger:
        for body in DEEP:
            for headers in ({}, SIGNED, token, token | SIGNED):
                for kind in ("application/json", "text/plain"):
                    sent = headers | {"Content-Type": kind}
                    answer = stranger.request(method, path, content=body, headers=sent)
                    assert answer.status_code < 500, (headers, kind, body[:10], answer.text)
    assert "Traceback" not in caplog.text


@pytest.mark.threat(row="T23")
def test_a_head_is_counted_whole_however_it_arrives(shared: Client) -> None:
    place = shared.address.removeprefix("http://")
    begun = f"GET /healthz HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n".encode()
    many = b"".join(b"X%d: aaaaaaaa\r\n" % number for number in range(5_000))
    for more in (b"X: " + b"a" * 33_000 + b"\r\n", b"X: " + b"a" * 70_000 + b"\r\n", many):
        assert raw(shared.address, begun + more + b"\r\n").startswith(b"HTTP/1.1 400")
    taken = raw(shared.address, begun + b"X: " + b"a" * 30_000 + b"\r\n\r\n")
    assert taken.startswith(b"HTTP/1.1 200")


@pytest.mark.slow
@pytest.mark.threat(row="T23")
def test_connections_with_half_a_head_block_no_other_client(tmp_path: Path) -> None:
    """Two thousand of one address: the oldest of them give way, and those that are served stay."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8_192, before[1]), before[1]))
    held: list[socket.socket] = []
    try:
        with connected(make_project(tmp_path)) as client, client.stream("/changes") as changes:
            host, _, port = client.address.removeprefix("http://").rpartition(":")
            for number in range(2_000):
                sock = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
                held.append(sock)
                with contextlib.suppress(OSError):
                    sock.sendall(b"GET / HTTP/1.1\r\nHost: " if number % 2 else b"G")
                if number % 400 == 399:
                    with Client(client.address, "").http as other:
                        assert other.get("/healthz").status_code == 200
            client.start("gated.yaml")
            assert next(changes)
            newest = held[-1]
            newest.sendall(f"{host}:{port}\r\nConnection: close\r\n\r\n".encode())
            assert newest.recv(100).startswith(b"HTTP/1.1 200")
            with contextlib.suppress(ConnectionResetError):
                assert held[0].recv(100) == b""
    finally:
        for sock in held:
            sock.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
