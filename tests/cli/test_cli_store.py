"""backup, restore, and what becomes of a store that is damaged or on a full disk."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from waiting import wait_until
from whorl.runtimes.sqlite.ownership import is_open_elsewhere

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from command_line import Done, Spawn, Whorl

_BESIDE = ("whorl.db-wal", "whorl.db-shm")


def _is_turning(whorl: Whorl) -> bool:
    row = whorl("ls", "--json").json[0]
    return row["workflow"] == "slow" and row["iteration"] >= 2


def test_a_backup_is_restored(whorl: Whorl, spawn: Spawn, project: Path, tmp_path: Path) -> None:
    file = tmp_path / "copy.db"
    done = whorl("run", "polish.yaml", "x", "--json").json["run"]
    with spawn("run", "slow.yaml", "--max-iterations", "25") as process:
        wait_until(lambda: _is_turning(whorl))
        made = whorl("project", "backup", str(file), "--json").json
        assert (made["runs"], file.stat().st_mode & 0o777) == (2, 0o600)
        whorl("project", "restore", str(file), "--force").ends(
            2, f"process {process.pid} has the store"
        )
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert "exists already" in whorl("project", "backup", str(file)).err
    whorl("project", "backup", str(file), "--force").ends(0)
    assert "there is a store at" in whorl("project", "restore", str(file)).err

    restored = whorl("project", "restore", str(file), "--force", "--json").json

    (slow,) = restored["under_way"]
    aside = project / ".whorl" / restored["aside"]
    assert aside.exists()
    rows = {row["run"]: row["status"] for row in whorl("ls", "--json").json}
    assert rows == {done: "succeeded", slow: "paused"}
    assert "calls after the backup are unknown" in whorl("show", "--brief", slow).out
    assert whorl("project", "doctor").code == 0
    result = whorl("resume", slow, "--json").json
    assert result["status"] == "succeeded"
    (warning,) = (each for each in result["warnings"] if each["code"] == "R118")
    assert warning["message"].startswith("restored from a backup of 20")
    assert "calls made after it may have been made twice" in whorl("why", slow).out
    (row,) = (row for row in whorl("ls", "--json").json if row["run"] == slow)
    assert f"a backup of {row['labels']['restored']}:" in warning["message"]
    assert sorted(path.name for path in file.parent.glob("*copy.db*")) == ["copy.db"]
    assert not list(store_files(project, ".part"))


def test_a_backup_is_restored_to_a_store_elsewhere(
    whorl: Whorl, spawn: Spawn, project: Path, tmp_path: Path
) -> None:
    """The run that was under way belongs to this project, wherever its store is."""
    (project / "whorl.toml").touch()
    store, file = ("--store", str(tmp_path / "elsewhere.db")), str(tmp_path / "copy.db")
    with spawn("run", "slow.yaml", *store) as process:
        wait_until(lambda: "running" in whorl("ls", *store).out)
        whorl("project", "backup", file, *store).ends(0)
        process.kill()
        process.communicate()

    restored = whorl("project", "restore", file, "--force", "--json", *store).json

    assert [row["run"] for row in whorl("ls", "--json", *store).json] == restored["under_way"]


def store_files(project: Path, word: str) -> list[str]:
    return [path.name for path in (project / ".whorl").iterdir() if word in path.name]


def test_a_restore_pauses_a_timed_question(whorl: Whorl, project: Path, tmp_path: Path) -> None:
    """Its time would be over by itself, whatever was decided after the backup."""
    file, gate = tmp_path / "copy.db", "steps:\n  g: {approve: {message: ok?%s}}\n"
    (project / "timed.yaml").write_text("whorl: 1\n" + gate % ", timeout: 1h, on_timeout: reject")
    (project / "open.yaml").write_text("whorl: 1\n" + gate % "")
    timed = whorl("run", "timed.yaml", "--json").json["run"]
    still = whorl("run", "open.yaml", "--json").json["run"]
    whorl("project", "backup", str(file))

    restored = whorl("project", "restore", str(file), "--force").prints(timed)

    assert still not in restored.out
    rows = {row["run"]: row["status"] for row in whorl("ls", "--json").json}
    assert rows == {timed: "paused", still: "waiting"}
    assert whorl("resume", timed, "--json").json["status"] == "waiting"


def test_a_damaged_run_is_given_up_by_name(whorl: Whorl, project: Path, tmp_path: Path) -> None:
    file, store = tmp_path / "copy.db", project / ".whorl" / "whorl.db"
    (project / "open.yaml").write_text("whorl: 1\nsteps:\n  g: {approve: {message: ok?}}\n")
    kept = whorl("run", "open.yaml", "--json").json["run"]
    run = whorl("run", "open.yaml", "--json").json["run"]
    with apsw.Connection(str(store)) as database:
        change = "UPDATE journal SET at = at + 1 WHERE seq = 2 AND run ="
        database.execute(f"{change} (SELECT number FROM runs WHERE id = ?)", (run,))

    whorl("project", "backup", str(file)).ends(
        3, "error[R906]: the store", f"run '{run}', entry 2", "`whorl runs rm RUN`"
    )

    assert not file.exists()
    whorl("runs", "rm", kept).ends(2, f"`whorl runs cancel {kept}`")
    assert whorl("runs", "rm", run, "--older-than", "1d").code == 2

    assert whorl("runs", "rm", run, "--dry-run").out.split() == [run]
    assert whorl("runs", "rm", run).code == 0
    assert [row["run"] for row in whorl("ls", "--json").json] == [kept]
    assert whorl("project", "backup", str(file)).code == 0
    assert whorl("project", "doctor").code == 0


def _rows(store: Path) -> list[Any]:
    """What a store holds; whether it lies in the file or in the log is no matter."""
    with closing(apsw.Connection(str(store))) as connection:
        tables = ("runs", "progress", "journal")
        return [connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables]


def test_a_damaged_backup_is_not_restored(whorl: Whorl, project: Path, tmp_path: Path) -> None:
    file, store = tmp_path / "copy.db", project / ".whorl" / "whorl.db"
    run = whorl("run", "polish.yaml", "x", "--json").json["run"]
    whorl("project", "backup", str(file))
    with apsw.Connection(str(file)) as copy:
        copy.execute("UPDATE journal SET at = at + 1 WHERE seq = 3")
    before = _rows(store)

    whorl("project", "restore", str(file), "--force").ends(3, f"run '{run}', entry 3")

    assert {path.name for path in store.parent.iterdir()} <= {"whorl.db", *_BESIDE}
    assert _rows(store) == before
    assert whorl("project", "restore", str(tmp_path / "none.db")).code == 2


def test_an_idle_server_is_safe(whorl: Whorl, spawn: Spawn, project: Path, tmp_path: Path) -> None:
    file, store = tmp_path / "copy.db", project / ".whorl" / "whorl.db"
    whorl("run", "polish.yaml", "x")
    whorl("project", "backup", str(file))
    with spawn("serve", "--no-open", "--port", "0") as process:
        assert process.stdout is not None
        process.stdout.readline()
        # It looks for runs to take up from the moment on in which it says where it is.
        wait_until(lambda: is_open_elsewhere(str(store)))
        refused = whorl("project", "restore", str(file), "--force")
        process.terminate()
        process.communicate()

    assert (refused.code, "a process has the store" in refused.err) == (2, True)
    assert whorl("project", "restore", str(file), "--force").code == 0


def test_doctor_names_the_entry_that_was_changed(whorl: Whorl, project: Path) -> None:
    run = whorl("run", "polish.yaml", "x", "--json").json["run"]
    path = project / ".whorl" / "whorl.db"
    with apsw.Connection(str(path)) as file:
        file.execute("UPDATE journal SET at = at + 1 WHERE seq = 2")

    found = whorl("project", "doctor")
    assert (
        found.code,
        f"run '{run}', entry 2: it has changed since it was written" in found.out,
    ) == (1, True)
    whorl("show last").ends(3, "R906")


FULL = "has no room to grow: the disk is full"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A folder with a disk of its own, of eight megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    can_mount = sys.platform == "linux" and os.getuid() == 0
    if not can_mount or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("a disk without room needs the right to mount one")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Leaves not one block."""
    path = disk / "fill"
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    assert shutil.disk_usage(disk).free == 0
    return path


def advised(done: Done) -> list[str]:
    """The words of the commands that a refusal advises."""
    return re.findall(r"`whorl ([^`]*)`", done.err)


def test_a_disk_is_called_full_if_no_process_has_the_store_open(whorl: Whorl, disk: Path) -> None:
    store = ("--store", str(disk / "a.db"))
    assert whorl("run", "polish.yaml", "x", *store).code == 0
    path = fill(disk)

    for words in (("ls",), ("run", "polish.yaml", "y"), ("project", "prune", "--yes")):
        refused = whorl(*words, *store).ends(3, FULL, "free some space, then do it again")
        assert advised(refused) == []

    path.unlink()
    assert len(whorl("ls", "--json", *store).json) == 1
    assert whorl("project", "prune", "--dry-run", *store).code == 0


def test_a_run_on_a_full_disk_is_resumed_as_advised(whorl: Whorl, spawn: Spawn, disk: Path) -> None:
    store = ("--store", str(disk / "a.db"))
    with spawn("run", "slow.yaml", "--max-iterations", "60", *store) as process:
        wait_until(lambda: (disk / "a.db").exists() and _has_turned(whorl, store))
        path = fill(disk)
        assert process.stderr is not None
        assert any("the run waits" in line for line in process.stderr)
        process.send_signal(signal.SIGTERM)
        stopped = process.stderr.read()
    run = str(whorl("ls", "--json", *store).json[0]["run"])
    assert FULL in stopped
    (words,) = re.findall(r"`whorl ([^`]*)`", stopped)
    assert run in words

    path.unlink()
    assert whorl(*shlex.split(words)).code == 0


def test_a_backup_without_room_is_said_of_its_file(whorl: Whorl, disk: Path) -> None:
    whorl("run", "polish.yaml", "x")
    path, file = fill(disk), disk / "copy.db"

    refused = whorl("project", "backup", str(file))

    assert refused.code == 3
    assert f"error[R900]: the backup '{file}' {FULL}\n" in refused.err
    assert "nothing was copied; free some space there, or name another file" in refused.err
    assert list(disk.iterdir()) == [path]
    path.unlink()
    assert whorl("project", "backup", str(file)).code == 0


def test_a_store_without_room_for_a_backup_is_not_touched(whorl: Whorl, disk: Path) -> None:
    whorl("run", "polish.yaml", "x")
    whorl("project", "backup", "copy.db")
    store = disk / "a.db"
    path = fill(disk)

    refused = whorl("project", "restore", "copy.db", "--store", str(store))

    assert (refused.code, f"the store '{store}' {FULL}" in refused.err) == (3, True), refused.err
    assert "free some space there, then restore again" in refused.err
    assert list(disk.iterdir()) == [path]
    path.unlink()
    assert whorl("project", "restore", "copy.db", "--store", str(store)).code == 0


def _has_turned(whorl: Whorl, store: tuple[str, ...]) -> bool:
    rows = whorl("ls", "--json", *store).json
    return bool(rows) and rows[0]["iteration"] >= 2
