"""Webhooks: who may start a run by a signed call, once, and with which inputs."""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from served import Client, connected

from trusted import TRUSTED
from waiting import PATIENCE_S
from whorl.errors import StoreError, UsageError
from whorl.ir import Block, Port, Workflow
from whorl.runtimes.journal.keys import Seals
from whorl.runtimes.sqlite.store import HookRow
from whorl.services.project import find_project
from whorl.wings.automation.webhooks import (
    add_hook,
    delivery_of,
    github_signature,
    inputs_from,
    standard_signature,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx2
    from served import Spawn

# Of the test suites of standardwebhooks.com, and of GitHub's documentation.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ID, AT, BODY = "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
GITHUB = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
SEALS = Seals()


def test_a_call_without_a_signature_gets_one_answer_with_or_without_a_hook() -> None:
    refused = set[str]()
    for hook in (_row(SECRET), _row(SECRET, "github"), None):
        with pytest.raises(UsageError, match="the signature is missing or wrong") as fault:
            delivery_of(hook, SEALS, {"webhook-id": ID, "webhook-timestamp": AT}, BODY, float(AT))
        refused.add(str(fault.value))

    assert len(refused) == 1


def test_signatures_are_those_that_are_published() -> None:
    assert standard_signature(SECRET, ID, AT, BODY) == SIGNATURE
    assert github_signature("It's a Secret to Everybody", b"Hello, World!") == GITHUB


def _row(secret: str, form: str = "standard") -> HookRow:
    return HookRow("h", "h.yaml", "", form, 0.0, SEALS.seal(secret, "hook", "h"))


def _taken(row: HookRow | None, headers: dict[str, str], now: float = float(AT)) -> bool:
    try:
        return delivery_of(row, SEALS, headers, BODY, now) == ID
    except UsageError as fault:
        return fault.code != "R135"


def _headers(**changes: str) -> dict[str, str]:
    usual = {"webhook-id": ID, "webhook-timestamp": AT, "webhook-signature": SIGNATURE}
    return usual | {name.replace("_", "-"): text for name, text in changes.items()}


@pytest.mark.parametrize(
    ("changes", "later", "is_taken"),
    [
        ({}, 0.0, True),
        ({}, 299.0, True),
        ({}, -299.0, True),
        ({}, 301.0, False),
        ({}, -301.0, False),
        ({"webhook_signature": f"v1,AAAA {SIGNATURE}"}, 0.0, True),
        ({"webhook_signature": SIGNATURE.replace("v1,", "v2,")}, 0.0, False),
        ({"webhook_signature": SIGNATURE[:-2]}, 0.0, False),
        ({"webhook_signature": ""}, 0.0, False),
        ({"webhook_id": "msg_other"}, 0.0, False),
        ({"webhook_timestamp": "1614265331"}, 0.0, False),
    ],
)
def test_a_call_is_signed_and_in_time(
    changes: dict[str, str], later: float, is_taken: bool
) -> None:
    assert _taken(_row(SECRET), _headers(**changes), float(AT) + later) is is_taken


def test_a_secret_without_its_key_is_reported() -> None:
    with pytest.raises(StoreError, match="hook 'h' cannot be opened") as caught:
        delivery_of(_row(SECRET), Seals(), _headers(), BODY, float(AT))

    assert (caught.value.code, "rotate h" in caught.value.help) == ("R909", True)


def test_each_format_takes_its_own_headers_only() -> None:
    github = {"x-github-delivery": ID, "x-hub-signature-256": github_signature("s", BODY)}

    assert _taken(_row("s", "github"), github)
    assert not _taken(_row(SECRET), github)
    assert not _taken(_row(SECRET, "github"), _headers())
    assert not _taken(_row("s", "github"), github | {"x-github-delivery": ""})
    assert not _taken(None, _headers())


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"task": "x", "strict": True}, {"task": "x", "strict": True}),
        ({"task": "x", "other": 1}, {"task": '{"task": "x", "other": 1}'}),
        ("x", {"task": "x"}),
        ([1], {"task": "[1]"}),
        ({}, {}),
        (None, {}),
    ],
)
def test_a_body_is_inputs_by_name_or_the_main_one(body: Any, expected: Any) -> None:
    ports = (Port(name="task", type="string"), Port(name="strict", type="boolean"))

    bare = Workflow(name="w", body=Block(()))

    assert inputs_from(replace(bare, inputs=ports, main_input="task"), body) == expected
    assert inputs_from(bare, {"a": 1}) == {}


def _command(spawn: Spawn, *words: str) -> Any:
    process = spawn("server", "hook", *words, "--json")
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    return json.loads(out)


@pytest.fixture
def hook(project: Path) -> dict[str, str]:
    found = find_project(TRUSTED, folder=project)

    async def make() -> str:
        async with found.open_store(create=True) as store:
            file = str(project / "polish.yaml")
            _, secret = await add_hook(found, store, file, name="", workflow="", form="standard")
            return secret

    return {"secret": asyncio.run(make())}


def _call(
    client: Client, secret: str, body: bytes, delivery: str = "m-1", **more: str
) -> httpx2.Response:
    at = str(int(time.time()))
    signed = {"webhook-signature": standard_signature(secret, delivery, at, body)}
    headers = {"webhook-id": delivery, "webhook-timestamp": at, **signed, **more}
    return client.http.post("/hooks/polish", content=body, headers=headers)


@pytest.fixture
def stranger(project: Path, hook: dict[str, str]) -> Iterator[tuple[Client, Client]]:
    """A client with the token, and one without."""
    with connected(project) as client:
        other = Client(client.address, token="")
        yield client, other
        other.close()


@pytest.mark.slow
def test_a_signed_call_starts_one_run(
    stranger: tuple[Client, Client], hook: dict[str, str]
) -> None:
    client, other = stranger
    body = b'{"task": "a haiku"}'
    first = _call(other, hook["secret"], body)
    assert (first.status_code, set(first.json())) == (202, {"run"})
    done = client.wait(first.json()["run"])

    assert (done["status"], done["result"]["output"]) == ("succeeded", "the report")
    assert done["origin"] == "server"
    # Sent again, also with other words: the id is what counts.
    for again in (body, b'{"task": "another"}'):
        assert _call(other, hook["secret"], again).json() == first.json()
    with ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(_call, other, hook["secret"], body, "m-2") for _ in range(8)]
    assert len({one.result().json()["run"] for one in sent}) == 1
    assert len(client.get("/runs")["runs"]) == 2


@pytest.mark.slow
@pytest.mark.threat(row="T12")
def test_what_is_not_signed_starts_nothing(
    stranger: tuple[Client, Client], hook: dict[str, str]
) -> None:
    client, other = stranger
    wrong = "whsec_" + "A" * 40
    secret = hook["secret"]

    assert other.http.post("/hooks/polish", json={}).status_code == 401
    assert _call(other, wrong, b"{}").json()["error"]["code"] == "R135"
    assert _call(other, secret, b"{}", **{"webhook-id": "m-9"}).status_code == 401
    assert _call(other, secret, b"{}", **{"webhook-timestamp": "1"}).status_code == 401
    # The token starts runs elsewhere; here only the hook's own secret does.
    assert client.http.post("/hooks/polish", json={}).status_code == 401
    unknown = other.http.post("/hooks/none", headers={"webhook-signature": "v1,x"}, json={})
    assert unknown.json() == _call(other, wrong, b"{}").json()
    # And it opens nothing else.
    for path in ("/api/runs", "/hooks/runs/x", "/hooks/polish/x", "/hooks/polish", "/metrics"):
        headers = {"webhook-signature": "v1,x", "x-hub-signature-256": "y"}
        assert other.http.get(path, headers=headers).status_code == 401
    assert client.get("/runs")["runs"] == []


@pytest.mark.slow
def test_bodies_that_do_not_fit_are_refused(
    stranger: tuple[Client, Client], hook: dict[str, str]
) -> None:
    _, other = stranger
    statuses = {
        body: _call(other, hook["secret"], body, str(number)).status_code
        for number, body in enumerate((b"{", b'{"task": 1}', b"{}", b'"text"'))
    }

    assert statuses == {b"{": 400, b'{"task": 1}': 400, b"{}": 400, b'"text"': 202}
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert _call(other, hook["secret"], b"payload=x", "f", **form).status_code == 415
    assert _call(other, hook["secret"], b" " * 2_000_001, "l").status_code == 413


@pytest.mark.slow
def test_a_hook_takes_so_many_calls_a_minute(project: Path, hook: dict[str, str]) -> None:
    with (project / "whorl.toml").open("a") as file:
        file.write("\n[server]\nhooks_per_minute = 2\n")
    with connected(project) as client:
        answers = [_call(client, hook["secret"], b'"x"', "same") for _ in range(3)]

        assert [answer.status_code for answer in answers] == [202, 202, 429]
        client.wait(answers[0].json()["run"])


def test_a_file_that_cannot_be_read_is_sent_again_later(
    project: Path, stranger: tuple[Client, Client], hook: dict[str, str]
) -> None:
    client, other = stranger
    text = (project / "polish.yaml").read_text()
    (project / "polish.yaml").write_text("whorl: 1\nname: polish\nsteps: {a: {asq: x}}\n")
    assert _call(other, hook["secret"], b'"x"').status_code == 503
    (project / "polish.yaml").write_text(text)
    run = _call(other, hook["secret"], b'"x"').json()["run"]
    client.wait(run)
    # What was started stays the answer, whatever becomes of the file.
    (project / "polish.yaml").unlink()
    assert _call(other, hook["secret"], b'"x"').json()["run"] == run


def test_github_calls_with_its_own_headers(project: Path, spawn: Spawn) -> None:
    made = _command(spawn, "add", "polish.yaml", "--github")
    body = b'{"ref": "refs/heads/main"}'
    headers = {
        "X-GitHub-Delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
        "X-GitHub-Event": "ping",
        "X-Hub-Signature-256": github_signature(made["secret"], body),
        "Content-Type": "application/json",
    }
    with connected(project) as client:
        ping = client.http.post("/hooks/polish", content=body, headers=headers)
        assert (ping.status_code, ping.json()) == (202, {"run": None})
        headers["X-GitHub-Event"] = "push"
        push = client.http.post("/hooks/polish", content=body, headers=headers)
        done = client.wait(push.json()["run"])

    assert (done["status"], done["inputs"]) == ("succeeded", {"task": body.decode()})


def test_hooks_are_made_listed_rotated_and_deleted(project: Path, spawn: Spawn) -> None:
    made = _command(spawn, "add", "polish.yaml")
    assert made["url"] == "http://127.0.0.1:7411/hooks/polish"
    assert [row["name"] for row in _command(spawn, "ls")] == ["polish"]
    assert made["secret"] not in json.dumps(_command(spawn, "ls"))
    stored = b"".join(path.read_bytes() for path in (project / ".whorl").glob("whorl.db*"))
    assert made["secret"].encode() not in stored
    rotated = _command(spawn, "rotate", "polish")
    with connected(project) as client:
        for number, secret in enumerate((made["secret"], rotated["secret"])):
            answer = _call(client, secret, b'"x"', f"m-{number}")
            assert answer.status_code == 202
            client.wait(answer.json()["run"])
        _command(spawn, "rotate", "polish", "--keep", "0s")
        assert _call(client, made["secret"], b'"x"', "m-3").status_code == 401
        assert _call(client, rotated["secret"], b'"x"', "m-3").status_code == 401
        spawn("server", "hook", "rm", "polish").communicate(timeout=PATIENCE_S)
        assert _command(spawn, "ls") == []
        assert _call(client, rotated["secret"], b'"x"', "m-4").status_code == 401


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("add", "polish.yaml", "--name", "No Name"), "cannot be the name"),
        (("add", "polish.yaml", "--name", "runs"), "cannot be the name"),
        (("add", "flows/broken.yaml"), "asq"),
        (("rm", "polish"), "there is no hook 'polish'"),
        (("rotate", "polish"), "there is no hook 'polish'"),
    ],
)
def test_what_cannot_be_done_is_said(
    project: Path, spawn: Spawn, words: tuple[str, ...], message: str
) -> None:
    process = spawn("server", "hook", *words)
    _, err = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 2
    assert message in err
