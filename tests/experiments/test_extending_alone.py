"""One process at a time records more of an experiment; another one is told so at once."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from experiments.guess import folder, run_json, whorl
from experiments.served import Billed, billed
from experiments.test_advice import advised
from experiments.test_extending_again import recorded
from experiments.test_extending_money import JUDGING, LONGER
from experiments.test_extending_words import VOTES

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["billed", "folder"]


def beside(
    billed: Billed, monkeypatch: pytest.MonkeyPatch, *words: str
) -> tuple[threading.Event, int]:
    """Another process with a command that waits for its first answer, until the event is set."""
    has_begun, may_answer, real = threading.Event(), threading.Event(), billed.answer

    def answer(asked: dict[str, Any]) -> dict[str, Any] | None:
        has_begun.set()
        may_answer.wait()
        return real(asked)

    monkeypatch.setattr(billed, "answer", answer)
    child = os.fork()
    if child == 0:
        code = 70
        try:
            code = whorl(*words).exit_code
        finally:
            os._exit(code)
    has_begun.wait()
    return may_answer, child


@pytest.mark.parametrize("words", [LONGER, VOTES], ids=["iterations", "votes"])
def test_a_second_process_is_told_at_once_who_records_and_what_to_do(
    folder: Path, billed: Billed, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    recorded(folder, billed, cases=2, **({"flow": JUDGING} if words is VOTES else {}))
    may_answer, child = beside(billed, monkeypatch, *words, "--budget", "9")
    second = whorl(*words, "--budget", "9")
    looked = whorl("experiment", "report", LONGER[1])
    removed = whorl("experiment", "rm", "guess")
    may_answer.set()
    _, status = os.waitpid(child, 0)
    calls = billed.calls
    again = whorl(*advised(second.stderr))

    assert second.exit_code == 2
    told = f"error[W905]: process {child} records more of experiment 'guess' already"
    assert told in second.stderr
    assert "to record" not in second.stderr
    assert looked.exit_code == 0
    assert removed.exit_code == 2
    assert told in removed.stderr
    assert os.waitstatus_to_exitcode(status) == 0
    assert (again.exit_code, billed.calls) == (0, calls)


def test_an_experiment_that_is_under_way_is_not_deleted(
    folder: Path, billed: Billed, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(folder, billed, cases=2)
    run = ("experiment", "run", LONGER[1], "--fresh")
    may_answer, child = beside(billed, monkeypatch, *run)
    refused = whorl("experiment", "rm", "guess")
    may_answer.set()
    os.waitpid(child, 0)
    (listed,) = run_json("experiment", "ls")
    removed = whorl(*advised(refused.stderr))

    assert refused.exit_code == 2
    assert "error[W905]: experiment 'guess' has" in refused.stderr
    assert "under way" in refused.stderr
    assert listed["runs"] == 4
    assert removed.exit_code == 0
    assert run_json("experiment", "ls") == []
