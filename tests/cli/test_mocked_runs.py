"""`whorl run --mocks`: answers come from the tests beside the file; nothing is sent or paid for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from command_line import CONFIG

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

TESTS = """
whorl_tests: 1
mocks: {report: a mocked report}
tests:
  two drafts:
    inputs: {task: bees}
    mocks:
      write: [one, two]
      review:
        - {outputs: {approved: false, score: 0.2}, delay: 1h}
        - {outputs: {approved: true, score: 1}, usage: {cost_usd: 5, input_tokens: 9}}
    expect: {output: a mocked report}
  one draft:
    inputs: {task: ants}
    mocks: {write: only, review: {outputs: {approved: true, score: 1}}}
    expect: {status: succeeded}
  short of answers:
    inputs: {task: ants}
    mocks: {write: only}
    expect: {status: succeeded}
"""
GATED_TESTS = """
whorl_tests: 1
tests:
  "yes": {mocks: {draft: text, check: {outputs: {approved: true, feedback: good}}},
    expect: {status: succeeded}}
  nobody answers: {mocks: {draft: text}, expect: {status: waiting}}
"""


@pytest.fixture
def tested(project: Path) -> Path:
    (project / "polish.test.yaml").write_text(TESTS)
    (project / "gated.test.yaml").write_text(GATED_TESTS)
    # No provider, and a configuration that nobody has trusted.
    (project / "whorl.toml").write_text('[allow]\ncommands = ["make"]\n')
    return project


def test_a_test_is_chosen_and_inputs_of_the_person_win(whorl: Whorl, tested: Path) -> None:
    result = whorl("run polish.yaml wasps '--mocks=one draft' --json").ends(0).json
    assert result["mocked"] == "polish.test.yaml: one draft"
    assert result["outputs"]["draft"] == "only"
    assert whorl("show last --json").json["input"] == {"task": "wasps"}

    short = whorl("run polish.yaml '--mocks=short of answers'").ends(1)
    short.says("P112", "polish[1]/review", "has no mock")
    whorl("run polish.yaml --mocks=on").ends(2, "no test 'on'", "one draft")
    whorl("run slow.yaml --mocks").ends(2, "no tests beside 'slow.yaml'", "slow.test.yaml")
    whorl("run polish.yaml --mocks --detach").ends(2, "--mocks and --detach exclude each other")


def test_gates_are_answered_by_mocks(whorl: Whorl, tested: Path) -> None:
    assert whorl("run gated.yaml --mocks").ends(0).out == "ok:\ntrue\n\nwords:\ngood\n"


def test_a_mocked_run_never_continues_with_real_answers(whorl: Whorl, tested: Path) -> None:
    run = whorl("run gated.yaml '--mocks=nobody answers' --json").ends(4).json["run"]
    (tested / "whorl.toml").unlink()
    again = "whorl run gated.yaml '--mocks=nobody answers'"
    for command in ("runs approve last", "resume last"):
        whorl(command).ends(2, f"run {run} has mocked answers", again)
    whorl("resume --all").ends(0)
    whorl("runs cancel last").ends(0)

    run = whorl("run polish.yaml --mocks --max-iterations 1 --json").json["run"]
    refused = whorl("continue last --iterations 1").ends(2, f"run {run} has mocked answers")
    refused.says("whorl run polish.yaml '--mocks=two drafts'")
    whorl("fork last --at polish[1]").ends(2, f"run {run} has mocked answers")
    whorl("accept last --iteration 1").ends(2, f"run {run} has mocked answers")


def test_a_key_belongs_to_mocked_answers_or_to_real_ones(whorl: Whorl, tested: Path) -> None:
    (tested / "whorl.toml").unlink()
    whorl("run polish.yaml x --mocks --key k").ends(0)
    whorl("run polish.yaml x --mocks --key k").ends(0, "was started with the key 'k' before")
    whorl("run polish.yaml x '--mocks=one draft' --key k").ends(2, "the key 'k' belongs to run")
    (tested / "whorl.toml").write_text(CONFIG)
    whorl("run polish.yaml x --key k --trust").ends(2, "the key 'k' belongs to run")
    whorl("run polish.yaml x --key own --trust").ends(0)
    whorl("run polish.yaml x --key own --mocks").ends(2, "the key 'own' belongs to run")
