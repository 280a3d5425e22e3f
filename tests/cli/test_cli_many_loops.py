"""Loops inside `each`: counted in summaries, listed by `show`, found by their addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

ALL = """
whorl: 1
name: all
inputs: {items: list}
steps:
  all:
    each: "{{ items }}"
    at_once: 4
    steps:
      polish:
        repeat:
          until: [item > 10, {score: {from: "{{ review.score }}", at_least: 0.9}}]
          at_most: 2
          steps:
            write: {ask: "Write {{ item }}"}
            review: {ask: "Review {{ write }}", returns: {approved: boolean, score: number}}
outputs: {n: "{{ all | length }}"}
"""
OUTER = """
whorl: 1
name: outer
steps:
  outer:
    repeat:
      at_most: 3
      steps:
        inner: {repeat: {until: "false", at_most: 1, steps: {w: {ask: "Write it"}}}}
"""


def many(whorl: Whorl, project: Path, count: int) -> str:
    """A run with so many loops, of which those of the items after the tenth meet their goal."""
    (project / "all.yaml").write_text(ALL)
    items = list(range(1, count + 1))
    done = whorl("run", "all.yaml", "-i", f"items:={items}")
    assert done.code == 0, done.err
    return done.err


def test_many_loops_are_counted_by_how_they_ended(whorl: Whorl, project: Path) -> None:
    said = many(whorl, project, 30)

    counts = "all/polish: 20 met, 10 stopped by the limit of iterations"
    assert f"\n  {counts}\n" in said
    assert "    all[1]/polish: max_iterations after 2 iterations, returned iteration 2" in said
    assert "lists all 30 loops" in said
    assert counts in whorl("status").out


def test_a_few_loops_are_told_one_by_one(whorl: Whorl, project: Path) -> None:
    said = many(whorl, project, 8)

    assert said.count("/polish: max_iterations after 2 iterations") == 8
    assert "lists all" not in said


@pytest.mark.parametrize("count", [12, 30])
def test_show_lists_all_loops(whorl: Whorl, project: Path, count: int) -> None:
    many(whorl, project, count)
    text = whorl("show").out

    for item in range(1, count + 1):
        reached, reason = (2, "max_iterations") if item <= 10 else (1, "condition_met")
        assert f" all[{item}]/polish  {reached}/2  {reason}" in text
    assert ("score 0.63 < 0.90" in text) == (count == 12)


def test_show_lists_loops_of_earlier_iterations(whorl: Whorl, project: Path) -> None:
    (project / "outer.yaml").write_text(OUTER)
    whorl("run", "outer.yaml")
    text = whorl("show").out

    for number in (1, 2, 3):
        assert f" outer[{number}]/inner  1/1  max_iterations" in text


def test_a_loop_in_a_list_is_found_by_its_address(whorl: Whorl, project: Path) -> None:
    many(whorl, project, 12)
    place = "all[2]/polish"

    told = whorl("why", "last", "--at", place).out
    assert f"{place}  2 iterations of at most 2; it ended because" in told
    assert "all[3]/polish" not in told
    [loop] = whorl("why", "last", "--at", place, "--json").json["loops"]
    assert (loop["path"], len(loop["iterations"])) == (place, 2)
    assert whorl("cost", "last", "--at", place, "--json").json["total"]["calls"] == 4
    assert whorl("cost", "last", "--at", f"{place}[1]", "--json").json["total"]["calls"] == 2
    assert "score 0.41 → 0.63" in whorl("diff", "last", "1", "2", "--at", place).out
    assert "iteration 1" in whorl("diff", "last", "1", "2", "--at", place).out


@pytest.mark.parametrize(
    "words",
    [
        ("why", "last", "--at", "all[99]/polish"),
        ("cost", "last", "--at", "all[99]/polish"),
        ("cost", "last", "--at", "elsewhere"),
    ],
)
def test_an_address_that_is_not_there_is_refused(
    whorl: Whorl, project: Path, words: tuple[str, ...]
) -> None:
    many(whorl, project, 2)
    done = whorl(*words)

    assert done.code == 2
    assert "error[W907]" in done.err


def test_a_place_is_a_place_in_one_run(whorl: Whorl) -> None:
    assert "--at is a place in one run" in whorl("cost", "--at", "polish").err


def test_the_limit_of_a_loop_in_a_list_is_known(whorl: Whorl, project: Path) -> None:
    many(whorl, project, 12)

    row = whorl("ls", "--json").json[0]
    assert row["loop"].startswith("all[")
    assert row["iterations_max"] == 2


def test_a_proposed_amount_is_enough(whorl: Whorl, project: Path) -> None:
    done = whorl("run", "failing.yaml", "--budget", "0.003")
    advised = done.err.rstrip().rpartition("next: whorl ")[2].split()

    assert advised[0] == "resume"
    assert whorl(*advised, "--json").json["status"] == "failed"


def test_a_warning_of_a_limit_says_how_many_loops_it_holds_for(whorl: Whorl, project: Path) -> None:
    many(whorl, project, 13)

    told = [each for each in whorl("why", "last", "--json").json["warnings"] if "loops" in each]
    assert [(each["code"], each["loops"]) for each in told] == [("R102", 10)]
    assert (
        "before it was done, in 10 loops of this name; `whorl continue" in whorl("why", "last").out
    )


def test_a_comparison_says_how_many_iterations_the_loops_inside_made(
    whorl: Whorl, project: Path
) -> None:
    (project / "outer.yaml").write_text(OUTER)
    whorl("run", "outer.yaml")

    assert "\ninner: 1 iteration → 1 iteration\n" in whorl("diff", "last", "1", "2").out
    assert whorl("diff", "last", "1", "2", "--json").json["loops"] == {"inner": [1, 1]}


def test_a_loop_that_has_not_begun_is_said_not_to_have(whorl: Whorl, project: Path) -> None:
    (project / "gated.yaml").write_text(
        "whorl: 1\nname: gated\nsteps:\n  l:\n    repeat:\n      until: w == 'x'\n"
        "      at_most: {iterations: 2, cost: 0.0000001}\n      on_limit: pause\n"
        "      steps: {w: {ask: 'Write it'}}\n"
    )

    done = whorl("run", "gated.yaml")

    assert "0 iterations so far" not in done.err
    assert "l: not begun" in done.err


def test_a_run_that_only_computes_shows_no_time_that_nobody_measured(
    whorl: Whorl, project: Path
) -> None:
    (project / "sum.yaml").write_text("whorl: 1\nname: sum\nsteps: {a: {value: '{{ 1 + 1 }}'}}\n")

    done = whorl("run", "sum.yaml")

    assert "0.0s" not in done.err + whorl("status").out + whorl("ls").out
    assert "succeeded  sum  run " in done.err
