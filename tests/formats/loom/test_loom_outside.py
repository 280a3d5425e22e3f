"""Actions that reach outside, against a real server: connectors, keys, polling, pages, secrets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from loom_project import Answer, Asked, Finished, run_in, web

from whorl.interfaces.cli import main
from whorl.services.inspecting.results import shown

if TYPE_CHECKING:
    from pathlib import Path

ALLOWED = "[allow]\nprivate_network = true\n"
SECRET = "correct horse battery staple"
# The secret as no file has it, so that finding it means that a value was stored.
COMPUTED = "@concat('correct horse ', 'battery staple')"


def azure(actions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"definition": {"actions": actions, **more}, "kind": "Stateful"}


def http(url: str, **inputs: Any) -> dict[str, Any]:
    policy = {"type": "none"}
    return {"type": "Http", "inputs": {"method": "GET", "uri": url, "retryPolicy": policy} | inputs}


def after(name: str, status: str, inputs: Any) -> dict[str, Any]:
    return {"type": "Compose", "runAfter": {name: [status]}, "inputs": inputs}


MAIL = {"type": "ApiConnection", "inputs": {"method": "post", "body": {"to": "@concat('A', 'da')"}}}


def test_recorded_replies_answer_by_name_and_iteration(tmp_path: Path) -> None:
    replies = {"Mail": [{"statusCode": 200, "body": {"n": 1}}, {"statusCode": 200, "body": 2}]}
    (tmp_path / "replies.json").write_text(json.dumps(replies))
    each = {"type": "Foreach", "foreach": [1, 2, 3], "operationOptions": "Sequential"}
    actions = {"Each": each | {"actions": {"Mail": MAIL}}}
    actions["Show"] = after("Each", "Succeeded", "@body('Each')")
    ran = run_in(tmp_path, azure(actions), config='[connectors]\nreplies = "replies.json"\n')

    assert ran.output == [{"n": 1}, 2, 2]
    config = "[connectors.replies]\nMail = [{statusCode = 201, body = {id = 7}}]\n"
    show = after("Mail", "Succeeded", "@{outputs('Mail')['statusCode']} @{body('Mail')['id']}")
    assert run_in(tmp_path, azure({"Mail": MAIL, "Show": show}), config=config).output == "201 7"


def test_the_recording_of_a_run_answers_for_connectors(tmp_path: Path) -> None:
    """What `whorl test --save` writes stands in for the servers of the run that it is of."""
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.replay import recording_from_run

    definition = azure({"Mail": MAIL, "Show": after("Mail", "Succeeded", "@body('Mail')")})
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with web(lambda asked: Answer(200, {"to": asked.json["body"]["to"]})) as server:
        first = run_in(tmp_path / "one", definition, config=f'[connectors]\nurl = "{server.url}"\n')
    store = SqliteStore(first.project.store)
    try:
        run = RunId(first.document["run"])
        text = recording_from_run(store, run, first.document).to_text()
    finally:
        store.close()
    (tmp_path / "two" / "calls.json").write_text(text)
    again = run_in(tmp_path / "two", definition, config='[connectors]\nreplies = "calls.json"\n')

    assert first.output == again.output == {"to": "Ada"}


@pytest.mark.parametrize("status", ["Failed", "TimedOut"])
def test_a_static_result_may_be_a_failure(tmp_path: Path, status: str) -> None:
    outputs = {"statusCode": 503, "body": {"why": "down"}}
    call = MAIL | {"runtimeConfiguration": {"staticResult": {"name": "Down"}}}
    show = after("Mail", status, "@{outputs('Mail')?['statusCode']} @{body('Mail')}")
    results = {"Down": {"status": status, "outputs": outputs}}
    ran = run_in(tmp_path, azure({"Mail": call, "Show": show}, staticResults=results))

    assert ran.output == '503 {"why":"down"}'


def authenticated(folder: Path, url: str, auth: Any, host: str) -> Finished:
    """Runs a call where the operator has the key `mine` for a host."""
    config = f'{ALLOWED}\n[keys.mine]\nurl = "{host}"\ntoken = "env:MY_TOKEN"\n'
    definition = azure({"Call": http(url, authentication=auth)})
    return run_in(folder, definition, config=config, environment={"MY_TOKEN": "tok-12345678"})


@pytest.mark.parametrize(
    ("auth", "header"),
    [
        ({"type": "Basic", "username": "ada", "password": "1815"}, "Basic YWRhOjE4MTU="),
        ({"type": "Key", "name": "mine"}, "Bearer tok-12345678"),
        ({"type": "ManagedServiceIdentity"}, "Bearer tok-12345678"),
    ],
)
def test_authentication_goes_to_its_host_and_nowhere_else(
    tmp_path: Path, auth: Any, header: str
) -> None:
    """Even a server that repeats the key of an operator does not get it into the journal."""
    with web(lambda asked: Answer(200, {"echo": asked.headers["authorization"]})) as server:
        ran = authenticated(tmp_path, server.url, auth, server.url)

    assert server.asked[0].headers["authorization"] == header
    assert ran.output == {"echo": header.replace("tok-12345678", "***")}
    assert b"tok-12345678" not in ran.bytes_stored()
    assert all("inputs" not in event.body for event in ran.events if event.kind == "task.started")


@pytest.mark.parametrize(
    ("auth", "words"),
    [
        ({"type": "Key", "name": "mine"}, "is for https://api.example.com"),
        ({"type": "Key", "name": "yours"}, "there is no key 'yours'"),
        ({"type": "ActiveDirectoryOAuth"}, "the operator adds [keys.NAME]"),
        ({"type": "ClientCertificate", "pfx": "x"}, "'ClientCertificate' cannot be proved"),
    ],
)
def test_what_cannot_be_authenticated_is_refused_unsent(
    tmp_path: Path, auth: Any, words: str
) -> None:
    with web(lambda asked: Answer()) as server:
        error = authenticated(tmp_path, server.url, auth, "https://api.example.com").document[
            "error"
        ]

    assert (server.asked, error["cause"]["code"]) == ([], "P116")
    assert words in error["message"]


def test_another_host_is_asked_after_work_without_our_headers(tmp_path: Path) -> None:
    with (
        web(lambda asked: Answer(200, "done")) as other,
        web(lambda asked: Answer(202, None, {"location": other.url, "retry-after": "0"})) as server,
    ):
        auth = {"type": "Raw", "value": "mine"}
        call = http(server.url, method="POST", headers={"X-Key": "k"}, authentication=auth)
        ran = run_in(tmp_path, azure({"Start": call}), config=ALLOWED)

    assert ran.output == "done"
    assert server.asked[0].headers["x-key"] == "k"
    assert not {"x-key", "authorization"} & set(other.asked[0].headers)


def pages(asked: Asked) -> Answer:
    number = int(asked.path.partition("page=")[2] or 1)
    body: dict[str, Any] = {"value": [number * 10, number * 10 + 1]}
    if number < 4:
        body["nextLink"] = f"/list?page={number + 1}"
    return Answer(200, body)


@pytest.mark.parametrize(("wanted", "count"), [(3, 4), (100, 8)])
def test_pages_are_read_until_there_are_enough_items(
    tmp_path: Path, wanted: int, count: int
) -> None:
    policy = {"paginationPolicy": {"minimumItemCount": wanted}}
    with web(pages) as server:
        call = http(f"{server.url}/list") | {"runtimeConfiguration": policy}
        ran = run_in(tmp_path, azure({"List": call}), config=ALLOWED)

    assert len(ran.output["value"]) == count
    assert ("nextLink" in ran.output) is (count < 8)


def secured(url: str, *properties: str) -> dict[str, Any]:
    call = http(url, method="POST", body={"password": COMPUTED}, headers={"x-key": COMPUTED})
    return call | {"runtimeConfiguration": {"secureData": {"properties": [*properties]}}}


def test_secure_inputs_are_stored_nowhere(tmp_path: Path) -> None:
    """Not in the journal, a snapshot or an error, also when the action is tried again."""
    with web(lambda asked: Answer(500, "no")) as server:
        call = secured(server.url, "inputs")
        call["inputs"]["retryPolicy"] = {"type": "fixed", "count": 2, "interval": "PT0.01S"}
        ran = run_in(tmp_path, azure({"Call": call}), config=ALLOWED)

    assert [one.json["password"] for one in server.asked] == [SECRET] * 3
    assert SECRET.encode() not in ran.bytes_stored()
    assert SECRET not in json.dumps([event.body for event in ran.events])
    assert SECRET not in json.dumps(ran.document)


@pytest.mark.parametrize("status", [200, 500, 403])
def test_secure_outputs_are_shown_to_no_reader(
    tmp_path: Path, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """They can be used, and are in no event, no page of the run, no status and no error.

    Nothing deals with the status 403, and the call that succeeds is the last one of a loop.
    """
    call = secured("URL", "inputs", "outputs")
    length = "@length(outputs('Call')?['body']?['token'])"
    loop = {"type": "Until", "expression": "@equals(1, 1)", "actions": {"Call": call}}
    actions: dict[str, Any] = {"Turn": loop} if status == 200 else {"Call": call}
    if status != 403:
        how = ("Turn", "Succeeded") if status == 200 else ("Call", "Failed")
        actions["L"] = after(*how, length)
    with web(lambda asked: Answer(status, {"token": SECRET})) as server:
        ran = run_in(
            tmp_path,
            json.loads(json.dumps(azure(actions)).replace("URL", server.url)),
            config=ALLOWED,
        )

    assert ran.output == (None if status == 403 else len(SECRET))
    assert SECRET not in json.dumps([shown(event) for event in ran.events])
    assert SECRET not in json.dumps(ran.document)
    finished = [event.body for event in ran.events if event.kind == "iteration.finished"]
    assert len(finished) == (status == 200)
    assert SECRET not in json.dumps(finished)
    run = ran.document["run"]
    for command in (f"show {run}", f"show {run}/Call", f"show {run} --json", f"status {run}"):
        capsys.readouterr()
        with pytest.raises(SystemExit):
            main([*command.split(), "--store", str(ran.project.store)])
        told = capsys.readouterr()
        assert SECRET not in told.out + told.err, command


# The secret as a part of an address.
IN_URI = COMPUTED.replace(" ", "-").replace(",-", ", ").replace("@", "@{") + "}"
NOBODY = "http://127.0.0.1:9"


@pytest.mark.parametrize("properties", [("inputs",), ("inputs", "outputs")])
@pytest.mark.parametrize(
    ("uri", "auth", "code"),
    [
        *((f"{NOBODY}/{IN_URI}", {}, "P101"), (f"http://{IN_URI}.invalid/", {}, "P101")),
        *((f"{IN_URI}://x/", {}, "P113"), (f"SERVER/{IN_URI}", {}, "P104")),
        (f"SERVER/moved/{IN_URI}", {}, "P101"),
        ("SERVER/", {"type": COMPUTED, "value": COMPUTED}, "P116"),
        (f"{NOBODY}/", {"type": "Raw", "value": COMPUTED}, "P101"),
    ],
)
def test_no_fault_tells_what_a_secure_action_was_given(
    tmp_path: Path, uri: str, auth: dict[str, Any], code: str, properties: tuple[str, ...]
) -> None:
    def reply(asked: Asked) -> Answer:
        is_moved = asked.path.startswith("/moved")
        moved = Answer(302, None, {"location": f"{NOBODY}/{asked.path}"})
        return moved if is_moved else Answer(400, {"why": "not so"})

    with web(reply) as server:
        call = http(uri.replace("SERVER", server.url), **({"authentication": auth} if auth else {}))
        call["runtimeConfiguration"] = {"secureData": {"properties": [*properties]}}
        ran = run_in(tmp_path, azure({"Call": call}), config=ALLOWED)

    assert ran.document["error"]["cause"]["code"] == code
    told = json.dumps([ran.document, *(event.body for event in ran.events)])
    for secret in (SECRET, SECRET.replace(" ", "-")):
        assert secret not in told
        assert secret.encode() not in ran.bytes_stored()


def test_what_a_task_of_the_operator_gives_may_be_secure(tmp_path: Path) -> None:
    secure = {"secureData": {"properties": ["inputs", "outputs"]}}
    inputs = {"activityType": "fetch", "input": COMPUTED}
    actions = {
        "get": {"type": "activity", "inputs": inputs, "runtimeConfiguration": secure},
        "show": {"type": "compose", "inputs": "@length(body('get'))"},
    }
    with web(lambda asked: Answer(200, SECRET)) as server:
        config = f'[tasks]\n"activity:fetch" = "{server.url}"\n'
        ran = run_in(tmp_path, {"actions": actions}, config=config)

    assert server.asked[0].json == {"input": SECRET}
    assert (ran.output, ran.document["usage"]["calls"]) == (len(SECRET), 1)
    assert SECRET not in json.dumps([shown(event) for event in ran.events])


def test_bytes_and_parts_are_sent_as_what_they_stand_for(tmp_path: Path) -> None:
    image = {"$content-type": "image/png", "$content": "iVBORwD/"}
    parts = {
        "$content-type": "multipart/form-data",
        "$multipart": [
            {"headers": {"Content-Disposition": 'form-data; name="a"'}, "body": "one"},
            {"headers": {"Content-Disposition": 'form-data; name="b"\r\nx: y'}, "body": image},
            {"body": {"n": 1}},
        ],
    }
    with web(lambda asked: Answer(200, "ok")) as server:
        actions = {
            "Image": http(server.url, method="POST", body=image),
            "Form": http(server.url, method="POST", body=parts)
            | {"runAfter": {"Image": ["Succeeded"]}},
            "Wrong": http(server.url, method="POST", body={"$content-type": "a/b", "$content": "%"})
            | {"runAfter": {"Form": ["Succeeded"]}},
        }
        ran = run_in(tmp_path, azure(actions), config=ALLOWED)

    first, second = server.asked
    assert (first.headers["content-type"], first.body) == ("image/png", b"\x89PNG\x00\xff")
    kind, _, boundary = second.headers["content-type"].partition("; boundary=")
    pieces = second.body.split(b"--" + boundary.encode())
    assert kind == "multipart/form-data"
    assert [piece.partition(b"\r\n\r\n")[2] for piece in pieces[1:-1]] == [
        b"one\r\n",
        b"\x89PNG\x00\xff\r\n",
        b'{"n": 1}\r\n',
    ]
    assert b'name="b"  x: y\r\n' in pieces[2]
    assert pieces[-1] == b"--\r\n"
    assert "'$content' of a body is not base64" in str(ran.document["error"])
