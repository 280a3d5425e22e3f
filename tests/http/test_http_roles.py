"""What each role may do: every cell of the matrix of addresses and roles (T12), and sessions."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeAlias

import httpx2
import pytest
from served import TOKEN, Client, connected, make_project, running

from whorl.interfaces.http.app import build_app
from whorl.interfaces.http.server import ListenOptions
from whorl.interfaces.operations import OPERATIONS, ROUTES
from whorl.runtimes.service.tables import ROLES, Tokens
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.threat(row="T12"), pytest.mark.threat(row="T18")]

# What needs more than to look; all that is not listed is looking.
RUN = {"/api/runs", "/api/experiments", "/hooks/{name}", "/api/schedules/{schedule}/run"}
VERBS = "pause resume cancel stop continue accept approve reject fork"
STEER = {f"/api/runs/{{run}}/{verb}" for verb in VERBS.split()} | {
    "/hooks/runs/{run}/{at:path}",
    "/api/experiments/{name}/stop",
    "/api/schedules/{schedule}/pause",
    "/api/schedules/{schedule}/resume",
}
EDIT = {
    ("PUT", "/api/workflows/source"),
    ("POST", "/api/workflows"),
    ("POST", "/api/workflows/sketch"),
    ("POST", "/api/workflows/edit"),
    ("POST", "/api/workflows/names"),
    ("POST", "/api/tries"),
    ("PUT", "/api/pins"),
}
ADMIN = EDIT | {
    ("GET", "/api/audit"),
    ("POST", "/api/schedules"),
    ("DELETE", "/api/schedules/{schedule}"),
}
HARMLESS = {
    "/api/session",
    "/api/validate",
    "/api/experiments/{name}/what-if",
    "/api/runs/{run}/what-if",
}
Served: TypeAlias = "tuple[Path, str, dict[str, str]]"
TRIGGERS = "/hooks/workflows/"
SPEND = """
whorl: 1
name: spend
budget: 0.50
steps:
  l:
    repeat: {until: "iteration == 2", at_most: 3, steps: {w: {ask: "Write it"}}}
"""
EXPERIMENT = """
experiment: 1
workflow: spend.yaml
cases: [{id: one}]
budget: 0.10
grade: "1"
"""


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
    """All that the application answers at."""
    found = []
    routes = list(build_app().routes)
    while routes:
        route: Any = routes.pop()
        routes += getattr(route, "routes", [])
        original = getattr(route, "original_router", None)
        routes += [] if original is None else original.routes
        found += [(method, route.path) for method in getattr(route, "methods", None) or ()]
    return sorted(set(found))


def change(folder: Path, work: Callable[[Tokens], Awaitable[Any]]) -> Any:
    async def changed() -> Any:
        async with SqliteStore(folder / ".whorl" / "whorl.db") as store:
            return await work(Tokens(store))

    return asyncio.run(changed())


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A project, the address of its server, and a token for each role."""
    folder = make_project(tmp_path_factory.mktemp("roles"))
    for name, text in (("spend", SPEND), ("e.experiment", EXPERIMENT)):
        (folder / f"{name}.yaml").write_text(text)
    (folder / "vault.yaml").write_text("password: !vault a-SECRET\n")
    (folder / "open.json").write_text('{"password": "a-SECRET')
    with running(folder, ListenOptions(token=TOKEN, edits=True)) as server:
        made = {role: change(folder, lambda t, r=role: t.add(f"{r}er", r)) for role in ROLES}
        yield folder, server.address, made


@pytest.fixture(scope="module")
def http(served: Served) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=served[1], trust_env=False, timeout=60) as client:
        yield client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def asked(http: httpx2.Client, method: str, address: str, token: str) -> tuple[int, str]:
    """The status and the code of a request for what is not there."""
    path = address.replace("{run}", "nobody").replace("{at:path}", "a")
    path = path.replace("{path:path}", "a").replace("{", "").replace("}", "")
    body = {} if method == "GET" else {"json": {"unknown": 1}}
    with http.stream(method, path, headers=bearer(token), **body) as answer:
        kind = answer.headers["content-type"]
        is_fault = kind == "application/json" and answer.status_code >= 400
        error = (answer.read() and answer.json()) if is_fault else {}
    return answer.status_code, error.get("error", {}).get("code", "")


@pytest.mark.sample(5)
@pytest.mark.parametrize(("method", "address"), addresses())
def test_each_cell_of_the_matrix_of_roles(
    served: Served, http: httpx2.Client, method: str, address: str
) -> None:
    """Nothing is there that the requests name: whoever may ask is answered with that."""
    least = ROLES.index(expected(method, address))
    for role, token in served[2].items():
        status, code = asked(http, method, address, token)
        assert (code == "W915") == (ROLES.index(role) < least), (role, status, code)
        assert code != "C112"
        assert code != "W915" or status == 403
        assert status < 500


@pytest.mark.slow
def test_without_edit_no_unsaved_text_is_accepted(tmp_path: Path) -> None:
    with connected(make_project(tmp_path)) as client:
        http = client.http
        refused = {row for row in addresses() if asked(http, *row, TOKEN) == (403, "C112")}
        draft = http.post("/api/validate", json={"text": "whorl: 1"})
        may = client.get("/project")["may"]

    assert refused == EDIT
    assert draft.json()["error"]["code"] == "C112"
    assert "audit" in may
    assert not {"draft", "try", "pin", "save", "new file"} & set(may)


def test_every_address_and_every_tool_has_an_operation() -> None:
    assert set(addresses()) == set(ROUTES)
    assert len(ROUTES) == sum(len(each.routes()) for each in OPERATIONS.values())


def test_an_address_without_an_operation_is_refused() -> None:
    app = build_app()
    app.add_api_route("/api/forgotten", lambda: "secret")

    async def ask() -> httpx2.Response:
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://x") as client:
            return await client.get("/api/forgotten")

    answer = asyncio.run(ask())
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "W915")


def test_the_page_receives_what_its_token_may_do(served: Served) -> None:
    clients = {role: Client(served[1], token) for role, token in served[2].items()}
    run = clients["run"].start("gated.yaml")
    clients["run"].wait(run, "waiting")
    may = {role: set(client.get("/project")["may"]) for role, client in clients.items()}
    can = {role: set(client.get(f"/runs/{run}")["can"]) for role, client in clients.items()}
    clients["steer"].post(f"/runs/{run}/cancel", {})
    for client in clients.values():
        client.close()

    assert may["read"] == {"health", "look"}
    assert may["run"] - may["read"] == {"start", "run experiment", "run schedule"}
    assert may["admin"] == set(OPERATIONS)
    assert can["read"] == can["run"] == set()
    assert {"approve", "reject", "cancel"} <= can["steer"]


def test_the_role_run_checks_no_text_that_is_not_saved(served: Served) -> None:
    client = Client(served[1], served[2]["run"])
    refused = client.post("/validate", {"text": "whorl: 1"}, 403)
    for key in ("try:1", "experiment:e:1:2", "hook:h:1:2"):
        # They say whose a run is.
        client.post("/runs", {"workflow": "gated.yaml", "key": key}, 400)
    client.close()

    assert refused["error"]["code"] == "W915"


@pytest.mark.parametrize(
    ("path", "body", "raised"),
    [
        ("/runs", {"workflow": "spend.yaml", "budget_usd": 0.51}, True),
        ("/runs", {"workflow": "spend.yaml", "budget_usd": 0.50}, False),
        ("/runs", {"workflow": "gated.yaml", "budget_usd": 9}, False),
        ("/runs", {"workflow": "spend.yaml", "max_iterations": 4}, True),
        ("/runs", {"workflow": "spend.yaml", "max_iterations": 2}, False),
        ("/experiments", {"file": "e.experiment.yaml", "budget_usd": 0.11}, True),
    ],
)
def test_only_the_role_steer_raises_the_limits_of_a_file(
    served: Served, path: str, body: dict[str, Any], *, raised: bool
) -> None:
    for role in ("run", "steer"):
        client = Client(served[1], served[2][role])
        answer = client.http.post(f"/api{path}", json=body)
        client.close()
        if role == "run" and raised:
            assert answer.status_code == 403
            assert "needs 'steer'" in answer.json()["error"]["message"]
        else:
            assert answer.status_code in (201, 202), answer.text


@pytest.mark.parametrize("file", ["vault.yaml", "open.json"])
def test_a_file_that_is_broken_is_shown_to_the_administrator_alone(
    served: Served, http: httpx2.Client, file: str
) -> None:
    for role, token in served[2].items():
        for part in ("source", "sketch", "etag", "graph"):
            path = f"/api/workflows/{part}"
            answer = http.get(path, params={"file": file}, headers=bearer(token))
            assert ("SECRET" in answer.text) == (role == "admin" and part in ("source", "sketch"))


def test_a_role_that_may_not_learns_what_is_needed(served: Served, http: httpx2.Client) -> None:
    headers = bearer(served[2]["read"])
    answer = http.post("/api/runs", json={"workflow": "polish.yaml"}, headers=headers)

    words = answer.json()["error"]["message"]
    assert words == "the token 'reader' has the role 'read', and this needs 'run'"
    project = http.get("/api/project", headers=headers).json()
    assert (project["who"], project["role"]) == ("reader", "read")
    own = http.get("/api/project", headers=bearer(TOKEN)).json()
    assert (own["who"], own["role"]) == ("server", "admin")


def session(http: httpx2.Client, headers: dict[str, str]) -> dict[str, str]:
    """What the page sends once it has exchanged its token."""
    opened = http.post("/api/session", json={}, headers=headers)
    assert opened.status_code == 204, opened.text
    http.cookies.clear()
    cookie = opened.headers["set-cookie"].partition("; ")[0]
    return {"Cookie": cookie, "X-Whorl-Page": "1", "Origin": str(http.base_url).rstrip("/")}


def status(http: httpx2.Client, headers: dict[str, str]) -> tuple[int, str]:
    """How a session starts a run that cannot be, and which role it has."""
    started = http.post("/api/runs", json={}, headers=headers).status_code
    return started, http.get("/api/project", headers=headers).json().get("role", "")


@pytest.mark.slow
def test_a_session_has_the_role_of_its_token_and_cannot_get_another(
    served: Served, http: httpx2.Client
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

    made = change(folder, lambda tokens: tokens.add("passing", "run"))
    held = session(http, bearer(made))
    assert status(http, held) == (400, "run")
    change(folder, lambda tokens: tokens.remove("passing"))
    assert status(http, held)[0] == 401
    assert http.get("/api/runs", headers=bearer(made)).status_code == 401


def test_an_expired_token_says_so_and_a_rotated_one_has_its_grace(
    served: Served, http: httpx2.Client
) -> None:
    def statuses(*held: str) -> list[int]:
        return [http.get("/api/runs", headers=bearer(token)).status_code for token in held]

    folder = served[0]
    short = change(folder, lambda tokens: tokens.add("short", "read", 0.0))
    answer = http.get("/api/runs", headers=bearer(short))
    assert answer.status_code == 401
    assert answer.json()["error"]["message"] == "the token 'short' has expired"

    first = change(folder, lambda tokens: tokens.add("turning", "read"))
    second = change(folder, lambda tokens: tokens.rotate("turning", 3600.0))
    assert statuses(first, second) == [200, 200]
    third = change(folder, lambda tokens: tokens.rotate("turning", 0.0))
    assert statuses(first, second, third) == [401, 401, 200]


def test_only_a_hash_is_stored(served: Served) -> None:
    folder, _, tokens = served
    files = [path.read_bytes() for path in (folder / ".whorl").iterdir() if path.is_file()]

    assert files
    for token, content in itertools.product(tokens.values(), files):
        assert token.encode() not in content
        assert token.removeprefix("whorl_").encode() not in content


@pytest.mark.slow
def test_the_audit_says_who_did_what(tmp_path: Path) -> None:
    folder = make_project(tmp_path)
    with running(folder) as server:
        made = change(folder, lambda tokens: tokens.add("bot", "run"))
        bot, own = Client(server.address, made), Client(server.address)
        run = bot.start("gated.yaml")
        own.wait(run, "waiting")
        bot.post(f"/runs/{run}/approve", {"at": "check"}, 403)
        own.post(f"/runs/{run}/approve", {"at": "check"})
        own.post(f"/runs/{run}/approve", {"at": "check"}, 409)
        own.post("/validate", {"workflow": "gated.yaml"}, 200)
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
