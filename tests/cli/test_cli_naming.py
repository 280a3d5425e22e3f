"""Which run and which place of it is meant, and what is said when there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl


@pytest.fixture
def run(whorl: Whorl) -> str:
    """A run that ended well."""
    return str(whorl("run", "polish.yaml", "a haiku", "--json").json["run"])


def test_a_key_starts_one_run_and_names_it(whorl: Whorl) -> None:
    first = whorl("run", "polish.yaml", "x", "--id", "nightly", "--json").json["run"]
    again = whorl("run", "polish.yaml", "x", "--id", "nightly")

    assert again.code == 0
    assert "before; it has succeeded" in again.err
    assert whorl("show", "nightly", "--json").json["run"] == first
    assert "nightly" in whorl("ls").out
    assert "key:        nightly" in whorl("status", "nightly").out


@pytest.mark.parametrize("words", [("gated.yaml",), ("polish.yaml", "another text")])
def test_a_key_of_another_request_is_refused(whorl: Whorl, words: tuple[str, ...]) -> None:
    run = whorl("run", "polish.yaml", "x", "--id", "k1", "--json").json["run"]

    done = whorl("run", *words, "--id", "k1", "--json")

    assert done.code == 2
    assert done.json["error"]["code"] == "W905"
    assert run in done.json["error"]["message"]
    assert len(whorl("ls", "--json").json) == 1


def test_a_key_holds_when_the_same_text_lies_elsewhere(whorl: Whorl, project: Path) -> None:
    whorl("run", "polish.yaml", "x", "--id", "k1")
    (project / "copy.yaml").write_text((project / "polish.yaml").read_text())

    assert whorl("run", "copy.yaml", "x", "--id", "k1").code == 0


@pytest.mark.parametrize(
    "words", [("why",), ("watch",), ("status",), ("show",), ("diff", "1", "2")]
)
def test_looking_means_the_newest_run(whorl: Whorl, run: str, words: tuple[str, ...]) -> None:
    assert whorl(*words).code == 0


def test_diff_needs_two_iterations(whorl: Whorl, run: str) -> None:
    assert "which two iterations" in whorl("diff", "1").err
    assert "'one' is not the number" in whorl("diff", "last", "one", "2").err


def test_an_unknown_run_is_not_likened_to_anything(whorl: Whorl, run: str) -> None:
    assert "did you mean" not in whorl("why", "zzz").err
    assert run in whorl("why", run[:-1] + "!").err


def test_a_beginning_of_several_runs_is_ambiguous(whorl: Whorl, run: str) -> None:
    whorl("run", "polish.yaml", "a haiku")

    assert "error[W903]" in whorl("show", run[:2]).err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "last/polish[2]/wriet"), "nothing happened at"),
        (("show", "last/polish[31]"), "'polish' has 3 iterations"),
        (("show", "last/polish[31]/write"), "'polish' has 3 iterations"),
        (("diff", "1", "7"), "has no finished iteration 7"),
        (("diff", "1", "2", "--at", "pome"), "has no loop 'pome'"),
        (("continue", "last", "-n", "1", "--at", "pome"), "has no loop 'pome'"),
        (("accept", "last", "--iteration", "9"), "has no iteration 9"),
        (("fork", "last", "--at", "pome[1]"), "loops: polish"),
        (("fork", "last", "--at", "polish[9]"), "it has begun 3 iterations"),
    ],
)
def test_a_place_that_is_not_there(
    whorl: Whorl, run: str, words: tuple[str, ...], said: str
) -> None:
    done = whorl(*words)

    assert "error[W907]" in done.err
    assert said in done.err


def test_a_run_without_a_loop_is_not_continued(whorl: Whorl) -> None:
    whorl("run", "gated.yaml")

    done = whorl("continue", "last", "-n", "1")

    assert "error[W907]" in done.err
    assert "whorl resume" in done.err


@pytest.mark.parametrize("command", ["pause", "cancel"])
def test_what_has_ended_cannot_be_stopped(whorl: Whorl, run: str, command: str) -> None:
    done = whorl(command, run)

    assert done.code == 2
    assert f"error[W905]: run {run} has succeeded already" in done.err


def test_an_answer_that_nobody_asked_for(whorl: Whorl, run: str) -> None:
    assert "has no open question; it has succeeded" in whorl("approve", run).err
    assert "error[W905]" in whorl("approve", run).err


def test_resume_drops_no_money_in_silence(whorl: Whorl, run: str) -> None:
    done = whorl("resume", run, "--budget", "+0.50")

    assert done.code == 2
    assert f"`whorl continue {run} --iterations 3 --budget +0.5` goes on with a loop" in done.err


def test_resume_of_a_cancelled_run_advises_what_is_possible(whorl: Whorl) -> None:
    whorl("run", "gated.yaml")
    whorl("cancel", "last")

    assert "`whorl run FILE` starts a new one" in whorl("resume", "last").err


@pytest.mark.parametrize(
    "words", [("approve",), ("reject",), ("pause",), ("resume",), ("cancel", "--feedback", "no")]
)
def test_a_command_that_changes_a_run_says_which_one_first(
    whorl: Whorl, words: tuple[str, ...]
) -> None:
    run = whorl("run", "gated.yaml", "--json").json["run"]
    named = f"'last' is run {run}, gated"

    assert whorl(words[0], "last", *words[1:]).err.splitlines()[0] == named
    assert named not in whorl("status", "last").err
    # Whoever gives the id knows it.
    assert "is run" not in whorl("resume", run).err
