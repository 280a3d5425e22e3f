"""What a workflow calls secure is told by no address of the server."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import pytest
from served import CONFIG, connected, make_project

from answers import Answering, answering
from leaks import places_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from served import Client

SECRET = "the-value-that-nobody-sees"


class Telling(Answering):
    """Answers every request with the secret."""

    def do_GET(self) -> None:  # noqa: N802 - its own name
        self.answer({"token": SECRET})


@pytest.fixture
def url() -> Iterator[str]:
    with answering(Telling) as url:
        yield f"{url}/"


def definition(url: str) -> dict[str, Any]:
    call = {
        "type": "Http",
        "inputs": {"method": "GET", "uri": url},
        "runtimeConfiguration": {"secureData": {"properties": ["outputs"]}},
    }
    loop = {
        "type": "Until",
        "expression": "@greater(iterationIndexes('Turn'), 0)",
        "actions": {"Call": call},
    }
    done = {"type": "Compose", "inputs": "done", "runAfter": {"Turn": ["Succeeded"]}}
    schema = "https://schema.management.azure.com/providers/Microsoft.Logic/schemas/2016-06-01/"
    return {
        "definition": {
            "$schema": f"{schema}workflowdefinition.json#",
            "contentVersion": "1.0.0.0",
            "triggers": {},
            "actions": {"Turn": loop, "Done": done},
        }
    }


def ended(client: Client, name: str) -> tuple[Any, list[Any], list[str]]:
    """A run, its entries of tasks that have ended, and what is told of it."""
    found = client.finish(name)
    run = f"/runs/{found['id']}"
    events = client.get(f"{run}/events")["events"]
    done = [event for event in events if event["kind"] == "task.finished"]
    asked = [found, events, client.get(f"{run}/graph")]
    asked += [client.get(f"{run}/step", at=event["address"]) for event in done]
    return found, done, [json.dumps(answer) for answer in asked]


@pytest.mark.slow
def test_secure_outputs_are_printed_nowhere(tmp_path: Path, url: str) -> None:
    config = CONFIG.replace("[allow]", "[allow]\nprivate_network = true")
    make_project(tmp_path, config)
    (tmp_path / "secure.json").write_text(json.dumps(definition(url)))
    with connected(tmp_path) as client:
        found, done, told = ended(client, "secure.json")
        run = found["id"]
        for path in ("loops", "iterations", "iterations/1", "matrix"):
            told.append(json.dumps(client.get(f"/runs/{run}/{path}")))
        told.append(json.dumps(client.get(f"/runs/{run}/diff", one=1, other=2)))
        told += [
            client.http.get(f"/api/runs/{run}/values/{event['seq']}.WyJ2YWx1ZSJd").text
            for event in done
        ]

    assert (found["status"], len(done)) == ("succeeded", 2)
    assert "***" in told[-1]
    assert [text for text in told if SECRET in text] == []


def test_a_key_with_quotes_is_in_no_answer(tmp_path: Path) -> None:
    key = 'quo"ted\\key-9\\'
    config = CONFIG + f"\n[providers.keyed]\nkind = \"openai\"\napi_key = '{key}'\n"
    make_project(tmp_path, config + 'base_url = "https://api.example.com/v1"\n')
    text = 'whorl: 1\nname: said\nsteps:\n  a: {value: "{{ 1 }}"}\ndescription: ' + json.dumps(key)
    (tmp_path / "said.yaml").write_text(text)
    with connected(tmp_path) as client:
        answer = client.http.get("/api/workflows")

    assert key not in json.dumps(answer.json()).replace("\\\\", "\\").replace('\\"', '"')
    assert "key-9" not in answer.text


KEYED = """
whorl: 1
name: keyed
inputs: {key: KIND}
steps:
  turn:
    repeat:
      at_most: 2
      carry: {before: "{{ echo.stdout }}"}
      steps:
        write: {ask: "Write with {{ key }} after {{ before | default('nothing') }}"}
        echo: {run: "printf %s {{ key }} | cut -c1-10; printf %s {{ key }}"}
  broken: {run: "echo {{ key }} >&2; exit 3", on_failure: continue}
  check: {approve: {message: "Send {{ key }}?", show: {head: "Bearer {{ key }}"}}}
outputs: {text: "Bearer {{ key }} {{ turn.echo.stdout }}"}
"""


def all_answers(client: Client, run: str) -> list[str]:
    """What every address of a run tells, and its stream."""
    told = [client.http.get("/api/runs").text, client.http.get(f"/api/runs/{run}").text]
    for path in ("events", "loops", "iterations", "iterations/1", "matrix", "graph", "source"):
        told.append(client.http.get(f"/api/runs/{run}/{path}").text)
    told.append(client.http.get(f"/api/runs/{run}/diff", params={"one": 1, "other": 2}).text)
    with client.stream(f"/runs/{run}/events") as events:
        streamed = []
        for event in events:
            streamed.append(json.dumps(event))
            if "gate.waiting" in streamed[-1] or "run.finished" in streamed[-1]:
                break
    told += streamed
    events = client.get(f"/runs/{run}/events")["events"]
    for event in events:
        params = {"at": event["address"]}
        told.append(client.http.get(f"/api/runs/{run}/step", params=params).text)
        for field in ("value", "input", "inputs", "sealed", "outputs"):
            reference = b64encode(json.dumps([field]).encode()).decode().rstrip("=")
            told.append(client.http.get(f"/api/runs/{run}/values/{event['seq']}.{reference}").text)
    return told


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["secret", "string"])
def test_a_secret_input_is_in_no_address(tmp_path: Path, kind: str) -> None:
    make_project(tmp_path, CONFIG)
    (tmp_path / "keyed.yaml").write_text(KEYED.replace("KIND", kind))
    with connected(tmp_path) as client:
        run = client.start("keyed.yaml", inputs={"key": SECRET})
        told = [json.dumps(client.wait(run, "waiting")), *all_answers(client, run)]
        client.post(f"/runs/{run}/approve", {"at": "check"}, 202)
        told += [json.dumps(client.wait(run, "succeeded")), *all_answers(client, run)]
        forked = client.post(f"/runs/{run}/fork", {"at": "turn[2]"}, 201)["run"]
        told += [json.dumps(client.wait(forked, "waiting")), *all_answers(client, forked)]

    found = [text for text in told if SECRET in text]
    if kind == "string":
        assert len(found) > 20
    else:
        assert found == []
        assert any("Bearer ***" in text for text in told)
        assert places_of(SECRET, tmp_path) == []
