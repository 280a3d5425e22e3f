"""The first minutes: init, new with folders, schemas for editors, and each template."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from command_line import CONFIG
from jsonschema import Draft202012Validator

from whorl.templates import TEMPLATES, find, forms, read

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

_LINE = re.compile(r"# yaml-language-server: \$schema=(\S+)\n")


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

    assert made.ends(0).out == "created ./: whorl.toml, first.yaml, first.test.yaml\n"
    assert (tested.code, valid.code) == (0, 0), tested.err + valid.err
    assert (empty / ".gitignore").read_text() == ".whorl/\n"
    for name in ("first.yaml", "first.test.yaml"):
        Draft202012Validator(schema_of(empty / name)).validate(
            yaml.safe_load((empty / name).read_text())
        )
    assert "error" not in whorl("project", "trust", "--json").json


def test_init_leaves_alone_what_is_there(empty: Path, whorl: Whorl) -> None:
    (empty / "whorl.toml").write_text(CONFIG)
    (empty / "mine.yaml").write_text("whorl: 1\nsteps: {a: {value: 1}}\n")
    (empty / ".gitignore").write_text("dist")
    first, second = whorl("init"), whorl("init")

    assert (first.code, second.code) == (0, 0)
    assert (empty / "whorl.toml").read_text() == CONFIG
    assert (empty / ".gitignore").read_text() == "dist\n.whorl/\n"
    assert not (empty / "first.yaml").exists()
    assert whorl("project", "trust", "--json").json["standing"] != "trusted"


def test_new_writes_the_files_of_an_example(empty: Path, whorl: Whorl) -> None:
    made = whorl("new --example tests mine")
    assert made.out == "created mine/: polish.test.yaml, polish.yaml\n"
    assert made.err.endswith("next: cd mine && whorl test\n")
    whorl("test mine").prints("5 passed")
    whorl("new --example tests mine").ends(2, "exists")
    whorl("new --example test").ends(2, "did you mean 'tests'?")
    whorl("new --example person").prints("letter.yaml, scripted.toml")
    whorl("--config person/scripted.toml run person/letter.yaml Ada").ends(4, "runs approve")


def test_new_makes_folders_and_the_line_for_editors(empty: Path, whorl: Whorl) -> None:
    plain = whorl("new", "self-refine", "a/b/own.yaml")
    whorl("init")
    inside = whorl("new", "code-review", "flows/")

    assert (plain.code, inside.code) == (0, 0)
    assert _LINE.match((empty / "a/b/own.yaml").read_text()) is None
    made = empty / "flows/code-review.yaml"
    Draft202012Validator(schema_of(made)).validate(yaml.safe_load(made.read_text()))
    assert whorl("validate", "flows/code-review.yaml").code == 0
    inside.says("next: whorl run flows/code-review.yaml ")


ENDINGS = forms()
FORMS = list(ENDINGS)
NAMES = [template.name for template in TEMPLATES]
EVERY = [(name, form) for name in NAMES for form in FORMS]

Rules = dict[str, list[Any]]

SERVER = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("search")


@server.tool()
def search(query: str) -> str:
    with open("queries.txt", "a") as file:
        print(query, file=file)
    return f"found by {query}"


server.run()
"""

CHECKS = """
import unittest
from solution import double


class Doubling(unittest.TestCase):
    def test_it_doubles(self):
        self.assertEqual(double(3), 6)
"""


@dataclass(frozen=True)
class Case:
    """How models answer, by what their prompts hold, and what comes of it in both forms."""

    native: Rules
    studio: Rules
    outcome: str
    iterations: int = 2
    reason: str = "condition_met"
    files: dict[str, str] = field(default_factory=dict)
    leaves: dict[str, str] = field(default_factory=dict)
    # Replies that are given in turn, and not by the iteration that asks.
    in_turn: frozenset[str] = frozenset()


def called(query: str) -> dict[str, Any]:
    return {"calls": [{"name": "search__search", "arguments": {"query": query}}]}


def js(**fields: Any) -> dict[str, Any]:
    return {"json": fields}


DRAFTS = ["first draft", "second draft", "third draft"]
BROKEN, WORKING = "def double(x):\n    return x", "def double(x):\n    return 2 * x"
REFINED: Rules = {"Critique this draft": ["Too short."], "": DRAFTS}
CODES: Rules = {"Write solution.py": [BROKEN, WORKING]}
RECORDS: Rules = {"RECORD SO FAR": ['{"from": "Ada"}', '{"from": "Ada", "euros": 120}']}
TURNED: Rules = {
    "Render this": ["It rains.", "It never rains but it pours."],
    "Translate into French": ["Il pleut.", "Il ne pleut jamais, il tombe des cordes."],
}
WORDS: Rules = {"Which word": ["castle", "mill"]}
FIXES: Rules = {"Fix the findings": ["code one", "code two"]}
CASES = {
    "self-refine": Case(REFINED, REFINED, "third draft", 3, "max_iterations"),
    "agentic-search": Case(
        {"Evaluate if": [js(enough=False, missing="the year"), js(enough=True, missing="")],
         "Search for what": [called("zip"), "a note", called("zip year"), "found by zip year"]},
        {"Evaluate if": ["continue: the year", "done"],
         "What should be searched": ["zip", "zip year"]},
        "found by zip year",
        files={"server.py": SERVER},
        leaves={"queries.txt": "zip\nzip year\n"},
        in_turn=frozenset({"Search for what"}),
    ),
    "code-review": Case(
        {"Review this code": [js(clean=False, findings="no zero check"),
                              js(clean=True, findings="none")], **FIXES},
        {"Read the review": ["continue", "done"], **FIXES,
         "Review this code": ["no zero check", "nothing"]},
        "code two",
    ),
    "until-tests-pass": Case(
        CODES, CODES, "return 2 * x",
        files={"test_solution.py": CHECKS}, leaves={"solution.py": WORKING},
    ),
    "research-until-found": Case(
        {"Do these lines": [js(found=False, notes="nothing"),
                            js(found=True, notes="it opened in 1871")], **WORDS},
        {"Evaluate if the lines": ["continue: nothing", "done: it opened in 1871"], **WORDS},
        "notes.txt:1:The mill opened in 1871.",
        files={"notes.txt": "The mill opened in 1871.\n"},
    ),
    "multi-pass-extraction": Case(RECORDS, RECORDS, '"euros": 120', 3),
    "translate-and-check": Case(
        {"mean the same": [js(same=False, lost="the pouring"), js(same=True, lost="")], **TURNED},
        {"Compare two texts": ["continue: the pouring", "done"], **TURNED},
        "il tombe des cordes",
    ),
    "quality-gate": Case(
        {"Grade this text": [js(score=0.4, reasons="long"), js(score=0.9, reasons="")], "": DRAFTS},
        {"Grade the text": ["continue: long", "done"], "": DRAFTS},
        "second draft",
    ),
}  # fmt: skip


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def configuration(case: Case, rules: Rules) -> str:
    parts = ['[defaults]\nprovider = "canned"\nmodel = "m"\n[allow]\ncommands = true\n']
    parts.append('files = {write = ["solution.py"]}\n')
    parts.append('[providers.canned]\nkind = "scripted"\n')
    for match, replies in rules.items():
        by = "order" if match in case.in_turn else "iteration"
        rule = f"match = {toml(match)}\nby = {toml(by)}\nreplies = {toml(replies)}\n"
        parts.append(f"[[providers.canned.replies]]\n{rule}")
    if "server.py" in case.files:
        parts.append(f"[mcp.search]\ncommand = {toml([sys.executable, 'server.py'])}\n")
    return "\n".join(parts)


@pytest.mark.sample(6)
@pytest.mark.parametrize(("name", "form"), EVERY)
def test_a_template_turns_and_ends(whorl: Whorl, project: Path, name: str, form: str) -> None:
    case = CASES[name]
    if "server.py" in case.files:
        pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    for file, text in case.files.items():
        (project / file).write_text(text)
    rules = case.native if form == "native" else case.studio
    (project / "whorl.toml").write_text(configuration(case, rules))
    template = find(name)
    assert template is not None

    whorl("new", name, "--form", form).ends(0)
    assert "warning" not in whorl("validate", f"{name}{ENDINGS[form]}").ends(0).err
    done = whorl("run", f"{name}{ENDINGS[form]}", template.example, "--json").ends(0)

    assert done.json["warnings"] == []
    [loop] = done.json["loops"]
    assert (loop["exit_reason"], loop["iterations"]) == (case.reason, case.iterations)
    assert any(case.outcome in str(value) for value in done.json["outputs"].values())
    assert {file: (project / file).read_text() for file in case.leaves} == case.leaves


def test_templates_are_listed_and_written(whorl: Whorl, project: Path) -> None:
    document = whorl("new --json").json
    listed = [said.split()[0] for said in whorl("new").out.splitlines()]
    assert [name for name in listed if name not in ("--empty", "--example")] == NAMES
    assert [one["name"] for one in document] == NAMES
    assert all(one["description"] and one["forms"] == FORMS for one in document)

    done = whorl("new until-tests-pass mine.json").says('it needs `commands = ["sh"]`')
    done.says("next: whorl run mine.json 'a function slug")
    assert (project / "mine.json").read_text() == read("until-tests-pass", "studio")

    file = project / "quality-gate.yaml"
    file.write_text("mine")
    whorl("new quality-gate").ends(2, "'quality-gate.yaml' exists")
    assert file.read_text() == "mine"
    whorl("new quality-gate --force").ends(0)
    assert file.read_text() == read("quality-gate", "native")

    whorl("new self-refin").ends(2, "did you mean 'self-refine'?")
    (project / "no").write_text("a file")
    nowhere = whorl("new self-refine no/such/folder.yaml")
    nowhere.ends(2, "cannot write 'no/such/folder.yaml'")
