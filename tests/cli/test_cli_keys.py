"""A key that is missing or empty is found before the first call of a run, and by validate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

FIRST = "whorl: 1\nsteps:\n  first: {run: [touch, ran.txt]}\n"
CONFIG = """
[allow]
commands = true
private_network = ["127.0.0.1:9"]

[providers.mine]
base_url = "https://models.example.com/v1"
api_key = "env:MINE"
model = "m"

[providers.openai]

[keys.search]
url = "http://127.0.0.1:9"
token = "env:MINE"
"""
STEPS = {
    "model": '{ask: "hi", model: mine/m}',
    "known": '{ask: "hi", model: openai/gpt-5}',
    "judge": "{repeat: {at_most: 2, until: {judge: {question: 'good?', model: mine/m}}, steps: {x: "
    "{value: 1}}}}",
    "http": '{http: {url: "http://127.0.0.1:9/x", key: search}}',
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("text", [None, "", " \n"])
def test_an_empty_key_is_found_before_the_first_call(
    whorl: Whorl, project: Path, monkeypatch: pytest.MonkeyPatch, step: str, text: str | None
) -> None:
    (project / "whorl.toml").write_text(CONFIG)
    (project / "t.yaml").write_text(f"{FIRST}  second: {STEPS[step]}\n")
    variable = "OPENAI_API_KEY" if step == "known" else "MINE"
    monkeypatch.setenv("MINE", "m" if step == "known" else text or "")
    if text is None:
        monkeypatch.delenv(variable, raising=False)
    else:
        monkeypatch.setenv(variable, text)

    done, validated = whorl("run", "t.yaml"), whorl("validate", "t.yaml")

    assert done.code == 2, done.err
    for words in (done.err, validated.err):
        assert "second" in words
        assert "not set" in words
    assert not (project / "ran.txt").exists()


def test_a_variable_in_the_way_of_shells_is_refused_with_the_way_of_whorl(
    whorl: Whorl, project: Path
) -> None:
    config = CONFIG.replace('"env:MINE"\nmodel', '"${MINE}"\nmodel')
    (project / "whorl.toml").write_text(config)

    done = whorl("run", "polish.yaml", "x")

    assert "error[W901]" in done.err
    assert "a variable is written 'env:MINE'" in done.err
