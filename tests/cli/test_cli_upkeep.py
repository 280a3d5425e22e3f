"""validate, graph, explain, schema, memory, prune, doctor, and the edge of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import POLISH, Whorl

from whorl.interfaces.cli import COMMANDS


def test_validate(whorl: Whorl, project: Path) -> None:
    (project / "bad.yaml").write_text(POLISH.replace("at_most: 5", "at_most: many"))

    done = whorl("validate", "polish.yaml", "bad.yaml", "commanding.yaml")

    assert done.code == 2
    assert "polish.yaml: ok (native, 5 steps, at most 49 calls (11 without retries))" in done.out
    assert "bad.yaml:" in done.err
    assert "commanding.yaml: ok" in done.out
    assert "warning[R110]: commands are not allowed" in done.err
    assert whorl("validate", "commanding.yaml").code == 0
    reports = whorl("validate", "polish.yaml", "bad.yaml", "--json").json
    assert [report["ok"] for report in reports] == [True, False]
    assert reports[1]["diagnostics"][0]["span"]["line"] == 11


def test_validate_finds_called_files_in_the_project(whorl: Whorl, project: Path) -> None:
    (project / "flows").mkdir()
    (project / "flows" / "caller.yaml").write_text(
        "whorl: 1\nsteps:\n  c: {call: ../polish.yaml, with: {task: x}}\n"
    )
    outside = project.parent / "outside.yaml"
    outside.write_text("whorl: 1\nsteps:\n  c: {call: inside/x.yaml}\n")

    assert whorl("validate", "flows/caller.yaml").code == 0
    elsewhere = whorl("validate", str(outside))
    assert elsewhere.code == 2
    assert "does not exist" in elsewhere.err


def test_graph(whorl: Whorl) -> None:
    text = whorl("graph", "polish.yaml").out
    assert "├─ ↻ polish  until review.approved or score ≥ 0.95, at most 5 iterations" in text
    assert "│  ├─ write  ask" in text
    chart = whorl("graph", "polish.yaml", "--mermaid").out
    assert chart.startswith("flowchart TD\n")
    assert 'subgraph n1 ["↻ polish' in chart
    assert "-. not yet .->" in chart


def test_explain(whorl: Whorl) -> None:
    assert whorl("explain", "w004").out.startswith("# W004")
    unknown = whorl("explain", "W444")
    assert unknown.code == 2
    assert "no error has the code 'W444'" in unknown.err


def test_schema(whorl: Whorl) -> None:
    assert "properties" in whorl("schema").json


def test_memory(whorl: Whorl, project: Path) -> None:
    (project / "learn.yaml").write_text(
        """
whorl: 1
name: learn
steps:
  l:
    repeat:
      at_most: 2
      memory: {across_runs: true, record: {text: "{{ w }}"}}
      steps: {w: {ask: "Write it"}}
"""
    )
    assert "no runs yet" in whorl("memory", "ls").err
    whorl("run", "learn.yaml")

    rows = whorl("memory", "ls", "--json").json

    assert [row["records"] for row in rows] == [2]
    key = rows[0]["key"]
    assert key in whorl("memory", "ls").out
    assert whorl("memory", "rm", key + "x").code == 2
    assert whorl("memory", "rm", key).out == f"deleted 2 records of {key!r}\n"
    assert "nothing is remembered" in whorl("memory", "ls").err


def test_prune(whorl: Whorl) -> None:
    whorl("run", "polish.yaml", "x")
    whorl("run", "gated.yaml")

    assert whorl("prune", "--json").json["runs"] == []
    assert len(whorl("prune", "--older-than", "0s", "--dry-run", "--json").json["runs"]) == 1
    assert "deleted 1 run" in whorl("prune", "--older-than", "0s").err
    assert [row["workflow"] for row in whorl("ls", "--json").json] == ["gated"]
    wrong = whorl("prune", "--older-than", "soon")
    assert wrong.code == 2
    assert "write 30d" in wrong.err


def test_prune_keeps_what_the_operator_keeps(whorl: Whorl, project: Path) -> None:
    whorl("run", "polish.yaml", "x")
    config = project / "whorl.toml"
    config.write_text(config.read_text() + '\n[retention]\nolder_than = "0s"\n')

    assert len(whorl("prune", "--dry-run", "--json").json["runs"]) == 1
    assert whorl("prune", "--older-than", "30d", "--dry-run", "--json").json["runs"] == []


def test_help_has_the_exit_codes(whorl: Whorl) -> None:
    told = whorl("--help").out

    assert all(f"  {code} " in told for code in (0, 1, 2, 3, 4, 5, 70, 130))


def test_doctor(whorl: Whorl, project: Path) -> None:
    whorl("run", "polish.yaml", "x")

    done = whorl("doctor")

    assert done.code == 0
    assert "1 run" in done.out
    assert "not allowed ([allow] commands)" in done.out
    assert "provider canned (default)" in done.out
    (project / "whorl.toml").write_text(
        "[providers.x]\nkind = 'openai'\nbase_url = 'http://127.0.0.1:9/v1'\n"
    )
    broken = whorl("doctor", "--json")
    assert broken.code == 1
    assert [one["ok"] for one in broken.json if one["what"].startswith("provider x")] == [False]
    (project / "whorl.toml").write_text("[providers")
    assert "✗  configuration" in whorl("doctor").out


def test_doctor_finds_a_damaged_store(whorl: Whorl, project: Path) -> None:
    (project / ".whorl").mkdir()
    (project / ".whorl" / "whorl.db").write_bytes(b"not a database, but long enough to look" * 50)

    done = whorl("doctor")

    assert done.code == 1
    assert "✗  store" in done.out


def test_store_can_be_named(whorl: Whorl, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whorl("run", "polish.yaml", "x", "--store", "elsewhere")
    assert (project / "elsewhere" / "whorl.db").exists()
    assert len(whorl("--store", "elsewhere", "ls", "--json").json) == 1
    assert len(whorl("ls", "--json", "--store", "elsewhere/whorl.db").json) == 1
    assert whorl("ls", "--json").json == []
    monkeypatch.setenv("WHORL_HOME", str(project / "elsewhere"))
    assert len(whorl("ls", "--json").json) == 1


def test_project_is_found_upwards(
    whorl: Whorl, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(project / "deep" / "er")

    assert whorl("run", "../../polish.yaml", "x").code == 0
    assert (project / ".whorl" / "whorl.db").exists()


def test_unknown_command_names_the_nearest(whorl: Whorl) -> None:
    done = whorl("statsu")

    assert done.code == 2
    assert "there is no command 'statsu'; did you mean 'status'?" in done.err


@pytest.mark.parametrize(
    "name", [name for rows in COMMANDS.values() for name in rows if name != "drive"]
)
def test_every_command_has_help_with_an_example(whorl: Whorl, name: str) -> None:
    done = whorl(name, "--help")

    assert done.code == 0
    assert f"whorl {name}" in done.out.partition("Usage:")[2].partition("\n")[2]


def test_mistake_of_ours_is_reported_without_a_traceback(
    whorl: Whorl, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("whorl.interfaces.diagrams.text.text_tree", fail)

    done = whorl("graph", "polish.yaml")

    assert done.code == 70
    assert "error[I900]: an internal error: ZeroDivisionError: oops" in done.err
    assert "Traceback" not in done.err
    monkeypatch.setenv("WHORL_DEBUG", "1")
    assert "Traceback" in whorl("graph", "polish.yaml").err


def test_a_recording_is_saved_where_it_is_told(whorl: Whorl, project: Path) -> None:
    whorl("run", "polish.yaml", "x")
    saved = whorl("test", "polish.yaml", "--save", "deep/down/polish.json", "--json")
    folder = whorl("test", "polish.yaml", "--save", ".")
    both = whorl("test", "polish.yaml", "--run", "last", "--cassette", "deep/down/polish.json")

    assert saved.json == {"saved": "deep/down/polish.json", "calls": 7}
    assert whorl("test", "polish.yaml", "--cassette", "deep/down/polish.json").code == 0
    assert (folder.code, "W900" in folder.err) == (2, True)
    assert (both.code, "exclude each other" in both.err) == (2, True)


def test_an_unchanged_file_replays_whatever_its_run_was_started_with(whorl: Whorl) -> None:
    for options in (["--max-iterations", "2"], ["--budget", "0.3"]):
        assert whorl("run", "polish.yaml", "x", *options).code in (0, 5)
        done = whorl("test", "polish.yaml", "--run", "last")

        assert (done.code, done.out[:1]) == (0, "✓"), done.out


def test_what_is_drawn_by_chance_is_the_same_when_a_run_is_replayed(whorl: Whorl) -> None:
    Path("chance.json").write_text(
        '{"actions": {"say": {"type": "Compose", "inputs": "@guid()"}},'
        ' "outputs": {"id": {"type": "string", "value": "@outputs(\'say\')"}}}'
    )
    assert whorl("run", "chance.json").code == 0
    done = whorl("test", "chance.json", "--run", "last")

    assert (done.code, done.out[:1]) == (0, "✓"), done.out


def test_a_run_that_was_steered_is_passed_over(whorl: Whorl) -> None:
    whorl("run", "polish.yaml", "x")
    whorl("fork", "last", "--at", "polish[2]")
    done = whorl("test", "polish.yaml")

    assert (done.code, "newer ones were steered" in done.err) == (0, True), done.out + done.err


def test_lint_says_by_its_exit_code_what_would_not_deploy(whorl: Whorl) -> None:
    examples = Path(__file__).parents[2] / "examples"
    found = whorl("lint", str(examples / "loom" / "agent.json"))
    native = whorl("lint", "polish.yaml")

    assert (found.code, "would not deploy" in found.err) == (2, True)
    assert (native.code, "takes Logic Apps only" in native.err) == (2, True)


def test_a_dry_run_that_its_own_inventions_fail_says_so(whorl: Whorl, project: Path) -> None:
    (project / "apart.yaml").write_text(
        "whorl: 1\nsteps: {a: {ask: x}, b: {value: '{{ (a | fromjson).n }}'}}\n"
    )
    done = whorl("run", "apart.yaml", "--dry-run")

    assert (done.code, "this says nothing about a run" in done.err) == (1, True), done.err
    assert "a run makes at most 4 calls (1 without retries)" in done.err


def test_a_file_that_is_not_there_has_a_neighbour(whorl: Whorl, project: Path) -> None:
    with (project / "whorl.toml").open("a") as config:
        config.write('\n[connectors]\nreplies = "gone.json"\n')
    gone = whorl("validate", "polish.yaml")
    (project / "whorl.toml").unlink()

    assert "did you mean 'polish.yaml'?" in whorl("validate", "polsh.yaml").err
    assert "is a folder, not a file" in whorl("run", ".").err
    assert (
        "the path is relative to the current folder"
        in whorl("run", "polish.yaml", "-i", "task=@nowhere").err
    )
    assert (gone.code, "relative to the folder of whorl.toml" in gone.err) == (2, True)
