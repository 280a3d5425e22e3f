"""What is sealed can be opened with its key, for its run and its place, and by nobody else."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from whorl.dialects import read_workflow
from whorl.errors import StoreError
from whorl.interpreter.events import Event
from whorl.providers.redaction import Redaction
from whorl.runtimes.journal.keys import Seals, seals_from
from whorl.runtimes.journal.sealed_secrets import SEALED, masked, opened, sealed

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.ir import Workflow

SECRET = "HUSH-77-xyzzy"
STARTED = Event("run.started", "", 1.0, {"run": "r", "input": {"key": SECRET, "name": "ada"}})
FINISHED = Event("task.finished", "call", 1.0, {"value": {"echo": f"<{SECRET}>", "size": 13}})


def entry(event: Event, seals: Seals) -> Event:
    return sealed(event, "r", seals, Redaction([SECRET]))


@pytest.mark.parametrize("event", [STARTED, FINISHED])
def test_an_entry_tells_no_secret_and_gives_it_back(event: Event) -> None:
    seals = Seals()
    written = entry(event, seals)

    assert SECRET not in str(written.body)
    assert opened(written, "r", seals) == event
    assert SEALED not in opened(written, "r", None).body


def test_nothing_is_kept_of_notes_and_intents_and_words_of_the_engine_stay() -> None:
    for kind in ("run.finished", "warning", "task.started"):
        assert entry(Event(kind, "a", 1.0, {"message": SECRET}), Seals()).body == {"message": "***"}
    event = Event("run.finished", "", 1.0, {"status": "failed", "error": {"code": "R100"}})

    assert sealed(event, "r", Seals(), Redaction(["failed", "R100"])).body == event.body


@pytest.mark.parametrize("place", [("other", "call"), ("r", "call[2]")])
def test_what_is_moved_is_refused(place: tuple[str, str]) -> None:
    seals = Seals()
    written = entry(FINISHED, seals)
    run, address = place
    moved = Event(written.kind, address, written.at, written.body)

    with pytest.raises(StoreError, match="was changed") as caught:
        opened(moved, run, seals)
    assert caught.value.code == "R909"


def test_what_is_changed_is_refused() -> None:
    seals = Seals()
    text = str(entry(FINISHED, seals).body[SEALED])
    changed = (text[:-8] + "AAAAAAA=", text[:-20], "1.", "2" + text[1:], text.partition(".")[0])
    for broken in changed:
        body: dict[str, Any] = {SEALED: broken}
        with pytest.raises(StoreError):
            opened(Event("task.finished", "call", 1.0, body), "r", seals)


def test_many_processes_agree_on_one_key(tmp_path: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    texts: list[str] = []
    start = threading.Barrier(8)

    def make() -> None:
        start.wait()
        texts.append(seals_from(environment).seal("a", "r"))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [seals_from(environment).open(text, "r") for text in texts] == ["a"] * 8
    assert os.listdir(tmp_path / "whorl") == ["key"]


def test_a_shape_without_what_it_holds() -> None:
    value = {"a": ["x", 1, None], "b": True}

    assert masked(value) == {"a": ["***", "***", None], "b": True}
    assert masked(value, number=0) == {"a": ["***", 0, None], "b": True}


_OBJECT = {"user_name": "alice-77", "n": 1, "list": [1, 2]}


@pytest.mark.parametrize(
    ("secrets", "value", "told"),
    [
        (["HUSH-77\n"], "<HUSH-77>", "<***>"),
        (["ab"], "ab cab ab.", "*** cab ***."),
        (["  "], "a  b", "a  b"),
        (["line-one-1\nline-two-2"], "x line-two-2", "x ***"),
        (["Ünder-55"], "%C3%9Cnder-55 ünder-55", "*** ***"),
        (["a/b+c-1234"], "YS9iK2MtMTIzNA==", "***A=="),
        (["long-secret", "long-secret-2"], "long-secret-2", "***"),
        # A number is found as one and as a fraction, and a short one is not.
        (["471100"], [471100, 4711, True], ["***", 4711, True]),
        (["4821", "-12.50"], [4821.0, "4821.0", -12.5], ["***", "***.0", "***"]),
        (["4821", "0001", "-12.50"], [1, True, 1.0, 482], [1, True, 1.0, 482]),
        # An object is hidden as a whole where it is a value.
        (
            [_OBJECT, "alice-77"],
            {"a": [dict(reversed(_OBJECT.items()))], "n": 1},
            {"a": ["***"], "n": 1},
        ),
        ([_OBJECT, "alice-77"], {"user_name": "alice-77"}, {"user_name": "***"}),
        ([_OBJECT, "alice-77"], [{}, [], [1]], [{}, [], [1]]),
    ],
)
def test_a_secret_is_found_in_all_its_forms(secrets: list[Any], value: Any, told: Any) -> None:
    assert Redaction(secrets).value(value) == told


def test_a_template_does_not_put_its_secrets_into_the_workflow() -> None:
    actions = {
        "A": {"type": "Compose", "inputs": "[concat('x', parameters('key'))]"},
        "B": {"type": "Compose", "inputs": "[parameters('key')]"},
    }
    properties = {"definition": {"$schema": "x", "actions": actions}}
    source = {
        "parameters": {"key": {"type": "secureString", "defaultValue": SECRET}},
        "resources": [{"type": "Microsoft.Logic/workflows", "properties": properties}],
    }
    workflow = read_workflow(json.dumps(source), "w.json").workflow

    assert SECRET not in str(workflow.body)
    assert [(port.name, port.secret, port.default) for port in workflow.inputs][:1] == [
        ("key", True, SECRET)
    ]


def _with_input(kind: str) -> Workflow:
    source = (
        f"whorl: 1\ninputs: {{o: {{type: {kind}, secret: true}}}}\nsteps: {{a: {{value: 1}}}}\n"
    )
    return read_workflow(source, "w.yaml").workflow


@pytest.mark.parametrize("value", [{"name": "x"}, ["x"], 42, True, "x"])
def test_a_secret_input_of_any_text_is_hidden_everywhere(value: Any) -> None:
    event = Event("run.started", "", 1.0, {"input": {"o": value, "p": None}})
    seals = Seals()
    written = sealed(event, "r", seals, workflow=_with_input("any"))

    assert written.body["input"] == {"o": "***", "p": None}
    assert opened(written, "r", seals) == event
