"""The command line: `whorl COMMAND`. Nothing but click is imported before a command is known."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

from whorl.interfaces.cli.group import CommandTable, build_group

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS: CommandTable = {
    "Write": {
        "templates": ("templates", "List the workflows to begin with."),
        "new": ("templates", "Write a workflow file from a template."),
        "validate": ("validate", "Check workflow files and list all mistakes."),
        "lint": ("lint", "Say what another system would refuse in a file."),
        "convert": ("convert", "Write a workflow file in another dialect."),
        "graph": ("graph", "Draw a workflow as text, as SVG or as a Mermaid diagram."),
        "test": ("test", "Run a workflow against recorded replies and show what changed."),
        "schema": ("reference", "Print the JSON Schema of native files, for editors."),
        "explain": ("reference", "Explain an error code."),
    },
    "Run": {
        "run": ("run", "Run a workflow file."),
        "resume": ("resume", "Go on after an interruption or a pause; retry what failed."),
        "continue": ("carry_on", "Give a loop that ended more iterations."),
        "accept": ("accept", "End a loop with the result of an iteration you choose."),
        "fork": ("fork", "Start a new run from an iteration of another one."),
        "pause": ("pause", "Pause a run."),
        "cancel": ("pause", "Cancel a run."),
        "approve": ("decide", "Say yes to what a run asks."),
        "reject": ("decide", "Say no to what a run asks."),
    },
    "Look": {
        "ls": ("listing", "List runs."),
        "status": ("status", "Show where a run is."),
        "show": ("show", "Show the steps, iterations and results of a run."),
        "watch": ("watch", "Watch a run live, also one of another process."),
        "why": ("why", "Explain why the loops of a run ended."),
        "diff": ("diff", "Compare two iterations of a run."),
        "cost": ("cost", "Show what runs cost."),
        "serve": ("serve", "Serve the page in the browser, and the HTTP API."),
    },
    "Keep": {
        "memory": ("memory", "List or delete what loops remember across runs."),
        "prune": ("prune", "Delete old runs."),
        "doctor": ("doctor", "Check the installation, the configuration and each provider."),
        "mcp": ("mcp", "Serve workflows as MCP tools."),
    },
    "": {"drive": ("resume", "Drive a run that was just made.")},
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs a command and exits with its code."""
    from whorl.interfaces.cli.failures import run_safely
    from whorl.interfaces.cli.view.plain import make_streams_plain

    # Next to no garbage of ours has cycles; looking for some after every 700 objects, as Python
    # does by itself, takes a fifth of the time when a thousand runs turn.
    gc.set_threshold(20_000, 20, 20)
    make_streams_plain()
    words = list(sys.argv[1:] if arguments is None else arguments)
    sys.exit(run_safely(build_group(COMMANDS), words))
