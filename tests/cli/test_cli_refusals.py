"""What the command line refuses: in words for people, as JSON for programs, before any harm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from command_line import COMMANDING

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("show", "nothing", "--json"), "W902"),
        (("run", "missing.yaml", "--json"), "W016"),
        (("run", "polish.yaml", "--json"), "R111"),
        (("run", "polish.yaml", "x", "--jsn", "--json"), "W900"),
        (("ls", "--json", "--limit", "none"), "W900"),
        (("prune", "--older-than", "soon", "--json"), "W900"),
        (("--config", "nope.toml", "ls", "--json"), "W901"),
    ],
)
def test_an_error_is_a_document_with_json(whorl: Whorl, words: tuple[str, ...], code: str) -> None:
    whorl("run", "gated.yaml")

    done = whorl(*words)

    error = done.json["error"]
    assert done.code == 2
    assert set(error) == {"code", "message", "help", "diagnostics"}
    assert error["code"] == code
    assert error["message"]
    assert f"error[{code}]" in done.err


def test_mistakes_of_a_file_are_a_document_too(whorl: Whorl, project: Path) -> None:
    (project / "bad.yaml").write_text("whorl: 1\nname: bad\nstepz: {}\n")

    error = whorl("graph", "bad.yaml").err
    document = whorl("run", "bad.yaml", "--json").json["error"]

    assert "stepz" in error
    assert document["diagnostics"][0]["span"]["line"] == 3
    assert document["code"] == document["diagnostics"][0]["code"]


def test_a_number_without_a_unit_prunes_nothing(whorl: Whorl) -> None:
    whorl("run", "polish.yaml", "x")

    for number in ("0", "30", " 5 ", "1.5"):
        done = whorl("prune", "--older-than", number)
        assert done.code == 2
        assert "30d" in done.err
    assert len(whorl("ls", "--json").json) == 1


def test_events_in_a_dialects_words_leave_no_run_where_it_has_none(whorl: Whorl) -> None:
    done = whorl("run", "polish.yaml", "x", "--events=dialect")

    assert done.code == 2
    assert "no event names of its own" in done.err
    assert whorl("ls", "--json").json == []


def test_a_fork_with_a_dialects_words_leaves_no_run(whorl: Whorl) -> None:
    whorl("run", "polish.yaml", "x")

    assert whorl("fork", "last", "--at", "polish[2]", "--events=dialect").code == 2
    assert len(whorl("ls", "--json").json) == 1


def test_commands_without_leave_are_refused_before_a_run_is_detached(
    whorl: Whorl, project: Path
) -> None:
    (project / "commanding.yaml").write_text(COMMANDING)

    done = whorl("run", "commanding.yaml", "--detach")

    assert done.code == 2
    assert "error[R110]" in done.err
    assert whorl("ls", "--json").json == []


def test_events_take_no_word_that_is_not_theirs(whorl: Whorl) -> None:
    done = whorl("run", "--events", "polish.yaml", "x")

    assert done.code == 0
    assert done.out.startswith('{"run"')
    assert whorl("run", "polish.yaml", "x", "--events", "journal").code == 0


@pytest.mark.parametrize(
    ("words", "empty"),
    [
        (("ls",), []),
        (("memory", "ls"), []),
        (("prune",), {"runs": [], "entries": 0, "bytes": 0, "dry_run": False}),
    ],
)
def test_a_project_without_runs_is_no_error(
    whorl: Whorl, words: tuple[str, ...], empty: object
) -> None:
    done = whorl(*words)

    assert done.code == 0
    assert "no runs yet" in done.err
    assert whorl(*words, "--json").json == empty


def test_the_cost_of_no_runs(whorl: Whorl) -> None:
    assert whorl("cost").code == 0
    assert whorl("cost", "--json").json["total"]["calls"] == 0


@pytest.mark.parametrize("words", [("ls",), ("cost",), ("prune",), ("memory", "ls")])
def test_a_store_that_is_named_must_be_there(whorl: Whorl, words: tuple[str, ...]) -> None:
    done = whorl(*words, "--store", "/nonexistent/place")

    assert done.code == 2
    assert "/nonexistent/place" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "polish.yaml", "a", "haiku"), "put quotes around a text of several words"),
        (("ls", "--limit", "a"), "'a' is not a whole number"),
        (("ls", "--limit", "0"), "0 is less than 1"),
        (("serve", "--port", "-3"), "-3 is not in the range"),
    ],
)
def test_words_that_do_not_fit_are_told_in_plain_words(
    whorl: Whorl, words: tuple[str, ...], said: str
) -> None:
    done = whorl(*words)

    assert done.code == 2
    assert said in done.err
