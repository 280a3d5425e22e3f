"""A secret that a step quotes in each of its attempts is told by no record, in no shape."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from command_line import CONFIG

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
