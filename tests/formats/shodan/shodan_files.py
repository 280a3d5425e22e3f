"""Graph files in memory and in folders, and what reading and running them gives."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import whorl
from whorl.dialects import NoFiles, ProjectFiles, read_workflow
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    import pytest

    from whorl.dialects import Reading

ROOT = Path(__file__).parents[3]
SHARED = ROOT.parent / "shared"
CORPUS = SHARED / "corpora" / "shodan"
HEAD = "version: 1\nmetadata: {name: case}\n"


def read(text: str) -> Reading:
    """Reads a file that came alone."""
    return read_workflow(text, "case.yaml", NoFiles())


def settle(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes a folder a project of its own, where commands are allowed and no key is set."""
    left_out = ("_API_KEY", "_BASE_URL", "WHORL_HOME")
    for name in [name for name in os.environ if name.endswith(left_out)]:
        monkeypatch.delenv(name)
    folder.mkdir(exist_ok=True)
    if not (folder / "whorl.toml").exists():
        (folder / "whorl.toml").write_text("[allow]\ncommands = true\n")
    monkeypatch.chdir(folder)
    return folder


def run(path: Path, **inputs: Any) -> Any:
    """Runs a file of the project in the present folder on a real store, as the program does."""
    reading = read_workflow(path.read_text(), str(path), ProjectFiles(str(Path.cwd())))
    workflow = whorl.Workflow(
        reading.workflow.name, reading.workflow, str(path), dict(reading.sources), reading.warnings
    )
    return whorl.run_sync(workflow, inputs)


def printed(folder: Path, name: str) -> list[str]:
    """What the record holds that the commands of a run printed."""
    [file] = folder.rglob("*.db")
    store = SqliteStore(str(file))
    try:
        entries = list(store.read(store.resolve(name)))
    finally:
        store.close()
    done: list[Any] = [entry.event.body for entry in entries if entry.event.kind == "task.finished"]
    values = (body["value"] for body in done)
    return [value["stdout"] for value in values if isinstance(value, dict) and "stdout" in value]
