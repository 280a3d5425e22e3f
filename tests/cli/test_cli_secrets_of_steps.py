"""A secret is told by no attempt of a step, in no shape, nor where it names a model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from command_line import CONFIG

from leaks import places_of

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

SECRET = "HUSH-77-xyzzy/+&"
COMMAND = """
whorl: 1
inputs: {k: secret}
steps:
  s:
    run: [sh, -c, 'echo "token $K rejected" >&2; exit 1']
    env: {K: "{{ k }}"}
    retry: {times: 1, wait: 10ms, on: ["*"]}
"""
REPAIRED = (
    'whorl: 1\ninputs: {k: secret}\nsteps:\n  s: {ask: "Quote {{ k }}", returns: {n: integer}}\n'
)
SHOWN = (
    ("show", "last", "--json"),
    ("show", "last", "--json", "--deep"),
    ("show", "last/s", "--json"),
    ("show", "last", "--as", "azure"),
    ("show", "last/s"),
)
QUOTING = f"""
[[providers.canned.replies]]
match = "Quote"
exhaust = "repeat"
replies = ["I was given {SECRET}"]
"""


@pytest.mark.parametrize("text", [COMMAND, REPAIRED])
def test_no_attempt_tells_a_secret(whorl: Whorl, project: Path, text: str) -> None:
    (project / "whorl.toml").write_text(CONFIG + QUOTING + "\n[allow]\ncommands = true\n")
    (project / "w.yaml").write_text(text)
    (project / "secret.txt").write_text(SECRET)
    assert whorl("run", "w.yaml", "-i", "k=@secret.txt").code != 0

    for words in SHOWN:
        done = whorl(*words)
        assert SECRET not in done.out + done.err, words
        assert json.dumps(SECRET)[1:-1] not in done.out, words
    [record] = json.loads(whorl("show", "last/s", "--json").out)["records"]
    assert len(record["attempts"]) > 1
    assert all("***" in str(attempt["error"]) for attempt in record["attempts"])


def test_the_name_of_a_model_is_told_unless_it_is_a_secret(whorl: Whorl, project: Path) -> None:
    (project / "whorl.toml").write_text(CONFIG)
    (project / "w.yaml").write_text(
        "whorl: 1\ninputs: {k: secret, m: string}\nsteps:\n"
        '  s: {ask: "Write it", model: "canned/{{ k }}"}\n'
        '  t: {ask: "Write it", model: "canned/{{ m }}"}\n'
    )
    given = ("-i", "k=HUSH-77-xyzzy", "-i", "m=gpt-77")
    told = "".join(
        f"{done.out}{done.err}"
        for done in (
            whorl("run", "w.yaml", "-v", *given),
            whorl("run", "w.yaml", "--events", *given),
            whorl("cost", "last", "--by", "model"),
            whorl("show", "last/s"),
            whorl("show", "last/t"),
        )
    )

    assert "HUSH-77" not in told
    assert places_of("HUSH-77", project) == []
    assert "gpt-77" in whorl("cost", "last", "--by", "model").out
    assert "***" in whorl("cost", "last", "--by", "model").out


def test_the_model_that_a_secure_step_computes_is_told_to_nobody(
    whorl: Whorl, project: Path
) -> None:
    (project / "whorl.toml").write_text(CONFIG)
    (project / "w.yaml").write_text(
        "whorl: 1\ninputs: {m: string}\nsteps:\n"
        '  s: {ask: "Write it", model: "canned/{{ m | upper }}", secure: true}\n'
        '  t: {ask: "Write it", model: canned/gpt-77, secure: true}\n'
    )
    told = "".join(
        f"{done.out}{done.err}"
        for done in (
            whorl("run", "w.yaml", "-v", "-i", "m=hush"),
            whorl("cost", "last", "--by", "model"),
            whorl("show", "last/s"),
            whorl("show", "last", "--json", "--deep"),
        )
    )

    assert "HUSH" not in told
    assert places_of("canned/HUSH", project) == []
    assert "gpt-77" in told
