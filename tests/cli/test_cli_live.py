"""The live view, in a terminal of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from terminals import Terminal

from experiments.served import SERVED, model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["model"]

pytest.importorskip("pty", reason="this system has no pseudo terminals")


@pytest.fixture
def terminal(project: Path) -> Iterator[Terminal]:
    """A run that goes on for longer than any test takes."""
    opened = Terminal("run", "slow.yaml", "--max-iterations", "9000")
    yield opened
    opened.close()


def test_view_shows_the_loop_and_p_pauses_the_run(terminal: Terminal) -> None:
    terminal.read_until("/9000")
    assert "╭─ whorl run" in terminal.shown
    assert "p pause" in terminal.shown

    terminal.press("p")

    terminal.read_until("next: whorl resume")
    assert terminal.code() == 5
    assert "⏸ paused" in terminal.shown


def test_q_leaves_the_view_and_the_run_goes_on_with_lines(terminal: Terminal) -> None:
    terminal.read_until("/9000")

    terminal.press("q")

    terminal.read_while(lambda: not re.search(r"^l +\d+/9000", terminal.shown, re.MULTILINE))
    terminal.press("\x03")
    terminal.read_until("next: whorl resume")
    assert terminal.code() == 5


def test_arrows_move_the_focus(project: Path) -> None:
    (project / "list.yaml").write_text(
        """
whorl: 1
name: list
steps:
  all:
    each: [one, two]
    at_once: 2
    steps: {l: {repeat: {until: "false", at_most: 9000, steps: {n: {wait: 100ms}}}}}
"""
    )
    opened = Terminal("run", "list.yaml")
    opened.read_until("2 running")

    opened.press("\x1b[B")
    opened.read_until("f follow")
    assert re.search(r"▸ . 2 two", opened.shown)
    opened.press("\x1b[A")
    opened.read_while(lambda: not re.search(r"▸ . 1 one", opened.shown))

    opened.press("p")
    opened.read_until("next: whorl resume")
    opened.close()


def test_ctrl_c_leaves_the_run_resumable(terminal: Terminal) -> None:
    terminal.read_until("/9000")

    terminal.press("\x03")

    terminal.read_until("next: whorl resume")
    assert terminal.code() == 5
    assert "⏸ interrupted" in terminal.shown


@pytest.mark.slow
def test_rows_that_no_longer_fit_stay_above_the_view(project: Path) -> None:
    slow = project / "slow.yaml"
    slow.write_text(slow.read_text().replace("wait: 100ms", "wait: 20ms"))
    opened = Terminal("run", "slow.yaml", "--max-iterations", "40")
    opened.read_until("next: whorl")

    assert opened.code() == 0
    rows = [text for text in opened.shown.splitlines() if text.lstrip().startswith("l ")]
    opened.close()
    assert len(rows) >= 40 - 8


def test_warnings_stay_above_the_view(project: Path) -> None:
    (project / "limited.yaml").write_text(
        """
whorl: 1
name: limited
steps:
  l: {repeat: {until: "false", at_most: 1, steps: {w: {ask: "Write it"}}}}
"""
    )
    opened = Terminal("run", "limited.yaml")
    opened.read_until("next: whorl continue")
    opened.close()

    assert "warning: loop 'l' reached its limit" in opened.shown


@pytest.mark.slow
def test_q_leaves_a_run_that_is_watched(project: Path, terminal: Terminal) -> None:
    terminal.read_until("/9000")
    watching = Terminal("watch")
    watching.read_until("q stop watching")
    assert "╭─ whorl watch" in watching.shown

    watching.press("q")

    watching.read_until("continues; to watch it again")
    assert watching.code() == 0
    watching.close()


@pytest.mark.slow
@pytest.mark.parametrize("variable", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}])
def test_a_terminal_without_signs_gets_letters(
    project: Path, monkeypatch: pytest.MonkeyPatch, variable: dict[str, str]
) -> None:
    for name, value in variable.items():
        monkeypatch.setenv(name, value)
    opened = Terminal("run", "polish.yaml", "a haiku")
    opened.read_until("next: whorl why")
    opened.close()

    assert "+ succeeded" in opened.shown
    assert opened.shown.isascii()


def test_a_dumb_terminal_gets_no_colours(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from whorl.interfaces.cli.terminal import paint

    monkeypatch.delenv("NO_COLOR")
    assert paint("word", "red") != "word"
    monkeypatch.setenv("TERM", "dumb")
    assert paint("word", "red") == "word"


def test_a_cost_that_is_not_known_is_not_shown_as_nothing(project: Path, model: str) -> None:
    (project / "whorl.toml").write_text(SERVED.format(url=model))
    text = (
        "whorl: 1\nname: dear\nbudget: 0.25\nsteps:\n  l: {repeat: {until: iteration == 3, steps: "
    )
    text += "{a: {ask: 'Write {{ iteration }}', model: unlisted}, w: {wait: 300ms}}}}\n"
    (project / "dear.yaml").write_text(text)
    opened = Terminal("run", "dear.yaml")

    opened.read_until("cost not known: 2 calls of unknown price   $0.25 allowed")
    opened.read_until("next: whorl")
    assert "$0.00" not in opened.shown
    assert "left of" not in opened.shown
