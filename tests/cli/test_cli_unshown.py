"""No message about what is wrong shows a secret that it is wrong with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

SECRET = "NeSfkUdzVJklf3aAJ5Q"
DIGITS = "12345678901234567890123456789"
FLOW = "whorl: 1\ninputs: {o: any, key: {type: json, secret: true}}\nsteps: {a: {value: 1}}\n"


@pytest.mark.parametrize("text", [SECRET, DIGITS, f'{{"a": 1,\n "b": {SECRET}}}'])
def test_what_is_in_a_file_is_not_shown_because_it_is_not_json(
    whorl: Whorl, project: Path, text: str
) -> None:
    (project / "flow.yaml").write_text(FLOW)
    (project / "held.txt").write_text(text)
    done = whorl("run", "flow.yaml", "-i", "o:=@held.txt")
    row, column = (2, 7) if "\n" in text else (1, 1)

    assert done.code == 2
    assert not {part for part in (SECRET, DIGITS) if part[:6] in done.err}
    assert f"-i o is not JSON: see line {row}, column {column} of 'held.txt'" in done.err


@pytest.mark.parametrize("text", [SECRET, DIGITS])
def test_a_secret_of_the_command_line_is_not_shown_because_it_is_not_json(
    whorl: Whorl, project: Path, text: str
) -> None:
    (project / "flow.yaml").write_text(FLOW)
    done = whorl("run", "flow.yaml", "-i", f"key:={text}")
    other = whorl("run", "flow.yaml", "-i", f"o:={text}")

    assert text not in done.err
    assert "-i key is not JSON: see line 1, column 1 of its text" in done.err
    assert text in other.err


def test_a_default_that_is_secret_is_told_without_it(whorl: Whorl, project: Path) -> None:
    written = {
        "a.yaml": f"whorl: 1\ninputs:\n  key: {{type: secret, default: {SECRET}}}\n",
        "b.yaml": f"whorl: 1\ninputs: {{key: {{type: secret, default: {SECRET}, defualt: 1}}}}\n",
        "c.yaml": f"whorl: 1\ninputs: {{key: {{type: secret, default: [{SECRET}]}}}}\n",
        "d.yaml": f"whorl: 1\ninputs:\n  key:\n    type: secret\n    default: |\n      {SECRET}\n",
        "e.json": json.dumps(
            {"whorl": 1, "inputs": {"key": {"type": "secret", "default": SECRET}}, "steps": {}}
        ),
    }
    for name, text in written.items():
        (project / name).write_text(
            f"{text}steps: {{a: {{value: 1}}}}\n" if "yaml" in name else text
        )
        done = whorl("validate", name)

        assert done.code == 2
        assert SECRET[:6] not in done.out + done.err, name
        assert "'key' is secret, and its default is in the file" in done.err
    assert "key: {type: secret, default: ***\n" in whorl("validate", "a.yaml").err


def test_a_secret_of_a_schedule_is_advised_where_it_can_be_kept(
    whorl: Whorl, project: Path
) -> None:
    (project / "flow.yaml").write_text(FLOW.replace("{o: any, ", "{"))
    done = whorl("schedule", "add", "flow.yaml", "--every", "1h", "-i", "key:=1")

    assert "W916" in done.err
    assert "a default" not in done.err
    assert "[keys.NAME]" in done.err


def test_a_recording_says_which_secrets_it_needs(whorl: Whorl, project: Path) -> None:
    inputs = "{pin: {type: integer, secret: true}, o: {type: json, secret: true}}"
    steps = 'a: {value: "{{ pin + 1 }}"}'
    (project / "flow.yaml").write_text(f"whorl: 1\ninputs: {inputs}\nsteps: {{{steps}}}\n")
    (project / "o.json").write_text('{"a": "NeSfkUdzVJklf3aAJ5Q"}')
    given = ("-i", "pin:=471100", "-i", "o:=@o.json")
    ran = whorl("run", "flow.yaml", *given)
    saved = whorl("test", "flow.yaml", "--save", "t.json")
    refused = whorl("test", "flow.yaml", "--cassette", "t.json")
    played = whorl("test", "flow.yaml", "--cassette", "t.json", *given)

    assert (ran.code, saved.code, played.code) == (0, 0, 0)
    assert refused.code == 2
    assert "the recording holds no secrets, and stars are none for 'pin'" in refused.err
    assert "-i pin:=@FILE" in refused.err


def test_an_address_with_a_user_is_told_what_is_wrong(whorl: Whorl, project: Path) -> None:
    (project / "whorl.toml").write_text(
        f'[providers.f]\nkind = "openai"\nbase_url = "https://me:{SECRET}@x.example/v1"\n'
    )
    (project / "flow.yaml").write_text("whorl: 1\nsteps: {a: {value: 1}}\n")
    done = whorl("run", "flow.yaml")

    assert "[providers.f] base_url must have no user or password" in done.err
    assert SECRET not in done.err
