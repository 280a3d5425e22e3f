"""Gradings that a provider failed are tried again, and equal variants are counted as one run."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from experiments.guess import folder, run_json, whorl
from experiments.served import Billed, billed
from experiments.test_budgets_hold import ALONE, EACH_USD, FILE, JUDGED, served

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["billed", "folder"]


@pytest.mark.slow
@pytest.mark.parametrize("budget", ["", "90"])
def test_gradings_that_the_provider_failed_are_tried_again_by_the_next_run(
    folder: Path, billed: Billed, budget: str
) -> None:
    served(folder, billed, JUDGED, cases=2)
    billed.fails_at, billed.failing = "It is short", 1_000
    given = ("--budget", budget) if budget else ()

    failed = run_json("experiment", "run", FILE, *given)
    refused = 1_000 - billed.failing
    again = whorl("experiment", "run", FILE, *given)
    billed.failing = 0
    last = run_json("experiment", "run", FILE, *given)
    same = run_json("experiment", "run", FILE, *given)

    assert [row["grades"]["good"] for row in failed["rows"]] == [None, None]
    assert len(failed["faults"]) == 2
    # Each is tried once, and three times more.
    assert refused == 2 * 4
    assert "2 results to grade" in again.stderr
    assert [row["grades"]["good"] for row in last["rows"]] == [1.0, 1.0]
    assert (last["faults"], last["notes"]) == ([], [])
    assert (billed.calls, same["spent_usd"]) == (2 * 4, pytest.approx(8 * EACH_USD))


def test_a_grading_that_the_provider_failed_for_a_moment_is_tried_again_at_once(
    folder: Path, billed: Billed
) -> None:
    served(folder, billed, JUDGED, cases=2)
    billed.fails_at, billed.failing = "It is short", 2

    found = run_json("experiment", "run", FILE)

    assert [row["grades"]["good"] for row in found["rows"]] == [1.0, 1.0]


def test_equal_variants_are_run_and_counted_once(folder: Path, billed: Billed) -> None:
    twins = "variants:\n  same: {}\n  other: {loops: {polish: {at_most: 2}}}\n"
    served(folder, billed, ALONE.replace("grade:", f"{twins}grade:"), cases=10)

    told = whorl("experiment", "run", FILE)
    found = run_json("experiment", "report", FILE)

    lines = [line for line in told.stderr.splitlines() if " trials, $" in line]
    assert lines[-1] == f"  30 of 30 trials, ${billed.billed_usd:.2f}"
    shown = [float(line.rpartition("$")[2]) for line in lines]
    assert shown == sorted(shown)
    assert found["spent_usd"] == pytest.approx(billed.billed_usd)
    assert billed.calls == 10 * (3 + 2)


def test_a_judge_that_says_neither_yes_nor_no_gives_no_grade(folder: Path, billed: Billed) -> None:
    served(folder, billed, JUDGED.replace("It is short", "It is tall"), cases=2)

    found = run_json("experiment", "run", FILE, "--budget", "9")

    assert [row["grades"]["good"] for row in found["rows"]] == [None, None]
    assert len(found["faults"]) == 2
    assert all("answered neither yes nor no" in fault for fault in found["faults"])


def test_gradings_that_the_provider_failed_name_their_variants_once_and_what_tries_them_again(
    folder: Path, billed: Billed
) -> None:
    twins = "variants:\n  same: {}\n  other: {loops: {polish: {at_most: 2}}}\n"
    served(folder, billed, JUDGED.replace("grade:", f"{twins}grade:"), cases=1)
    billed.fails_at, billed.failing = "It is short", 1_000

    told = whorl("experiment", "run", FILE).stdout.splitlines()
    billed.failing = 0
    tries = next(line for line in told if line.startswith("1 grading failed because of the"))
    again = whorl(*shlex.split(tries.partition(": whorl ")[2]))

    faults = [line for line in told if line.startswith("X104: ")]
    # Equal results share the grading.
    assert [line.partition(": failed")[0] for line in faults] == [
        "X104: grader 'good', case '1' of 'base', 'other', 'same'"
    ]
    assert again.exit_code == 0
    assert "X104" not in again.stdout


def test_variants_that_are_the_same_runs_are_named(folder: Path, billed: Billed) -> None:
    twins = "variants:\n  same: {}\n  other: {loops: {polish: {at_most: 2}}}\n"
    served(folder, billed, ALONE.replace("grade:", f"{twins}grade:"), cases=2)

    found = run_json("experiment", "run", FILE)

    assert (
        "'base' and 'same' are the same runs: their workflows and inputs are equal"
        in (found["notes"])
    )
    assert "'other'" not in " ".join(found["notes"])
