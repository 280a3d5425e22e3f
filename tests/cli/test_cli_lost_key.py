"""A run whose key is lost can be looked at and ended; it says what it needs for all else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from command_line import CONFIG

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

KEYED = """
whorl: 1
inputs: {key: secret}
steps:
  turn: {repeat: {at_most: 1, steps: {a: {ask: "Write {{ key }}"}}}}
  check: {approve: "Send it with {{ key }}?"}
outputs: {text: "{{ key }}"}
"""
ADVICE = "set WHORL_KEY to it"


@pytest.fixture(params=["missing", "another"])
def lost(
    whorl: Whorl, project: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Path:
    """A run waits for a person; its key is gone, or there is another one."""
    (project / "whorl.toml").write_text(CONFIG)
    (project / "w.yaml").write_text(KEYED)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(project / "mine"))
    monkeypatch.setenv("WHORL_HOME", str(project / ".whorl"))
    assert whorl("run", "w.yaml", "-i", "key=HUSH-77").code == 4
    home = project / "elsewhere"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    if request.param == "another":
        monkeypatch.setenv("WHORL_KEY", "B" * 43 + "=")
    return home


def test_a_run_without_its_key_is_ended(
    whorl: Whorl, lost: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = whorl("cancel", "last", "--json")

    assert done.code == 0, done.err
    assert json.loads(done.out)["status"] == "cancelled"
    assert not (lost / "whorl" / "key").exists()
    for words in (("show", "last"), ("status", "last"), ("why", "last"), ("ls",)):
        assert whorl(*words).code == 0, words
    # Whoever has the key sees the same.
    monkeypatch.delenv("WHORL_KEY", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(lost.parent / "mine"))
    assert json.loads(whorl("show", "last", "--json").out)["status"] == "cancelled"
    assert "cancelled already" in whorl("cancel", "last").out


@pytest.mark.parametrize(
    "words", [("pause",), ("approve",), ("continue", "-n", "1"), ("stop",), ("accept", "-n", "1")]
)
def test_all_else_says_what_it_needs_and_nothing_before(
    whorl: Whorl, lost: Path, words: tuple[str, ...]
) -> None:
    run = whorl("ls", "--json").json[0]["run"]
    done = whorl(words[0], run, *words[1:])

    assert done.code == 3
    assert done.out == ""
    assert done.err.startswith("error[R909]: ")
    assert ADVICE in done.err
    assert "cancelled" in done.err
    assert not (lost / "whorl" / "key").exists()
    assert json.loads(whorl("show", "last", "--json").out)["status"] == "waiting"


TYPED = """
whorl: 1
inputs:
  o: {type: json, secret: true}
  n: {type: integer, secret: true}
  b: {type: boolean, secret: true}
steps:
  a: {value: "%s"}
  check: {approve: "Go on?"}
"""


@pytest.mark.parametrize("value", ["{{ o.user }}", "{{ n + 1 }}"], ids=["seen", "not computable"])
def test_a_secret_that_is_no_text_is_no_mistake_to_who_lacks_the_key(
    whorl: Whorl, project: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    """Stars are no number; what cannot be computed with them is no failure of the run."""
    (project / "w.yaml").write_text(TYPED % value)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(project / "mine"))
    monkeypatch.setenv("WHORL_HOME", str(project / ".whorl"))
    given = ("-i", 'o:={"user": "somebody"}', "-i", "n:=123456", "-i", "b:=true")
    assert whorl("run", "w.yaml", *given).code == 4
    monkeypatch.setenv("XDG_CONFIG_HOME", str(project / "elsewhere"))

    shown = json.loads(whorl("show", "last", "--json").out)
    assert (shown["status"], shown["error"]) == ("waiting", None)
    assert [warning["code"] for warning in shown["warnings"]] == ["R909"]
    assert "what was computed with them is not shown" in whorl("show", "last").out
    assert "error" not in whorl("why", "last").out
    assert whorl("cancel", "last").code == 0

    for home in ("elsewhere", "mine"):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(project / home))
        assert json.loads(whorl("show", "last", "--json").out)["status"] == "cancelled"
    assert whorl("doctor").code == 0
