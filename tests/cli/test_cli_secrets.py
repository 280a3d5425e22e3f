"""An input that is secret is told by nobody: no command, file, store, recording or mistake."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import zlib
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from command_line import CONFIG

from leaks import places_of

if TYPE_CHECKING:
    from command_line import Whorl

SECRET = "HUSH-77-xyzzy/+&"
FORMS = (SECRET, SECRET.upper(), SECRET.lower(), "HUSH-77-xyzzy/%2B%26")

WORKFLOW = """
whorl: 1
name: keyed
inputs: {key: secret, greeting: string}
steps:
  head: {value: "Bearer {{ key }}"}
  loud: {value: "{{ key | upper }} {{ key | lower }} {{ key | urlencode }}"}
  turn:
    repeat:
      at_most: 2
      carry: {before: "{{ write }} {{ key }}"}
      memory: {across_runs: true, record: {text: "{{ write }} {{ key }}"}}
      steps:
        write: {ask: "Write {{ greeting }} for {{ key }} after {{ before | default('nothing') }}"}
        echo: {run: "echo {{ key }}; echo {{ key }} >&2"}
  broken: {run: "echo {{ key }}; echo {{ key }} >&2; exit 3", on_failure: continue}
  strange: {value: "{{ key | int }}", on_failure: continue}
  check: {approve: {message: "Send it with {{ key }}?", show: {head: "{{ head }}"}}}
outputs:
  text: "{{ head }} {{ loud }} {{ turn.echo.stdout }} {{ key | length }}"
"""
COMMANDS = (
    ("show", "last"),
    ("show", "last", "--json"),
    ("show", "last/turn[1]/echo"),
    ("show", "last/turn[2]/write", "--json"),
    ("show", "last/broken"),
    ("show", "last/check"),
    ("show", "--brief", "last"),
    ("show", "--brief", "last", "--json"),
    ("ls", "--json"),
    ("why", "last"),
    ("why", "last", "--json"),
    ("diff", "last", "1", "2", "--json"),
    ("runs", "cost", "last", "--json"),
    ("watch", "last"),
    ("project", "memory", "ls"),
    ("project", "memory", "ls", "--json"),
)


@pytest.fixture
def keyed(project: Path) -> Path:
    (project / "whorl.toml").write_text(CONFIG + "\n[allow]\ncommands = true\n")
    (project / "keyed.yaml").write_text(WORKFLOW)
    (project / "secret.txt").write_text(SECRET)
    return project


def all_told(whorl: Whorl, *given: str) -> str:
    """What a run, and all that can be done with it, tells."""
    told = []
    for words in (
        ("run", "keyed.yaml", "--dry-run", "--events", *given),
        ("run", "keyed.yaml", "--events", "--key", "one", *given),
        *COMMANDS,
        ("runs", "approve", "last", "--json"),
        *COMMANDS,
        ("accept", "last", "-n", "1", "--events"),
        ("fork", "last", "--at", "turn[2]", "--json"),
        ("test", "keyed.yaml", "--run", "one", "--save", "keyed.json"),
        ("test", "keyed.yaml", "--recording", "keyed.json", "--json"),
    ):
        done = whorl(*words)
        told.append(f"{words} {done.out} {done.err}")
        # It waits for a person, and a recording without its secret has another result.
        assert done.code in (0, 1, 4), (words, done.out, done.err)
    return "\n".join(told)


def test_a_secret_is_printed_by_no_command_and_kept_in_no_file(whorl: Whorl, keyed: Path) -> None:
    told = all_told(whorl, "-i", "greeting=hello", "-i", "key=@secret.txt")

    assert [form for form in FORMS if form in told] == []
    assert [place for form in FORMS for place in places_of(form, keyed, "secret.txt")] == []
    assert f"Bearer *** *** *** *** ***\\n {len(SECRET)}" in told


def test_what_is_not_secret_is_found_so(whorl: Whorl, keyed: Path) -> None:
    """The same search finds a text that nobody called secret, in all its forms and places."""
    (keyed / "keyed.yaml").write_text(WORKFLOW.replace("key: secret", "key: string"))
    told = all_told(whorl, "-i", "greeting=hello", "-i", "key=@secret.txt")

    assert [form for form in FORMS if form not in told] == []
    found = places_of(SECRET, keyed, "secret.txt")
    assert {"journal", "memories", "snapshots", "keyed.json"} <= {*found}


def test_a_run_continues_with_its_secret_after_a_restart(whorl: Whorl, keyed: Path) -> None:
    (keyed / "keyed.yaml").write_text(
        'whorl: 1\ninputs: {key: secret}\nsteps:\n  check: {approve: "Go on?"}\n'
        "  use: {run: 'test {{ key }} = HUSH-77 && echo same'}\n"
    )
    whorl("run", "keyed.yaml", "-i", "key=HUSH-77")
    (keyed / "whorl.toml").write_text("[allow]\ncommands = true\n")
    done = whorl("runs", "approve", "last", "--json")

    assert json.loads(done.out)["output"]["stdout"] == "same\n"


def test_the_key_is_ones_own(whorl: Whorl, keyed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(keyed / "mine"))
    whorl("ls")
    assert not (keyed / "mine").exists()
    whorl("run", "keyed.yaml", "-i", "key=HUSH-77", "-i", "greeting=x")
    key = keyed / "mine" / "whorl" / "key"

    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(key.parent.stat().st_mode) == 0o700
    assert sorted(os.listdir(key.parent)) == ["key", "stores"]
    key.chmod(0o644)
    assert "can be read by others" in whorl("runs", "approve", "last").err


def test_the_key_by_variable(whorl: Whorl, keyed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(keyed / "mine"))
    monkeypatch.setenv("WHORL_KEY", "A" * 43 + "=")
    whorl("run", "keyed.yaml", "-i", "key=HUSH-77", "-i", "greeting=x")
    assert not (keyed / "mine" / "whorl" / "key").exists()
    monkeypatch.setenv("WHORL_KEY", "B" * 43 + "=")
    assert "another key" in whorl("runs", "approve", "last").err
    monkeypatch.setenv("WHORL_KEY", "short")
    assert "32 bytes in base64" in whorl("runs", "approve", "last").err
    monkeypatch.setenv("WHORL_KEY", "A" * 43 + "=")
    assert whorl("runs", "approve", "last").code == 0


def test_a_recording_is_private_and_holds_no_secure_output(whorl: Whorl, keyed: Path) -> None:
    (keyed / "keyed.yaml").write_text(
        "whorl: 1\nsteps:\n"
        "  good: {run: 'printf plain-%s text', secure: true}\n"
        "  bad: {run: 'printf plain-%s text; exit 3', secure: true, on_failure: continue}\n"
        '  after: {value: "{{ good.stdout | length }} {{ good.exit_code }}"}\n'
    )
    whorl("run", "keyed.yaml")
    Path("old.json").write_text("{}")
    whorl("test", "keyed.yaml", "--save", "old.json")

    assert stat.S_IMODE(Path("old.json").stat().st_mode) == 0o600
    assert places_of("plain-text", keyed) == []
    played = json.loads(whorl("test", "keyed.yaml", "--recording", "old.json", "--json").out)
    assert (played["changes"], played["misses"], played["result"]["outputs"]) == (
        [],
        [],
        {"after": "3 0"},
    )


def test_a_recording_is_played_with_its_secret(whorl: Whorl, keyed: Path) -> None:
    (keyed / "keyed.yaml").write_text(
        'whorl: 1\ninputs: {key: secret}\nsteps:\n  a: {run: "echo {{ key }}"}\n'
        'outputs: {size: "{{ key | length }}"}\n'
    )
    whorl("run", "keyed.yaml", "-i", "key=HUSH-77")

    assert whorl("test", "keyed.yaml").code == 1
    assert whorl("test", "keyed.yaml", "-i", "key=HUSH-77").code == 0


def test_stars_are_no_secret(whorl: Whorl, keyed: Path) -> None:
    whorl("run keyed.yaml -i 'key=***' -i greeting=x").ends(2, "which is secret: give it again")


def test_snapshots_are_sealed(whorl: Whorl, keyed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (keyed / "keyed.yaml").write_text(
        "whorl: 1\ninputs: {key: secret}\nsteps:\n"
        "  turn: {repeat: {at_most: 200, steps: {a: {value: '{{ key }} {{ iteration }}'}}}}\n"
        'outputs: {text: "{{ turn.a }}", same: "{{ key | length == 7 }}"}\n'
    )
    whorl("run", "keyed.yaml", "-i", "key=HUSH-77")
    with closing(sqlite3.connect(keyed / ".whorl" / "whorl.db")) as connection:
        snapshots = connection.execute("SELECT state FROM snapshots").fetchall()
    done = json.loads(whorl("continue", "last", "--iterations", "1", "--json").out)

    assert [zlib.decompress(state)[:11] for (state,) in snapshots][:1] == [b'{"sealed":"']
    assert done["outputs"] == {"text": "*** 201", "same": True}
    assert places_of("HUSH-77", keyed, "secret.txt") == []
    monkeypatch.setenv("XDG_CONFIG_HOME", str(keyed / "elsewhere"))
    monkeypatch.setenv("WHORL_HOME", str(keyed / ".whorl"))
    assert "*** 201" in whorl("show", "last").out
    assert whorl("diff", "last", "1", "200").code == 0
    assert "*** 3" in whorl("show", "last/turn[3]/a").out
    assert "R909" in whorl("continue", "last", "--iterations", "1").err


def test_a_secret_in_a_definition_is_not_copied_into_the_store(whorl: Whorl, keyed: Path) -> None:
    parameters = {"key": {"type": "SECURESTRING", "defaultValue": SECRET}}
    inputs = "@concat('Bearer ', parameters('key'))"
    actions = {"A": {"type": "Compose", "inputs": inputs}}
    definition = {"definition": {"parameters": parameters, "actions": actions}}
    (keyed / "keyed.json").write_text(json.dumps(definition))
    for _ in range(2):
        done = whorl("run", "keyed.json", "--key", "one", "--json")
        assert (done.code, json.loads(done.out)["output"]) == (0, "Bearer ***")

    assert places_of(SECRET, keyed, "keyed.json", "secret.txt") == []
    assert "belongs to run" in whorl("run", "keyed.json", "--key", "one", "-i", "key=another-1").err
    again = whorl("run", "keyed.json", "--key", "two", "-i", "key=another-1", "--json")
    assert json.loads(again.out)["output"] == "Bearer ***"


def test_a_fork_may_have_another_secret(whorl: Whorl, keyed: Path) -> None:
    whorl("run", "keyed.yaml", "-i", "key=@secret.txt", "-i", "greeting=x")
    whorl("runs", "approve", "last")
    (keyed / "other.txt").write_text("PSST-88-plugh-long")
    forked = whorl("fork", "last", "--at", "turn[2]", "--set", "key=@other.txt", "--json")
    done = whorl("runs", "approve", "last", "--json")

    assert json.loads(done.out)["output"].endswith(" 18")
    assert "PSST-88" not in forked.out + forked.err + done.out + whorl("show", "last", "--json").out
    assert places_of("PSST-88-plugh-long", keyed, "other.txt") == []


KEYED = """
whorl: 1
inputs: {key: secret}
steps:
  turn: {repeat: {at_most: 1, steps: {a: {ask: "Write {{ key }}"}}}}
  check: {approve: "Send it with {{ key }}?"}
outputs: {text: "{{ key }}"}
"""
ADVICE = "set WHORL_KEY to it"


@pytest.fixture(params=["missing", "another"])
def lost(
    whorl: Whorl, project: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Path:
    """A run waits for a person; its key is gone, or there is another one."""
    (project / "whorl.toml").write_text(CONFIG)
    (project / "w.yaml").write_text(KEYED)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(project / "mine"))
    monkeypatch.setenv("WHORL_HOME", str(project / ".whorl"))
    assert whorl("run", "w.yaml", "-i", "key=HUSH-77").code == 4
    home = project / "elsewhere"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    if request.param == "another":
        monkeypatch.setenv("WHORL_KEY", "B" * 43 + "=")
    return home


def test_without_a_key_a_run_ends(
    whorl: Whorl, lost: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = whorl("runs cancel last --json").ends(0)

    assert json.loads(done.out)["status"] == "cancelled"
    assert not (lost / "whorl" / "key").exists()
    for words in (("show", "last"), ("show", "--brief", "last"), ("why", "last"), ("ls",)):
        assert whorl(*words).code == 0, words
    # Whoever has the key sees the same.
    monkeypatch.delenv("WHORL_KEY", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(lost.parent / "mine"))
    assert json.loads(whorl("show", "last", "--json").out)["status"] == "cancelled"
    assert "cancelled already" in whorl("runs", "cancel", "last").out


@pytest.mark.parametrize(
    "words",
    [
        ("runs", "pause"),
        ("runs", "approve"),
        ("continue", "-n", "1"),
        ("runs", "stop"),
        ("accept", "-n", "1"),
    ],
)
def test_all_else_says_what_it_needs(whorl: Whorl, lost: Path, words: tuple[str, ...]) -> None:
    run = whorl("ls", "--json").json[0]["run"]
    done = whorl(*words, run).ends(3, ADVICE, "cancelled")

    assert done.out == ""
    assert done.err.startswith("error[R909]: ")
    assert not (lost / "whorl" / "key").exists()
    assert json.loads(whorl("show", "last", "--json").out)["status"] == "waiting"


WRONG = "NeSfkUdzVJklf3aAJ5Q"
DIGITS = "12345678901234567890123456789"
FLOW = "whorl: 1\ninputs: {o: any, key: {type: json, secret: true}}\nsteps: {a: {value: 1}}\n"


@pytest.mark.parametrize("text", [WRONG, DIGITS, f'{{"a": 1,\n "b": {WRONG}}}'])
def test_what_is_in_a_file_is_not_shown(whorl: Whorl, project: Path, text: str) -> None:
    (project / "flow.yaml").write_text(FLOW)
    (project / "held.txt").write_text(text)
    done = whorl("run flow.yaml -i o:=@held.txt").ends(2)
    row, column = (2, 7) if "\n" in text else (1, 1)

    assert not {part for part in (WRONG, DIGITS) if part[:6] in done.err}
    assert f"-i o is not JSON: see line {row}, column {column} of 'held.txt'" in done.err


def test_a_secret_default_is_left_out_of_the_description(whorl: Whorl, project: Path) -> None:
    written = {
        "a.yaml": f"whorl: 1\ninputs:\n  key: {{type: secret, default: {WRONG}}}\n",
        "b.yaml": f"whorl: 1\ninputs: {{key: {{type: secret, default: {WRONG}, defualt: 1}}}}\n",
        "c.yaml": f"whorl: 1\ninputs: {{key: {{type: secret, default: [{WRONG}]}}}}\n",
        "d.yaml": f"whorl: 1\ninputs:\n  key:\n    type: secret\n    default: |\n      {WRONG}\n",
        "e.json": json.dumps(
            {"whorl": 1, "inputs": {"key": {"type": "secret", "default": WRONG}}, "steps": {}}
        ),
    }
    for name, text in written.items():
        (project / name).write_text(
            f"{text}steps: {{a: {{value: 1}}}}\n" if "yaml" in name else text
        )
        done = whorl("validate", name).ends(2, "'key' is secret, and its default is in the file")

        assert WRONG[:6] not in done.out + done.err, name
    assert "key: {type: secret, default: ***\n" in whorl("validate", "a.yaml").err


def test_a_secret_of_a_schedule_is_to_be_a_key(whorl: Whorl, project: Path) -> None:
    (project / "flow.yaml").write_text(FLOW.replace("{o: any, ", "{"))
    done = whorl("server schedule add flow.yaml --every 1h -i key:=1").says("W916", "[keys.NAME]")

    assert "a default" not in done.err


def test_an_address_with_a_user_is_refused_with_the_reason(whorl: Whorl, project: Path) -> None:
    (project / "whorl.toml").write_text(
        f'[providers.f]\nkind = "openai"\nbase_url = "https://me:{WRONG}@x.example/v1"\n'
    )
    (project / "flow.yaml").write_text("whorl: 1\nsteps: {a: {value: 1}}\n")
    done = whorl("run flow.yaml").says("needs a base_url", "without a user or password")

    assert WRONG not in done.err
