"""What the command line refuses, in words for people and as JSON for programs, before any harm."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from command_line import POLISH

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

# What was done before, and below it what is refused then, with the words that are said of it.
REFUSED = {
    "": """
run polish.yaml | needs the input 'task'
run polish.yaml -i tsak=x | did you mean 'task'?
run polish.yaml -i task | has no value
run polish.yaml -i task=x -i task=y | -i gives 'task' twice
run polish.yaml x -i task=y | given twice
run polish.yaml -i task:=nope | is not JSON
run polish.yaml -i task=@missing.txt | does not exist
run polish.yaml x --budget 0 | '0' is not an amount of dollars above 0, such as 0.50
run polish.yaml x --jsn | did you mean '--json'?
run polish.yaml x --json --events | exclude each other
run polish.yaml a haiku | put quotes around a text of several words
run polish.yaml x --events-as dialect | no event names of its own
run polish.yaml x --label experiment=mine | is only for runs of experiments
run nowhere.yaml | 'nowhere.yaml' does not exist
run commanding.yaml --detach | error[R110]
validate polsh.yaml | did you mean 'polish.yaml'?
ls --limit 0 | 0 is less than 1
ls --exit budjet | 'budjet' is not one of
ls --since yesterday | is not a time
runs cost --at polish | --at is a place in one run
serve --port -3 | -3 is not in the range
resume last | there are no runs yet
help W444 | there is no command, code or function 'W444'
help W0044 | did you mean 'W004'?
help xyzzy | such as W004
project completion | missing argument '{bash|zsh|fish}'. Choose from: bash, zsh, fish
new --empty nativ | there is no empty file of the format 'nativ' | known: native
try none.yaml --at s | error[W016] | file 'none.yaml' does not exist
try flows:essay --at s | error[W900] | 'flows:essay' is written in Python
file edit polish.yaml set report ask:=abc | ask is not JSON | a text in JSON needs quotes
test polish.yaml gated.yaml | a replay is of one FILE
rn | there is no command 'rn'; did you mean 'run'?
schdule | did you mean 'server schedule'?
""",
    "run polish.yaml 'a haiku'": """
show last/polish[2]/wriet | error[W902] | nothing happened at
show last/polish[31] | error[W902] | 'polish' has 3 iterations
diff 1 | which two iterations
diff 1 7 | error[W902] | has no finished iteration 7; it has 3
diff 1 2 --at pome | error[W902] | has no loop 'pome'
diff 1 2 --step wirte | did you mean 'write'?
continue last | --iterations N
continue last -n 1 --at pome | error[W902] | has no loop 'pome'
accept last --iteration 9 | error[W902] | has no iteration 9 with a result
fork last --at pome[1] | error[W902] | known: polish
fork last --at polish[9] | error[W902] | say which iteration of 'polish' to redo
fork last --at polish[2] --set hnt=x | did you mean 'hint'?
runs approve RUN | error[W905] | has no open question; it has succeeded
runs pause RUN | error[W905]: run RUN has succeeded already
resume nope | error[W902]: there is no run 'nope'
resume RUN --budget 0.50 | write +0.50
resume RUN --budget +0.50 | error[W905]: the run has ended already: succeeded
project prune --older-than soon | write 30d
""",
    "run gated.yaml": "continue last -n 1 | error[W902] | has no loop",
}


@pytest.mark.parametrize("before", REFUSED)
def test_what_makes_no_sense_changes_nothing(whorl: Whorl, project: Path, before: str) -> None:
    run = whorl(f"{before} --json").json["run"] if before else ""
    for row in REFUSED[before].strip("\n").replace("RUN", run).split("\n"):
        line, *said = row.split(" | ")
        done = whorl(line).ends(2, "error[", *said)
        assert ("error" in done.json) if "--json" in line else (done.out == ""), line

    assert "did you mean" not in whorl("zz").err + whorl("why zzz").err
    if before:
        assert [row["run"] for row in whorl("ls --json").json] == [run]
    assert (project / ".whorl").exists() == bool(before)


def test_an_error_is_a_document_with_json(whorl: Whorl, project: Path) -> None:
    (project / "bad.yaml").write_text("whorl: 1\nname: bad\nstepz: {}\n")
    whorl("run gated.yaml")
    for line, code in {
        "show nothing --json": "W902",
        "run missing.yaml --json": "W016",
        "run polish.yaml --json": "R111",
        "run polish.yaml x --jsn --json": "W900",
        "ls --json --limit none": "W900",
        "project prune --older-than soon --json": "W900",
        "--config nope.toml ls --json": "W901",
        "run bad.yaml --json": "W004",
    }.items():
        error = whorl(line).ends(2, f"error[{code}]").json["error"]
        assert set(error) == {"code", "message", "help", "diagnostics"}
        assert error["code"] == code
        assert error["message"]

    assert error["diagnostics"][0]["code"] == "W004"
    assert error["diagnostics"][0]["span"]["line"] == 3
    whorl("file graph bad.yaml").says("stepz")


def test_a_project_without_runs_is_no_error(whorl: Whorl) -> None:
    pruned = {"runs": [], "entries": 0, "bytes": 0, "dry_run": False}
    for line, empty in {"ls": [], "project memory ls": [], "project prune": pruned}.items():
        assert whorl(line).ends(0, "no runs yet").out == ""
        assert whorl(f"{line} --json").json == empty
    whorl("runs", "cost").ends(0)
    assert whorl("runs cost --json").json["total"]["calls"] == 0
    for reason in ("budget", "limit", "accepted"):
        whorl("ls", "--exit", reason).ends(0)


N8N = {"name": "n", "nodes": [{"name": "Form", "type": "n8n-nodes-base.x"}], "connections": {}}


def test_a_file_that_is_not_a_workflow_is_named_for_what_it_is(whorl: Whorl, project: Path) -> None:
    for name, text, what, advice in (
        ("n.json", json.dumps(N8N), "this is an export of n8n", "`whorl new` writes a loop"),
        ("n.json", json.dumps([N8N]), "this is an export of n8n", "`whorl new` writes a loop"),
        ("whorl.toml", "[limits]\n", "this is a configuration", "`whorl project doctor` checks"),
        ("flow.py", "import whorl\n", "this is a program", "`whorl run MODULE:NAME`"),
        ("a.test.yaml", "whorl_tests: 1\ntests: {}\n", "this is a file of tests", "`whorl test"),
        ("e.yaml", "experiment: 1\nworkflow: a.yaml\n", "this is an experiment", "experiment run"),
    ):
        (project / name).write_text(text)
        for command in ("run", "file graph"):
            whorl(*command.split(), name).ends(2, f"error[W018]: {what}", advice)


def test_a_key_starts_one_run_of_one_request_and_names_it(whorl: Whorl, project: Path) -> None:
    first = whorl("run polish.yaml x --key nightly --json")
    again = whorl("run polish.yaml x --key nightly --json")
    again.ends(0, "was started with the key 'nightly' before; it has succeeded")
    run = first.json["run"]
    (project / "copy.yaml").write_text(POLISH)
    # The same text may lie elsewhere.
    whorl("run copy.yaml x --key nightly").ends(0)
    for words in (("gated.yaml",), ("polish.yaml", "another text")):
        error = whorl("run", *words, "--key", "nightly", "--json").ends(2).json["error"]
        assert error["code"] == "W905"
        assert run in error["message"]

    assert again.json == first.json
    assert whorl("show nightly --json").json["run"] == run
    assert len(whorl("ls --json").json) == 1
    whorl("ls").prints("nightly")
    whorl("show --brief nightly").prints("key:        nightly")


def test_looking_means_the_newest_run(whorl: Whorl) -> None:
    whorl("run polish.yaml x")
    run = whorl("run polish.yaml y --json").json["run"]

    for line in ("why", "watch", "show --brief", "show", "diff 1 2"):
        whorl(line).ends(0)
    # Ids of one day begin alike.
    whorl("show", run[:2]).says("error[W903]")


def test_commands_without_permission_are_refused_before_a_step(whorl: Whorl, project: Path) -> None:
    done = whorl("run commanding.yaml --json").ends(1)

    error = done.json["error"]
    assert (done.json["status"], error["code"], error["path"]) == ("failed", "R110", "touch")
    assert "`commands = true`" in error["message"]
    assert not (project / "ran.txt").exists()
    whorl("resume last").ends(2, "nothing in this run can be tried again")
