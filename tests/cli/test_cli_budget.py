"""Budgets at the command line: the advice can be pasted, and completes what stopped."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Done, Whorl

MANY = """
whorl: 1
name: many
steps:
  all:
    each: [x, y, z]
    at_once: 1
    steps:
      polish:
        repeat:
          until: iteration == 3
          at_most: 4
          steps:
            write: {ask: "Write {{ item }} {{ iteration }}", max_tokens: 10}
outputs: {count: "{{ all | map(attribute='polish') | select | list | length }}"}
"""
FIVE = """
whorl: 1
steps:
  polish:
    repeat:
      until: iteration == 6
      at_most: 5
      steps:
        inner:
          repeat:
            until: iteration == 2
            at_most: 2
            steps:
              write: {ask: "Write {{ iteration }}", max_tokens: 10}
"""
PRICED = """
[defaults]
provider = "canned"
model = "m"

[providers.canned]
kind = "scripted"

[[providers.canned.replies]]
match = "Write"
replies = ["one two"]

[prices.m]
input = 1000
output = 1000
"""


@pytest.fixture
def many(project: Path) -> str:
    (project / "whorl.toml").write_text(PRICED)
    (project / "many.yaml").write_text(MANY)
    return "many.yaml"


def advised(done: Done) -> list[str]:
    """The command of the last line."""
    found = re.findall(r"next: whorl (.*)", done.err)
    return shlex.split(found[-1])


def test_the_advice_is_followed_until_all_is_done(whorl: Whorl, many: str) -> None:
    free = whorl("run", many, "--json").json["usage"]
    done = whorl("run", many, "--budget", "0.05")
    for _ in range(20):
        if done.code == 0 and "budget" not in done.err:
            break
        done = whorl(*advised(done))

    result = whorl("resume", "last", "--json").json
    assert done.code == 0
    assert [loop["exit_reason"] for loop in result["loops"]] == ["condition_met"] * 3
    assert result["usage"]["calls"] == free["calls"]
    assert result["usage"]["cost_usd"] == pytest.approx(free["cost_usd"])


def test_a_loop_whose_first_call_is_refused_has_no_iteration(whorl: Whorl, many: str) -> None:
    done = whorl("run", many, "--budget", "0.001", "--json")

    assert done.code == 5
    assert (done.json["status"], done.json["paused_by"]) == ("paused", "budget")
    assert done.json["loops"][0]["iterations"] == 0


def test_a_warning_is_what_happened_its_facts_and_what_to_do(whorl: Whorl, many: str) -> None:
    done = whorl("run", many, "--budget", "0.001", "--json").json
    warning = done["warnings"][-1]
    why = whorl("why", done["run"]).out

    assert warning["message"] == "the cost budget of the run does not allow 'write'"
    assert warning["facts"]["limit"] == "cost_usd"
    assert warning["help"].startswith(f"give it more: `whorl resume {done['run']} --budget +")
    assert f"{warning['message']}; {warning['help']}" in why


def test_everything_says_how_many_iterations_have_begun(
    whorl: Whorl, project: Path, many: str
) -> None:
    (project / "five.yaml").write_text(FIVE)
    paused = whorl("run", "five.yaml", "--budget", "0.001", "--json").json
    run = paused["run"]

    def told() -> set[int]:
        document = whorl("show", run, "--json").json
        lines = whorl("ls").out, whorl("show", run).out, whorl("status", run).out
        numbers = [re.search(r"(\d)/5", text) for text in lines]
        outer = [loop["iterations"] for loop in document["loops"] if loop["path"] == "polish"]
        rows = whorl("ls", "--json").json[0], whorl("status", run, "--json").json
        return {*outer, *(row["iteration"] for row in rows), *(int(n[1]) for n in numbers if n)}

    assert {loop["iterations"] for loop in paused["loops"]} == {0}
    assert told() == {0}
    assert whorl("resume", run, "--budget", "+0.05").code in (0, 5)
    assert len(told()) == 1
    assert told() != {0}


def test_each_command_names_the_other_where_it_does_not_apply(whorl: Whorl, many: str) -> None:
    paused = whorl("run", many, "--budget", "0.001", "--json").json["run"]
    wrong = whorl("continue", paused, "--budget", "+1")
    ended = whorl("run", many, "--max-iterations", "1", "--json").json["run"]
    over = whorl("resume", ended, "--budget", "+1")

    assert (wrong.code, over.code) == (2, 2)
    assert f"`whorl resume {paused} --budget +1`" in wrong.err
    assert "the run has ended already: succeeded" in over.err


def test_what_will_happen_is_said_before(whorl: Whorl, many: str) -> None:
    run = whorl("run", many, "--json").json["run"]

    several = whorl("continue", run, "--iterations", "1")
    one = whorl("continue", run, "--at", "all[2]/polish", "--iterations", "1")

    assert several.code == 2
    assert "can be meant: all[1]/polish, all[2]/polish, all[3]/polish\n" in several.err
    assert "help: say which with --at\n" in several.err
    assert one.code == 0
    said = "'all[2]/polish' goes on after 3 iterations for at most 1 more iteration; "
    assert f"{said}its condition was met, so it stops when it is met again" in one.err
    assert whorl("resume", run, "--json").json["loops"][1]["iterations"] == 4


def test_more_iterations_without_money_are_refused(whorl: Whorl, many: str) -> None:
    limited = MANY.replace("at_most: 4", "at_most: {iterations: 4, calls: 2}")
    whorl("run", many, "--json")
    with open(many, "w") as file:
        file.write(limited)
    run = whorl("run", many, "--json").json["run"]

    refused = whorl("continue", run, "--at", "all[1]/polish", "--iterations", "2")
    done = whorl("continue", run, "--calls", "+5", "--json")

    assert refused.code == 2
    assert "the calls budget of loop 'polish' allows no call\n" in refused.err
    assert "help: add `--calls +2`\n" in refused.err
    assert [loop["iterations"] for loop in done.json["loops"]] == [3, 3, 3]


def test_one_command_raises_all_that_is_short(whorl: Whorl, project: Path, many: str) -> None:
    limited = FIVE.replace("steps:", "budget: {calls: 2, cost: 0.02}\nsteps:", 1)
    (project / "five.yaml").write_text(limited)
    ended = whorl("run", "five.yaml")
    run = whorl("ls", "--json").json[0]["run"]
    advice = next(line for line in ended.err.split("\n") if "next: " in line).partition("next: ")[2]

    half = whorl("continue", run, "--at", "polish", "--budget", "+1")
    done = whorl(*shlex.split(advice)[1:])

    assert "--budget +" in advice
    assert "--calls +" in advice
    assert half.code == 2
    assert half.err.startswith("error[W905]: the calls budget of the run allows no call\n")
    assert "help: add `--calls +2`\n" in half.err
    assert "polish" in done.err
    assert "2 more calls for the run" in done.err
    assert whorl("show", run, "--json").json["usage"]["calls"] > 2


def test_a_run_that_its_time_ended_is_not_to_be_resumed(whorl: Whorl, project: Path) -> None:
    (project / "slow.yaml").write_text("whorl: 1\nbudget: {time: 1s}\nsteps: {a: {wait: 20s}}\n")
    ended = whorl("run", "slow.yaml")

    assert "the run reached its time limit" in ended.err
    assert "next: whorl show" in ended.err


def test_validating_says_what_a_budget_cannot_hold(whorl: Whorl, project: Path, many: str) -> None:
    (project / "many.yaml").write_text(
        MANY.replace("steps:", "budget: 1\nmodel: far/nope\nsteps:", 1)
    )
    far = '[providers.far]\nkind = "openai"\nbase_url = "http://127.0.0.1:1"\napi_key = "k"\n'
    (project / "whorl.toml").write_text(f"{PRICED}{far}")

    valid = whorl("validate", many)

    words = "of a price that is not known, so the budget of $1.00 cannot hold them"
    assert words in valid.out
    assert "bounded by" not in valid.out


@pytest.mark.parametrize(("wrong", "right"), [("iteraton", "iteration"), ("histry", "history")])
def test_a_misspelt_name_of_a_loop_is_recognised(
    whorl: Whorl, many: str, wrong: str, right: str
) -> None:
    with open(many, "w") as file:
        file.write(MANY.replace("Write {{ item }}", f"Write {{{{ {wrong} }}}}"))

    assert f"did you mean {right!r}?" in whorl("validate", many).err
