"""validate, test, memory, doctor, and the edge of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from command_line import POLISH, Whorl

if TYPE_CHECKING:
    import pytest


def test_validate(whorl: Whorl, project: Path) -> None:
    (project / "bad.yaml").write_text(POLISH.replace("at_most: 5", "at_most: many"))

    done = whorl("validate polish.yaml bad.yaml commanding.yaml").ends(2, "bad.yaml:")
    done.says("warning[R110]: commands are not allowed").prints("commanding.yaml: ok")
    done.prints("polish.yaml: ok, native, 1 loop, at most 49 calls (11 without retries)")
    whorl("validate commanding.yaml").ends(0)
    reports = whorl("validate polish.yaml bad.yaml --json").json
    assert [report["ok"] for report in reports] == [True, False]
    assert reports[1]["diagnostics"][0]["span"]["line"] == 11

    (project / "flows").mkdir()
    caller = "whorl: 1\nsteps:\n  c: {call: ../polish.yaml, with: {task: x}}\n"
    (project / "flows" / "caller.yaml").write_text(caller)
    outside = project.parent / "outside.yaml"
    outside.write_text("whorl: 1\nsteps:\n  c: {call: inside/x.yaml}\n")
    whorl("validate flows/caller.yaml").ends(0)
    whorl("validate", str(outside)).ends(2, "does not exist")
    with (project / "whorl.toml").open("a") as config:
        config.write('\n[connectors]\nreplies = "gone.json"\n')
    whorl("validate polish.yaml").ends(2, "gone.json")


def test_folders_are_checked_as_a_whole(whorl: Whorl, project: Path) -> None:
    flows = project / "flows"
    (flows / "deep").mkdir(parents=True)
    (flows / "good.yaml").write_text("whorl: 1\nsteps:\n  a: {value: 1}\n")
    (flows / "good.test.yaml").write_text(
        "whorl_tests: 1\ntests: {one: {expect: {status: succeeded}}}\n"
    )
    (flows / "odd.yaml").write_text("whorl: 1\nsteps:\n  a: {use: unknown}\n")
    (flows / "deep" / "bad.yaml").write_text("whorl: 1\nsteps:\n  a: {asks: hi}\n")
    (flows / "other.yaml").write_text("name: no workflow\n")
    (flows / "notes.md").write_text("text")

    done = whorl("validate flows").ends(2)
    assert done.out.splitlines() == [
        "flows/deep/bad.yaml: 1 error",
        "flows/good.test.yaml: ok, 1 test",
        "flows/good.yaml: ok, native, 1 step",
        "flows/odd.yaml: ok, native, 1 step, at most 1 call",
        "4 files: 2 ok, 1 warning, 1 error",
    ]
    assert done.err.index("bad.yaml:3") < done.err.index("warning[P114]")
    files = [report["file"] for report in whorl("validate flows --json").json]
    assert len(files) == 4
    # The whole project, with its configuration; what another folder configures is its own.
    (flows / "deep" / "whorl.toml").write_text("[defaults]\nmodle = 1\n")
    whole = whorl("validate").ends(2, "modle").out
    assert "flows/deep/whorl.toml: 1 error\n" in whole
    assert "whorl.toml: ok, configuration\n" in whole
    assert whole.endswith("11 files: 7 ok, 2 warnings, 2 errors\n")
    whorl("test flows").ends(0).prints("flows/good.test.yaml: 1 passed")
    whorl("test flows/deep").ends(2, "there are no tests in 'flows/deep'")


def test_what_files_need_is_a_table(whorl: Whorl, project: Path) -> None:
    steps = """whorl: 1
steps:
  a: {run: [make, all]}
  b: {http: {url: "https://api.example.org/x", key: search}}
  c: {read: notes.md}
  d: {ask: hi, tools: [files/read]}
"""
    (project / "flows").mkdir()
    (project / "flows" / "all.yaml").write_text(steps)
    rows = whorl("validate flows --needs").out.splitlines()
    assert rows[0].split("  ")[0] == "file"
    names = ("programs", "hosts", "files", "MCP servers", "keys")
    assert [name for name in names if name not in rows[0]] == []
    needed = ("make all", "api.example.org", "notes.md", "files", "search")
    assert [name for name in needed if name not in rows[1]] == []
    (project / "flows" / "bad.yaml").write_text("whorl: 1\nsteps:\n  a: {asks: hi}\n")
    whorl("validate flows --needs").ends(2, "bad.yaml:3")


def test_memory(whorl: Whorl, project: Path) -> None:
    memory = '{across_runs: true, record: {text: "{{ w }}"}}'
    loop = f'{{repeat: {{at_most: 2, memory: {memory}, steps: {{w: {{ask: "Write it"}}}}}}}}'
    (project / "learn.yaml").write_text(f"whorl: 1\nname: learn\nsteps: {{l: {loop}}}\n")
    whorl("run learn.yaml")

    rows = whorl("project memory ls --json").json

    assert [row["records"] for row in rows] == [2]
    key = rows[0]["key"]
    whorl("project memory ls").prints(key)
    whorl("project", "memory", "rm", key + "x").ends(2)
    assert whorl("project", "memory", "rm", key).out == f"deleted 2 records of {key!r}\n"
    whorl("project memory ls").says("no loop has saved records")


def test_doctor(whorl: Whorl, project: Path) -> None:
    whorl("run polish.yaml x")

    done = whorl("project", "doctor").ends(0).prints("1 run")
    done.prints("provider canned (default)")
    missing = whorl("--config nope.toml project doctor").ends(1).prints("✓  whorl").out
    line = next(text for text in missing.splitlines() if "configuration" in text)
    assert (line[0], "nope.toml" in line) == ("✗", True)
    (project / "whorl.toml").write_text(
        "[providers.x]\nkind = 'openai'\nbase_url = 'http://127.0.0.1:9/v1'\n"
    )
    broken = whorl("project doctor --json").ends(1)
    assert [one["ok"] for one in broken.json if one["what"].startswith("provider x")] == [False]
    (project / "whorl.toml").write_text("[providers")
    (project / ".whorl" / "whorl.db").write_bytes(b"not a database, but long enough to look" * 50)
    whorl("project", "doctor").ends(1).prints("✗  configuration", "✗  store")


def test_store_can_be_named(whorl: Whorl, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whorl("run polish.yaml x --store elsewhere")
    assert (project / "elsewhere" / "whorl.db").exists()
    assert len(whorl("--store elsewhere ls --json").json) == 1
    assert len(whorl("ls --json --store elsewhere/whorl.db").json) == 1
    assert whorl("ls --json").json == []
    # The project is found upwards.
    (project / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(project / "deep" / "er")
    whorl("run ../../gated.yaml")
    assert (project / ".whorl" / "whorl.db").exists()
    monkeypatch.setenv("WHORL_HOME", str(project / "elsewhere"))
    assert [row["workflow"] for row in whorl("ls --json").json] == ["polish"]


def test_mistake_of_ours_has_no_traceback(whorl: Whorl, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("whorl.interfaces.diagrams.text.text_tree", fail)

    done = whorl("file graph polish.yaml")
    done.ends(70, "error[I900]: an internal error: ZeroDivisionError: oops")
    assert "Traceback" not in done.err
    monkeypatch.setenv("WHORL_DEBUG", "1")
    whorl("file graph polish.yaml").says("Traceback")


def test_a_recording_is_saved_at_the_given_path(whorl: Whorl) -> None:
    whorl("run polish.yaml x")
    saved = whorl("test polish.yaml --save deep/down/polish.json --json")

    assert saved.json == {"saved": "deep/down/polish.json", "calls": 7}
    whorl("test polish.yaml --recording deep/down/polish.json").ends(0)
    whorl("test polish.yaml --save .").ends(2, "W900")
    both = whorl("test polish.yaml --run last --recording deep/down/polish.json")
    both.ends(2, "exclude each other")
    # A run that was steered is passed over.
    whorl("fork last --at polish[2]")
    whorl("test polish.yaml").ends(0).prints("the same with")


def test_a_run_that_was_resumed_replays_as_it_ended(whorl: Whorl, project: Path) -> None:
    (project / "whorl.toml").write_text("[allow]\ncommands = true\n")
    step = "{run: [cat, flag.txt], retry: 1}"
    (project / "flaky.yaml").write_text(f"whorl: 1\nname: flaky\nsteps: {{a: {step}}}\n")
    whorl("run flaky.yaml").ends(1)
    (project / "flag.txt").write_text("here")
    whorl("resume last").ends(0)

    whorl("test flaky.yaml --run last").ends(0)


def test_lint_says_by_its_exit_code_what_would_not_deploy(whorl: Whorl) -> None:
    examples = Path(__file__).parents[2] / "examples"
    whorl("file", "lint", str(examples / "loom" / "agent.json")).ends(2, "would not deploy")
    whorl("file lint polish.yaml").ends(2, "there are no rules for the format 'native'")


def test_a_dry_run_that_its_own_inventions_fail_says_so(whorl: Whorl, project: Path) -> None:
    (project / "apart.yaml").write_text(
        "whorl: 1\nsteps: {a: {ask: x}, b: {value: '{{ (a | fromjson).n }}'}}\n"
    )
    whorl("run apart.yaml --dry-run").ends(1, "the invented answer lacks; add `returns`")
