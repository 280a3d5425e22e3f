"""Votes that a crash has stopped are taken up by the next recording, and all of it is counted."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from experiments.guess import dies_at, folder, run_json, whorl
from experiments.served import Billed, billed
from experiments.test_budgets_hold import FILE
from experiments.test_extending_again import recorded
from experiments.test_extending_money import JUDGING
from whorl.runtimes.sqlite import SqliteStore
from whorl.services.experiments.trials import rows_of

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.runtimes.journal.journal import RunRow

__all__ = ["billed", "folder"]

VOTES = ("judge", FILE, "--against", "grade", "--votes", "5", "--budget", "50")
FEWER = ("judge", FILE, "--against", "grade", "--votes", "2", "--budget", "50")
RULE = ("--until", '{judge: {question: "It is short", votes: 3}}', "--at-most", "1")
LONGER = ("what-if", FILE, *RULE, "--extend", "--budget", "50")
OTHER = ("what-if", FILE, "--until", "iteration >= 2", "--at-most", "2", "--extend")


def runs(folder: Path) -> list[RunRow]:
    with closing(SqliteStore(folder / ".whorl" / "whorl.db")) as store:
        return list(rows_of(store, "guess", 1).values())


@pytest.mark.sample(14)
@pytest.mark.parametrize(
    "later", [VOTES, FEWER, LONGER, (*OTHER, "--budget", "50")], ids=["same", "fewer", "rule", "no"]
)
@pytest.mark.parametrize("at", [2, 3, 4, 5, 7])
def test_votes_that_a_crash_stopped_are_taken_up_and_counted(
    folder: Path, billed: Billed, at: int, later: tuple[str, ...]
) -> None:
    recorded(folder, billed, cases=2, flow=JUDGING)

    if not dies_at(at, VOTES):
        # Answers that come at the same time are written at once: there were fewer appends.
        assert at > 3
        return
    stopped = [row for row in runs(folder) if row.status == "interrupted"]
    done = whorl(*later)
    report = run_json("experiment", "report", FILE)

    assert done.exit_code == 0, done
    assert stopped
    ends = {row.status for row in runs(folder)}
    assert ends <= {"succeeded", "cancelled"}
    # Those that were asked for go on, and nothing is paid for others.
    assert later is not VOTES or "cancelled" not in ends
    assert "--votes" in later or later is LONGER or "cancelled" in ends
    # What was reserved for calls whose answers are lost is in it.
    assert report["spent_usd"] >= billed.billed_usd - 1e-9
    assert not any("a process ended during" in note for note in report["notes"])
    in_doubt = sum(row.in_doubt for row in runs(folder))
    words = "contains what was reserved for calls in doubt: "
    assert any(words in note for note in report["notes"]) == bool(in_doubt)
    calls, again = billed.calls, whorl(*later)
    assert "nothing to record" in again.stderr
    assert billed.calls == calls


def test_each_result_has_as_many_votes_as_were_asked_for_and_no_more(
    folder: Path, billed: Billed
) -> None:
    recorded(folder, billed, cases=2, flow=JUDGING)
    calls = billed.calls

    assert dies_at(5, VOTES)
    first = billed.calls - calls
    done = whorl(*VOTES)

    in_doubt = sum(row.in_doubt for row in runs(folder))
    assert (in_doubt > 0, first > 0) == (True, True)
    # Of calls in doubt nobody knows whether they were sent.
    assert 2 * 4 <= billed.calls - calls <= 2 * 4 + in_doubt
    assert "  all 5 votes: " in done.stdout


def test_votes_that_were_ended_without_one_can_be_asked_for_again(
    folder: Path, billed: Billed
) -> None:
    recorded(folder, billed, cases=2, flow=JUDGING)
    assert dies_at(1, VOTES)
    ended = whorl(*OTHER, "--budget", "9")
    before = {row.status for row in runs(folder)}

    done, again = whorl(*VOTES), whorl(*VOTES)

    assert (ended.exit_code, "cancelled" in before) == (0, True)
    assert "16 votes to record" in done.stderr
    assert (done.exit_code, "nothing to record" in again.stderr) == (0, True)
