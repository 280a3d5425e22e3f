"""backup, restore, and what becomes of a store that is damaged or a link."""

from __future__ import annotations

import signal
from contextlib import closing
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from waiting import wait_until
from whorl.runtimes.sqlite.ownership import opener

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from command_line import Spawn, Whorl


_BESIDE = ("whorl.db-wal", "whorl.db-shm")


def _is_turning(whorl: Whorl) -> bool:
    row = whorl("ls", "--json").json[0]
    return row["workflow"] == "slow" and row["iteration"] >= 2


def test_a_backup_of_a_store_in_use_is_restored(
    whorl: Whorl, spawn: Spawn, project: Path, tmp_path: Path
) -> None:
    file = tmp_path / "copy.db"
    done = whorl("run", "polish.yaml", "x", "--json").json["run"]
    with spawn("run", "slow.yaml", "--max-iterations", "25") as process:
        wait_until(lambda: _is_turning(whorl))
        made = whorl("backup", str(file), "--json").json
        assert (made["runs"], len(made["under_way"]), file.stat().st_mode & 0o777) == (2, 1, 0o600)
        refused = whorl("restore", str(file), "--force")
        assert (refused.code, f"process {process.pid} has the store" in refused.err) == (2, True)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert "exists already" in whorl("backup", str(file)).err
    again = whorl("backup", str(file), "--force")
    # Nobody drives it any more.
    assert (again.code, "continued during the copy" in again.err) == (0, False)
    assert "there is a store at" in whorl("restore", str(file)).err

    restored = whorl("restore", str(file), "--force", "--json").json

    (slow,) = restored["under_way"]
    aside = project / ".whorl" / restored["aside"]
    assert aside.exists()
    rows = {row["run"]: row["status"] for row in whorl("ls", "--json").json}
    assert rows == {done: "succeeded", slow: "paused"}
    assert "what it has done since is not known" in whorl("status", slow).out
    assert whorl("doctor").code == 0
    result = whorl("resume", slow, "--json").json
    assert result["status"] == "succeeded"
    (warning,) = (each for each in result["warnings"] if each["code"] == "R118")
    assert warning["message"].startswith("restored from a backup of 20")
    assert "calls made after it may have been made twice" in whorl("why", slow).out
    (row,) = (row for row in whorl("ls", "--json").json if row["run"] == slow)
    assert f"a backup of {row['labels']['restored']}:" in warning["message"]
    assert sorted(path.name for path in file.parent.glob("*copy.db*")) == ["copy.db"]
    assert not list(store_files(project, ".part"))


def store_files(project: Path, word: str) -> list[str]:
    return [path.name for path in (project / ".whorl").iterdir() if word in path.name]


def test_a_question_with_a_time_limit_is_paused_by_a_restore(
    whorl: Whorl, project: Path, tmp_path: Path
) -> None:
    """Its time would be over by itself, whatever was decided after the backup."""
    file, gate = tmp_path / "copy.db", "steps:\n  g: {approve: {message: ok?%s}}\n"
    (project / "timed.yaml").write_text("whorl: 1\n" + gate % ", timeout: 1h, on_timeout: reject")
    (project / "open.yaml").write_text("whorl: 1\n" + gate % "")
    timed = whorl("run", "timed.yaml", "--json").json["run"]
    still = whorl("run", "open.yaml", "--json").json["run"]
    whorl("backup", str(file))

    restored = whorl("restore", str(file), "--force")

    assert timed in restored.out
    assert still not in restored.out
    rows = {row["run"]: row["status"] for row in whorl("ls", "--json").json}
    assert rows == {timed: "paused", still: "waiting"}
    assert whorl("resume", timed, "--json").json["status"] == "waiting"


def test_a_damaged_run_that_has_not_ended_is_given_up_by_name(
    whorl: Whorl, project: Path, tmp_path: Path
) -> None:
    file, store = tmp_path / "copy.db", project / ".whorl" / "whorl.db"
    (project / "open.yaml").write_text("whorl: 1\nsteps:\n  g: {approve: {message: ok?}}\n")
    kept = whorl("run", "open.yaml", "--json").json["run"]
    run = whorl("run", "open.yaml", "--json").json["run"]
    with apsw.Connection(str(store)) as database:
        change = "UPDATE journal SET at = at + 1 WHERE seq = 2 AND run ="
        database.execute(f"{change} (SELECT number FROM runs WHERE id = ?)", (run,))

    refused = whorl("backup", str(file))

    assert (refused.code, "error[R906]: the store" in refused.err) == (3, True)
    assert f"run '{run}', entry 2" in refused.err
    assert f"`whorl prune --run {run}`" in refused.err
    assert not file.exists()
    whole = whorl("prune", "--run", kept)
    assert (whole.code, f"`whorl cancel {kept}`" in whole.err) == (2, True)
    assert whorl("prune", "--run", run, "--older-than", "1d").code == 2

    assert whorl("prune", "--run", run, "--dry-run").out.split() == [run]
    assert whorl("prune", "--run", run).code == 0
    assert [row["run"] for row in whorl("ls", "--json").json] == [kept]
    assert whorl("backup", str(file)).code == 0
    assert whorl("doctor").code == 0


def test_a_backup_is_restored_where_there_is_no_store(
    whorl: Whorl, project: Path, tmp_path: Path
) -> None:
    file = tmp_path / "copy.db"
    whorl("run", "polish.yaml", "x")
    shown = whorl("show", "last").out
    assert "1 run" in whorl("backup", str(file)).out
    (project / ".whorl" / "whorl.db").unlink()

    assert "1 run" in whorl("restore", str(file)).out

    assert whorl("show", "last").out == shown


def _rows(store: Path) -> list[Any]:
    """What a store holds; whether it lies in the file or in the log is no matter."""
    with closing(apsw.Connection(str(store))) as connection:
        tables = ("runs", "progress", "journal")
        return [connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables]


def test_a_damaged_backup_is_not_restored(whorl: Whorl, project: Path, tmp_path: Path) -> None:
    file, store = tmp_path / "copy.db", project / ".whorl" / "whorl.db"
    run = whorl("run", "polish.yaml", "x", "--json").json["run"]
    whorl("backup", str(file))
    with apsw.Connection(str(file)) as copy:
        copy.execute("UPDATE journal SET at = at + 1 WHERE seq = 3")
    before = _rows(store)

    refused = whorl("restore", str(file), "--force")

    assert (refused.code, f"run '{run}', entry 3" in refused.err) == (3, True)
    assert {path.name for path in store.parent.iterdir()} <= {"whorl.db", *_BESIDE}
    assert _rows(store) == before
    assert whorl("restore", str(tmp_path / "none.db")).code == 2


def _half(whole: Path, file: Path) -> None:
    file.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2 // 4096 * 4096])


def _empty(whole: Path, file: Path) -> None:
    file.touch()


def _text(whole: Path, file: Path) -> None:
    file.write_text("no database, but long enough to be read as one " * 100)


def _of_others(whole: Path, file: Path) -> None:
    with closing(apsw.Connection(str(file))) as database:
        database.execute("CREATE TABLE t(x)")


def _link(whole: Path, file: Path) -> None:
    file.symlink_to(whole)


@pytest.mark.parametrize(
    ("make", "words", "advice"),
    [
        (_half, "is damaged", "use another backup"),
        (_empty, "the backup '{file}' is empty", "name the file of a backup"),
        (_text, "the backup '{file}' is not a store of Whorl", "name the file of a backup"),
        (_of_others, "'{file}' is a database of another program", "name the file of a backup"),
        (_link, "the backup '{file}' is a symbolic link", "name the file itself: {whole}"),
    ],
)
def test_what_is_no_backup_is_said_of_its_file(
    whorl: Whorl, tmp_path: Path, make: Callable[[Path, Path], None], words: str, advice: str
) -> None:
    whole, file = tmp_path / "whole.db", tmp_path / "copy.db"
    whorl("run", "polish.yaml", "x")
    whorl("backup", str(whole))
    make(whole, file)

    refused = whorl("restore", str(file), "--force")

    assert refused.code == 3
    assert words.format(file=file) in refused.err
    assert f"help: nothing was changed; {advice.format(whole=whole)}" in refused.err
    assert f"'{file}'" in refused.err
    assert "--store" not in refused.err
    assert len(whorl("ls", "--json").json) == 1


def test_nothing_is_restored_while_an_idle_server_has_the_store_open(
    whorl: Whorl, spawn: Spawn, project: Path, tmp_path: Path
) -> None:
    file, store = tmp_path / "copy.db", project / ".whorl" / "whorl.db"
    whorl("run", "polish.yaml", "x")
    whorl("backup", str(file))
    with spawn("serve", "--no-open", "--port", "0") as process:
        assert process.stdout is not None
        process.stdout.readline()
        # It looks for runs to take up from the moment on in which it says where it is.
        wait_until(lambda: opener(str(store)) == process.pid)
        refused = whorl("restore", str(file), "--force")
        process.terminate()
        process.communicate()

    assert (refused.code, f"process {process.pid} has the store" in refused.err) == (2, True)
    assert "open" in refused.err
    assert whorl("restore", str(file), "--force").code == 0


def test_doctor_names_the_entry_that_was_changed(whorl: Whorl, project: Path) -> None:
    run = whorl("run", "polish.yaml", "x", "--json").json["run"]
    path = project / ".whorl" / "whorl.db"
    with apsw.Connection(str(path)) as file:
        file.execute("UPDATE journal SET at = at + 1 WHERE seq = 2")

    found = whorl("doctor")
    assert (found.code, f"run '{run}', entry 2: it is not what was written" in found.out) == (
        1,
        True,
    )
    shown = whorl("show", "last")
    assert (shown.code, "R906" in shown.err) == (3, True)


def test_a_store_that_is_a_link_is_used_only_where_it_is_named(
    whorl: Whorl, project: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (project / ".whorl").symlink_to(elsewhere)

    refused = whorl("run", "polish.yaml", "x")
    assert (refused.code, "R908" in refused.err, list(elsewhere.iterdir())) == (3, True, [])
    assert whorl("run", "polish.yaml", "x", "--store", str(project / ".whorl")).code == 0
