"""What is recorded later changes no result: it is asked for once, goes on, and is graded."""

from __future__ import annotations

import re
from typing import Any

import pytest

from experiments.guess import FILE, advised, dies_at, run_json, whorl
from experiments.served import ALONE, GOES_ON, JUDGED, JUDGING, LOOP, Billed, recorded

LONGER = ("what-if", FILE, "--until", "iteration >= 6", "--at-most", "6", "--extend")


def rows(report: Any) -> list[Any]:
    """What a report says of each trial; not how long it took."""
    names = ("case", "run", "status", "grades", "solved", "iterations", "returned", "exit_reason")
    return [[*(row[name] for name in names), round(row["cost_usd"], 9)] for row in report["rows"]]


@pytest.mark.slow
@pytest.mark.parametrize("flow", [LOOP, GOES_ON], ids=["halts", "goes on"])
def test_an_iteration_that_was_cut_is_asked_for_again(billed: Billed, flow: str) -> None:
    recorded(billed, flow=flow)
    found = run_json("experiment", "report", FILE)
    before, billed.tokens = billed.billed_usd, 1_500
    done, times = whorl(*LONGER, "--budget", "0.3"), 0
    assert billed.billed_usd - before <= 0.3 + 1e-9

    while done.exit_code == 5:
        assert "not recorded; go on with: " in done.stderr
        assert "failed in the loop" not in done.stdout
        between = run_json("experiment", "report", FILE)
        assert rows(between) == rows(found)
        assert between["spent_usd"] == pytest.approx(billed.billed_usd)
        calls, times = billed.calls, times + 1
        done = whorl(*advised(done.stderr))
        assert billed.calls > calls

    assert (done.exit_code, 0 < times < 6) == (0, True)
    assert "not recorded" not in done.stderr
    assert "failed" not in done.stdout
    assert "nothing to record" in whorl(*LONGER, "--budget", "9").stderr
    last = run_json("experiment", "report", FILE)
    assert (rows(last), last["notes"]) == (rows(found), found["notes"])
    assert last["spent_usd"] == pytest.approx(billed.billed_usd)
    swept = run_json(*LONGER[:-1])
    # A run under that rule would not have paid for the answer that was cut.
    (rule,) = [rule for rule in swept["rules"] if rule["iterations"] == 6]
    assert rule["cost_usd"] == pytest.approx(3 * 0.0051 + 3 * 0.1501)
    checked = whorl(*LONGER[:-1], "--check", "8")
    assert "8 answers replayed through the engine: all the same" in checked.stderr


def test_votes_that_let_loops_go_on_are_followed_by_their_iterations(billed: Billed) -> None:
    recorded(billed, cases=3, flow=JUDGING)
    billed.says = "NO"
    rule = ("--until", '{judge: {question: "It is short", votes: 3}}', "--at-most", "4")

    done = whorl("what-if", FILE, *rule, "--extend", "--budget", "20")
    again = whorl("what-if", FILE, *rule, "--extend", "--budget", "20")

    told = [line.partition(",")[0] for line in done.stderr.splitlines() if "to record" in line]
    assert told[:2] == ["6 votes to record", "9 iterations to record"]
    assert (done.exit_code, again.exit_code) == (0, 0)
    assert again.stderr.splitlines() == ["nothing to record"]
    assert "judge (3 votes)" in again.stdout
    assert "would have gone on" not in again.stdout
    assert "not known" not in again.stdout


# Its loops make 1, 2, 3 and 3 iterations.
UNEVEN = LOOP.replace('"iteration >= 3"', '"iteration > n"').replace(
    "      steps:", '      carry: {before: "{{ write }}"}\n      steps:'
)


def longer(most: int | str) -> tuple[str, ...]:
    """The command that asks for a rule of so many iterations."""
    return ("what-if", FILE, "--until", "iteration > 98", "--at-most", str(most))


def extended(most: int | str, budget: float = 9) -> tuple[str, ...]:
    return (*longer(most), "--extend", "--budget", f"{budget:g}")


def is_answered(most: int) -> bool:
    """Whether a rule of so many iterations is known in all runs, and replays to the same."""
    swept = run_json(*longer(most))
    checked = whorl(*longer(most), "--check", "4").stderr
    return "4 answers replayed through the engine: all the same" in checked and any(
        rule["iterations"] == rule["at_most"] == most for rule in swept["rules"]
    )


@pytest.mark.slow
@pytest.mark.parametrize("is_explored", [False, True])
def test_every_longer_rule_goes_on_from_the_one_before(billed: Billed, is_explored: bool) -> None:
    recorded(
        billed, ALONE + ("explore: {polish: 2}\n" if is_explored else ""), cases=4, flow=UNEVEN
    )
    found = run_json("experiment", "report", FILE)
    made = 10 if is_explored else 9

    for most in (3, 4, 6):
        calls = billed.calls
        done = whorl(*extended(most))
        again = whorl(*extended(most))

        lacks = 4 * most - made
        assert (done.exit_code, billed.calls - calls) == (0, lacks)
        assert f"{lacks} iterations to record, about " in done.stderr
        assert again.exit_code == 0
        assert is_answered(most)
        assert billed.calls == calls + lacks
        made = 4 * most
    last = run_json("experiment", "report", FILE)
    assert rows(last) == rows(found)
    assert last["extra_usd"] > found["extra_usd"]
    assert last["spent_usd"] == pytest.approx(billed.billed_usd)


@pytest.mark.slow
def test_an_extension_that_its_budget_stopped_goes_on_to_a_longer_rule(billed: Billed) -> None:
    recorded(billed, cases=4, flow=UNEVEN)
    found = run_json("experiment", "report", FILE)
    assert whorl(*extended(3)).exit_code == 0
    billed.tokens = 1_000
    # What an iteration costs now is not known yet.
    stopped = whorl(*extended(4, 0.12))
    made = billed.calls

    done = whorl(*extended(6))

    assert stopped.exit_code == 5
    assert done.exit_code == 0
    assert is_answered(6)
    assert billed.calls - made >= 4 * 6 - made
    calls = billed.calls
    assert whorl(*extended(6)).exit_code == whorl(*extended(5)).exit_code == 0
    assert billed.calls == calls
    last = run_json("experiment", "report", FILE)
    assert rows(last) == rows(found)
    assert last["spent_usd"] == pytest.approx(billed.billed_usd)


@pytest.mark.parametrize(
    "more", ["", pytest.param("      on_failure: continue\n", marks=pytest.mark.slow)]
)
def test_a_second_extension_that_got_no_answer_is_tried_again(billed: Billed, more: str) -> None:
    recorded(billed, cases=4, flow=UNEVEN.replace("      steps:", f"{more}      steps:"))
    found = run_json("experiment", "report", FILE)
    assert whorl(*extended(3)).exit_code == 0
    billed.fails_at, billed.failing = "Guess 1 now 4", 99

    done = whorl(*extended(5))
    between = run_json("experiment", "report", FILE)
    billed.failing = 0
    rest = whorl(*advised(done.stderr))

    assert (done.exit_code, rest.exit_code) == (1, 0)
    assert "2 iterations not recorded: " in done.stderr
    assert "failed in the loop" not in done.stdout
    assert "2 iterations to record" in rest.stderr
    assert rows(between) == rows(found)
    assert is_answered(5)
    assert billed.calls == 4 * 5
    assert rows(run_json("experiment", "report", FILE)) == rows(found)


COSTLY = UNEVEN.replace("name: guess\n", "name: guess\nbudget: {calls: 3}\n")


@pytest.mark.parametrize(
    ("flow", "most", "told"),
    [
        (COSTLY, "5", ("2 of 4 runs cannot go on: the calls budget of the run", "raise it in")),
        (UNEVEN, "{iterations: 5, time: 600s}", ("a time limit", "`explore: {polish: 5}`")),
    ],
    ids=["budget", "time"],
)
def test_a_loop_that_cannot_go_on_is_an_error_before_anything_is_paid(
    billed: Billed, flow: str, most: str, told: tuple[str, str]
) -> None:
    recorded(billed, cases=4, flow=flow)
    calls = billed.calls

    done = whorl(*extended(most))

    assert done.exit_code not in (0, 5)
    assert all(words in done.stderr for words in told)
    assert billed.calls == calls


def test_a_trial_that_a_person_has_continued_is_left_out(billed: Billed) -> None:
    recorded(billed, cases=4, flow=UNEVEN)
    run = run_json("experiment", "report", FILE)["rows"][0]["run"]
    assert whorl("continue", run, "--iterations", "1").exit_code == 0

    done = whorl(*extended(4))

    assert done.exit_code == 0, done.stderr
    assert run in done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("given", [("--at-most", "5"), ("--at-most", "1"), ("--return", "first")])
def test_a_rule_that_is_named_has_its_row(billed: Billed, given: tuple[str, ...]) -> None:
    recorded(billed, ALONE + "explore: {polish: 4}\n", cases=4, flow=UNEVEN)
    assert whorl(*extended(5)).exit_code == 0

    told = whorl("what-if", FILE, *given).stdout

    swept = run_json("what-if", FILE, *given)
    assert len(swept["rules"]) == 2
    assert all(f" {rule['rule']}  " in told for rule in swept["rules"])
    assert "4 exploring runs of up to 5 iterations" in told


RULE = ("--until", "iteration >= 5", "--at-most", "5")
FURTHER = ("what-if", FILE, *RULE, "--extend")
# Each iteration gives something else, so that none shares a grading.
NUMBERED = LOOP.replace("{write: {", '{number: {value: "{{ iteration }}"}, write: {').replace(
    "{{ polish.write }}", "{{ polish.write }} {{ polish.number }}"
)
LATE_USD = 0.0051


def told(text: str) -> list[str]:
    """What is said to be recorded, in order."""
    return re.findall(r"^(\d+ \w+) to record", text, re.MULTILINE)


def test_what_a_rule_returns_is_graded_and_paid_once(billed: Billed) -> None:
    recorded(billed, JUDGED, cases=3, flow=NUMBERED)
    before, calls = billed.billed_usd, billed.calls

    done = whorl(*FURTHER, "--budget", "9")
    paid, made = billed.billed_usd - before, billed.calls - calls
    again = whorl(*FURTHER, "--budget", "9")
    swept = run_json("what-if", FILE, *RULE)

    assert (done.exit_code, again.exit_code) == (0, 0)
    assert told(done.stderr) == ["6 iterations", "3 gradings"]
    assert f"3 gradings to record, about ${3 * LATE_USD:.4f}; at most $" in done.stderr
    assert "has no grade" not in done.stdout + done.stderr
    # Two iterations of each run, and a grading of the last one.
    assert (made, paid) == (9, pytest.approx(9 * LATE_USD))
    assert (again.stderr, billed.calls) == ("nothing to record\n", calls + made)
    assert [rule["grade"] for rule in swept["rules"] if rule["iterations"] == 5] == [1]
    report = run_json("experiment", "report", FILE)
    assert report["spent_usd"] == pytest.approx(billed.billed_usd)
    assert whorl("experiment", "run", FILE).exit_code == 0
    assert billed.calls == calls + made


def test_an_iteration_that_is_there_already_is_graded_alone(billed: Billed) -> None:
    recorded(billed, JUDGED, cases=3, flow=NUMBERED)
    rule = ("what-if", FILE, "--until", "iteration >= 2", "--at-most", "2")
    calls = billed.calls

    shown = whorl(*rule)
    asked = whorl(*advised(shown.stderr))
    refused = billed.calls
    done = whorl(*advised(asked.stderr))

    assert "an iteration that it returns has no grade" in shown.stdout
    assert advised(shown.stderr)[2:] == [*rule, "--extend"]
    assert (asked.exit_code, refused) == (2, calls)
    assert "error[X111]: 3 gradings to record, about $0.0153, and no budget" in asked.stderr
    assert (done.exit_code, billed.calls) == (0, calls + 3)
    assert told(done.stderr) == ["3 gradings"]
    assert "has no grade" not in done.stdout


@pytest.mark.slow
@pytest.mark.sample(4)
@pytest.mark.parametrize("budget", ["0", "0.02", "0.11", "0.14"])
def test_gradings_stay_within_the_budget_and_go_on(billed: Billed, budget: str) -> None:
    recorded(billed, JUDGED, cases=3, flow=NUMBERED)
    before = billed.billed_usd
    done, times = whorl(*FURTHER, "--budget", budget), 0

    assert done.exit_code == 5
    assert told(done.stderr) == ["6 iterations", "3 gradings"]
    assert billed.billed_usd - before <= float(budget) + 1e-9
    while done.exit_code == 5:
        assert re.search(r"gradings? not recorded; go on with: ", done.stderr)
        calls, times = billed.calls, times + 1
        done = whorl(*advised(done.stderr))
        assert billed.calls > calls

    assert (done.exit_code, times < 4) == (0, True)
    assert "not recorded" not in done.stderr
    assert run_json("experiment", "report", FILE)["spent_usd"] == pytest.approx(billed.billed_usd)
    assert "nothing to record" in whorl(*FURTHER, "--budget", "9").stderr


def test_without_a_budget_gradings_that_will_be_missing_are_told(billed: Billed) -> None:
    recorded(billed, JUDGED, cases=2, flow=NUMBERED)

    asked = whorl(*FURTHER)

    assert asked.exit_code == 2
    assert "error[X111]: 4 iterations, 2 gradings to record, about $0.0306, and" in asked.stderr
    assert whorl(*advised(asked.stderr)).exit_code == 0


@pytest.mark.sample(5)
@pytest.mark.parametrize("at", [4, 9, 14, 19, 24])
def test_a_crash_while_grading_is_gone_on_with(billed: Billed, at: int) -> None:
    recorded(billed, JUDGED, cases=2, flow=NUMBERED)
    calls = billed.calls

    has_died = dies_at(at, (*FURTHER, "--budget", "9"))
    done = whorl(*FURTHER, "--budget", "9")

    assert done.exit_code == 0
    assert "has no grade" not in done.stdout
    assert billed.calls - calls >= 6
    # What the crash has lost the answer of is asked for once more.
    assert billed.calls - calls <= 6 + 2 * has_died
    assert "nothing to record" in whorl(*FURTHER, "--budget", "9").stderr


def test_a_grading_that_the_provider_failed_is_tried_again_by_the_next_one(billed: Billed) -> None:
    recorded(billed, JUDGED, cases=3, flow=NUMBERED)
    billed.fails_at, billed.failing = " 5 1", 4

    done = whorl(*FURTHER, "--budget", "9")
    rest = whorl(*advised(done.stderr))

    assert (done.exit_code, billed.failing) == (1, 0)
    assert "1 grading not recorded: " in done.stderr
    assert (rest.exit_code, told(rest.stderr)) == (0, ["1 grading"])
    assert "has no grade" not in rest.stdout


def test_what_people_grade_waits_for_them(billed: Billed) -> None:
    text = JUDGED.replace('judge: "It is short", of:', 'person: "Good?", show:')
    recorded(billed, text, cases=2, flow=NUMBERED)

    done = whorl(*FURTHER, "--budget", "9")

    assert told(done.stderr) == ["4 iterations", "2 gradings"]
    assert "a person has to grade" in done.stderr
    assert "nothing to record" in whorl(*FURTHER, "--budget", "9").stderr
