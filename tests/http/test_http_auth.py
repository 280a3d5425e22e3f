"""Who may come in: every cell of the matrix of addresses, tokens, origins and hosts (T12)."""

from __future__ import annotations

import contextlib
import itertools
import socket
from dataclasses import replace
from typing import TYPE_CHECKING

import httpx2
import pytest
from served import TOKEN, make_project, raw, running

from whorl.errors import UsageError
from whorl.interfaces.http.auth import FAILURES_MAX
from whorl.interfaces.http.server import ListenOptions, check_place, listen

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from served import Running

pytestmark = pytest.mark.threat(row="T12")

TOKENS = {"none": None, "wrong": "x" * 40, "right": TOKEN}
# What a browser sends of a session: the cookie and the header of the page.
SESSIONS = ("whole", "wrong", "without header", "of another port")
ORIGINS = ("same", "other", "null", "absent")
HOSTS = ("good", "bad")
WAYS = ("http", "sse", "websocket")
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
# Making a client takes longer than asking; it keeps no connection, so nothing stays open.
PLAIN = httpx2.Client(trust_env=False, limits=httpx2.Limits(max_keepalive_connections=0))
CELLS = list(itertools.product(TOKENS, WAYS, ORIGINS, HOSTS))


def expected(token: str, way: str, origin: str, host: str) -> int:
    """The documented answer of a cell."""
    if host == "bad":
        return 421
    if origin in ("other", "null"):
        return 403
    if way == "websocket":
        return 400
    return 200 if token == "right" else 401


def own_address() -> str | None:
    """An address of this machine that is not loopback, if it has one."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        found = str(probe.getsockname()[0])
        return None if found.startswith(("127.", "0.")) else found
    return None


def can_listen(host: str) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with contextlib.suppress(OSError), socket.socket(family) as sock:
        sock.bind((host, 0))
        return True
    return False


# What is listened at, and what a client connects to.
ADDRESSES = [
    ("127.0.0.1", "127.0.0.1"),
    ("::1", "[::1]"),
    ("0.0.0.0", "127.0.0.1"),
    ("0.0.0.0", "own"),
]


@pytest.fixture(scope="module", params=ADDRESSES, ids="->".join)
def door(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Running, str]]:
    """A server at an address, and how it is reached."""
    host, target = request.param
    target = (own_address() or "") if target == "own" else target
    if not target or not can_listen(host):
        pytest.skip(f"this machine cannot be reached at {request.param}")
    folder = make_project(tmp_path_factory.mktemp("door"))
    with running(folder, ListenOptions(host=host, token=TOKEN)) as server:
        yield server, f"{target}:{server.port}"


@pytest.mark.sample(6)
@pytest.mark.parametrize(("token", "way", "origin", "host"), CELLS)
def test_each_cell_of_the_matrix(
    door: tuple[Running, str], token: str, way: str, origin: str, host: str
) -> None:
    held = {"Authorization": f"Bearer {TOKENS[token]}"} if TOKENS[token] else {}
    assert asked(door[1], held, way, origin, host) == expected(token, way, origin, host)


def session_of(target: str) -> dict[str, str]:
    """What the page has after the exchange of the token."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    answer = PLAIN.post(f"http://{target}/api/session", json={}, headers=headers)
    assert answer.status_code == 204
    pair, *about = answer.headers["set-cookie"].split("; ")
    assert about == ["Path=/api", "HttpOnly", "SameSite=Strict"]
    assert TOKEN not in pair
    return {"Cookie": pair, "X-Whorl-Page": "1"}


@pytest.mark.sample(2)
@pytest.mark.parametrize("session", SESSIONS)
def test_each_cell_of_the_matrix_of_sessions(door: tuple[Running, str], session: str) -> None:
    _, target = door
    held = session_of(target)
    if session == "wrong":
        held["Cookie"] = held["Cookie"][:-1] + "x"
    elif session == "without header":
        del held["X-Whorl-Page"]
    elif session == "of another port":
        held["Cookie"] = "whorl-1=" + held["Cookie"].partition("=")[2]
    for way, origin, host in itertools.product((*WAYS, "post"), ORIGINS, HOSTS):
        wanted = expected("right" if session == "whole" else "wrong", way, origin, host)
        if (way, origin, wanted) == ("post", "absent", 200):
            wanted = 401  # whatever changes something says where it comes from
        assert asked(target, held, way, origin, host) == wanted, (way, origin, host)


def asked(target: str, held: dict[str, str], way: str, origin: str, host: str) -> int:
    """The status of the answer of a cell."""
    headers = {"Host": target if host == "good" else "evil.example:80", **held}
    origins = {"same": f"http://{target}", "other": "http://evil.example", "null": "null"}
    headers |= {"Origin": origins[origin]} if origin in origins else {}
    headers |= UPGRADE if way == "websocket" else {}
    headers |= {"Accept": "text/event-stream"} if way == "sse" else {}
    path = {"http": "/api/runs", "post": "/api/validate"}.get(way, "/api/changes")
    body = {"json": {"workflow": "polish.yaml"}} if way == "post" else {}
    method = "POST" if way == "post" else "GET"
    with PLAIN.stream(method, f"http://{target}{path}", headers=headers, **body) as answer:
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert answer.headers["x-content-type-options"] == "nosniff"
        return answer.status_code


def test_nothing_but_the_token_as_a_bearer_opens_a_door(door: tuple[Running, str]) -> None:
    _, target = door
    url, session = f"http://{target}/api/runs", session_of(target)
    for held in ({"Authorization": f"Basic {TOKEN}"}, session | {"Authorization": "Bearer wrong"}):
        assert PLAIN.get(url, headers=held).status_code == 401
    answer = PLAIN.post(f"http://{target}/api/session", json={})
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("host", ["unix:{}", "{}"])
def test_a_socket_of_the_file_system_is_not_offered(tmp_path: Path, host: str) -> None:
    """So none of its cells is open."""
    path = tmp_path / "whorl.sock"
    place = ListenOptions(host=host.format(path), token=TOKEN)

    with pytest.raises(UsageError, match="is not an address to listen at"):
        listen(place.host, 0)
    with pytest.raises(UsageError, match="a token is needed"):
        check_place(replace(place, token=""))
    assert not path.exists()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 200),
        ("/healthz", 200),
        ("/assets/none.js", 404),
        ("/assets/", 401),
        ("/assets/../api/runs", 401),
        ("/assets/..%2fapi%2fruns", 401),
        ("/assets/%2e%2e/index.html", 401),
        ("//", 401),
        ("/index.html", 401),
        ("/healthz/", 401),
        ("/healthz%00", 401),
        ("/API/runs", 401),
        ("/api/../healthz", 401),
        ("/api/openapi.json", 401),
        ("/docs", 401),
        ("/nothing", 401),
        *((f"{method} /", 401) for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH")),
    ],
)
def test_public_addresses_are_matched_exactly(
    door: tuple[Running, str], path: str, status: int
) -> None:
    method, _, path = path.rpartition(" ")
    head = f"{method or 'GET'} {path} HTTP/1.1\r\nHost: {door[1]}\r\nConnection: close\r\n\r\n"

    assert int(raw(door[1], head.encode()).split(b" ", 2)[1]) == status


def test_the_page_has_a_strict_policy(door: tuple[Running, str]) -> None:
    answer = PLAIN.get(f"http://{door[1]}/")

    text = answer.headers["content-security-policy"]
    policy = dict(part.strip().split(" ", 1) for part in text.split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "http" not in text
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_wrong_tokens_are_limited_and_the_right_one_is_not(project: Path) -> None:
    wrong, right = ({"Authorization": f"Bearer {token}"} for token in ("wrong", TOKEN))
    with running(project) as server, httpx2.Client(base_url=server.address) as client:
        answers = [client.get("/api/runs", headers=wrong) for _ in range(FAILURES_MAX + 3)]
        assert client.get("/api/runs", headers=right).status_code == 200

    assert [answer.status_code for answer in answers] == [401] * FAILURES_MAX + [429] * 3
    assert answers[-1].headers["retry-after"] == "60"


@pytest.mark.slow
def test_forwarded_headers_count_behind_a_proxy_only(project: Path) -> None:
    forwarded = {
        "Authorization": f"Bearer {TOKEN}",
        "X-Forwarded-Host": "whorl.example",
        "X-Forwarded-Proto": "https",
        "Origin": "https://whorl.example",
    }
    found = []
    for behind in (False, True):
        place = ListenOptions(token=TOKEN, behind_proxy=behind)
        with running(project, place) as server, httpx2.Client(base_url=server.address) as client:
            found.append(client.get("/api/runs", headers=forwarded).status_code)
            other = forwarded | {"Origin": "https://evil.example"}
            found.append(client.get("/api/runs", headers=other).status_code)
            opened = client.post("/api/session", json={}, headers=forwarded)
            found.append("Secure" in opened.headers.get("set-cookie", ""))

    assert found == [403, 403, False, 200, 403, True]
