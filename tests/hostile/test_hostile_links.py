"""No link in a cloned folder leads what a command writes by itself to a place outside of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from cloned import Clone

OWN = "whorl: 1\nname: own\nsteps:\n  a: {value: 1}\n"
SCHEMAS = [f".whorl/schemas/{name}.json" for name in ("workflow", "tests")]
# What is at the place to which a link leads.
FILE, FOLDER, NOTHING = "file", "folder", "nothing"
INIT = [
    *((name, FILE) for name in (*SCHEMAS, ".gitignore")),
    *((name, NOTHING) for name in (*SCHEMAS, ".gitignore", "whorl.toml", "first.yaml")),
    *((name, kind) for name in (".whorl", ".whorl/schemas") for kind in (FOLDER, NOTHING)),
]
# Commands that write a file that is named, where LINK is a link.
NAMED = [
    (("file", "convert", "write.json", "-o", "LINK"), NOTHING),
    (("file", "convert", "write.json", "-o", "LINK/flow.yaml"), FOLDER),
    (("file", "graph", "nice.yaml", "-o", "LINK"), NOTHING),
    (("file", "graph", "nice.yaml", "-o", "LINK"), FILE),
    (("file", "graph", "nice.yaml", "-o", "LINK/../x.txt"), FOLDER),
    (("new", "self-refine", "LINK", "--force"), FILE),
    (("new", "self-refine", "LINK/flow.yaml"), FOLDER),
    (("test", "nice.yaml", "--run", "nice", "--save", "LINK"), FILE),
    (("test", "nice.yaml", "--run", "nice", "--save", "LINK/a.test.yaml"), FOLDER),
    (("file", "edit", "LINK", "set", "a", "value:=2"), FILE),
    (("project", "backup", "LINK/whorl.db"), FOLDER),
    (("project", "backup", "LINK", "--force"), FILE),
]
# What is written beside the store, with the link that is in its place.
STORED = [
    *(
        (("project", "restore", "copy.db", "--force"), ".whorl"),
        (("project", "tools", "accept"), ".whorl"),
    ),
    *((("project", "tools", "accept"), ".whorl/.tools.json.lock"), (("ls",), ".whorl/facts")),
    *((("ls",), ".whorl/whorl.mirror.db-wal"), (("run", "own.yaml", "--detach"), ".whorl/logs")),
]


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A place of the person that is outside of the clone."""
    return tmp_path / "victim" / "precious"


def lay(path: Path, victim: Path, kind: str) -> None:
    """Puts a link into the clone."""
    victim.parent.mkdir(parents=True)
    if kind == FILE:
        victim.write_text(OWN)
    elif kind == FOLDER:
        victim.mkdir()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(victim)


def state(folder: Path) -> dict[str, str]:
    """All that is in a folder; what links lead to is not."""
    return {
        str(path.relative_to(folder)): path.read_text() if path.is_file() else ""
        for path in folder.rglob("*")
        if path.suffix not in (".db", ".db-wal", ".db-shm")
    }


@pytest.fixture
def bare(clone: Clone) -> Clone:
    """A clone that has neither a configuration nor workflows nor a store yet."""
    for path in (clone.folder / ".whorl").iterdir():
        path.unlink() if path.is_file() else path.rmdir()
    (clone.folder / ".whorl").rmdir()
    for path in (clone.folder / "whorl.toml", *clone.folder.glob("*.yaml")):
        path.unlink()
    return clone


@pytest.mark.sample(6)
@pytest.mark.parametrize(("name", "kind"), INIT)
def test_init_follows_no_link(bare: Clone, victim: Path, name: str, kind: str) -> None:
    lay(bare.folder / name, victim, kind)
    before = state(bare.folder), state(victim.parent)

    done = bare.whorl("init")

    assert (done.returncode, "is a symbolic link" in done.stderr) == (2, True), done.stderr
    assert str(bare.folder / name) in done.stderr
    assert (state(bare.folder), state(victim.parent)) == before


@pytest.mark.sample(4)
@pytest.mark.parametrize(("words", "kind"), NAMED, ids=str)
def test_a_file_that_is_named_is_not_written_elsewhere(
    clone: Clone, victim: Path, words: tuple[str, ...], kind: str
) -> None:
    lay(clone.folder / "link", victim, kind)
    before = state(victim.parent)

    done = clone.whorl(*(word.replace("LINK", "link") for word in words))

    assert (done.returncode, "symbolic link" in done.stderr) == (2, True), done.stderr
    assert state(victim.parent) == before
    assert (clone.folder / "link").is_symlink()


@pytest.mark.sample(4)
@pytest.mark.parametrize(("words", "name"), STORED, ids=str)
def test_nothing_beside_the_store_is_written_elsewhere(
    clone: Clone, victim: Path, words: tuple[str, ...], name: str
) -> None:
    (clone.folder / "whorl.toml").unlink()
    (clone.folder / "own.yaml").write_text(OWN)
    clone.whorl("project", "backup", "copy.db")
    if name == ".whorl":
        (clone.folder / name).rename(clone.folder / "before")
    lay(clone.folder / name, victim, NOTHING if name.endswith((".lock", "-wal")) else FOLDER)
    before = state(victim.parent)

    done = clone.whorl(*words)

    assert (done.returncode, "error[R908]" in done.stderr) == (3, True), done.stderr
    assert "is a symbolic link" in done.stderr
    assert (state(victim.parent), list(victim.parent.rglob("*.db*"))) == (before, [])


def test_the_log_of_what_runs_elsewhere_is_not_written_through_a_link(
    clone: Clone, victim: Path
) -> None:
    """That of an experiment has a name that can be known before."""
    from whorl.errors import StoreError
    from whorl.interfaces.cli.commands.run import start_elsewhere
    from whorl.services.project import find_project

    lay(clone.folder / ".whorl" / "logs" / "known.log", victim, FILE)
    project = find_project(clone.environment(), folder=clone.folder)

    with pytest.raises(StoreError, match="is a symbolic link"):
        start_elsewhere(project, ["ls"], "known")
    assert victim.read_text() == OWN
