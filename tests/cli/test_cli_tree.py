"""The first help, the groups, and words that are commands no longer or of other systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.interfaces.cli.foreign_verbs import FOREIGN, MOVED

if TYPE_CHECKING:
    from command_line import Whorl

HELP = """\
Usage: whorl COMMAND [ARGS]...

  Run AI loops until the result is right.

    whorl init flows && cd flows         make a project with a first loop
    whorl run first.yaml "a haiku"       run it
    whorl why                            see why it stopped

Start:
  init        Create a project: configuration, a first loop, tests.
  new         Create a workflow from a template.
  validate    Check workflow files and folders.
  test        Run the tests of workflows.

Run:
  run         Run a workflow.
  try         Run one step, or one iteration of a loop.
  resume      Resume a paused, interrupted or failed run.
  continue    Give a finished loop more iterations or budget.
  accept      Finish a loop with an iteration that you choose.
  fork        Start a new run from an iteration of another run.

Look:
  ls          List runs.
  show        Show a run: status, steps, results.
  watch       Follow a run live.
  why         Explain why loops stopped.
  diff        Compare two iterations.
  serve       Open the page in the browser, and the HTTP API.

Groups:
  runs        Pause, cancel, stop, approve, reject, delete; costs.
  experiment  Compare variants over many cases; what-if; judges.
  file        Edit, draw, convert, import and lint workflow files.
  server      Tokens, audit, webhooks, schedules, workers, MCP.
  project     Trust, doctor, tools, memory, backup, restore, prune.

  RUN is an id, its first characters, a key (--key), or `last`.
  `whorl help COMMAND`, `whorl help CODE`, `whorl help all`.
"""


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
