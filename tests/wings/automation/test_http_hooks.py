"""Workflows that are called over HTTP: triggers, answers, and calls that runs wait for."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from served import Client, connected

from whorl.interpreter.evaluation import call_signature
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx2

EXAMPLE = Path(__file__).parents[3] / "examples" / "logic-apps"
REQUEST = {"type": "Request", "kind": "Http"}


def _write(
    folder: Path, name: str, actions: dict[str, Any], trigger: dict[str, Any] | None = None
) -> None:
    (folder / name).mkdir()
    triggers = {"manual": REQUEST | (trigger or {})}
    text = json.dumps({"definition": {"triggers": triggers, "actions": actions}})
    (folder / name / "workflow.json").write_text(text)


def _compose(inputs: Any) -> dict[str, Any]:
    return {"type": "Compose", "inputs": inputs, "runAfter": {}}


def _response(status: int, after: str = "", **more: Any) -> dict[str, Any]:
    inputs = {"statusCode": status, "body": "@triggerOutputs()"} | more
    order = {after: ["Succeeded"]} if after else {}
    return {"type": "Response", "kind": "Http", "inputs": inputs, "runAfter": order}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)
    failing = _compose("@div(1, 0)")
    _write(folder, "Early", {"Fail": failing, "Reply": _response(200, "Fail")})
    late = failing | {"runAfter": {"Reply": ["Succeeded"]}}
    _write(folder, "After", {"Reply": _response(418, headers={"X-A": "b"}), "Fail": late})
    headers = {"Content-Type": "text/html", "Content-Security-Policy": "none", "Set-Cookie": "a=b"}
    _write(folder, "Text", {"Reply": _response(200, body="<b>hi</b>", headers=headers)})
    later = _response(202, body="at last") | {"operationOptions": "Asynchronous"}
    _write(folder, "Later", {"Reply": later})
    form = _response(200, body="@triggerFormDataValue('colour')")
    bare = {"operationOptions": "SuppressWorkflowHeadersOnResponse"}
    _write(folder, "Form", {"Reply": form}, bare)
    parts = _response(200, body="@triggerMultipartBody(1)")
    _write(folder, "Parts", {"Reply": parts})
    named = {"a": "@trigger()['clientTrackingId']"}
    _write(folder, "Whole", {"Reply": _response(200, body="@triggerBody()", headers=named)})
    _write(folder, "Echo", {"Reply": _response(200)}, {"inputs": {"method": "GET"}})
    subscribe = {"method": "POST", "uri": "https://x.example", "body": "@listCallbackUrl()"}
    every = {"type": "Recurrence", "recurrence": {"frequency": "Day", "interval": 1}}
    _write(folder, "Report", {"Text": _compose("daily")}, every)
    hook = {"type": "HttpWebhook", "inputs": {"subscribe": subscribe}, "runAfter": {}}
    reply = _response(200, "Hook", body="@body('Hook')")
    _write(folder, "Hooked", {"Hook": hook, "Reply": reply})
    text = (folder / "whorl.toml").read_text()
    replies = "[connectors.replies]\n"
    hooked = f"{replies}Hook = {{statusCode = 202, body = 'subscribed'}}\n"
    (folder / "whorl.toml").write_text(text.replace(replies, hooked))
    with connected(folder) as client:
        yield client


@pytest.fixture
def stranger(served: Client) -> Iterator[Client]:
    client = Client(served.address, token="")
    yield client
    client.close()


def _url(served: Client, name: str, path: str = "") -> str:
    """The address of a trigger, with its signature."""
    items = served.get("/workflows")["workflows"]
    url = next(item["trigger"]["url"] for item in items if item["name"] == name)
    bare, _, query = url.partition("?")
    return f"{bare}{path}?{query}"


def _call(client: Client, url: str, method: str = "POST", **options: Any) -> httpx2.Response:
    return client.http.request(method, url, **options)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/shops/north", {"item": "eggs"}, 400),
        ("/shops", {"item": "eggs", "count": 1}, 404),
        ("", {"item": "eggs", "count": 1}, 404),
    ],
)
def test_what_does_not_fit_the_trigger_starts_nothing(
    served: Client, path: str, body: Any, status: int
) -> None:
    before = len(served.get("/runs", workflow="Order")["runs"])
    answer = _call(served, _url(served, "Order", path), json=body)

    assert answer.status_code == status
    assert len(served.get("/runs", workflow="Order")["runs"]) == before


def test_a_method_that_the_trigger_does_not_take_is_refused(served: Client) -> None:
    assert _call(served, _url(served, "Order", "/shops/a"), "PUT", json={}).status_code == 405
    assert _call(served, _url(served, "Echo")).status_code == 405


def test_a_call_gives_its_queries_and_headers_but_no_keys(served: Client) -> None:
    url = f"{_url(served, 'Echo')}&colour=red&path=x"
    outputs = _call(served, url, "GET", headers={"X-Own": "1"}).json()

    assert outputs["queries"] == {"colour": "red", "path": "x"}
    assert outputs["headers"]["x-own"] == "1"
    assert "authorization" not in outputs["headers"]


def test_forms_and_bytes_are_bodies_and_answers(served: Client) -> None:
    form = _call(served, _url(served, "Form"), data={"colour": "red", "size": "1"})
    files = {"a": ("a.txt", b"one"), "b": ("b.bin", b"\x00\xff", "application/x-own")}
    part = _call(served, _url(served, "Parts"), files=files)
    kind = {"content-type": "image/png"}
    whole = _call(served, _url(served, "Whole"), content=b"\x89PNG\x00", headers=kind)

    assert (form.status_code, form.text) == (200, "red")
    assert (part.content, part.headers["content-type"]) == (b"\x00\xff", "application/x-own")
    assert (whole.content, whole.headers["content-type"]) == (b"\x89PNG\x00", "image/png")


def test_nothing_starts_without_token_or_signature(served: Client, stranger: Client) -> None:
    url = _url(served, "Echo")
    bare = url.partition("?")[0]
    other = _url(served, "Order").partition("?")[2]

    for wrong in (bare, f"{bare}?sig=", f"{bare}?sig=00", f"{bare}?{other}"):
        assert _call(stranger, wrong, "GET").status_code == 401
    assert _call(served, bare, "GET").status_code == 200
    assert _call(stranger, url, "GET").status_code == 200
    signature = url.partition("?")[2]
    assert stranger.http.get(f"/api/runs?{signature}").status_code == 401


def test_an_answer_stays_and_without_one_a_run_that_fails_is_a_bad_gateway(served: Client) -> None:
    answered = _call(served, _url(served, "After"), json={})
    failed = _call(served, _url(served, "Early"), json={})

    assert (answered.status_code, answered.headers["x-a"]) == (418, "b")
    assert (failed.status_code, failed.json()["error"]["code"]) == (502, "R131")


def test_an_answer_cannot_open_the_page_to_scripts(served: Client) -> None:
    answer = _call(served, _url(served, "Text"), json={})

    assert (answer.text, answer.headers["content-type"]) == ("<b>hi</b>", "text/html")
    assert answer.headers["content-security-policy"].startswith("sandbox;")
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("name", ["Later", "Report"])
def test_an_answer_may_be_fetched(served: Client, stranger: Client, name: str) -> None:
    answer = _call(stranger, _url(served, name), json={})
    assert answer.status_code == 202

    served.wait(answer.json()["run"], "succeeded")
    fetched = stranger.http.get(answer.headers["location"])
    expected = "at last" if name == "Later" else ""
    assert fetched.status_code == (202 if expected else 200)
    assert expected in fetched.text
    assert stranger.http.get(answer.headers["location"] + "0").status_code == 401


def test_each_item_is_a_run_of_its_own(served: Client) -> None:
    counts = {"eggs": 2, "milk": 0, "tea": 5}
    orders = [{"item": item, "count": count} for item, count in counts.items()]
    answer = _call(served, _url(served, "Import"), json={"orders": orders})
    assert answer.status_code == 202

    outputs = [served.wait(run)["result"]["outputs"] for run in answer.json()["runs"]]
    assert outputs == [{"item": "eggs", "total": 6}, {"item": "tea", "total": 15}]
    none = _call(served, _url(served, "Import"), json={"orders": []}).json()
    assert none == {"runs": [], "reason": "the list of trigger 'manual' is empty"}
    body = {"workflow": "Import/workflow.json", "inputs": {"body": {"orders": orders}}}
    started = served.post("/runs", body, 201)
    assert len(started["runs"]) == 2


def test_a_webhook_waits_for_its_call(served: Client, stranger: Client) -> None:
    run = served.start("Hooked/workflow.json")
    served.wait(run, "waiting")
    url = _callback(served, run)

    assert stranger.http.post(url + "0", json=1).status_code == 401
    assert stranger.http.post(url, json={"done": True}).status_code == 200
    assert served.wait(run)["result"]["output"] == {"done": True}
    assert stranger.http.post(url, json={"done": True}).status_code == 409


def _callback(served: Client, run: str) -> str:
    """The address that the connector was given; its inputs, which have it, are stored nowhere."""
    events = served.get(f"/runs/{run}/events")["events"]
    assert "callback" not in events[0]["body"]
    root = Path(served.get("/project")["root"])
    with closing(SqliteStore(root / ".whorl" / "whorl.db")) as store:
        callback: Any = next(iter(store.read(RunId(run)))).event.body["callback"]
    assert callback["url"] == served.address
    signature = call_signature(callback["token"], "Hook/:call")
    return f"{callback['url']}/hooks/runs/{run}/Hook%2F%3Acall?sig={signature}"
