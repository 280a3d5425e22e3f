"""What a real bash completes: commands, options, runs, places in them, steps and files."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from command_line import POLISH

from waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

# `compopt` works in a shell that has a keyboard only; here it tells that files are completed.
SCRIPT = """
eval "$(whorl completion bash)"
compopt() { COMPREPLY+=("files"); }
for line in "$@"; do
    COMPREPLY=() COMP_WORDS=($line)
    [[ $line == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
    _whorl_completion whorl
    echo "${COMPREPLY[*]}"
done
"""


def test_bash_completes_commands_runs_places_steps_and_files(project: Path, whorl: Whorl) -> None:
    program = project / "bin" / "whorl"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m whorl.interfaces.cli "$@"\n')
    program.chmod(0o755)
    (project / "polish.yaml").write_text(POLISH)
    run = whorl("run", "polish.yaml", "a song", "--json").json["run"]
    asked = {
        "whorl res": "resume restore",
        "whorl run --detac": "--detach",
        "whorl run pol": "files",
        "whorl show las": "last",
        f"whorl why {run[:6]}": run,
        "whorl show last/polish[1]/w": "last/polish[1]/write",
        "whorl try polish.yaml --at polish/re": "polish/review",
        "whorl schedule rm --sto": "--store",
        "whorl show nothing/": "",
    }

    done = subprocess.run(
        ["bash", "--norc", "-c", f"PATH={program.parent}:$PATH\n{SCRIPT}", "bash", *asked],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert done.stdout.splitlines() == list(asked.values()), done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_asks_this_program(whorl: Whorl, shell: str) -> None:
    done = whorl("completion", shell)

    assert done.code == 0
    assert f"_WHORL_COMPLETE={shell}_complete" in done.out
