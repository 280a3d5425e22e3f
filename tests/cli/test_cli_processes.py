"""Runs and several processes: kill -9 and resume, Ctrl-C, steering from elsewhere, detaching."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Spawn, Whorl


HEAVY = ("httpx2", "rich", "jinja2", "apsw", "yaml", "asyncio", "pydantic", "whorl.runtimes")


def _iteration(whorl: Whorl) -> int:
    rows = whorl("ls", "--json").json
    return int(rows[0]["iteration"]) if rows else 0


def test_kill_and_resume_send_no_finished_call_again(whorl: Whorl, spawn: Spawn) -> None:
    with spawn("run", "slow.yaml", "--json", "--max-iterations", "12") as process:
        wait_until(lambda: _iteration(whorl) >= 4)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    row = whorl("ls", "--json").json[0]
    assert row["status"] == "interrupted"
    before = int(row["iteration"])

    done = whorl("resume", "last", "--json")

    assert done.code == 0
    assert done.json["loops"][0]["iterations"] == 12
    assert done.json["usage"]["calls"] == 12 + done.json["usage"]["in_doubt"]
    events = whorl("watch", "last", "--events").out.splitlines()
    sent = [
        event["address"]
        for event in map(json.loads, events)
        if event["kind"] == "task.finished" and event["body"].get("value")
    ]
    assert len(sent) == len(set(sent)) == 12
    assert before >= 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_first_signal_leaves_the_run_resumable(
    whorl: Whorl, spawn: Spawn, number: signal.Signals
) -> None:
    with spawn("run", "slow.yaml") as process:
        wait_until(lambda: _iteration(whorl) >= 2)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 5
    assert out == ""
    assert "⏸ interrupted" in err
    assert "next: whorl resume " in err
    assert whorl("ls", "--json").json[0]["status"] == "interrupted"


def test_the_first_signal_lets_calls_end(whorl: Whorl, spawn: Spawn, project: Path) -> None:
    function = "def slow():\n    open('began', 'w').close()\n    time.sleep(1.5)\n    return 1\n"
    (project / "slow.py").write_text(f"import time\n{function}")
    with (project / "whorl.toml").open("a") as file:
        file.write('\n[tasks]\nslow = "python:slow:slow"\n')
    (project / "two.yaml").write_text("whorl: 1\nsteps: {a: {use: slow}, b: {use: slow}}\n")
    with spawn("run", "two.yaml") as process:
        wait_until((project / "began").exists)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 5
    assert "stopping: 1 call under way may end within 20 s; Ctrl-C again stops at once" in err
    done = whorl("resume", "last", "--json")
    assert (done.code, done.json["usage"]["in_doubt"]) == (0, 0)
    events = [json.loads(line) for line in whorl("watch", "last", "--events").out.splitlines()]
    assert [e["address"] for e in events if e["kind"] == "task.started"] == ["a", "b"]


def test_all_interrupted_runs_go_on(whorl: Whorl, spawn: Spawn, project: Path) -> None:
    (project / "slow.py").write_text("def mine():\n    return 1\n")
    config = (project / "whorl.toml").read_text()
    (project / "whorl.toml").write_text(f'{config}\n[tasks]\nmine = "python:slow:mine"\n')
    slow = (project / "slow.yaml").read_text()
    (project / "task.yaml").write_text(slow.replace("outputs:", "  u: {use: mine}\noutputs:"))

    def is_under_way(key: str) -> bool:
        rows = whorl("ls", "--json").json
        return bool(rows) and rows[0]["key"] == key and rows[0]["iteration"] > 0

    for key, file in (("1", "slow.yaml"), ("2", "slow.yaml"), ("3", "task.yaml")):
        with spawn("run", file, "--id", key, "--max-iterations", "4") as process:
            wait_until(partial(is_under_way, key))
            process.kill()
            process.communicate()
    (project / "whorl.toml").write_text(config)
    (project / "task.yaml").write_text(slow)

    done = whorl("resume", "--all", "--json")

    assert done.code == 5
    changed = [document["changed_file"] for document in done.json]
    assert changed == [None, None, str(project / "task.yaml")]
    ends = [(document["status"], document["reason"]) for document in done.json]
    assert ends[:2] == [("succeeded", None)] * 2
    assert ends[2][0] == "interrupted"
    assert "uses the task 'mine', which is not known" in ends[2][1]
    again = whorl("resume", "--all").out
    assert "⏸ interrupted" in again
    assert "task.yaml has changed since this run began; it goes on with the version" in again
    assert whorl("resume").code == whorl("resume", "last", "--all").code == 2
    for words in (("resume",), ("continue", "--iterations", "1"), ("resume", "--budget", "+1")):
        alone = whorl(words[0], "last", *words[1:])
        assert (alone.code, "error[P114]" in alone.err) == (2, True)
        assert "uses the task 'mine', which is not known" in alone.err
    assert whorl("ls", "--json").json[0]["status"] == "interrupted"
    assert whorl("cancel", "last").code == 0


def test_a_key_goes_on_with_its_interrupted_run(whorl: Whorl, spawn: Spawn) -> None:
    words = ("run", "slow.yaml", "--id", "once", "--max-iterations", "6")
    with spawn(*words) as process:
        wait_until(lambda: _iteration(whorl) >= 2)
        process.kill()
        process.communicate()

    done = whorl(*words, "--json")

    assert done.code == 0
    assert done.json["loops"][0]["iterations"] == 6
    assert len(whorl("ls", "--json").json) == 1


def test_whoever_comes_second_is_told_the_same_and_looks_on(whorl: Whorl, spawn: Spawn) -> None:
    with spawn("run", "slow.yaml", "--max-iterations", "12") as process:
        wait_until(lambda: _iteration(whorl) >= 2)
        process.kill()
        process.communicate()
    processes = [spawn("resume", "last") for _ in range(4)]
    ends = [process.communicate(timeout=PATIENCE_S) for process in processes]

    assert [process.returncode for process in processes] == [0] * 4
    assert all("R902" not in err for _, err in ends)
    assert sum("is running already" in err for _, err in ends) <= 3


def test_run_of_another_process_is_watched_paused_and_cancelled(whorl: Whorl, spawn: Spawn) -> None:
    with spawn("run", "slow.yaml") as owner:
        wait_until(lambda: _iteration(whorl) >= 1)
        with spawn("watch", "last") as watcher:
            assert whorl("status", "--json").json["status"] == "running"
            refused = whorl("fork", "last", "--at", "l[99]")
            assert refused.code == 2
            paused = whorl("pause", "last")
            assert "is paused; go on with `whorl resume" in paused.out
            _, told = owner.communicate(timeout=PATIENCE_S)
            _, seen = watcher.communicate(timeout=PATIENCE_S)

    assert owner.returncode == watcher.returncode == 5
    assert "⏸ paused" in told
    assert "⏸ paused" in seen
    with spawn("resume", "last") as owner:
        wait_until(lambda: whorl("status", "--json").json["status"] == "running")
        assert "was cancelled" in whorl("cancel", "last").out
        owner.communicate(timeout=PATIENCE_S)
    assert owner.returncode == 5
    assert whorl("ls", "--json").json[0]["status"] == "cancelled"


def test_detached_run_goes_on_alone(whorl: Whorl, spawn: Spawn, project: Path) -> None:
    with spawn("run", "polish.yaml", "x", "--detach") as starter:
        out, _ = starter.communicate(timeout=PATIENCE_S)

    run = out.strip()
    assert starter.returncode == 0
    wait_until(lambda: whorl("ls", "--json").json[0]["status"] == "succeeded")
    assert whorl("ls", "--json").json[0]["run"] == run
    log = project / ".whorl" / "logs" / f"{run}.log"
    assert log.stat().st_mode & 0o077 == 0
    wait_until(lambda: "✓ succeeded" in log.read_text())


def test_second_start_with_a_key_attaches_to_the_running_one(whorl: Whorl, spawn: Spawn) -> None:
    words = ("run", "slow.yaml", "--id", "once", "--json", "--max-iterations", "8")
    with spawn(*words) as owner:
        wait_until(lambda: _iteration(whorl) >= 1)
        second = whorl(*words)
        out, _ = owner.communicate(timeout=PATIENCE_S)

    assert second.code == owner.returncode == 0
    assert second.json == json.loads(out)


def test_output_into_a_closed_pipe_is_no_mistake(whorl: Whorl, spawn: Spawn) -> None:
    whorl("run", "polish.yaml", "x")
    with spawn("watch", "last", "--events") as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        told = process.stderr.read()
    assert process.wait() == 5
    assert told == ""


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from whorl.interfaces.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    path = {"PYTHONPATH": ":".join(filter(None, sys.path))}

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=path
    )

    assert "whorl run polish.yaml" in done.stdout
    assert done.stderr.strip() == "[]"


def test_more_iterations_for_a_paused_run_are_said(whorl: Whorl, spawn: Spawn) -> None:
    with spawn("run", "slow.yaml") as owner:
        wait_until(lambda: bool(whorl("ls", "--json").json))
        wait_until(lambda: (whorl("status", "--json").json["iteration"] or 0) > 1)
        whorl("pause", "last")
        owner.communicate(timeout=PATIENCE_S)

    done = whorl("continue", "last", "-n", "3")

    assert done.code == 5
    assert "'l' gets 3 more iterations; the run stays paused until `whorl resume" in done.err
    assert "/203 of l" in whorl("status").out


def test_second_signal_ends_a_function_that_takes_long(spawn: Spawn, project: Path) -> None:
    """The thread of a function cannot be ended, but the process can."""
    function = "def sleepy():\n    open('began', 'w').close()\n    time.sleep(600)\n"
    (project / "sleepy.py").write_text(f"import time\n{function}")
    with (project / "whorl.toml").open("a") as file:
        file.write('\n[tasks]\nsleepy = "python:sleepy:sleepy"\n')
    (project / "sleepy.yaml").write_text("whorl: 1\nsteps: {a: {use: sleepy}}\n")
    with spawn("run", "sleepy.yaml") as process:
        wait_until((project / "began").exists)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        # Two signals that arrive at once are one.
        wait_until(lambda: process.send_signal(signal.SIGINT) or process.poll() is not None)
        process.communicate(timeout=PATIENCE_S)

    assert process.returncode == -signal.SIGINT


def test_a_run_whose_store_is_deleted_says_so_and_sends_nothing_more(
    whorl: Whorl, spawn: Spawn, project: Path
) -> None:
    with spawn("run", "slow.yaml") as process:
        wait_until(lambda: _iteration(whorl) >= 2)
        shutil.rmtree(project / ".whorl")
        out, err = process.communicate(timeout=PATIENCE_S)

    assert (process.returncode, "succeeded" in out + err) == (3, False)
    assert "R907" in err
    assert "was deleted while it was open" in err
    assert not (project / ".whorl").exists()


TALKING = """
import asyncio, pathlib, whorl

async def talk() -> str:
    while not pathlib.Path("enough").exists():
        whorl.current_call().emit("la ")
        await asyncio.sleep(0.01)
    return "done"
"""


def test_a_run_of_another_process_shows_its_text_as_it_comes(
    project: Path, spawn: Spawn, whorl: Whorl
) -> None:
    (project / "talking.py").write_text(TALKING)
    (project / "talk.yaml").write_text("whorl: 1\nname: talk\nsteps: {say: {use: talk}}\n")
    config = project / "whorl.toml"
    config.write_text(f'{config.read_text()}\n[tasks]\ntalk = "python:talking:talk"\n')
    with spawn("run", "talk.yaml"):
        wait_until(lambda: whorl("ls", "--json").json)
        with spawn("watch", "last", "--events") as watching:
            assert watching.stdout is not None
            lines = map(json.loads, watching.stdout)
            said = next(line for line in lines if line["kind"] == "task.text")
            (project / "enough").touch()
            kinds = [line["kind"] for line in lines]

    assert said["address"] == "say"
    assert set(said["text"].split()) == {"la"}
    assert "task.text" not in kinds[kinds.index("task.finished") :]
    assert kinds[-1] == "run.finished"
