"""Nodes that start programs: what runs, where, in which order, and what must be there first."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, cast

import pytest
from shodan_files import HEAD, run, settle

from whorl.dialects import ProjectFiles, read_workflow
from whorl.errors import InvalidWorkflow, UsageError
from whorl.runtimes.start_options import Start
from whorl.services.replay import rehearse

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return settle(tmp_path / "project", monkeypatch)


def written(folder: Path, nodes: str, *, head: str = HEAD, name: str = "a.yaml") -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{head}nodes:\n{nodes}edges: []\n")
    return path


def shell(fields: str) -> str:
    return f"  - {{id: work, data: {{nodeType: shell, {fields}}}}}\n"


PORT = "type: string, default:"


@pytest.mark.parametrize(
    ("files", "fields", "printed"),
    [
        # Commands share nothing but their output; files of a script run before it.
        ({}, 'nodeType: shell, commands: ["cd /", "# only words", "pwd"]', "PROJECT"),
        ({"first.sh": "echo first '{{ inputs.x }}'\nexit 0\n"},
         "nodeType: shell, scriptFiles: [first.sh], script: echo last",
         "first {{ inputs.x }}\nlast"),
        # A program with options that run commands gets its value.
        ({"a.txt": "b\na\n"}, "nodeType: shell, script: 'sort {{ name }}', "
         f"inputs: [{{name: name, {PORT} 'a.txt'}}]", "a\nb"),
    ],
)  # fmt: skip
def test_output_of_scripts(project: Path, files: dict[str, str], fields: str, printed: str) -> None:
    for name, text in files.items():
        (project / name).write_text(text)
    result = run(written(project, f"  - {{id: work, data: {{{fields}}}}}\n"))

    assert result.status == "succeeded", result.error
    assert result.outputs["stdout"] == printed.replace("PROJECT", str(project))


@pytest.mark.parametrize(
    ("root", "name", "expected"), [("site", "a.yaml", "site"), ("../site", "flows/a.yaml", "site")]
)
def test_the_folder_of_a_file_is_seen_from_it(
    project: Path, root: str, name: str, expected: str
) -> None:
    (project / "site").mkdir()
    head = f"version: 1\nmetadata: {{name: case, rootDirectory: {root}}}\n"
    path = written(project, shell("script: pwd"), head=head, name=name)

    assert run(path).outputs["stdout"] == str((project / expected).resolve())


def test_a_folder_of_another_machine_is_ignored(project: Path) -> None:
    head = "version: 1\nmetadata: {name: case, rootDirectory: /home/somebody/else}\n"
    path = written(project, shell("script: pwd"), head=head)

    reading = read_workflow(path.read_text(), str(path), ProjectFiles(str(project)))

    [warning] = reading.warnings
    assert warning.code == "W023"
    assert "'/home/somebody/else' is a folder of another machine" in warning.message
    assert run(path).outputs["stdout"] == str(project)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("nodeType: component, workflowPath: ../part.yaml", "is outside of the project"),
        ("nodeType: component, workflowPath: /etc/part.yaml", "is absolute"),
        ("nodeType: agent, prompt: a, promptFiles: [~/notes.md]", "begins with '~'"),
        ("nodeType: shell, script: a, scriptFiles: [../../run.sh]", "is outside of the project"),
        ("nodeType: function, file: ../f.js", "is outside of the project"),
        (
            "nodeType: loop, workflowRef: ../x.yaml, continueWhile: {output: a.b}",
            "is outside of the project",
        ),
    ],
)
def test_nothing_outside_of_the_project_is_opened(project: Path, fields: str, message: str) -> None:
    path = written(project, f"  - {{id: a, data: {{{fields}}}}}\n")

    with pytest.raises(InvalidWorkflow) as caught:
        read_workflow(path.read_text(), str(path), ProjectFiles(str(project)))

    assert ("W027", True) in [(d.code, message in d.message) for d in caught.value.diagnostics]


FUNCTION = """  - {id: first, data: {nodeType: shell, script: touch began}}
  - {id: then, data: {nodeType: function, code: 'return {x: 1}', outputs: [{name: x, type: any}],
     inputs: [{name: a, type: any}]}}
"""


def with_function(project: Path) -> Path:
    path = project / "f.yaml"
    edge = '{source: first, target: then, sourceHandle: "output:stdout", targetHandle: "input:a"}'
    path.write_text(f"{HEAD}nodes:\n{FUNCTION}edges: [{edge}]\n")
    return path


def test_without_leave_a_function_stops_the_run_before_anything_starts(project: Path) -> None:
    (project / "whorl.toml").write_text('[allow]\ncommands = ["sh"]\n')

    error = run(with_function(project)).error

    assert (error["code"], error["path"]) == ("R110", "then")
    assert 'commands = ["sh", "node"]' in error["message"]
    assert not (project / "began").exists()


def test_without_node_a_function_stops_the_run_before_anything_starts(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bin_folder = project.parent / "bin"
    bin_folder.mkdir()
    for name in ("sh", "touch"):
        found = shutil.which(name)
        assert found is not None
        (bin_folder / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(bin_folder))

    with pytest.raises(UsageError, match="starts the program 'node', which is not installed here"):
        run(with_function(project))

    assert not (project / "began").exists()


def test_a_dry_run_invents_what_outputs_declare() -> None:
    outputs = [
        {"name": "approved", "type": "boolean"},
        {"name": "notes", "type": "array"},
        {"name": "text", "type": "string"},
        {"name": "sessionId", "type": "string"},
    ]
    for runner in ("claude-code", "openai"):
        agent = {"nodeType": "agent", "runner": runner, "prompt": "go", "outputs": outputs}
        function = {"nodeType": "function", "code": "", "outputs": outputs[:2]}
        nodes = [{"id": "a", "data": agent}, {"id": "f", "data": function}]
        reading = read_workflow(json.dumps({"nodes": nodes}), "a.json")

        told = rehearse(reading.workflow, Start(input={}))

        assert told["status"] == "succeeded", told["error"]
        given = cast("dict[str, object]", told["outputs"])
        assert given["a_approved"] is False
        assert given["a_notes"] == ["(invented notes)"]
        assert given["a_text"] == "(invented text)"
        assert given["f_notes"] == ["(invented notes)"]


def test_a_value_is_never_text_of_a_script(project: Path) -> None:
    script = """echo {{ inputs.x }} "{{ inputs.x }}" '{{ inputs.x }}'"""
    quoted = json.dumps(script)
    (project / "a.yaml").write_text(
        f"{HEAD}nodes: [{{id: a, data: {{nodeType: shell, script: {quoted}, "
        "inputs: [{name: x, type: string}]}}]\nedges: []\n"
    )
    hostile = "$(touch broken); `touch broken` ' \" \\"

    result = run(project / "a.yaml", x=hostile)

    assert result.status == "succeeded", result.error
    assert not (project / "broken").exists()
    assert result.outputs["stdout"].count("$(touch broken)") == 3


def test_a_node_may_have_the_name_of_an_input(project: Path) -> None:
    (project / "a.yaml").write_text(
        f"{HEAD}nodes:\n"
        "  - {id: text, data: {nodeType: constant, value: node}}\n"
        "  - {id: start, data: {nodeType: trigger}}\n"
        "  - {id: say, data: {nodeType: shell, script: 'echo {{ text.value }} {{ start.text }}'}}\n"
        "edges: []\n"
    )

    assert run(project / "a.yaml", text="given").output == "node given"
