"""Requests that are made to break a server, numbered: each has its documented answer (T11, T13)."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from served import TOKEN, Client, at_once, connected, make_project

from waiting import PATIENCE_S
from whorl.interfaces.http.server import Place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.threat(row="T11")

RUNS, VALIDATE, RUN = "/api/runs", "/api/validate", "/api/runs/@RUN"
NOBODY: dict[str, str | list[str] | None] = {"Authorization": None}
DEEP = b'{"text": ' + b"[" * 60_000 + b"]" * 60_000 + b"}"


@dataclass(frozen=True)
class Case:
    """A request, and the statuses that are right for it."""

    method: str
    target: str
    expected: int | tuple[int, ...]
    body: Any = None
    # Without a value the header is left out; a list is sent one line each.
    headers: dict[str, str | list[str] | None] = field(default_factory=dict)
    # All after the head is sent as it is, and no length is announced.
    raw: bytes | None = None


CASES = {
    # Who asks, and from where.
    "H-01 no token": Case("GET", RUNS, 401, headers=NOBODY),
    "H-02 a token that only begins right": Case(
        "GET", RUNS, 401, headers={"Authorization": f"Bearer {TOKEN[:-1]}"}
    ),
    "H-03 a token in the address": Case("GET", f"{RUNS}?token={TOKEN}", 401, headers=NOBODY),
    "H-04 a token in a cookie": Case(
        "GET", RUNS, 401, headers=NOBODY | {"Cookie": f"token={TOKEN}"}
    ),
    "H-05 two tokens": Case(
        "GET", RUNS, 400, headers={"Authorization": [f"Bearer {TOKEN}", "Bearer x"]}
    ),
    "H-06 the name of another host": Case("GET", RUNS, 421, headers={"Host": "evil.example"}),
    "H-07 a name that ends like ours": Case(
        "GET", RUNS, 421, headers={"Host": "127.0.0.1.evil.example"}
    ),
    "H-08 another port": Case("GET", RUNS, 421, headers={"Host": "127.0.0.1:1"}),
    "H-09 two hosts": Case("GET", RUNS, 400, headers={"Host": ["@HOST", "evil.example"]}),
    "H-10 no host": Case("GET", RUNS, 400, headers={"Host": None}),
    "H-11 the page of another site": Case(
        "POST", VALIDATE, 403, {"text": "x"}, headers={"Origin": "https://evil.example"}
    ),
    "H-12 a page of a file or a sandbox": Case(
        "POST", VALIDATE, 403, {"text": "x"}, headers={"Origin": "null"}
    ),
    "H-13 a question of a browser before the request": Case(
        "OPTIONS",
        RUNS,
        (401, 403),
        headers=NOBODY
        | {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"},
    ),
    "H-14 a host that a proxy is said to have seen": Case(
        "GET", RUNS, 421, headers={"Host": "evil.example", "X-Forwarded-Host": "@HOST"}
    ),
    "H-15 an address that is said to be local": Case(
        "GET",
        RUNS,
        401,
        headers=NOBODY | {"X-Forwarded-For": "127.0.0.1", "Forwarded": "for=::1"},
    ),
    "H-16 another method by a header": Case(
        "GET", f"{RUN}/cancel", 405, headers={"X-HTTP-Method-Override": "POST"}
    ),
    # What a form of another site can send.
    "H-17 plain text": Case(
        "POST", VALIDATE, 415, {"text": "x"}, headers={"Content-Type": "text/plain"}
    ),
    "H-18 a form": Case(
        "POST",
        VALIDATE,
        415,
        raw=b"text=x",
        headers={"Content-Type": "application/x-www-form-urlencoded", "Content-Length": "6"},
    ),
    "H-19 parts": Case(
        "POST", VALIDATE, 415, {"text": "x"}, headers={"Content-Type": "multipart/form-data"}
    ),
    "H-20 no type": Case("POST", VALIDATE, 415, {"text": "x"}, headers={"Content-Type": None}),
    "H-21 packed": Case("POST", VALIDATE, 415, {"text": "x"}, headers={"Content-Encoding": "gzip"}),
    # Bodies.
    "H-22 nothing": Case("POST", VALIDATE, 400, b""),
    "H-23 half of it": Case("POST", VALIDATE, 400, b'{"text": '),
    "H-24 a list": Case("POST", VALIDATE, 400, []),
    "H-25 another encoding": Case("POST", VALIDATE, 400, '{"text": "x"}'.encode("utf-16")),
    "H-26 bytes that are no text": Case("POST", VALIDATE, 400, b'{"text": "\xff\xfe"}'),
    "H-27 sixty thousand levels": Case("POST", VALIDATE, 400, DEEP),
    "H-28 a key twice": Case("POST", VALIDATE, 400, b'{"text": "a", "text": "b"}'),
    "H-29 not a number": Case("POST", VALIDATE, 400, b'{"text": NaN}'),
    "H-30 a number beyond all": Case(
        "POST", RUNS, 400, b'{"workflow": "polish.yaml", "inputs": {"task": 1e999}}'
    ),
    "H-31 a field that nobody knows": Case("POST", VALIDATE, 400, {"text": "x", "admin": True}),
    "H-32 a field of another type": Case("POST", VALIDATE, 400, {"text": {"$ne": None}}),
    "H-33 three megabytes": Case(
        "POST", VALIDATE, 413, raw=b"", headers={"Content-Length": "3000000"}
    ),
    "H-34 a negative length": Case(
        "POST", VALIDATE, 400, raw=b"", headers={"Content-Length": "-1"}
    ),
    "H-35 two lengths": Case(
        "POST", VALIDATE, 400, raw=b"{}", headers={"Content-Length": ["2", "9"]}
    ),
    "H-36 a length and chunks": Case(
        "POST",
        VALIDATE,
        400,
        raw=b"0\r\n\r\nGET /api/runs HTTP/1.1\r\n\r\n",
        headers={"Content-Length": "5", "Transfer-Encoding": "chunked"},
    ),
    "H-37 a chunk of no size": Case(
        "POST", VALIDATE, 400, raw=b"zz\r\n{}\r\n", headers={"Transfer-Encoding": "chunked"}
    ),
    # Addresses and files.
    "H-38 a file above the project": Case(
        "GET", "/api/workflows/source?file=../../etc/passwd", 404
    ),
    "H-39 a file by its full path": Case("GET", "/api/workflows/source?file=/etc/passwd", 404),
    "H-40 a file with its dots encoded": Case(
        "GET", "/api/workflows/source?file=%2e%2e%2fwhorl.toml", 404
    ),
    "H-41 a file that is an address": Case(
        "POST", RUNS, 404, {"workflow": "http://169.254.169.254/latest/meta-data"}
    ),
    "H-42 a name with a zero in it": Case("POST", RUNS, 404, {"workflow": "polish.yaml\0.png"}),
    "H-43 the configuration as a workflow": Case(
        "POST", RUNS, (400, 404), {"workflow": "whorl.toml"}
    ),
    "H-44 a path that climbs out of the assets": Case(
        "GET", "/assets/..%2f..%2fwhorl.toml", 401, headers=NOBODY
    ),
    "H-45 SQL for an id": Case("GET", f"{RUNS}/x'%20OR%20'1'='1", 400),
    "H-46 SQL for a status": Case("GET", f"{RUNS}?status=x'%20UNION%20SELECT%201--", 400),
    "H-47 a number beyond 64 bits": Case("GET", f"{RUN}/iterations/99999999999999999999", 400),
    "H-48 a length of a list below nothing": Case("GET", f"{RUNS}?limit=-1", 400),
    # 49 to 51 are requests to runs, below.
    "H-52 a workflow that would run a command, only checked": Case(
        "POST", VALIDATE, 200, {"text": "whorl: 1\nsteps: {a: {run: touch canary}}\n"}
    ),
    "H-53 a schema that would be fetched, only checked": Case(
        "POST",
        VALIDATE,
        200,
        {"text": "$schema: http://127.0.0.1:9/x\nname: a\nsteps: [{name: b, run: c}]\n"},
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("cases"))


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Client]:
    with connected(folder, Place(token=TOKEN, edits=True)) as client:
        yield client


@pytest.fixture(scope="module")
def run(client: Client) -> str:
    return client.start("gated.yaml")


def _bytes(case: Case, place: str, run: str) -> bytes:
    body = case.body if isinstance(case.body, bytes) else json.dumps(case.body).encode()
    known: dict[str, str | list[str] | None] = {
        "Host": place,
        "Authorization": f"Bearer {TOKEN}",
        "Connection": "close",
    }
    if case.method != "GET":
        known["Content-Type"] = "application/json"
    if case.body is not None:
        known["Content-Length"] = str(len(body))
    lines = [f"{case.method} {case.target.replace('@RUN', run)} HTTP/1.1"]
    for name, value in (known | case.headers).items():
        values = value if isinstance(value, list) else [value]
        lines += [f"{name}: {one.replace('@HOST', place)}" for one in values if one is not None]
    rest = case.raw if case.raw is not None else body if case.body is not None else b""
    return "\r\n".join([*lines, "", ""]).encode() + rest


def _answer(place: str, sent: bytes) -> bytes:
    host, _, port = place.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as sock:
        sock.sendall(sent)
        found = b""
        try:
            while part := sock.recv(65536):
                found += part
        except ConnectionResetError:
            pass
        return found


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_request_has_its_documented_answer(
    client: Client, folder: Path, run: str, name: str
) -> None:
    case, place = CASES[name], client.address.removeprefix("http://")
    answer = _answer(place, _bytes(case, place, run))

    statuses = case.expected if isinstance(case.expected, tuple) else (case.expected,)
    assert int(answer.split(b" ", 2)[1]) in statuses, answer[:500]
    assert answer.count(b"HTTP/1.1") == 1
    assert b"access-control-" not in answer.lower()
    for word in (b"Traceback", b"root:", b"canned", TOKEN.encode()):
        assert word not in answer
    assert not (folder / "canary").exists()
    assert client.http.get("/healthz").status_code == 200


# The request, how a run is made ready for it, and what must then stand in its journal once.
TWICE = {
    "H-49 cancel": ("cancel", "slow.yaml", "run.cancelled"),
    "H-50 resume": ("resume", "slow.yaml", "run.resumed"),
    "H-51 approve": ("approve", "gated.yaml", "gate.decided"),
}


@pytest.mark.threat(row="T13")
@pytest.mark.parametrize("name", TWICE)
def test_a_request_to_a_run_that_comes_six_times_at_once_has_one_effect(
    client: Client, name: str
) -> None:
    action, workflow, kind = TWICE[name]
    run = client.start(workflow)
    if action == "approve":
        client.wait(run, "waiting")
    else:
        client.turns(run)
    if action == "resume":
        client.post(f"/runs/{run}/pause")
        client.wait(run, "paused")
    body = {"address": "check"} if action == "approve" else {}
    statuses = at_once(client, f"/runs/{run}/{action}", body)
    client.http.post(f"/api/runs/{run}/cancel", json={})
    client.wait(run, "cancelled", "succeeded")
    kinds = client.kinds(run)

    assert statuses == [202] + [409] * 5
    assert kinds.count(kind) == 1
    assert kinds.count("run.finished") == 1


def test_there_are_as_many_cases_as_numbers() -> None:
    numbers = sorted(int(name[2:4]) for name in (*CASES, *TWICE))

    assert numbers == list(range(1, 54))
