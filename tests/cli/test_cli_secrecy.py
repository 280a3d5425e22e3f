"""What a workflow calls secure, and what steps do with secrets, is told by no command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from command_line import CONFIG

from leaks import places_of

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

HIDDEN_TEXT = "plain-text-that-nobody-sees"
ANSWERS = f"""
[[providers.canned.replies]]
match = "Say"
replies = ["{HIDDEN_TEXT}"]

[[providers.canned.replies]]
match = "Is it good"
replies = ["yes, {HIDDEN_TEXT} is"]

[[providers.canned.replies]]
match = ""
replies = ["yes, {HIDDEN_TEXT} is"]

[allow]
commands = true
"""

LAST = 'whorl: 1\nsteps:\n  a: {ask: "Say it", secure: true}\n'
FIRST = LAST + '  b: {value: "{{ a | length }}"}\n'
FAILS = """
whorl: 1
steps:
  a: {run: "echo plain-text-that-nobody-sees; echo plain-text-that-nobody-sees >&2; exit 3",
      secure: true}
"""
GOES_ON = FAILS.replace("secure: true", "secure: true, on_error: continue") + "  b: {value: 1}\n"
LOOP = """
whorl: 1
steps:
  turn:
    repeat:
      until: {judge: "Is it good?"}
      at_most: 2
      steps:
        a: {ask: "Say it", secure: true}
"""
TYPED = 'whorl: 1\nsteps:\n  a: {ask: "Say it", secure: true, returns: {n: integer}}\n'


@pytest.fixture
def secure(project: Path) -> Path:
    """A project whose model says what is to be kept."""
    (project / "whorl.toml").write_text(CONFIG + ANSWERS)
    return project


@pytest.mark.sample(2)
@pytest.mark.parametrize("text", [LAST, FIRST, FAILS, GOES_ON, LOOP, TYPED])
def test_no_command_tells_what_a_secure_step_gives(whorl: Whorl, secure: Path, text: str) -> None:
    (secure / "w.yaml").write_text(text)
    runs = ("run w.yaml", "run w.yaml --json", "run w.yaml --events")
    places = ("", "/a", "/turn[1]", "/turn[1]/a")
    shows = [f"show last{place} {more}" for place in places for more in ("", "--json")]
    for line in (*runs, *shows, "why last", "show last --brief", "show last --brief --json"):
        done = whorl(line)
        said = f"{done.out}{done.err}".replace("echo plain-text-that-nobody-sees", "")
        assert HIDDEN_TEXT not in said, line
        assert "Traceback" not in said, line


def test_a_secure_failure_says_what_kind_it_is(whorl: Whorl, secure: Path) -> None:
    (secure / "w.yaml").write_text(FAILS)

    said = whorl("run w.yaml --json").json["error"]

    assert said["cause"]["code"] == "P109"
    assert "ended with code 3" in said["message"]


ADDRESSES = (
    "https://x.example/p?q=plain-text\\n",
    "http://127.0.0.1:9/plain-text",
    "plain-text://x",
)


@pytest.mark.parametrize("url", ADDRESSES)
def test_the_address_of_a_secure_step_is_not_shown(whorl: Whorl, secure: Path, url: str) -> None:
    """Whatever is wrong with it: it cannot be read, reached or called."""
    (secure / "whorl.toml").write_text(f"{CONFIG}{ANSWERS}private_network = true\n")
    told = {}
    for is_secure in ("true", "false"):
        step = f'{{http: {{url: "{url}"}}, secure: {is_secure}, retry: {{times: 1, wait: 10ms}}}}'
        (secure / "w.yaml").write_text(f"whorl: 1\nsteps:\n  a: {step}\n")
        told[is_secure] = f"{whorl('run w.yaml --events')}{whorl('show last --json')}"

    assert "plain-text" not in told["true"]
    assert "its message is hidden, since it is secure" in told["true"]
    assert "plain-text" in told["false"]


KEYED = """
[defaults]
provider = "p"
model = "m"

[providers.p]
kind = "openai"
base_url = "http://127.0.0.1:9/v1"
api_key = "hunter2"
"""


def test_an_operators_key_is_kept_out_of_what_is_given(whorl: Whorl, project: Path) -> None:
    (project / "whorl.toml").write_text(KEYED)
    (project / "w.yaml").write_text(
        "whorl: 1\ninputs: {given: string}\nsteps:\n"
        "  a: {value: \"{{ 'hunt' ~ 'er2' }} and {{ given }}\"}\n"
    )
    run = "run w.yaml -i 'given=my hunter2'"

    lines = (run, f"{run} --events", "show last", "show last --json", "show last --brief")
    said = "".join(str(whorl(line)) for line in lines)

    assert "*** and my ***" in said
    assert "hunter2" not in said


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


def test_the_name_of_a_model_is_shown_unless_it_is_a_secret(whorl: Whorl, project: Path) -> None:
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
            whorl("runs", "cost", "last", "--by", "model"),
            whorl("show", "last/s"),
            whorl("show", "last/t"),
        )
    )

    assert "HUSH-77" not in told
    assert places_of("HUSH-77", project) == []
    assert "gpt-77" in whorl("runs", "cost", "last", "--by", "model").out
    assert "***" in whorl("runs", "cost", "last", "--by", "model").out
