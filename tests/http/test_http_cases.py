"""Requests that are made to break a server, numbered: each has its documented answer (T11)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from served import TOKEN, Client, connected, make_project, raw

from whorl.interfaces.http.server import ListenOptions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.threat(row="T11")

# Without a value a header is left out; a list is sent one line each.
Headers = dict[str, str | list[str] | None]
RUNS, VALIDATE, RUN = "/api/runs", "/api/validate", "/api/runs/@RUN"
SOURCE = "/api/workflows/source?file="
NOBODY: Headers = {"Authorization": None}
DEEP = b'{"text": ' + b"[" * 60_000 + b"]" * 60_000 + b"}"
TEXT = {"text": "x"}
EVIL = "https://evil.example"
CANARY = {"text": "whorl: 1\nsteps: {a: {run: touch canary}}\n"}
FETCHING = {"text": "$schema: http://127.0.0.1:9/x\nname: a\nsteps: [{name: b, run: c}]\n"}
FORM: Headers = {"Content-Type": "application/x-www-form-urlencoded", "Content-Length": "6"}
ASKING: Headers = {"Origin": EVIL, "Access-Control-Request-Method": "POST"}
CHUNKED: Headers = {"Transfer-Encoding": "chunked"}


@dataclass(frozen=True)
class Case:
    """A request, and the statuses that are right for it."""

    method: str
    target: str
    expected: tuple[int, ...]
    body: Any = None
    headers: Headers = field(default_factory=dict)
    # All after the head is sent as it is, and no length is announced.
    raw: bytes | None = None


def get(target: str, *expected: int, **headers: str | list[str] | None) -> Case:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Case("GET", target, expected, headers=named)


def post(body: Any, *expected: int, to: str = VALIDATE, **headers: str | list[str] | None) -> Case:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Case("POST", to, expected, body, named)


def sent(raw: bytes, expected: int, headers: Headers) -> Case:
    return Case("POST", VALIDATE, (expected,), headers=headers, raw=raw)


CASES = {
    # Who asks, and from where.
    "H-01 no token": get(RUNS, 401, Authorization=None),
    "H-02 a token that only begins right": get(RUNS, 401, Authorization=f"Bearer {TOKEN[:-1]}"),
    "H-03 a token in the address": get(f"{RUNS}?token={TOKEN}", 401, Authorization=None),
    "H-04 a token in a cookie": get(RUNS, 401, Authorization=None, Cookie=f"token={TOKEN}"),
    "H-05 two tokens": get(RUNS, 400, Authorization=[f"Bearer {TOKEN}", "Bearer x"]),
    "H-06 the name of another host": get(RUNS, 421, Host="evil.example"),
    "H-07 a name that ends like ours": get(RUNS, 421, Host="127.0.0.1.evil.example"),
    "H-08 another port": get(RUNS, 421, Host="127.0.0.1:1"),
    "H-09 two hosts": get(RUNS, 400, Host=["@HOST", "evil.example"]),
    "H-10 no host": get(RUNS, 400, Host=None),
    "H-11 the page of another site": post(TEXT, 403, Origin=EVIL),
    "H-12 a page of a file or a sandbox": post(TEXT, 403, Origin="null"),
    "H-13 a question of a browser before the request": Case(
        "OPTIONS", RUNS, (401, 403), headers=NOBODY | ASKING
    ),
    "H-14 a host that a proxy is said to have seen": get(
        RUNS, 421, Host="evil.example", X_Forwarded_Host="@HOST"
    ),
    "H-15 an address that is said to be local": get(
        RUNS, 401, Authorization=None, X_Forwarded_For="127.0.0.1", Forwarded="for=::1"
    ),
    "H-16 another method by a header": get(f"{RUN}/cancel", 405, X_HTTP_Method_Override="POST"),
    # What a form of another site can send.
    "H-17 plain text": post(TEXT, 415, Content_Type="text/plain"),
    "H-18 a form": sent(b"text=x", 415, FORM),
    "H-19 parts": post(TEXT, 415, Content_Type="multipart/form-data"),
    "H-20 no type": post(TEXT, 415, Content_Type=None),
    "H-21 packed": post(TEXT, 415, Content_Encoding="gzip"),
    # Bodies.
    "H-22 nothing": post(b"", 400),
    "H-23 half of it": post(b'{"text": ', 400),
    "H-24 a list": post([], 400),
    "H-25 another encoding": post('{"text": "x"}'.encode("utf-16"), 400),
    "H-26 bytes that are no text": post(b'{"text": "\xff\xfe"}', 400),
    "H-27 sixty thousand levels": post(DEEP, 400),
    "H-28 a key twice": post(b'{"text": "a", "text": "b"}', 400),
    "H-29 not a number": post(b'{"text": NaN}', 400),
    "H-30 a number beyond all": post(
        b'{"workflow": "polish.yaml", "inputs": {"task": 1e999}}', 400, to=RUNS
    ),
    "H-31 a field that nobody knows": post({"text": "x", "admin": True}, 400),
    "H-32 a field of another type": post({"text": {"$ne": None}}, 400),
    "H-33 three megabytes": sent(b"", 413, {"Content-Length": "3000000"}),
    "H-34 a negative length": sent(b"", 400, {"Content-Length": "-1"}),
    "H-35 two lengths": sent(b"{}", 400, {"Content-Length": ["2", "9"]}),
    "H-36 a length and chunks": sent(
        b"0\r\n\r\nGET /api/runs HTTP/1.1\r\n\r\n", 400, {"Content-Length": "5"} | CHUNKED
    ),
    "H-37 a chunk of no size": sent(b"zz\r\n{}\r\n", 400, CHUNKED),
    # Addresses and files.
    "H-38 a file above the project": get(f"{SOURCE}../../etc/passwd", 404),
    "H-39 a file by its full path": get(f"{SOURCE}/etc/passwd", 404),
    "H-40 a file with its dots encoded": get(f"{SOURCE}%2e%2e%2fwhorl.toml", 404),
    "H-41 a file that is an address": post(
        {"workflow": "http://169.254.169.254/latest/meta-data"}, 404, to=RUNS
    ),
    "H-42 a name with a zero in it": post({"workflow": "polish.yaml\0.png"}, 404, to=RUNS),
    "H-43 the configuration as a workflow": post({"workflow": "whorl.toml"}, 400, 404, to=RUNS),
    "H-44 a path that climbs out of the assets": get(
        "/assets/..%2f..%2fwhorl.toml", 401, Authorization=None
    ),
    "H-45 SQL for an id": get(f"{RUNS}/x'%20OR%20'1'='1", 400),
    "H-46 SQL for a status": get(f"{RUNS}?status=x'%20UNION%20SELECT%201--", 400),
    "H-47 a number beyond 64 bits": get(f"{RUN}/iterations/99999999999999999999", 400),
    "H-48 a length of a list below nothing": get(f"{RUNS}?limit=-1", 400),
    # 49 to 51 are requests to runs that come several times at once: test_http_states.py.
    "H-52 a workflow that would run a command, only checked": post(CANARY, 200),
    "H-53 a schema that would be fetched, only checked": post(FETCHING, 200),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("cases"))


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Client]:
    with connected(folder, ListenOptions(token=TOKEN, edits=True)) as client:
        yield client


@pytest.fixture(scope="module")
def run(client: Client) -> str:
    return client.start("gated.yaml")


def _bytes(case: Case, place: str, run: str) -> bytes:
    body = case.body if isinstance(case.body, bytes) else json.dumps(case.body).encode()
    known: Headers = {"Host": place, "Authorization": f"Bearer {TOKEN}", "Connection": "close"}
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


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_request_has_its_documented_answer(
    client: Client, folder: Path, run: str, name: str
) -> None:
    place = client.address.removeprefix("http://")
    answer = raw(client.address, _bytes(CASES[name], place, run))

    assert int(answer.split(b" ", 2)[1]) in CASES[name].expected, answer[:500]
    assert answer.count(b"HTTP/1.1") == 1
    assert b"access-control-" not in answer.lower()
    for word in (b"Traceback", b"root:", b"canned", TOKEN.encode()):
        assert word not in answer
    assert not (folder / "canary").exists()
    assert client.http.get("/healthz").status_code == 200
