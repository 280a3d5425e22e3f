"""Runs in terminals: the live view, and questions to the person who sits there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl
    from terminals import At, Terminal


@pytest.fixture
def terminal(at: At) -> Terminal:
    """A run that goes on for longer than any test takes."""
    return at("run", "slow.yaml", "--max-iterations", "9000")


@pytest.mark.parametrize(("key", "status"), [("p", "⏸ paused"), ("\x03", "⏸ interrupted")])
def test_a_key_leaves_a_run_that_can_be_resumed(terminal: Terminal, key: str, status: str) -> None:
    terminal.read_until("/9000")
    assert "╭─ whorl run" in terminal.shown
    assert "p pause" in terminal.shown

    # An arrow is no key of ours.
    terminal.press("\x1b[A")
    terminal.press(key)

    terminal.read_until("next: whorl resume")
    assert terminal.code() == 5
    assert status in terminal.shown


GATE = "[a]pprove  [r]eject  [f]eedback  [l]ater: "


def decisions(whorl: Whorl) -> list[tuple[str, dict[str, object]]]:
    told = whorl("why", "--json").json["people"]
    return [(one["place"], one["body"]) for one in told if one["kind"] == "gate.decided"]


FEEDBACK = "your words: "


@pytest.mark.slow
@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("turns", "approved", "feedback"),
    [
        (((GATE, "a\n"),), True, None),
        (((GATE, "perhaps\n"), (GATE, "APPROVE\n")), True, None),
        (((GATE, "r\n"), ("(Enter for none): ", "too wet\n")), False, "too wet"),
        (((GATE, "f\n"), (FEEDBACK, "\n"), (FEEDBACK, "dry\n"), ("[l]ater: ", "a\n")), True, "dry"),
    ],
)
def test_a_gate_is_answered_where_it_is_asked(
    whorl: Whorl, at: At, turns: tuple[tuple[str, str], ...], approved: bool, feedback: str | None
) -> None:
    terminal = at("run", "gated.yaml")
    terminal.talk(*turns, until="next: whorl show", code=0)

    assert "check asks: Publish it?" in terminal.shown
    assert "    draft one" in terminal.shown
    [(place, body)] = decisions(whorl)
    assert (place, body["approved"], body.get("feedback")) == ("check", approved, feedback)


def test_an_answer_from_elsewhere_counts(whorl: Whorl, at: At) -> None:
    terminal = at("run", "gated.yaml")
    terminal.read_until(GATE)

    assert whorl("runs", "approve", "last").code == 0

    terminal.press("a\n")
    terminal.read_until("✓ succeeded")
    assert terminal.code() == 0


def test_a_secret_is_asked_for(at: At, whorl: Whorl, project: Path) -> None:
    (project / "keyed.yaml").write_text(
        'whorl: 1\ninputs: {key: secret}\nsteps: {a: {value: "{{ key | length }} letters"}}\n'
    )
    assert "needs the input 'key'" in whorl("run", "keyed.yaml").err
    terminal = at("run", "keyed.yaml")
    terminal.talk(("key (secret, not shown)", "HUSH-77\n"), until="7 letters", code=0)

    assert "HUSH" not in terminal.shown
