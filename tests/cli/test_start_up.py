"""What a command loads before it does its work: a small run must not wait for what it never uses.

Times differ from machine to machine; what is imported does not.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

TINY = 'whorl: 1\nname: tiny\nsteps: {a: {value: "done"}}\n'

PROGRAM = """
import atexit, sys
from whorl.interfaces.cli import main
atexit.register(lambda: print(*sys.modules, file=open("modules.txt", "w")))
main(sys.argv[1:])
"""

WINGS = ("automation", "cluster", "editor", "experiments", "testing")
NEVER = (
    "fastapi",
    "genai_prices",
    "httpcore2",
    "httpx2",
    "importlib.metadata",
    "jinja2",
    "pydantic",
    "rapidfuzz",
    "re2",
    "rich",
    "tomllib",
    "whorl.formats.loom.reader",
    "whorl.formats.mcp_cli.reader",
    "whorl.dialects.native.shell",
    "whorl.formats.orka.reader",
    "whorl.formats.shodan.reader",
    "whorl.formats.studio.reader",
    "whorl.interfaces.cli.live_view",
    "whorl.interfaces.http",
    "whorl.services.serving.watchers",
    "whorl.interfaces.translation",
    "whorl.language.core",
    "whorl.language.patterns",
    "whorl.language.schema",
    "whorl.providers.asking",
    "whorl.providers.models",
    "whorl.providers.outbound",
    "whorl.runtimes.journal.forking",
    "whorl.source.json",
    "xllamacpp",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tiny.yaml").write_text(TINY)
    return tmp_path


def ended(
    program: str, *words: str, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """A program that has ended, in an environment without what changes what is loaded."""
    environment = {
        name: text
        for name, text in os.environ.items()
        if not name.startswith(("COV", "OTEL", "WHORL"))
    }
    argv = [sys.executable, "-I", "-c", program, *words]
    shown: dict[str, Any] = {"capture_output": True, "text": True, "timeout": PATIENCE_S}
    done = subprocess.run(argv, cwd=folder, env=environment, check=False, **shown)
    assert done.returncode == 0, done.stderr
    return done


def loaded_by(folder: Path, *words: str, program: str = PROGRAM) -> set[str]:
    """The modules that are loaded when a command has ended."""
    ended(program, *words, folder=folder)
    return set((folder / "modules.txt").read_text().split())


@pytest.mark.parametrize("command", ["run", "validate"])
def test_a_small_file_loads_nothing_that_it_does_not_use(folder: Path, command: str) -> None:
    """To check it, no store and no runtime either."""
    loaded = loaded_by(folder, command, "tiny.yaml")
    runs = {"apsw", "asyncio", "whorl.interpreter", "whorl.runtimes"}

    assert "whorl.dialects.native" in loaded
    assert sorted(loaded & {*NEVER, *(runs if command == "validate" else ())}) == []


def test_help_loads_only_click(folder: Path) -> None:
    loaded = loaded_by(folder, "--help")
    ours = {name for name in loaded if name.partition(".")[0] == "whorl"}

    assert ours == {
        "whorl",
        "whorl.errors",
        "whorl.interfaces",
        "whorl.interfaces.cli",
        "whorl.interfaces.cli.group",
        "whorl.interfaces.cli.terminal",
        "whorl.lazily",
        "whorl.plugins",
        "whorl.wings",
        *(f"whorl.wings.{name}" for name in WINGS),
    }
    assert "click" in loaded
    assert sorted(loaded & {*NEVER, "apsw", "asyncio", "json", "ssl", "yaml"}) == []


ENDING = """
import atexit, gc, sys, threading
from whorl.interfaces.cli import main
atexit.register(lambda: print("called", *gc.get_threshold(), gc.get_freeze_count() > 0))
def work():
    threading.main_thread().join()
    print("waited for")
if sys.argv.pop(1) == "thread":
    threading.Thread(target=work).start()
main()
"""


@pytest.mark.parametrize(("alone", "expected"), [("alone", ""), ("thread", "waited for\n")])
def test_a_command_ends_soon_but_not_before_others(folder: Path, alone: str, expected: str) -> None:
    done = ended(ENDING, alone, "run", "tiny.yaml", folder=folder)

    # Garbage is looked for again as soon as there are runs, and not in what was loaded.
    assert done.stdout == f"done\n{expected}called 20000 5 80 True\n"
