"""`validate` finds names that a run would stumble over: agents, providers, files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

CONFIG = """
[allow]
commands = true

[defaults]
provider = "mine"

[providers.mine]
base_url = "http://127.0.0.1:9/v1"
model = "m"
"""


def _validated(whorl: Whorl, project: Path, step: str) -> str:
    (project / "whorl.toml").write_text(CONFIG)
    steps = f"whorl: 1\ninputs: {{x: {{type: string, default: a}}}}\nsteps:\n  a: {step}\n"
    (project / "t.yaml").write_text(steps)
    (project / "ok.md").write_text("ok")
    done = whorl("validate", "t.yaml")
    assert done.code == 0, done.err
    return done.err


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("{agent: claud, prompt: hi}", "warning[P113]: step 'a' starts the agent 'claud', which is "
         "not known (did you mean 'claude'?)"),
        ("{ask: hi, model: opnai/gpt-5}", "warning[P110]: step 'a' asks the default provider for "
         "the model 'opnai/gpt-5': did you mean 'openai'?"),
        ("{read: /etc/passwd}", "warning[P113]: step 'a' cannot read what it names: file "
         "'/etc/passwd' is absolute; write it relative to the project's folder"),
        ("{read: notes/x.md}", "file 'notes/x.md' does not exist"),
        ("{read: ../x.md}", "file '../x.md' is outside of the project"),
        ("{read: .env}", "warning[P125]: step 'a' cannot read what it names: file '.env' may not"),
        ("{ask: hi, files: [ok.md, /etc/passwd]}", "file '/etc/passwd' is absolute"),
        ("{ask: hi, images: ~/x.png}", "file '~/x.png' begins with '~'"),
    ],
)  # fmt: skip
def test_what_a_run_would_stumble_over_is_a_warning(
    whorl: Whorl, project: Path, step: str, words: str
) -> None:
    found = _validated(whorl, project, step)

    assert words in found
    assert "1 warning" in found


@pytest.mark.parametrize(
    "step",
    [
        "{agent: claude, prompt: hi}",
        "{agent: '{{ x }}', prompt: hi}",
        "{ask: hi, model: meta-llama/llama-3}",
        "{ask: hi, model: mistralai/mixtral}",
        "{ask: hi, model: deepseek-ai/r1}",
        "{ask: hi, model: gpt-5}",
        "{read: ok.md}",
        "{read: '{{ x }}'}",
        "{ask: hi, files: ['{{ x }}', '/{{ x }}', ok.md]}",
    ],
)
def test_what_may_well_be_right_is_none(whorl: Whorl, project: Path, step: str) -> None:
    assert _validated(whorl, project, step) == ""


def test_a_model_of_several_that_is_passed_over_is_told(
    whorl: Whorl, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    (project / "whorl.toml").unlink()
    (project / "t.yaml").write_text(
        "whorl: 1\nsteps:\n  a: {ask: hi, model: [opnai/gpt-5, openai/gpt-5]}\n"
    )

    found = whorl("validate", "t.yaml").err

    assert "passes over the model 'opnai/gpt-5': provider 'opnai' is not configured" in found
    assert "did you mean 'openai'?" in found


def test_a_run_with_an_unknown_agent_does_not_start(whorl: Whorl, project: Path) -> None:
    (project / "whorl.toml").write_text(CONFIG)
    steps = "whorl: 1\nsteps:\n  a: {run: [touch, ran.txt]}\n  b: {agent: claud, prompt: hi}\n"
    (project / "t.yaml").write_text(steps)

    done = whorl("run", "t.yaml")

    assert (done.code, (project / "ran.txt").exists()) == (2, False)
    assert "did you mean 'claude'?" in done.err


def test_a_run_says_what_it_doubts_before_anything_is_sent(whorl: Whorl, project: Path) -> None:
    (project / "t.yaml").write_text("whorl: 1\nsteps:\n  a: {ask: Write, model: opnai/gpt-5}\n")

    done = whorl("run", "t.yaml")

    assert done.code == 0
    assert "warning[P110]: step 'a' asks the default provider" in done.err


def test_a_folder_is_checked_as_a_whole(whorl: Whorl, project: Path) -> None:
    (project / "flows").mkdir()
    (project / "flows" / "good.yaml").write_text("whorl: 1\nsteps:\n  a: {use: unknown}\n")
    (project / "flows" / "bad.yaml").write_text("whorl: 1\nsteps:\n  a: {asks: hi}\n")
    (project / "flows" / "other.yaml").write_text("name: no workflow\n")

    done = whorl("validate", "flows")

    assert done.code == 2
    rows = [line.split() for line in done.out.splitlines()[-4:]]
    assert rows[0] == ["file", "mistakes", "needs"]
    assert rows[1][:2] == ["flows/bad.yaml", "1"]
    assert rows[2] == ["flows/good.yaml", "-", "task", "unknown"]
    assert rows[3] == ["2", "files", "1", "with", "mistakes"]
