"""What a workflow, an experiment or a test names is read through one door, or not at all."""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path
from typing import Any

import pytest

import whorl as package
from whorl.errors import InvalidWorkflow
from whorl.services.project import Project, find_project
from whorl.wings.experiments.document import read_experiment
from whorl.wings.testing.files import read_test_file

pytestmark = pytest.mark.threat(row="T20")

SECRET = "dotenv-SECRET-4455"
PLAIN = "whorl: 1\nname: plain\nsteps:\n  a: {value: 1}\n"
TESTS = "whorl_tests: 1\nworkflow: %s\ntests:\n  t: {expect: {status: succeeded}}\n"
EXPERIMENT = "experiment: 1\nname: e\nworkflow: %s\ncases: %s\ngrade: 'true'\n"
NODE = "  - {id: a, type: %s, data: {nodeType: %s, %s, outputs: [{name: x, type: string}]}}\n"
SHODAN = f"version: 2\nmetadata: {{name: s}}\nnodes:\n{NODE}edges: []\n"
MCP_CLI = "$schema: workflow/v2.0\nname: %s\nsteps:\n  - {name: a, %s}\n"
LOOP = "loop: {workflow: sub, mode: iterate, max_iterations: 3, items: 'file://%s'}"
# The files of each format that name another one, and where they name it.
NAMING = {
    "native prompt": "whorl: 1\nsteps:\n  a: {ask: {file: '%s'}}\n",
    "native system": "whorl: 1\nsteps:\n  a: {ask: Hello, system: {file: '%s'}}\n",
    "native call": "whorl: 1\nsteps:\n  a: {call: '%s'}\n",
    "mcp-cli items": MCP_CLI % ("m", LOOP),
    "shodan function": SHODAN % ("function", "function", "file: '%s'"),
    "shodan shell": SHODAN % ("shell", "shell", "scriptFiles: ['%s']"),
    "shodan component": SHODAN % ("component", "component", "workflowPath: '%s'"),
    "shodan loop": SHODAN % ("loop", "loop", "maxIterations: 2, workflowRef: '%s'"),
    "studio call": json.dumps({
        "nodes": [
            {"id": "i", "type": "input", "data": {"name": "t"}},
            {"id": "s", "type": "subworkflow", "data": {"workflowId": "%s"}},
            {"id": "o", "type": "output", "data": {}},
        ],
        "edges": [{"id": "1", "source": "i", "target": "s"},
                  {"id": "2", "source": "s", "target": "o"}],
    }),
}  # fmt: skip
HIDDEN = [".env", ".git/config", "notes/.private/a.yaml", ".robomesh/.keys.yaml",
          ".robomesh/history.json"]  # fmt: skip
OWN = ["whorl.toml", "Whorl.TOML", "flows/whorl.toml", "settings/mine.toml", ".whorl/whorl.db"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    for name in (*HIDDEN, *OWN):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"# {SECRET}\n")
    (tmp_path / "settings" / "mine.toml").write_text(f"# {SECRET}\n[defaults]\nmodel = 'm'\n")
    (tmp_path / "link.yaml").symlink_to(tmp_path / ".env")
    (tmp_path / "w.yaml").write_text(PLAIN)
    (tmp_path / "sub.yaml").write_text(MCP_CLI % ("sub", "run: 'Do {{input}}'"))
    return find_project(os.environ, config="settings/mine.toml")


@pytest.mark.parametrize("name", [*HIDDEN, *OWN, "link.yaml"])
@pytest.mark.parametrize("naming", NAMING)
def test_no_format_reads_what_is_closed(project: Project, naming: str, name: str) -> None:
    with pytest.raises(InvalidWorkflow) as caught:
        project.read_text(NAMING[naming] % name, "flow.json" if "studio" in naming else "flow.yaml")

    found = [each.message for each in caught.value.diagnostics]
    # A canvas names files without their ending.
    missing = "studio" in naming and name.lower().endswith(".toml")
    words = "does not exist" if missing else "not open to workflows"
    assert [message for message in found if words in message], found
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("name", [".secrets.json", ".aws/c.csv", "settings/mine.toml", "link.json"])
def test_experiments_read_no_cases_that_are_closed(project: Project, name: str) -> None:
    (project.root / name).parent.mkdir(exist_ok=True)
    (project.root / ".secrets.json").write_text('[{"q": "x"}]')
    (project.root / ".aws").mkdir(exist_ok=True)
    (project.root / ".aws" / "c.csv").write_text("q\nx\n")
    (project.root / "link.json").symlink_to(project.root / ".secrets.json")
    (project.root / "e.yaml").write_text(EXPERIMENT % ("w.yaml", name))

    with pytest.raises(InvalidWorkflow, match="not open to workflows"):
        read_experiment(project, "e.yaml")


def test_experiments_and_tests_read_no_workflow_that_is_closed(project: Project) -> None:
    (project.root / "notes" / ".private" / "a.yaml").write_text(PLAIN)
    (project.root / "a.test.yaml").write_text(TESTS % "notes/.private/a.yaml")
    (project.root / "e.yaml").write_text(EXPERIMENT % ("notes/.private/a.yaml", "[{q: 1}]"))
    (project.root / ".b.yaml").write_text(PLAIN)
    (project.root / ".b.test.yaml").write_text((TESTS % "x").replace("workflow: x\n", ""))

    for read, file in (
        (read_test_file, "a.test.yaml"),
        (read_test_file, ".b.test.yaml"),
        (read_experiment, "e.yaml"),
    ):
        with pytest.raises(InvalidWorkflow, match="not open to workflows"):
            read(project, file)


def test_what_is_read_is_listed(project: Project) -> None:
    (project.root / "prompt.md").write_text("Hello")
    text = """
whorl: 1
inputs: {name: string}
steps:
  a: {ask: {file: prompt.md}, files: [a.txt, "{{ name }}"]}
  b: {call: w.yaml}
  c: {read: rows.csv}
  d: {read: "{{ workspace }}/x"}
"""
    (project.root / "flow.yaml").write_text(text)
    from whorl.services.project import Catalogue

    named = ["a.txt", "files whose names are computed", "prompt.md", "rows.csv", "w.yaml"]
    assert Catalogue(project).reads() == named


# Who opens files otherwise, and why that is no file that a workflow names.
OTHERS = {
    "providers/tools/tool_cache.py": "the engine's own: what tools said before",
    "services/configuration/foreign.py": "a configuration, which is trusted as a whole",
    "services/configuration/sources.py": "a configuration, which is trusted as a whole",
    "services/configuration/trust.py": "the engine's own: what is trusted",
    "services/backup.py": "a folder, so that a copy in it lasts",
    "wings/experiments/document.py": "the experiment that a person names",
    "wings/experiments/results.py": "the labels that a person names",
    "wings/editor/files.py": "the workflow that a person edits, by a stricter rule",
    "services/files/importing.py": "the database that a person names",
    "services/runs.py": "compares files with what a run kept, and shows none",
    "services/project.py": "the workflow that a person names, and lines of what was read",
    "wings/cluster/values.py": "the engine's own: large payloads",
    "wings/testing/files.py": "the tests that a person names",
    "wings/editor/single_step.py": "the engine's own: pins",
}
PARTS = ("dialects", "formats", "providers", "services", "wings")
# What people call: it opens what they name.
CALLED = {"api", "commands", "try_command"}
# What opens a file in `providers/files.py` writes it.
DOOR = {"dialects/files.py": {"open_beside"}, "providers/files.py": {"open", "read_named"}}
_CALLS = {"read_bytes", "fdopen", "copyfile", "copy", "copy2", "copytree", "mmap", "FileIO"}
_FUNCTIONS = {"open_file", "read_start", "open_beside", "read_named"}


def test_every_reader_is_known() -> None:
    root = Path(package.__file__).parent
    found: dict[str, set[str]] = {}
    paths = [path for name in PARTS for path in (root / name).rglob("*.py")]
    for path in (path for path in paths if not {path.stem, path.parent.name} & CALLED):
        ways = {way for node in ast.walk(ast.parse(path.read_text())) for way in _ways(node)}
        if ways:
            found[path.relative_to(root).as_posix()] = ways

    assert {name: found.pop(name) for name in DOOR} == DOOR
    assert set(found) == set(OTHERS)
    assert not [name for name, ways in found.items() if ways & {"open_beside", "read_named"}]


def _ways(node: ast.AST) -> set[str]:
    """How files are opened here, if any are."""
    if isinstance(node, ast.ImportFrom) and node.module == "whorl.source.paths":
        return _FUNCTIONS & {alias.name for alias in node.names}
    if isinstance(node, ast.Name):
        return {node.id} & {"open"}
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return set()
    name, owner = node.func.attr, ast.unparse(node.func.value)
    first: Any = getattr(node.args[0], "value", None) if node.args else None
    is_opened = name in _CALLS and owner not in ("self", "cls")
    if name == "open":
        # Many things have such a method; that of a path is given a mode or an encoding.
        is_mode = isinstance(first, str) and bool(first) and set(first) <= set("rwxabt+")
        is_coded = any(keyword.arg == "encoding" for keyword in node.keywords)
        is_opened = owner in ("os", "io", "codecs") or is_mode or is_coded
    if name == "read_text":
        is_opened = (not node.args or isinstance(first, str)) and owner != "context"
    return {name} if is_opened else set()
