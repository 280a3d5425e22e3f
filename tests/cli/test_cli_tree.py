"""The first help, the groups, and words that are commands no longer or of other systems."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from whorl.interfaces.cli.foreign_verbs import FOREIGN, MOVED

if TYPE_CHECKING:
    from command_line import Whorl

HELP = (Path(__file__).parent / "panes" / "help.txt").read_text("utf-8")


def test_the_first_help(whorl: Whorl) -> None:
    for words in ((), ("--help",), ("-h",), ("help",)):
        assert whorl(*words).ends(0).out == HELP


def test_help_is_about_commands_codes_and_functions(whorl: Whorl) -> None:
    assert whorl("help server token add").out == whorl("server token add --help").out
    whorl("help w004").ends(0).prints("# W004")
    whorl("help addDays()").ends(0).prints("addDays(timestamp, days, format?)")
    whorl("help runs aprove").ends(2, "there is no command 'aprove'; did you mean 'approve'?")
    whorl("help approve").ends(2, "`whorl help runs approve`: it has moved")
    tree = whorl("help all").ends(0).out
    assert all(f"  {name} " in tree for name in ("run", "runs rm", "server token add", "--store"))
    assert max(map(len, tree.splitlines())) <= 100
    assert not [line for line in tree.splitlines()[1:] if line.endswith("...")]


def test_a_moved_command_is_answered_with_its_new_line(whorl: Whorl) -> None:
    for line, new in {
        "approve last -m 'very good'": "whorl runs approve last -m 'very good'",
        "--store x.db token ls": "whorl --store x.db server token ls",
        "status last": "whorl show --brief last",
        "prune --run last": "whorl runs rm last",
        "explain function addDays": "whorl help addDays",
        "templates": "whorl new",
    }.items():
        done = whorl(line).ends(2, "error[W900]: `whorl ", "` has moved\n")
        assert done.err.splitlines()[1] == f"  = help: {new}"
    for name in MOVED:
        whorl(name).ends(2, "has moved")
        assert whorl(*MOVED[name].split(), "--help").code == 0


def test_commands_of_other_systems_are_answered_with_ours(whorl: Whorl) -> None:
    for line, new in {
        "run a.yaml --input-data x": "for mcp-cli's option: whorl run FILE TEXT",
        "run a.yaml --start-from s": "whorl try FILE --at STEP, or whorl fork last --at",
        "export a.yaml": "whorl experiment report -o report.csv a.yaml",
        "eval cases.yaml": "for promptfoo's `eval`: whorl experiment run cases.yaml",
        "workflow signal r1": "for Loom, Temporal or DBOS's `workflow signal`: whorl runs approve",
        "server start": "for Prefect's `server start`: whorl serve",
        "memory stats": "for OrKa's `memory stats`: whorl project memory ls",
        "chat": "Whorl has no chat",
        "ps": "  = help: whorl ls --status running",
        "--workflow a.yaml --input-data 'two words' --verbose": "whorl run a.yaml 'two words' -v",
        "--workflow=a.yaml --start-from=s": "whorl try a.yaml --at s",
        "--list-workflows": "whorl validate .",
    }.items():
        whorl(line).ends(2, new)
    for _, line in FOREIGN.values():
        if not line.endswith(" "):
            assert whorl(*line.split(), "--help").code == 0
