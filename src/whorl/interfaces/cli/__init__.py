"""The command line: `whorl COMMAND`. Nothing but click is imported before a command is known."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.interfaces.cli.group import CommandTable

COMMANDS: CommandTable = {
    "Write": {
        "templates": (
            "whorl.interfaces.cli.commands.files.reference:templates",
            "List the workflows to begin with.",
        ),
        "init": (
            "whorl.interfaces.cli.commands.project.start:init",
            "Make a folder ready: configuration, a first loop, schemas.",
        ),
        "new": (
            "whorl.interfaces.cli.commands.files.reference:new",
            "Write a workflow file from a template.",
        ),
        "validate": (
            "whorl.interfaces.cli.commands.files.files:validate",
            "Check workflow files and list all mistakes.",
        ),
        "lint": (
            "whorl.interfaces.cli.commands.files.files:lint",
            "Say what another system would refuse in a file.",
        ),
        "import": (
            "whorl.interfaces.cli.commands.files.importing:import_command",
            "Write the workflows of another program as files.",
        ),
        "convert": (
            "whorl.interfaces.cli.commands.files.files:convert",
            "Write a workflow file in the native format.",
        ),
        "graph": (
            "whorl.interfaces.cli.commands.files.files:graph",
            "Draw a workflow as text, as SVG or as a Mermaid diagram.",
        ),
        "schema": (
            "whorl.interfaces.cli.commands.files.reference:schema",
            "Print the JSON Schema of native files, for editors.",
        ),
        "explain": (
            "whorl.interfaces.cli.commands.files.reference:explain",
            "Explain an error code.",
        ),
    },
    "Run": {
        "run": ("whorl.interfaces.cli.commands.runs.run:run_command", "Run a workflow file."),
        "resume": (
            "whorl.interfaces.cli.commands.runs.pause:resume",
            "Go on after an interruption or a pause; retry what failed.",
        ),
        "continue": (
            "whorl.interfaces.cli.commands.runs.steer:continue_command",
            "Give a loop that ended more iterations.",
        ),
        "accept": (
            "whorl.interfaces.cli.commands.runs.steer:accept",
            "End a loop with the result of an iteration you choose.",
        ),
        "stop": (
            "whorl.interfaces.cli.commands.runs.steer:stop",
            "End a loop after the iteration that is under way.",
        ),
        "fork": (
            "whorl.interfaces.cli.commands.runs.steer:fork",
            "Start a new run from an iteration of another one.",
        ),
        "pause": ("whorl.interfaces.cli.commands.runs.pause:pause", "Pause a run."),
        "cancel": ("whorl.interfaces.cli.commands.runs.pause:cancel", "Cancel a run."),
        "approve": (
            "whorl.interfaces.cli.commands.runs.steer:approve",
            "Say yes to what a run asks.",
        ),
        "reject": ("whorl.interfaces.cli.commands.runs.steer:reject", "Say no to what a run asks."),
    },
    "Look": {
        "ls": ("whorl.interfaces.cli.commands.runs.lists:ls", "List runs."),
        "status": ("whorl.interfaces.cli.commands.runs.status:status", "Show where a run is."),
        "show": (
            "whorl.interfaces.cli.commands.runs.show:show",
            "Show the steps, iterations and results of a run.",
        ),
        "watch": (
            "whorl.interfaces.cli.commands.runs.run:watch",
            "Watch a run live, also one of another process.",
        ),
        "why": (
            "whorl.interfaces.cli.commands.runs.why:why",
            "Explain why the loops of a run ended.",
        ),
        "diff": ("whorl.interfaces.cli.commands.runs.why:diff", "Compare two iterations of a run."),
        "cost": ("whorl.interfaces.cli.commands.runs.lists:cost", "Show what runs cost."),
        "serve": (
            "whorl.interfaces.cli.commands.project.serving:serve",
            "Serve the page in the browser, and the HTTP API.",
        ),
    },
    "Keep": {
        "trust": (
            "whorl.interfaces.cli.commands.project.trust:trust",
            "Show what a folder's whorl.toml permits, and trust it.",
        ),
        "memory": (
            "whorl.interfaces.cli.commands.project.store:memory",
            "List or delete what loops remember across runs.",
        ),
        "token": (
            "whorl.interfaces.cli.commands.project.access:token",
            "Make tokens for a server, each with a role.",
        ),
        "audit": ("whorl.interfaces.cli.commands.project.access:audit", "Show who did what."),
        "tools": (
            "whorl.interfaces.cli.commands.project.tools:tools",
            "Show what tools of MCP servers say, and accept what changed.",
        ),
        "prune": ("whorl.interfaces.cli.commands.project.store:prune", "Delete old runs."),
        "backup": (
            "whorl.interfaces.cli.commands.project.store:backup",
            "Copy the store to a file while it is in use.",
        ),
        "restore": (
            "whorl.interfaces.cli.commands.project.store:restore",
            "Put a backup in the place of the store.",
        ),
        "adopt": (
            "whorl.interfaces.cli.commands.project.store:adopt",
            "Copy the runs of a store that you have not made.",
        ),
        "doctor": (
            "whorl.interfaces.cli.commands.project.doctor:doctor",
            "Check the installation, the configuration and each provider.",
        ),
        "mcp": (
            "whorl.interfaces.cli.commands.project.serving:mcp",
            "Serve workflows as MCP tools.",
        ),
        "completion": (
            "whorl.interfaces.cli.commands.files.completion:completion",
            "Print what makes a shell complete commands.",
        ),
    },
    "": {
        "drive": ("whorl.interfaces.cli.commands.runs.run:drive", "Drive a run that was just made.")
    },
}


def main(arguments: Sequence[str] | None = None) -> None:
    # Next to no garbage of ours has cycles; looking for some after every 700 objects, as Python
    # does by itself, takes a fifth of the time when a thousand runs turn. What has stayed is looked
    # at in small parts: others wait meanwhile.
    gc.set_threshold(20_000, 5, 80)
    if arguments is None:
        from whorl.postponed import postpone

        postpone()
        from whorl.lazily import begin_loading, later_patterns

        begin_loading()
        with later_patterns():
            # What it imports has patterns that a command hardly ever uses.
            import click  # noqa: F401
    from whorl.interfaces.cli.group import build_group, run_safely
    from whorl.interfaces.cli.terminal import make_streams_plain

    make_streams_plain()
    words = list(sys.argv[1:] if arguments is None else arguments)
    group = build_group(COMMANDS)
    if asked := os.environ.get("_WHORL_COMPLETE"):
        from whorl.interfaces.cli.commands.files.completion import answer

        sys.exit(answer(group, asked))
    code = run_safely(group, words)
    if arguments is None and (_is_all_done() or "temporalio" in sys.modules):
        _leave_at_once(code)
    sys.exit(code)


def _is_all_done() -> bool:
    """Whether nobody needs the end of the interpreter: no thread, no profiler, no debugger."""
    is_watched = sys.getprofile() or sys.gettrace() or sys.flags.interactive
    others = (one for one in threading.enumerate() if one is not threading.main_thread())
    return not is_watched and all(one.daemon for one in others)


def _leave_at_once(code: int) -> None:
    """Ends the process without the interpreter's own end.

    That frees one object after the other, which takes a fifth of the time of a short run, and
    threads of the SDK may abort it. Those who asked to be called at the end are called.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
