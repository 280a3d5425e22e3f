"""The command line: `whorl COMMAND`. Nothing but click is imported before a command is known."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

from whorl.interfaces.cli.group import CommandTable, build_group, run_safely

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS: CommandTable = {
    "Write": {
        "templates": ("reference:templates", "List the workflows to begin with."),
        "init": ("trust:init", "Write a whorl.toml for this folder."),
        "new": ("reference:new", "Write a workflow file from a template."),
        "validate": ("files:validate", "Check workflow files and list all mistakes."),
        "lint": ("files:lint", "Say what another system would refuse in a file."),
        "convert": ("files:convert", "Write a workflow file in the native format."),
        "graph": ("files:graph", "Draw a workflow as text, as SVG or as a Mermaid diagram."),
        "test": ("files:test", "Run a workflow against recorded replies and show what changed."),
        "schema": ("reference:schema", "Print the JSON Schema of native files, for editors."),
        "explain": ("reference:explain", "Explain an error code."),
    },
    "Run": {
        "run": ("run:run_command", "Run a workflow file."),
        "resume": ("steer:resume", "Go on after an interruption or a pause; retry what failed."),
        "continue": ("steer:continue_command", "Give a loop that ended more iterations."),
        "accept": ("steer:accept", "End a loop with the result of an iteration you choose."),
        "fork": ("steer:fork", "Start a new run from an iteration of another one."),
        "pause": ("steer:pause", "Pause a run."),
        "cancel": ("steer:cancel", "Cancel a run."),
        "approve": ("steer:approve", "Say yes to what a run asks."),
        "reject": ("steer:reject", "Say no to what a run asks."),
    },
    "Look": {
        "ls": ("store:ls", "List runs."),
        "status": ("show:status", "Show where a run is."),
        "show": ("show:show", "Show the steps, iterations and results of a run."),
        "watch": ("run:watch", "Watch a run live, also one of another process."),
        "why": ("look:why", "Explain why the loops of a run ended."),
        "diff": ("look:diff", "Compare two iterations of a run."),
        "cost": ("look:cost", "Show what runs cost."),
        "serve": ("admin:serve", "Serve the page in the browser, and the HTTP API."),
    },
    "Keep": {
        "trust": ("trust:trust", "Show what a folder's whorl.toml permits, and trust it."),
        "memory": ("store:memory", "List or delete what loops remember across runs."),
        "tools": ("tools:tools", "Show what tools of MCP servers say, and accept what changed."),
        "prune": ("store:prune", "Delete old runs."),
        "backup": ("store:backup", "Copy the store to a file while it is in use."),
        "restore": ("store:restore", "Put a backup in the place of the store."),
        "doctor": ("admin:doctor", "Check the installation, the configuration and each provider."),
        "mcp": ("admin:mcp", "Serve workflows as MCP tools."),
    },
    "": {"drive": ("run:drive", "Drive a run that was just made.")},
}


def main(arguments: Sequence[str] | None = None) -> None:
    from whorl.interfaces.cli.terminal import make_streams_plain

    # Next to no garbage of ours has cycles; looking for some after every 700 objects, as Python
    # does by itself, takes a fifth of the time when a thousand runs turn.
    gc.set_threshold(20_000, 20, 20)
    make_streams_plain()
    words = list(sys.argv[1:] if arguments is None else arguments)
    sys.exit(run_safely(build_group(COMMANDS), words))
