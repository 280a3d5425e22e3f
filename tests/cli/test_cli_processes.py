"""Runs and several processes: kill -9 and resume, Ctrl-C, steering, joining and detaching."""

from __future__ import annotations

import json
import shutil
import signal
import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from waiting import PATIENCE_S, wait_until
from whorl.interfaces.cli import watchers
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from command_line import Spawn, Whorl


def _iteration(whorl: Whorl) -> int:
    rows = whorl("ls", "--json").json
    return int(rows[0]["iteration"]) if rows else 0


def _kill(whorl: Whorl, spawn: Spawn, *words: str, at: int = 2) -> None:
    """Runs the slow workflow, and kills it in its first iterations."""
    with spawn("run", "slow.yaml", *words) as process:
        wait_until(lambda: _iteration(whorl) >= at)
        process.kill()
        process.communicate()


def _add_task(project: Path, name: str, seconds: float) -> None:
    """A function that takes long, and a workflow of two steps that use it."""
    body = f"open('began', 'w').close()\n    time.sleep({seconds})\n    return 1\n"
    (project / f"{name}.py").write_text(f"import time\ndef {name}():\n    {body}")
    with (project / "whorl.toml").open("a") as file:
        file.write(f'\n[tasks]\n{name} = "python:{name}:{name}"\n')
    steps = f"{{a: {{use: {name}}}, b: {{use: {name}}}}}"
    (project / f"{name}.yaml").write_text(f"whorl: 1\nsteps: {steps}\n")


def test_kill_and_resume_send_no_finished_call_again(whorl: Whorl, spawn: Spawn) -> None:
    _kill(whorl, spawn, "--json", "--max-iterations", "12", at=4)
    row = whorl("ls", "--json").json[0]
    assert row["status"] == "interrupted"
    assert int(row["iteration"]) >= 4

    done = whorl("resume last --json").ends(0)

    assert done.json["loops"][0]["iterations"] == 12
    assert done.json["usage"]["calls"] == 12 + done.json["usage"]["in_doubt"]
    events = whorl("watch", "last", "--events").out.splitlines()
    sent = [
        event["address"]
        for event in map(json.loads, events)
        if event["kind"] == "task.finished" and event["body"].get("value")
    ]
    assert len(sent) == len(set(sent)) == 12


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_first_signal_is_no_end(whorl: Whorl, spawn: Spawn, number: signal.Signals) -> None:
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
    _add_task(project, "sleepy", 1.5)
    with spawn("run", "sleepy.yaml") as process:
        wait_until((project / "began").exists)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 5
    assert "stopping: 1 open call may finish within 20 s; Ctrl-C again stops at once" in err
    done = whorl("resume", "last", "--json")
    assert (done.code, done.json["usage"]["in_doubt"]) == (0, 0)
    events = [json.loads(line) for line in whorl("watch", "last", "--events").out.splitlines()]
    assert [e["address"] for e in events if e["kind"] == "task.started"] == ["a", "b"]


def test_all_interrupted_runs_continue(whorl: Whorl, spawn: Spawn, project: Path) -> None:
    (project / "slow.py").write_text("def mine():\n    return 1\n")
    config = (project / "whorl.toml").read_text()
    (project / "whorl.toml").write_text(f'{config}\n[tasks]\nmine = "python:slow:mine"\n')
    slow = (project / "slow.yaml").read_text()
    (project / "task.yaml").write_text(slow.replace("outputs:", "  u: {use: mine}\noutputs:"))

    def is_under_way(key: str) -> bool:
        rows = whorl("ls", "--json").json
        return bool(rows) and rows[0]["key"] == key and rows[0]["iteration"] > 0

    for key, file in (("1", "slow.yaml"), ("2", "slow.yaml"), ("3", "task.yaml")):
        with spawn("run", file, "--key", key, "--max-iterations", "4") as process:
            wait_until(partial(is_under_way, key))
            process.kill()
            process.communicate()
    (project / "whorl.toml").write_text(config)
    (project / "task.yaml").write_text(slow)

    done = whorl("resume --all --json").ends(5)

    changed = [document["changed_file"] for document in done.json]
    assert changed == [None, None, str(project / "task.yaml")]
    ends = [(document["status"], document["reason"]) for document in done.json]
    assert ends[:2] == [("succeeded", None)] * 2
    assert ends[2][0] == "interrupted"
    assert "uses the task 'mine', which is not known" in ends[2][1]
    again = whorl("resume", "--all").out
    assert "⏸ interrupted" in again
    assert "task.yaml has changed since this run began; the run keeps the old version" in again
    assert whorl("resume").code == whorl("resume", "last", "--all").code == 2
    for words in (("resume",), ("continue", "--iterations", "1"), ("resume", "--budget", "+1")):
        alone = whorl(words[0], "last", *words[1:])
        assert (alone.code, "error[P114]" in alone.err) == (2, True)
        assert "uses the task 'mine', which is not known" in alone.err
    assert whorl("ls", "--json").json[0]["status"] == "interrupted"
    assert whorl("runs", "cancel", "last").code == 0


def test_a_key_resumes_its_interrupted_run(whorl: Whorl, spawn: Spawn) -> None:
    words = ("--key", "once", "--max-iterations", "6")
    _kill(whorl, spawn, *words)

    done = whorl("run", "slow.yaml", *words, "--json").ends(0)

    assert done.json["loops"][0]["iterations"] == 6
    assert len(whorl("ls", "--json").json) == 1


def test_a_second_client_gets_the_same_answer_and_watches(whorl: Whorl, spawn: Spawn) -> None:
    _kill(whorl, spawn, "--max-iterations", "12")
    processes = [spawn("resume", "last") for _ in range(4)]
    ends = [process.communicate(timeout=PATIENCE_S) for process in processes]

    assert [process.returncode for process in processes] == [0] * 4
    assert all("R902" not in err for _, err in ends)
    assert sum("is running already" in err for _, err in ends) <= 3


def test_run_of_another_process_is_watched_paused_and_cancelled(whorl: Whorl, spawn: Spawn) -> None:
    with spawn("run", "slow.yaml") as owner:
        wait_until(lambda: _iteration(whorl) >= 1)
        with spawn("watch", "last") as watcher:
            assert whorl("show", "--brief", "--json").json["status"] == "running"
            whorl("fork last --at l[99]").ends(2)
            whorl("runs pause last").prints("is paused").says("next: whorl resume")
            _, told = owner.communicate(timeout=PATIENCE_S)
            _, seen = watcher.communicate(timeout=PATIENCE_S)

    assert owner.returncode == watcher.returncode == 5
    assert "⏸ paused" in told
    assert "⏸ paused" in seen
    with spawn("resume", "last") as owner:
        wait_until(lambda: whorl("show", "--brief", "--json").json["status"] == "running")
        assert "was cancelled" in whorl("runs", "cancel", "last").out
        owner.communicate(timeout=PATIENCE_S)
    assert owner.returncode == 5
    assert whorl("ls", "--json").json[0]["status"] == "cancelled"


def test_a_detached_run_continues_alone(whorl: Whorl, spawn: Spawn, project: Path) -> None:
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
    words = ("run", "slow.yaml", "--key", "once", "--json", "--max-iterations", "8")
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


def test_more_iterations_for_a_paused_run_are_said(whorl: Whorl, spawn: Spawn) -> None:
    with spawn("run", "slow.yaml") as owner:
        wait_until(lambda: bool(whorl("ls", "--json").json))
        wait_until(lambda: (whorl("show", "--brief", "--json").json["iteration"] or 0) > 1)
        whorl("runs", "pause", "last")
        owner.communicate(timeout=PATIENCE_S)

    done = whorl("continue", "last", "-n", "3")

    assert done.code == 5
    assert "next: whorl resume" in done.err
    assert "/203" in whorl("show", "--brief").out


def test_second_signal_ends_a_function_that_takes_long(spawn: Spawn, project: Path) -> None:
    """The thread of a function cannot be ended, but the process can."""
    _add_task(project, "sleepy", 600)
    with spawn("run", "sleepy.yaml") as process:
        wait_until((project / "began").exists)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        # Two signals that arrive at once are one.
        wait_until(lambda: process.send_signal(signal.SIGINT) or process.poll() is not None)
        process.communicate(timeout=PATIENCE_S)

    assert process.returncode == -signal.SIGINT


def test_a_run_whose_store_is_deleted_ends(whorl: Whorl, spawn: Spawn, project: Path) -> None:
    with spawn("run", "slow.yaml") as process:
        wait_until(lambda: _iteration(whorl) >= 2)
        shutil.rmtree(project / ".whorl")
        out, err = process.communicate(timeout=PATIENCE_S)

    assert (process.returncode, "succeeded" in out + err) == (3, False)
    assert "R907" in err
    assert "was deleted while it was open" in err
    assert not (project / ".whorl").exists()


@pytest.fixture
def store(whorl: Whorl, project: Path) -> Iterator[SqliteStore]:
    """The store of one run, which has ended."""
    whorl("run", "polish.yaml", "a haiku")
    with closing(SqliteStore(project / ".whorl" / "whorl.db")) as opened:
        yield opened


def test_a_late_watcher_sees_each_iteration_once(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the run stands when it is joined, and though it goes on while it is looked at."""
    row = next(iter(store.runs()))
    run, entries = row.id, list(store.read(row.id))
    assert row.last_seq == len(entries) > 20
    for known in range(1, len(entries)):
        monkeypatch.setattr(store, "run", lambda _, known=known: replace(row, last_seq=known))
        progress = watchers.past_of(store, run)
        for entry in progress.unseen(entries):
            progress.take(entry.event)

        numbers = [done.number for done in progress.loops["polish"].iterations]
        assert numbers == [1, 2, 3], f"joined after entry {known}"
