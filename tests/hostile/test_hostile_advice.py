"""What a stranger's file would do is said whole, and advice about it helps when it is pasted."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from cloned import Clone, empty_clone

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = "https://schema.management.azure.com/providers/Microsoft.Logic/schemas/2016-06-01/"


def asked(place: str) -> dict[str, str]:
    return {"method": "POST", "uri": f"https://{place}.example.com"}


def loom(trigger: dict[str, object], action: dict[str, object]) -> str:
    head = {"$schema": f"{SCHEMA}workflowdefinition.json#", "contentVersion": "1.0.0.0"}
    steps = {"triggers": {"T": trigger}, "actions": {"A": {**action, "runAfter": {}}}}
    return json.dumps({"definition": {**head, "outputs": {}, **steps}})


def webhook(place: str) -> dict[str, object]:
    both = {"subscribe": asked(f"{place}on"), "unsubscribe": asked(f"{place}off")}
    return {"type": "HttpWebhook", "inputs": both}


@pytest.fixture
def folder(tmp_path: Path) -> Clone:
    return empty_clone(tmp_path)


def test_addresses_that_are_asked_and_those_that_are_taken_back_are_listed(folder: Clone) -> None:
    clock = {"frequency": "Minute", "interval": 1}
    polled = {"type": "Http", "inputs": asked("poll"), "recurrence": clock}
    (folder.folder / "polled.json").write_text(loom(polled, webhook("action")))

    both = folder.whorl("validate", "polled.json").stdout
    assert "calls actionon.example.com, actionoff.example.com, poll.example.com\n" in both


def with_links(folder: Path) -> None:
    for name in ("sub", ".hid", "out/real", "other"):
        (folder / name).mkdir(parents=True)
    for name in (".hidden", "sub/.deep", ".hid/a", "a[1].txt", "other/x.txt"):
        (folder / name).write_text("it")
    (folder / "plain.txt").symlink_to(".hidden")
    (folder / "toml.txt").symlink_to("whorl.toml")
    (folder / "out" / "link").symlink_to("../other")


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("step", "before"),
    [
        *((f'{{read: "{path}"}}', "read = []") for path in ("a[1].txt", "sub/../.hidden")),
        ('{read: "plain.txt"}', 'read = ["**"]'),
        ('{read: "./.hidden"}', 'read = ["**"]'),
        ('{read: "sub/.deep"}', 'read = ["**", "sub/**"]'),
        ('{read: ".hid/a"}', 'read = ["**"]'),
        ('{write: "out/link/x.txt", content: new}', 'write = ["out/**"]'),
    ],
)
def test_the_advised_line_permits_it(folder: Clone, step: str, before: str) -> None:
    with_links(folder.folder)
    (folder.folder / "a.yaml").write_text(f"whorl: 1\nname: a\nsteps:\n  a: {step}\n")
    config = folder.folder / "whorl.toml"
    config.write_text(f"[allow]\nfiles = {{{before}}}\n")

    refused = folder.whorl("run", "a.yaml", trusts=True)
    assert refused.returncode != 0
    advised = re.search(r"`(files = .*?\})` below \[allow\]", refused.stdout + refused.stderr)
    assert advised is not None, refused.stderr
    config.write_text(f"[allow]\n{advised[1]}\n")
    done = folder.whorl("run", "a.yaml", trusts=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.sample(4)
@pytest.mark.parametrize("path", ["toml.txt", "whorl.toml", "sub/../whorl.toml", ".whorl/whorl.db"])
def test_what_can_never_be_opened_gets_no_advice(folder: Clone, path: str) -> None:
    with_links(folder.folder)
    (folder.folder / "whorl.toml").write_text('[allow]\nfiles = {read = ["**"]}\n')
    (folder.folder / "a.yaml").write_text(f'whorl: 1\nname: a\nsteps:\n  a: {{read: "{path}"}}\n')
    refused = folder.whorl("run", "a.yaml", trusts=True)
    assert refused.returncode != 0
    assert "can never open the store and the configuration" in refused.stderr
    assert "files = {" not in refused.stderr


def test_a_call_that_may_not_be_sent_makes_no_run(folder: Clone) -> None:
    (folder.folder / "k.yaml").write_text(
        "whorl: 1\nname: k\nsteps:\n  a: {ask: hello, provider: openai, model: m,"
        " model_url: 'http://127.0.0.1:9/v1'}\n"
    )
    done = folder.whorl("run", "k.yaml", "--json")
    assert done.returncode == 2
    assert "P107" in json.dumps(json.loads(done.stdout)["error"]), done.stderr
    assert folder.whorl("show", "last").returncode == 2
