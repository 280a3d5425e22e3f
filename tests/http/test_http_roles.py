"""What each role may do: every cell of the matrix of addresses and roles (T12), and sessions."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import closing
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from served import TOKEN, Client, make_project, running

from whorl.interfaces.http.app import build_app
from whorl.interfaces.http.roles import needed
from whorl.runtimes.service.tokens import ROLES, Tokens
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.threat(row="T12")

# What needs more than to look; all that is not listed is looking.
RUN = {
    "/api/tries",
    "/api/pins",
    "/api/runs",
    "/api/runs/{run}/fork",
    "/api/experiments",
    "/hooks/{name}",
    "/api/schedules/{schedule}/run",
}
STEER = {
    f"/api/runs/{{run}}/{verb}"
    for verb in ("pause", "resume", "cancel", "stop", "continue", "accept", "approve", "reject")
} | {
    "/hooks/runs/{run}/{address:path}",
    "/api/experiments/{name}/stop",
    "/api/schedules/{schedule}/pause",
    "/api/schedules/{schedule}/resume",
}
ADMIN = {
    ("PUT", "/api/workflows/source"),
    ("POST", "/api/workflows"),
    ("GET", "/api/audit"),
    ("POST", "/api/schedules"),
    ("DELETE", "/api/schedules/{schedule}"),
}
HARMLESS = {
    "/api/session",
    "/api/validate",
    "/api/workflows/sketch",
    "/api/workflows/edit",
    "/api/workflows/names",
    "/api/experiments/{name}/what-if",
    "/api/runs/{run}/what-if",
}
TRIGGERS = "/hooks/workflows/"


def expected(method: str, address: str) -> str:
    """The documented role of an address."""
    if (method, address) in ADMIN:
        return "admin"
    if address.startswith(TRIGGERS):
        return "run"
    if method == "GET":
        return "read"
    if address in RUN:
        return "run"
    if address in STEER:
        return "steer"
    return "read" if address in HARMLESS else "admin"


def addresses() -> list[tuple[str, str]]:
    """All that the application answers at, public files of the page aside."""
    found = []
    routes = list(build_app().routes)
    while routes:
        route: Any = routes.pop()
        routes += getattr(route, "routes", [])
        original = getattr(route, "original_router", None)
        routes += [] if original is None else original.routes
        path = getattr(route, "path", "")
        if path.startswith(("/api/", "/hooks/")) and getattr(route, "methods", None):
            found += [(method, path) for method in route.methods if method != "HEAD"]
    return sorted(set(found))


def change(folder: Path, work: Callable[[Tokens], Awaitable[Any]]) -> Any:
    async def changed() -> Any:
        async with SqliteStore(folder / ".whorl" / "whorl.db") as store:
            return await work(Tokens(store))

    return asyncio.run(changed())


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str, dict[str, str]]]:
    """A project, the address of its server, and a token for each role."""
    folder = make_project(tmp_path_factory.mktemp("roles"))
    with running(folder) as server:
        made = {role: change(folder, lambda t, r=role: t.add(f"{r}er", r)) for role in ROLES}
        yield folder, server.address, made


@pytest.fixture(scope="module")
def http(served: tuple[Path, str, dict[str, str]]) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=served[1], trust_env=False, timeout=60) as client:
        yield client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize(("method", "address"), addresses())
def test_each_cell_of_the_matrix_of_roles(
    served: tuple[Path, str, dict[str, str]], http: httpx2.Client, method: str, address: str
) -> None:
    """Nothing is there that the requests name: whoever may ask is answered with that."""
    least = ROLES.index(expected(method, address))
    for role, token in served[2].items():
        path = address.replace("{run}", "nobody").replace("{address:path}", "a")
        path = path.replace("{path:path}", "a").replace("{", "").replace("}", "")
        body = {} if method == "GET" else {"json": {"unknown": 1}}
        headers = bearer(token)
        with http.stream(method, path, headers=headers, **body) as answer:
            is_stream = answer.headers["content-type"].startswith("text/event-stream")
            error = {} if is_stream or answer.status_code < 400 else answer.read() and answer.json()
        refused = error.get("error", {}).get("code") == "W915"
        assert refused == (ROLES.index(role) < least), (role, answer.status_code, error)
        assert not refused or answer.status_code == 403


def test_the_matrix_knows_every_address() -> None:
    assert len(addresses()) > 40
    assert {needed(*row)[1] for row in addresses()} & {"unknown"} == set()


def test_whoever_may_not_is_told_what_is_needed(
    served: tuple[Path, str, dict[str, str]], http: httpx2.Client
) -> None:
    headers = bearer(served[2]["read"])
    answer = http.post("/api/runs", json={"workflow": "polish.yaml"}, headers=headers)

    words = answer.json()["error"]["message"]
    assert words == "the token 'reader' has the role 'read', and this needs 'run'"
    project = http.get("/api/project", headers=headers).json()
    assert (project["who"], project["role"]) == ("reader", "read")
    own = http.get("/api/project", headers=bearer(TOKEN)).json()
    assert (own["who"], own["role"]) == ("server", "admin")


def session(http: httpx2.Client, headers: dict[str, str]) -> dict[str, str]:
    opened = httpx2.post(
        f"{http.base_url}/api/session", json={}, headers=headers, timeout=60, trust_env=False
    )
    assert opened.status_code == 204, opened.text
    cookie = opened.headers["set-cookie"].partition("; ")[0]
    origin = str(http.base_url).rstrip("/")
    return {"Cookie": cookie, "X-Whorl-Page": "1", "Origin": origin}


def status(http: httpx2.Client, headers: dict[str, str]) -> tuple[int, str]:
    """How a session starts a run that cannot be, and which role it has."""
    url = str(http.base_url).rstrip("/")
    options = {"headers": headers, "timeout": 60, "trust_env": False}
    started = httpx2.post(f"{url}/api/runs", json={}, **options).status_code
    return started, httpx2.get(f"{url}/api/project", **options).json().get("role", "")


def test_a_session_has_the_role_of_its_token_and_cannot_get_another(
    served: tuple[Path, str, dict[str, str]], http: httpx2.Client
) -> None:
    folder, _, tokens = served
    held = session(http, bearer(tokens["read"]))
    assert status(http, held) == (403, "read")
    assert tokens["read"] not in held["Cookie"]

    again = session(http, held)
    assert status(http, again) == (403, "read")
    for forged in ("admin", "server", "runer"):
        name, _, value = held["Cookie"].partition("=")
        cookie = f"{name}={forged}.{value.partition('.')[2]}"
        assert status(http, held | {"Cookie": cookie})[0] == 401
    change(folder, lambda tokens: tokens.rotate("reader", 0.0))
    assert status(http, held)[0] == 401


def test_a_session_ends_with_its_token(
    served: tuple[Path, str, dict[str, str]], http: httpx2.Client
) -> None:
    folder = served[0]
    made = change(folder, lambda tokens: tokens.add("passing", "run"))
    held = session(http, bearer(made))
    assert status(http, held) == (400, "run")
    change(folder, lambda tokens: tokens.remove("passing"))

    assert status(http, held)[0] == 401
    assert http.get("/api/runs", headers=bearer(made)).status_code == 401


def test_an_expired_token_says_so_and_a_rotated_one_has_its_grace(
    served: tuple[Path, str, dict[str, str]], http: httpx2.Client
) -> None:
    folder = served[0]
    short = change(folder, lambda tokens: tokens.add("short", "read", 0.0))
    answer = http.get("/api/runs", headers=bearer(short))
    assert answer.status_code == 401
    assert answer.json()["error"]["message"] == "the token 'short' has expired"

    first = change(folder, lambda tokens: tokens.add("turning", "read"))
    second = change(folder, lambda tokens: tokens.rotate("turning", 3600.0))
    third = change(folder, lambda tokens: tokens.rotate("turning", 0.0))
    statuses = [
        http.get("/api/runs", headers=bearer(t)).status_code for t in (first, second, third)
    ]
    assert statuses == [401, 401, 200]


def test_a_grace_lets_both_in(
    served: tuple[Path, str, dict[str, str]], http: httpx2.Client
) -> None:
    first = change(served[0], lambda tokens: tokens.add("both", "read"))
    second = change(served[0], lambda tokens: tokens.rotate("both", 3600.0))

    assert [http.get("/api/runs", headers=bearer(t)).status_code for t in (first, second)] == [
        200,
        200,
    ]


def test_only_a_hash_is_stored(served: tuple[Path, str, dict[str, str]]) -> None:
    folder, _, tokens = served
    files = [path.read_bytes() for path in (folder / ".whorl").iterdir() if path.is_file()]

    assert files
    for token, content in itertools.product(tokens.values(), files):
        assert token.encode() not in content
        assert token.removeprefix("whorl_").encode() not in content


def test_the_audit_says_who_did_what(tmp_path: Path) -> None:
    folder = make_project(tmp_path)
    with running(folder) as server:
        made = change(folder, lambda tokens: tokens.add("bot", "run"))
        bot, own = Client(server.address, made), Client(server.address)
        run = bot.start("gated.yaml")
        own.wait(run, "waiting")
        bot.post(f"/runs/{run}/approve", {"address": "check"}, 403)
        own.post(f"/runs/{run}/approve", {"address": "check"})
        own.post(f"/runs/{run}/approve", {"address": "check"}, 409)
        own.post("/validate", {"text": "whorl: 1"}, 200)
        rows = own.get("/audit")["audit"]
        of_bot = own.get("/audit", who="bot", limit=1)
        bot.close()
        own.close()

    found = [(row["who"], row["action"], row["run"], row["outcome"]) for row in reversed(rows)]
    assert found == [
        ("bot", "start", run, "ok"),
        ("bot", "approve", run, "403 W915"),
        ("server", "approve", run, "ok"),
        ("server", "approve", run, "409 W905"),
    ]
    assert rows[-1]["file"] == "gated.yaml"
    assert [row["action"] for row in of_bot["audit"]] == ["approve"]
    assert of_bot["next"] == of_bot["audit"][0]["id"]
    with closing(SqliteStore(folder / ".whorl" / "whorl.db")) as store:
        assert made not in str(store.rows("SELECT * FROM audit"))
