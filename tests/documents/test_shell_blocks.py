"""What the documents say at a shell works when it is pasted, and prints what they show."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from .blocks import ROOT, Block, Command, blocks_of, commands_of
from .model import served_model
from .shell import Shell

SETTINGS: dict[str, dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "pages.toml").read_text()
)
# Generated from the commands' own help, and from pages whose examples are mistakes.
GENERATED = {"docs/reference/commands.md"}
PAGES = {
    str(page.relative_to(ROOT)): page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if str(page.relative_to(ROOT)) not in GENERATED and page.parent.name != "errors"
}
SHELL = ("sh", "console")
WITH_SHELL = [
    name for name, page in PAGES.items() if any(b.language in SHELL for b in blocks_of(page))
]
# What differs from run to run: how long it took, ids, secrets.
CHANGING = [
    (re.compile(r"\(\d+(\.\d+)? s\)"), "(0 s)"),
    (re.compile(r"whsec_\S+"), "whsec_"),
    # How often progress is told depends on the machine; the end of it is always told.
    (re.compile(r"^ *(\d+) of (?!\1 )\d+ trials, .*\n", re.M), ""),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_SHELL)
def test_commands_of_a_page_work_when_they_are_pasted(name: str, tmp_path: Path) -> None:
    settings = SETTINGS.get(name, {})
    with served_model() as model, Shell(tmp_path / "home", model) as shell:
        prepare(shell, settings)
        workflow = ""
        for block in blocks_of(PAGES[name]):
            workflow = save(shell.place, block, workflow, settings.get("blocks", {}))
            for command in commands_of(block) if block.language in SHELL else ():
                if skipped(command.text, settings) is None:
                    paste(shell, command, settings)


def prepare(shell: Shell, settings: dict[str, Any]) -> None:
    """What the reader has before the first command."""
    for source, target in settings.get("examples", {}).items():
        place = shell.folder / target
        place.parent.mkdir(parents=True, exist_ok=True)
        found = ROOT / "examples" / source
        if found.is_dir():
            shutil.copytree(found, place, dirs_exist_ok=True)
        else:
            shutil.copyfile(found, place)
    for file, text in settings.get("text", {}).items():
        (shell.folder / file).write_text(text)
    for command in settings.get("before", ()):
        code, output = shell.run(command)
        assert code == 0, f"{command}\n{output}"


def save(folder: Path, block: Block, workflow: str, named: dict[str, str]) -> str:
    """Saves a workflow under its name, and tests beside the workflow before them."""
    for name, begins in named.items():
        if block.text.startswith(begins):
            (folder / name).write_text(block.text)
    if name := re.match(r"whorl: 1\nname: (\S+)\n", block.text):
        workflow = name[1]
        (folder / f"{workflow}.yaml").write_text(block.text)
    elif block.text.startswith("whorl_tests: 1\n"):
        (folder / f"{workflow}.test.yaml").write_text(block.text)
    return workflow


def skipped(command: str, settings: dict[str, Any]) -> str | None:
    """Why a command is not run, if it is not."""
    for begins, reason in settings.get("skip", {}).items():
        if command.startswith(begins):
            return str(reason)
    return None


def paste(shell: Shell, command: Command, settings: dict[str, Any]) -> None:
    """Runs a command, and compares what it prints with what the page shows."""
    code, output = shell.run(settings.get("given", {}).get(command.text, command.text))

    wanted = settings.get("exits", {}).get(command.text, 0)
    assert code == wanted, f"line {command.line}: {command.text}\nexit code {code}\n{output}"
    if command.shown:
        shown = plain(command.shown)
        # A line of three dots stands for lines that are left out.
        pattern = re.escape(f"{shown}\n").replace(re.escape("...\n"), "(?:.*\n)*?")
        assert re.fullmatch(pattern, f"{plain(output)}\n"), f"line {command.line}:\n{output}"


def plain(text: str) -> str:
    """A text without what differs from run to run, and without blanks at the ends of lines."""
    for pattern, word in CHANGING:
        text = pattern.sub(word, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def test_commands_are_in_blocks_that_are_run() -> None:
    """A command in a block of another language would not be tried."""
    looks = re.compile(
        r"^(\$ |(whorl|curl|make|pip|uvx?|pipx|docker|export|cd|\.venv/bin/\S+) )", re.M
    )
    for name, page in PAGES.items():
        for block in blocks_of(page):
            if block.language not in SHELL:
                assert looks.search(block.text) is None, (name, block.line)
