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
        "templates": ("files.reference:templates", "List the workflows to begin with."),
        "init": (
            "project.start:init",
            "Make a folder ready: configuration, a first loop, schemas.",
        ),
        "new": ("files.reference:new", "Write a workflow file from a template."),
        "edit": (
            "files.edit:edit",
            "Change a workflow file by operations, and nothing else in it.",
        ),
        "validate": ("files.files:validate", "Check workflow files and list all mistakes."),
        "lint": ("files.files:lint", "Say what another system would refuse in a file."),
        "import": (
            "files.importing:import_command",
            "Write the workflows of another program as files.",
        ),
        "convert": ("files.files:convert", "Write a workflow file in the native format."),
        "graph": ("files.files:graph", "Draw a workflow as text, as SVG or as a Mermaid diagram."),
        "test": ("files.testing:test", "Run the tests of workflows, or replay a recorded run."),
        "schema": ("files.reference:schema", "Print the JSON Schema of native files, for editors."),
        "explain": ("files.reference:explain", "Explain an error code."),
    },
    "Run": {
        "run": ("runs.run:run_command", "Run a workflow file."),
        "try": ("runs.try_step:try_command", "Run one step, or one iteration of a loop, alone."),
        "resume": (
            "runs.pause:resume",
            "Go on after an interruption or a pause; retry what failed.",
        ),
        "continue": ("runs.steer:continue_command", "Give a loop that ended more iterations."),
        "accept": ("runs.steer:accept", "End a loop with the result of an iteration you choose."),
        "stop": ("runs.steer:stop", "End a loop after the iteration that is under way."),
        "fork": ("runs.steer:fork", "Start a new run from an iteration of another one."),
        "pause": ("runs.pause:pause", "Pause a run."),
        "cancel": ("runs.pause:cancel", "Cancel a run."),
        "approve": ("runs.steer:approve", "Say yes to what a run asks."),
        "reject": ("runs.steer:reject", "Say no to what a run asks."),
        "schedule": ("project.schedules:schedule", "Let the clock start workflows."),
        "experiment": (
            "experiments.experiments:experiment",
            "Run a workflow over cases and compare variants.",
        ),
    },
    "Look": {
        "ls": ("runs.lists:ls", "List runs."),
        "status": ("runs.status:status", "Show where a run is."),
        "show": ("runs.show:show", "Show the steps, iterations and results of a run."),
        "watch": ("runs.run:watch", "Watch a run live, also one of another process."),
        "why": ("runs.why:why", "Explain why the loops of a run ended."),
        "diff": ("runs.why:diff", "Compare two iterations of a run."),
        "cost": ("runs.lists:cost", "Show what runs cost."),
        "what-if": ("experiments.what_if:what_if", "Tell what another stop rule would have done."),
        "judge": ("experiments.what_if:judge", "Tell how far a judge can be trusted."),
        "serve": ("project.serving:serve", "Serve the page in the browser, and the HTTP API."),
    },
    "Keep": {
        "trust": ("project.trust:trust", "Show what a folder's whorl.toml permits, and trust it."),
        "memory": ("project.store:memory", "List or delete what loops remember across runs."),
        "token": ("project.access:token", "Make tokens for a server, each with a role."),
        "audit": ("project.access:audit", "Show who did what."),
        "tools": (
            "project.tools:tools",
            "Show what tools of MCP servers say, and accept what changed.",
        ),
        "hook": ("project.hooks:hook", "Make addresses that start workflows, for other systems."),
        "prune": ("project.store:prune", "Delete old runs."),
        "backup": ("project.store:backup", "Copy the store to a file while it is in use."),
        "restore": ("project.store:restore", "Put a backup in the place of the store."),
        "adopt": ("project.store:adopt", "Copy the runs of a store that you have not made."),
        "doctor": (
            "project.doctor:doctor",
            "Check the installation, the configuration and each provider.",
        ),
        "mcp": ("project.serving:mcp", "Serve workflows as MCP tools."),
        "completion": (
            "files.completion:completion",
            "Print what makes a shell complete commands.",
        ),
        "worker": ("project.cluster:worker", "Do the work of a cluster here."),
    },
    "": {"drive": ("runs.run:drive", "Drive a run that was just made.")},
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
