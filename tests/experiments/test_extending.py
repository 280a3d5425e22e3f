"""Recording more of an experiment: within its budget, by one process at a time, after a crash."""

from __future__ import annotations

import os
import re
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from experiments.guess import FILE, advised, dies_at, run_json, whorl
from experiments.served import JUDGING, LOOP, Billed, recorded, served
from whorl.runtimes.sqlite import SqliteStore
from whorl.wings.experiments.trials import rows_of

if TYPE_CHECKING:
    from whorl.runtimes.journal.journal import RunRow

LONGER = ("what-if", FILE, "--until", "iteration >= 5", "--at-most", "5", "--extend")
JUDGE = ("judge", FILE, "--against", "grade", "--votes")
VOTES = (*JUDGE, "5")
KINDS = pytest.mark.parametrize("words", [LONGER, VOTES], ids=["iterations", "votes"])


def flow_of(words: tuple[str, ...]) -> str:
    return JUDGING if words[0] == "judge" else LOOP


def begun(billed: Billed, words: tuple[str, ...], cases: int) -> None:
    served(billed, cases=cases, flow=flow_of(words))
    run_json("experiment", "run", FILE)


@pytest.mark.sample(7)
@pytest.mark.parametrize(
    ("words", "budget"),
    [*((LONGER, usd) for usd in (0.0, 0.05, 0.7, 1.0)), *((VOTES, usd) for usd in (0.2, 1.0, 2.5))],
)
def test_what_is_recorded_stays_within_the_budget_and_goes_on(
    billed: Billed, words: tuple[str, ...], budget: float
) -> None:
    begun(billed, words, 4)
    found = run_json("experiment", "report", FILE)
    before = billed.billed_usd

    some = whorl(*words, "--budget", str(budget))
    paid = billed.billed_usd - before
    between = run_json("experiment", "report", FILE)
    rest, again = (whorl(*words, "--budget", "50") for _ in range(2))

    what = "16 votes" if words is VOTES else "8 iterations"
    assert re.search(rf"{what} to record, about \$[0-9.]+; at most \$", some.stderr)
    assert words is VOTES or f"; at most ${budget:.2f}, the budget" in some.stderr
    assert words is VOTES or "not recorded" in some.stderr
    assert "I900" not in some.stderr
    assert paid <= budget
    assert [row["grades"] for row in found["rows"]] == [row["grades"] for row in between["rows"]]
    assert between["spent_usd"] == pytest.approx(before + paid)
    assert rest.exit_code == 0
    assert "not recorded" not in rest.stderr
    # Nothing is recorded twice.
    assert words is VOTES or billed.calls == 4 * 5
    assert "nothing to record" in again.stderr


@KINDS
def test_the_command_that_goes_on_has_all_options(billed: Billed, words: tuple[str, ...]) -> None:
    begun(billed, words, 2)
    asked = (*words[:-1], "--check", "1", "--svg", "sweep.svg", "--extend")
    given = (*(words if words is VOTES else asked), "--csv", "--json")

    done = whorl(*given, "--budget", "0")

    assert done.exit_code == 5
    again = advised(done.stderr)
    assert again[:-1] == ["--config", "whorl.toml", *given, "--budget"]
    assert float(again[-1]) > 0
    assert whorl(*again).exit_code == 0


@KINDS
def test_without_a_budget_it_answers_or_names_one(billed: Billed, words: tuple[str, ...]) -> None:
    begun(billed, words, 2)
    calls = billed.calls

    asked, refused = whorl(*words), billed.calls
    more, paid = whorl(*advised(asked.stderr)), billed.calls
    again = whorl(*words)

    what = "8 votes" if words is VOTES else "4 iterations"
    assert (asked.exit_code, refused) == (2, calls)
    assert f"error[X111]: {what} to record, about $" in asked.stderr
    assert (more.exit_code, again.exit_code, billed.calls) == (0, 0, paid)
    assert paid > calls
    assert again.stdout.splitlines()[1:] == more.stdout.splitlines()[1:]


def test_only_what_is_missing_is_told(billed: Billed) -> None:
    begun(billed, VOTES, 2)
    votes = ("what-if", FILE, "--until", '{judge: {question: "It is short", votes: 3}}')

    done = whorl(*votes, "--at-most", "1", "--extend", "--budget", "50")
    judged = whorl(*VOTES, "--budget", "50")

    assert "4 votes to record" in done.stderr
    assert "4 votes to record" in judged.stderr
    assert "iteration" not in done.stderr + judged.stderr


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


@KINDS
def test_a_second_process_is_told_at_once_who_records(
    billed: Billed, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    recorded(billed, cases=2, flow=flow_of(words))
    may_answer, child = beside(billed, monkeypatch, *words, "--budget", "9")
    second = whorl(*words, "--budget", "9")
    looked = whorl("experiment", "report", FILE)
    removed = whorl("experiment", "rm", "guess")
    may_answer.set()
    _, status = os.waitpid(child, 0)
    calls = billed.calls
    again = whorl(*advised(second.stderr))

    told = f"error[W905]: process {child} records more of experiment 'guess' already"
    for refused in (second, removed):
        assert refused.exit_code == 2
        assert told in refused.stderr
    assert "to record" not in second.stderr
    assert looked.exit_code == 0
    assert os.waitstatus_to_exitcode(status) == 0
    assert (again.exit_code, billed.calls) == (0, calls)


def test_an_experiment_under_way_is_not_deleted(
    billed: Billed, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(billed, cases=2)
    may_answer, child = beside(billed, monkeypatch, "experiment", "run", FILE, "--fresh")
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


PAID = (*VOTES, "--budget", "50")
RULE = ("--until", '{judge: {question: "It is short", votes: 3}}', "--at-most", "1")
BY_RULE = ("what-if", FILE, *RULE, "--extend", "--budget", "50")
OTHER = ("what-if", FILE, "--until", "iteration >= 2", "--at-most", "2", "--extend", "--budget")


def runs() -> list[RunRow]:
    with closing(SqliteStore(".whorl/whorl.db")) as store:
        return list(rows_of(store, "guess", 1).values())


# Each point of time with some of what comes later, and each of these with some of those.
@pytest.mark.sample(8)
@pytest.mark.parametrize(
    ("at", "later"),
    [
        *((at, PAID) for at in (2, 4, 7)),
        *((at, (*JUDGE, "2", "--budget", "50")) for at in (3, 5)),
        *((at, BY_RULE) for at in (2, 4, 7)),
        *((at, (*OTHER, "50")) for at in (3, 5)),
    ],
)
def test_votes_that_a_crash_stopped_are_counted(
    billed: Billed, at: int, later: tuple[str, ...]
) -> None:
    recorded(billed, cases=2, flow=JUDGING)
    before = billed.calls

    if not dies_at(at, PAID):
        # Answers that come at the same time are written at once: there were fewer appends.
        assert at > 3
        return
    stopped = [row for row in runs() if row.status == "interrupted"]
    done = whorl(*later)
    report = run_json("experiment", "report", FILE)

    assert done.exit_code == 0, done
    assert stopped
    ends = {row.status for row in runs()}
    assert ends <= {"succeeded", "cancelled"}
    # Those that were asked for go on, and nothing is paid for others.
    assert later is not PAID or "cancelled" not in ends
    assert "--votes" in later or later is BY_RULE or "cancelled" in ends
    # What was reserved for calls whose answers are lost is in it.
    assert report["spent_usd"] >= billed.billed_usd - 1e-9
    assert not any("a process ended during" in note for note in report["notes"])
    in_doubt = sum(row.in_doubt for row in runs())
    if later is PAID:
        # Of calls in doubt nobody knows whether they were sent.
        assert 2 * 4 <= billed.calls - before <= 2 * 4 + in_doubt
        assert "  all 5 votes: " in done.stdout
    words = "contains what was reserved for calls in doubt: "
    assert any(words in note for note in report["notes"]) == bool(in_doubt)
    calls, again = billed.calls, whorl(*later)
    assert "nothing to record" in again.stderr
    assert billed.calls == calls


def test_votes_that_were_ended_without_one_can_be_asked_for_again(billed: Billed) -> None:
    recorded(billed, cases=2, flow=JUDGING)
    assert dies_at(1, PAID)
    ended = whorl(*OTHER, "9")
    before = {row.status for row in runs()}

    done, again = whorl(*PAID), whorl(*PAID)

    assert (ended.exit_code, "cancelled" in before) == (0, True)
    assert "16 votes to record" in done.stderr
    assert (done.exit_code, "nothing to record" in again.stderr) == (0, True)
