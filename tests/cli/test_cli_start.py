"""The first minutes in an empty folder: `init`, `new` with folders, schemas that editors find."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from command_line import CONFIG
from jsonschema import Draft202012Validator

from whorl.providers.settings import model_providers, sections
from whorl.providers.settings.runtime import TEMPORAL
from whorl.providers.settings.schema import rows, settings_schema

if TYPE_CHECKING:
    from command_line import Whorl

ROOT = Path(__file__).parents[2]
_LINE = re.compile(r"#(?::schema | yaml-language-server: \$schema=)(\S+)\n")


@pytest.fixture
def empty(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder outside of any project, of a person who trusts nothing yet."""
    folder = project.parent / f"{project.name}-empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(project / "home"))
    monkeypatch.delenv("WHORL_TRUST", raising=False)
    return folder


def schema_of(path: Path) -> Any:
    """The schema that the first line of a file names, as an editor finds it."""
    found = _LINE.match(path.read_text())
    assert found is not None, path
    return json.loads((path.parent / found[1]).read_text())


def test_init_makes_a_folder_in_which_everything_works(empty: Path, whorl: Whorl) -> None:
    made = whorl("init")
    tested = whorl("test")
    valid = whorl("validate", "first.yaml")

    assert (made.code, made.out) == (0, "whorl test\nwhorl run first.yaml\n")
    assert (tested.code, valid.code) == (0, 0), tested.err + valid.err
    assert (empty / ".gitignore").read_text() == ".whorl/\n"
    for name in ("first.yaml", "first.test.yaml"):
        Draft202012Validator(schema_of(empty / name)).validate(
            yaml.safe_load((empty / name).read_text())
        )
    config = (empty / "whorl.toml").read_text()
    Draft202012Validator(schema_of(empty / "whorl.toml")).validate(tomllib.loads(config))
    assert "error" not in whorl("trust", "--json").json


def test_init_leaves_alone_what_is_there(empty: Path, whorl: Whorl) -> None:
    (empty / "whorl.toml").write_text(CONFIG)
    (empty / "mine.yaml").write_text("whorl: 1\nsteps: {a: {value: 1}}\n")
    (empty / ".gitignore").write_text("dist")
    first, second = whorl("init"), whorl("init")

    assert (first.code, second.code) == (0, 0)
    assert (empty / "whorl.toml").read_text() == CONFIG
    assert (empty / ".gitignore").read_text() == "dist\n.whorl/\n"
    assert not (empty / "first.yaml").exists()
    assert whorl("trust", "--json").json["standing"] != "trusted"


def test_the_first_loop_runs_in_a_new_folder(empty: Path, whorl: Whorl) -> None:
    whorl("init", "flows")
    replies = '{approved = true, score = 0.9, feedback = "fine"}'
    (empty / "own.toml").write_text(
        '[providers.canned]\nkind = "scripted"\nmodel = "m"\n'
        f'[[providers.canned.replies]]\nmatch = "Review"\nreplies = [{{json = {replies}}}]\n'
        '[[providers.canned.replies]]\nmatch = "Write"\nreplies = ["rain"]\n'
    )

    done = whorl("run", "flows/first.yaml", "--config", "own.toml")

    assert (done.code, done.out) == (0, "rain\n")


SCORES = """
[defaults]
provider = "canned"
model = "m"

[providers.canned]
kind = "scripted"

[[providers.canned.replies]]
match = "Review"
by = "iteration"
replies = [
    {json = {approved = false, feedback = "a", score = 0.4}},
    {json = {approved = false, feedback = "b", score = 9}},
    {json = {approved = false, feedback = "c", score = 0.6}},
    {json = {approved = false, feedback = "d", score = 0.5}},
]

[[providers.canned.replies]]
match = "Write"
by = "iteration"
replies = ["one", "two", "three", "four"]
"""


def test_a_score_of_another_scale_is_not_the_best_of_the_first_loop(
    empty: Path, whorl: Whorl
) -> None:
    whorl("init")
    (empty / "scores.toml").write_text(SCORES)
    ran = whorl("run", "first.yaml", "--config", "scores.toml")

    assert ran.out == "three\n"
    assert "ask for a score from 0 to 1" in ran.err


def test_new_makes_folders_and_the_line_for_editors(empty: Path, whorl: Whorl) -> None:
    plain = whorl("new", "self-refine", "a/b/own.yaml")
    whorl("init")
    inside = whorl("new", "code-review", "flows/")

    assert (plain.code, inside.code) == (0, 0)
    assert _LINE.match((empty / "a/b/own.yaml").read_text()) is None
    made = empty / "flows/code-review.yaml"
    Draft202012Validator(schema_of(made)).validate(yaml.safe_load(made.read_text()))
    assert whorl("validate", "flows/code-review.yaml").code == 0
    assert inside.out.startswith("whorl run flows/code-review.yaml ")


def test_the_schema_of_the_configuration_has_every_key() -> None:
    named = {
        ("providers", "NAME"): model_providers.PROVIDER,
        ("prices", "NAME"): sections.PRICE,
        ("mcp", "NAME"): sections.SERVER,
        ("agents", "NAME"): sections.AGENT,
        ("keys", "NAME"): sections.KEY,
        ("allow", "files"): sections.FILES,
        ("runtime", "temporal"): TEMPORAL,
    }
    known = {(section, key) for section, keys in sections.SECTIONS.items() for key in keys or ()}
    known |= {("tasks", "NAME"), ("queue", "NAME")}
    expected = {place for place in known if place not in named}
    expected |= {(*place, key) for place, keys in named.items() for key in keys}

    assert {keys for keys, _, _ in rows()} == expected


def test_the_schema_takes_the_documented_configuration_and_no_other() -> None:
    page = (ROOT / "docs/reference/configuration.md").read_text()
    example = tomllib.loads(re.findall(r"^```toml\n(.*?)^```", page, re.S | re.M)[0])
    validator = Draft202012Validator(settings_schema())

    validator.validate(example)
    for wrong in ({"alow": {}}, {"allow": {"comands": True}}, {"keys": {"a": {"ur": "x"}}}):
        assert not validator.is_valid(wrong)


def test_what_init_writes_is_valid_and_its_advice_works_elsewhere(
    empty: Path, whorl: Whorl, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = whorl("init", "my flows")
    monkeypatch.chdir(empty / "my flows")
    checked = whorl("validate", "first.yaml", "first.test.yaml")

    assert made.out.splitlines() == ["cd 'my flows'", "whorl test", "whorl run first.yaml"]
    assert checked.code == 0
    assert "run them with `whorl test`" in checked.err
