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

# By section of the first help: modules of `commands` with the function in them, and one line of
# help. Wings add theirs.
COMMANDS: CommandTable = {
    "Start": {
        "init": ("start:init", "Create a project: configuration, a first loop, tests."),
        "new": ("start:new", "Create a workflow from a template."),
        "validate": ("file:validate", "Check workflow files and folders."),
    },
    "Run": {
        "run": ("run:run_command", "Run a workflow."),
        "resume": ("runs:resume", "Resume a paused, interrupted or failed run."),
        "continue": ("runs:continue_command", "Give a finished loop more iterations or budget."),
        "accept": ("runs:accept", "Finish a loop with an iteration that you choose."),
        "fork": ("runs:fork", "Start a new run from an iteration of another run."),
    },
    "Look": {
        "ls": ("ls:ls", "List runs."),
        "show": ("show:show", "Show a run: status, steps, results."),
        "watch": ("run:watch", "Follow a run live."),
        "why": ("show:why", "Explain why loops stopped."),
        "diff": ("show:diff", "Compare two iterations."),
        "serve": ("server:serve", "Open the page in the browser, and the HTTP API."),
    },
    "Groups": {
        "runs": ("", "Pause, cancel, stop, approve, reject, delete; costs."),
        "file": ("", "Edit, draw, convert, import and lint workflow files."),
        "server": ("", "Tokens, audit, webhooks, schedules, workers, MCP."),
        "project": ("", "Trust, doctor, tools, memory, backup, restore, prune."),
    },
    "": {
        "help": ("help:help_command", "Show the help of a command, a code or a function."),
        "drive": ("run:drive", "Drive a run that was just made."),
    },
}
# The commands of each group.
GROUPS: CommandTable = {
    "runs": {
        "pause": ("runs:pause", "Pause a run."),
        "cancel": ("runs:cancel", "Cancel a run."),
        "stop": ("runs:stop", "End a loop after the iteration that is running."),
        "approve": ("runs:approve", "Approve what a run asks."),
        "reject": ("runs:reject", "Reject what a run asks."),
        "cost": ("runs:cost", "Show what runs cost."),
        "rm": ("runs:rm", "Delete runs that have ended."),
    },
    "file": {
        "graph": ("file:graph", "Draw a workflow as text, SVG or a Mermaid diagram."),
        "convert": ("file:convert", "Write a workflow file in the native format."),
        "import": ("file:import_command", "Write the workflows of another program as files."),
        "lint": ("file:lint", "Check a file against its original system's rules."),
        "schema": ("file:schema", "Print the JSON Schema of native files, for editors."),
    },
    "server": {
        "token": ("server:token", "Make tokens for a server, each with a role."),
        "audit": ("server:audit", "Show who did what."),
        "mcp": ("server:mcp", "Serve workflows as MCP tools."),
    },
    "project": {
        "trust": ("project:trust", "Show what a folder's whorl.toml permits; trust it."),
        "doctor": ("project:doctor", "Check the installation, settings and providers."),
        "tools": ("project:tools", "Review and accept changed tool descriptions."),
        "memory": ("project:memory", "List or delete what loops remember across runs."),
        "backup": ("project:backup", "Copy the store to a file while it is in use."),
        "restore": ("project:restore", "Replace the store with a backup."),
        "prune": ("project:prune", "Delete old runs."),
        "adopt": ("project:adopt", "Copy the runs of a store that you did not make."),
        "completion": ("help:completion", "Print the completion script of a shell."),
    },
}


def main(arguments: Sequence[str] | None = None) -> None:
    # Next to no garbage of ours has cycles; looking for some after every 700 objects, as Python
    # does by itself, takes a fifth of the time when a thousand runs turn. What has stayed is looked
    # at in small parts: others wait meanwhile.
    gc.set_threshold(20_000, 5, 80)
    if arguments is None:
        from whorl.lazily import begin_loading, later_patterns

        begin_loading()
        with later_patterns():
            # What it imports has patterns that a command hardly ever uses.
            import click  # noqa: F401
    from whorl.interfaces.cli.group import build_group, run_safely
    from whorl.interfaces.cli.terminal import replace_unknown_letters

    replace_unknown_letters()
    words = list(sys.argv[1:] if arguments is None else arguments)
    group = build_group(COMMANDS)
    if asked := os.environ.get("_WHORL_COMPLETE"):
        from whorl.interfaces.cli.commands.help import answer

        sys.exit(answer(group, asked))
    code = run_safely(group, words)
    if arguments is None and (_is_all_done() or "temporalio" in sys.modules):
        _leave_at_once(code)
    sys.exit(code)


def _is_all_done() -> bool:
    """Checks that no thread, profiler or debugger needs the shutdown of the interpreter."""
    is_watched = sys.getprofile() or sys.gettrace() or sys.flags.interactive
    others = (one for one in threading.enumerate() if one is not threading.main_thread())
    return not is_watched and all(one.daemon for one in others)


def _leave_at_once(code: int) -> None:
    """Ends the process without the shutdown of the interpreter.

    Freeing all objects takes a fifth of the time of a short run, and threads of the SDK may abort
    it. Functions that were registered with `atexit` run first.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
