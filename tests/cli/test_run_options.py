"""Options of `run` and its like that choose what a run asks: models and prompts of steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from command_line import CONFIG, Whorl

if TYPE_CHECKING:
    from pathlib import Path


def _show(whorl: Whorl, run: str = "last") -> str:
    return whorl(f"show {run}").out


def test_run_with_another_model_for_every_step_or_one(whorl: Whorl, project: Path) -> None:
    whorl("run polish.yaml x --model other --model polish/review=strict").ends(0)
    shown = _show(whorl)
    assert "  model: other (--model)\n" in shown
    assert "  model of polish/review: strict (--model)\n" in shown
    assert "✓ report  canned/other" in shown
    # A file that changes afterwards changes nothing; a fork keeps the models, or has its own.
    whorl("fork last --at polish[3] --model review=canned/milder").ends(0)
    forked = _show(whorl)
    assert "  model: other (--model)\n" in forked
    assert "  model of review: canned/milder (--model)\n" in forked
    assert "canned/milder" in whorl("show last/polish[3]/review").out
    whorl("fork last --at polish[3] --file polish.yaml").ends(0)
    assert "(--model)" not in _show(whorl)


def test_a_resume_keeps_models_and_prompts(whorl: Whorl, project: Path) -> None:
    whorl("run failing.yaml --model other --prompt 'first=Write {{ 1 + 1 }}'").ends(1)
    config = CONFIG.replace('{status = 400, text = "no such model"}', '"fine"')
    (project / "whorl.toml").write_text(config)
    whorl("resume last --trust").ends(0)
    shown = _show(whorl)
    assert "  model: other (--model)\n" in shown
    assert "  prompt of first: Write {{ 1 + 1 }} (--prompt)\n" in shown
    assert "✓ second  canned/other" in shown
    assert "Write 2" in whorl("show last/first").out


@pytest.mark.parametrize("command", ["run polish.yaml x", "fork last --at polish[1]"])
def test_steps_that_are_not_there_are_errors_that_name_near_ones(
    whorl: Whorl, command: str
) -> None:
    whorl("run polish.yaml x").ends(0)
    whorl(f"{command} --model reviw=other").ends(2, "'reviw' does not name one step", "review")
    whorl(f"{command} --prompt lenght=x").ends(2, "'lenght' does not name one step")
    whorl(f"{command} --prompt review").ends(2, "--prompt 'review' has no value")
    whorl(f"{command} --model a --model b").ends(2, "--model is given twice")
    whorl("run commanding.yaml --model other").ends(2, "no step of 'commanding' asks a model")


def test_a_prompt_out_of_a_file_and_a_key(whorl: Whorl, project: Path) -> None:
    (project / "short.md").write_text("Report in one line: {{ polish.write }}")
    command = "run polish.yaml x --key k --prompt report=@short.md --json"
    run = whorl(command).json["run"]
    assert "Report in one line: draft three" in whorl("show last/report").out
    assert whorl(command).json["run"] == run
    whorl("run polish.yaml x --key k --model other").ends(2, "the key 'k' belongs to run")


def test_try_takes_another_model(whorl: Whorl) -> None:
    words = "try polish.yaml --at polish/review --value write=A --model other --json --yes"
    run = whorl(words).ends(0).json["run"]
    assert "  model: other (--model)\n" in whorl(f"show {run}").out
    assert "canned/other" in whorl(f"show {run}/review").out
