"""What a workflow calls secure is told by no command: not as text, value, error or result."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

HIDDEN_TEXT = "plain-text-that-nobody-sees"

CONFIG = f"""
[defaults]
provider = "canned"
model = "m"

[providers.canned]
kind = "scripted"

[[providers.canned.replies]]
match = "Say"
replies = ["{HIDDEN_TEXT}"]

[[providers.canned.replies]]
match = "Count"
replies = ["five words"]

[[providers.canned.replies]]
match = "Is it good"
replies = ["yes, {HIDDEN_TEXT} is"]

[[providers.canned.replies]]
match = ""
replies = ["yes, {HIDDEN_TEXT} is"]

[allow]
commands = true
"""

LAST = 'whorl: 1\nsteps:\n  a: {ask: "Say it", secure: true}\n'
FIRST = LAST + '  b: {value: "{{ a | length }}"}\n'
FAILS = """
whorl: 1
steps:
  a: {run: "echo plain-text-that-nobody-sees; echo plain-text-that-nobody-sees >&2; exit 3",
      secure: true}
"""
GOES_ON = FAILS.replace("secure: true", "secure: true, on_error: continue") + "  b: {value: 1}\n"
LOOP = """
whorl: 1
steps:
  turn:
    repeat:
      until: {judge: "Is it good?"}
      at_most: 2
      steps:
        a: {ask: "Say it", secure: true}
"""
TYPED = 'whorl: 1\nsteps:\n  a: {ask: "Say it", secure: true, returns: {n: integer}}\n'


def whorl(folder: Path, *command: str, capsys: pytest.CaptureFixture[str]) -> str:
    from whorl.interfaces.cli import main

    capsys.readouterr()
    with pytest.raises(SystemExit):
        main([*command])
    told = capsys.readouterr()
    return told.out if "--json" in command else told.out + told.err


@pytest.mark.sample(2)
@pytest.mark.parametrize("text", [LAST, FIRST, FAILS, GOES_ON, LOOP, TYPED])
def test_no_command_tells_what_a_secure_step_gives(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "whorl.toml").write_text(CONFIG)
    (tmp_path / "w.yaml").write_text(text)
    for command in (
        ("run", "w.yaml"),
        ("run", "w.yaml", "--json"),
        ("run", "w.yaml", "--events"),
        ("show", "last"),
        ("show", "last", "--json"),
        ("show", "last/a"),
        ("show", "last/a", "--json"),
        ("show", "last/turn[1]"),
        ("show", "last/turn[1]/a"),
        ("why", "last"),
        ("status", "last"),
        ("status", "last", "--json"),
    ):
        said = whorl(tmp_path, *command, capsys=capsys)
        said = said.replace("echo plain-text-that-nobody-sees", "")
        assert HIDDEN_TEXT not in said, command
        assert "Traceback" not in said, command


def test_a_secure_result_is_given_to_whoever_asks_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An author who names it under `outputs` wants it told; being the last step is not enough."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "whorl.toml").write_text(CONFIG)
    (tmp_path / "named.yaml").write_text(LAST + 'outputs: {said: "{{ a }}"}\n')
    (tmp_path / "last.yaml").write_text(LAST)
    (tmp_path / "caller.yaml").write_text(
        'whorl: 1\nsteps:\n  c: {call: last.yaml}\n  d: {value: "{{ c.a | length }}"}\n'
    )

    told = {
        name: json.loads(whorl(tmp_path, "run", f"{name}.yaml", "--json", capsys=capsys))["output"]
        for name in ("named", "last", "caller")
    }

    assert told == {"named": HIDDEN_TEXT, "last": "***", "caller": len(HIDDEN_TEXT)}


def test_a_secure_failure_says_what_kind_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "whorl.toml").write_text(CONFIG)
    (tmp_path / "w.yaml").write_text(FAILS)

    said = json.loads(whorl(tmp_path, "run", "w.yaml", "--json", capsys=capsys))["error"]

    assert said["cause"]["code"] == "P109"
    assert "ended with code 3" in said["message"]


ADDRESSES = (
    "https://x.example/p?q=plain-text\\n",
    "http://127.0.0.1:9/plain-text",
    "plain-text://x",
)


@pytest.mark.parametrize("url", ADDRESSES)
def test_the_address_of_a_secure_step_is_not_told(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is wrong with it: it cannot be read, reached or called."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "whorl.toml").write_text(CONFIG + "private_network = true\n")
    told = {}
    for secure in ("true", "false"):
        step = f'{{http: {{url: "{url}"}}, secure: {secure}, retry: {{times: 1, wait: 10ms}}}}'
        workflow = f"whorl: 1\nsteps:\n  a: {step}\n"
        (tmp_path / "w.yaml").write_text(workflow)
        told[secure] = whorl(tmp_path, "run", "w.yaml", "--events", capsys=capsys)
        told[secure] += whorl(tmp_path, "show", "last", "--json", capsys=capsys)

    assert "plain-text" not in told["true"]
    assert "its message is hidden, since it is secure" in told["true"]
    assert "plain-text" in told["false"]


KEYED = """
[defaults]
provider = "p"
model = "m"

[providers.p]
kind = "openai"
base_url = "http://127.0.0.1:9/v1"
api_key = "hunter2"
"""


def test_an_operators_key_is_kept_out_of_what_is_given_and_computed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "whorl.toml").write_text(KEYED)
    (tmp_path / "w.yaml").write_text(
        "whorl: 1\ninputs: {given: string}\nsteps:\n"
        "  a: {value: \"{{ 'hunt' ~ 'er2' }} and {{ given }}\"}\n"
    )

    said = whorl(tmp_path, "run", "w.yaml", "-i", "given=my hunter2", capsys=capsys)
    for command in (("run", "w.yaml", "-i", "given=my hunter2", "--events"), ("show", "last"),
                    ("show", "last", "--json"), ("status", "last")):  # fmt: skip
        said += whorl(tmp_path, *command, capsys=capsys)

    assert "*** and my ***" in said
    assert "hunter2" not in said
