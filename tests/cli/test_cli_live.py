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
def test_a_key_leaves_a_run_that_can_go_on(terminal: Terminal, key: str, status: str) -> None:
    terminal.read_until("/9000")
    assert "╭─ whorl run" in terminal.shown
    assert "p pause" in terminal.shown

    # An arrow is no key of ours.
    terminal.press("\x1b[A")
    terminal.press(key)

    terminal.read_until("next: whorl resume")
    assert terminal.code() == 5
    assert status in terminal.shown


def test_warnings_stay_above_the_view(project: Path, at: At) -> None:
    (project / "limited.yaml").write_text(
        """
whorl: 1
name: limited
steps:
  l: {repeat: {until: "false", at_most: 1, steps: {w: {ask: "Write it"}}}}
"""
    )
    opened = at("run", "limited.yaml")
    opened.read_until("next: whorl continue")

    assert "warning: loop 'l' reached its limit" in opened.shown


@pytest.mark.slow
def test_q_leaves_a_run_that_is_watched(at: At, terminal: Terminal) -> None:
    terminal.read_until("/9000")
    watching = at("watch")
    watching.read_until("q stop watching")
    assert "╭─ whorl watch" in watching.shown

    watching.press("q")

    watching.read_until("next: whorl watch")
    assert watching.code() == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "variable", ["LC_ALL=C", "PYTHONIOENCODING=ascii", "PYTHONIOENCODING=latin-1"]
)
def test_a_terminal_of_another_encoding_ends_no_command(
    at: At, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(*variable.split("="))
    opened = at("run", "polish.yaml", "a haiku")
    opened.read_until("next: whorl why")

    assert opened.code() == 0
    assert " succeeded" in opened.shown


def test_a_dumb_terminal_gets_no_colours(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from whorl.interfaces.cli.terminal import paint

    monkeypatch.delenv("NO_COLOR")
    assert paint("word", "red") != "word"
    monkeypatch.setenv("TERM", "dumb")
    assert paint("word", "red") == "word"


def test_a_cost_that_is_not_known_is_not_shown_as_nothing(
    project: Path, model: str, at: At
) -> None:
    (project / "whorl.toml").write_text(SERVED.format(url=model))
    text = (
        "whorl: 1\nname: dear\nbudget: 0.25\nsteps:\n  l: {repeat: {until: iteration == 3, steps: "
    )
    text += "{a: {ask: 'Write {{ iteration }}', model: unlisted}, w: {wait: 300ms}}}}\n"
    (project / "dear.yaml").write_text(text)
    opened = at("run", "dear.yaml")

    opened.read_until("cost not known: 2 calls of unknown price   $0.25 allowed")
    opened.read_until("next: whorl")
    assert "$0.00" not in opened.shown
    assert "left of" not in opened.shown


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


@pytest.mark.slow
@pytest.mark.parametrize("key", ["l\n", "\x03", "\x04"])
def test_a_question_is_left_for_later(whorl: Whorl, at: At, key: str) -> None:
    terminal = at("run", "gated.yaml")
    terminal.talk((GATE, key), until=NEXT, code=4)

    assert terminal.shown.count("asks: Publish it?") == 1
    assert NEXT in terminal.shown
    assert whorl("show", "--brief", "--json").json["status"] == "waiting"


@pytest.mark.slow
def test_resume_and_watch_ask_too_and_programs_are_not_asked(whorl: Whorl, at: At) -> None:
    whorl("run", "gated.yaml")
    for command in ("watch", "resume"):
        at(command, "last").talk((GATE, "l\n"), until=NEXT, code=4)
    for how in ("--json", "--events"):
        terminal = at("run", "gated.yaml", how)
        terminal.talk(until="waiting", code=4)
        assert "[a]pprove" not in terminal.shown


def test_one_answer_is_of_one_gate_and_ctrl_c_leaves_all(
    whorl: Whorl, project: Path, at: At
) -> None:
    (project / "two.yaml").write_text(TWO)
    at("run", "two.yaml").talk(
        (GATE, "a\na\n"), ("both/other asks: Other?", "l\n"), until=NEXT, code=4
    )
    assert [place for place, _ in decisions(whorl)] == ["both/one"]
    waiting = whorl("show", "--brief", "--json").json["waiting_for"]
    assert [gate["address"] for gate in waiting] == ["both/other"]

    for turns in (((GATE, "\x03"),), ((GATE, "l\n"), (GATE, "l\n"))):
        terminal = at("run", "two.yaml")
        terminal.talk(*turns, until=NEXT, code=4)
        assert terminal.shown.count(GATE) == len(turns)
        assert terminal.shown.count("both/other asks: Other?") == 1


def test_an_iteration_is_sent_back(whorl: Whorl, project: Path, at: At) -> None:
    (project / "letter.yaml").write_text(LOOP.replace("RULE", "each"))
    at("run", "letter.yaml").talk(
        ("[a]ccept  [c]ontinue with feedback  [l]ater: ", "c\n"),
        ("your words (Enter for none): ", "a drier one\n"),
        ("letter[2] asks:", ""),
        ("with two lines", "a\n"),
        until="condition_met (person)",
        code=0,
    )

    assert "Write a drier one" in whorl("show", "last/letter[2]/write").out


def test_a_loop_at_its_limit_goes_on(whorl: Whorl, project: Path, at: At) -> None:
    (project / "letter.yaml").write_text(LOOP.replace("RULE", "at_limit"))
    at("run", "letter.yaml").talk(
        ("[a]ccept  [c]ontinue  [r]eject  [l]ater: ", "c\n"),
        ("reached its limit of 5 iterations", ""),
        ("draft three\r\n[a]ccept", "acc\n"),
        until="next: whorl why",
        code=0,
    )

    assert whorl("show", "--json").json["loops"][0]["exit_reason"] == "accepted"


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
