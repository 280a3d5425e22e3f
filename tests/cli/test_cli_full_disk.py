"""A disk without room: each command says what is full, and what it advises can be done."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from command_line import Done, Spawn, Whorl

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


def test_a_disk_without_room_is_called_full_also_where_nobody_has_the_store_open(
    whorl: Whorl, disk: Path
) -> None:
    store = ("--store", str(disk / "a.db"))
    assert whorl("run", "polish.yaml", "x", *store).code == 0
    path = fill(disk)

    for words in (("ls",), ("run", "polish.yaml", "y"), ("prune", "--yes")):
        refused = whorl(*words, *store)
        assert (refused.code, FULL in refused.err) == (3, True), refused.err
        assert "free some space, then do it again" in refused.err
        assert advised(refused) == []

    path.unlink()
    assert len(whorl("ls", "--json", *store).json) == 1
    assert whorl("prune", "--dry-run", *store).code == 0


def test_a_run_that_a_full_disk_stops_goes_on_with_what_is_advised(
    whorl: Whorl, spawn: Spawn, disk: Path
) -> None:
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

    refused = whorl("backup", str(file))

    assert refused.code == 3
    assert f"error[R900]: the backup '{file}' {FULL}\n" in refused.err
    assert "nothing was copied; free some space there, or name another file" in refused.err
    assert list(disk.iterdir()) == [path]
    path.unlink()
    assert whorl("backup", str(file)).code == 0


def test_a_store_without_room_for_a_backup_is_not_touched(whorl: Whorl, disk: Path) -> None:
    whorl("run", "polish.yaml", "x")
    whorl("backup", "copy.db")
    store = disk / "a.db"
    path = fill(disk)

    refused = whorl("restore", "copy.db", "--store", str(store))

    assert (refused.code, f"the store '{store}' {FULL}" in refused.err) == (3, True), refused.err
    assert "free some space there, then restore again" in refused.err
    assert list(disk.iterdir()) == [path]
    path.unlink()
    assert whorl("restore", "copy.db", "--store", str(store)).code == 0


def _has_turned(whorl: Whorl, store: tuple[str, ...]) -> bool:
    rows = whorl("ls", "--json", *store).json
    return bool(rows) and rows[0]["iteration"] >= 2
