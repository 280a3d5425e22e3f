"""One process at a time records more of an experiment; another one is told so at once."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from experiments.guess import folder, whorl
from experiments.served import Billed, billed
from experiments.test_advice import advised
from experiments.test_extending_again import recorded
from experiments.test_extending_money import JUDGING, LONGER
from experiments.test_extending_words import VOTES

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["billed", "folder"]


@pytest.mark.parametrize("words", [LONGER, VOTES], ids=["iterations", "votes"])
def test_a_second_process_is_told_at_once_who_records_and_what_to_do(
    folder: Path, billed: Billed, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    recorded(folder, billed, cases=2, **({"flow": JUDGING} if words is VOTES else {}))
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
            code = whorl(*words, "--budget", "9").exit_code
        finally:
            os._exit(code)
    has_begun.wait()
    second = whorl(*words, "--budget", "9")
    looked = whorl("experiment", "report", LONGER[1])
    may_answer.set()
    _, status = os.waitpid(child, 0)
    calls = billed.calls
    again = whorl(*advised(second.stderr))

    assert second.exit_code == 2
    told = f"error[W905]: process {child} records more of experiment 'guess' already"
    assert told in second.stderr
    assert "to record" not in second.stderr
    assert looked.exit_code == 0
    assert os.waitstatus_to_exitcode(status) == 0
    assert (again.exit_code, billed.calls) == (0, calls)
