"""Names that are not commands: old names of moved commands, and commands of other systems."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError, nearest
from whorl.interfaces.cli.options import pasted

if TYPE_CHECKING:
    from collections.abc import Sequence

# Kept until 0.4.
MOVED = {
    "prune --run": "runs rm",
    "explain function": "help",
    "explain": "help",
    "templates": "new",
    "status": "show --brief",
    "what-if": "experiment what-if",
    "judge": "experiment judge",
    **{
        verb: f"{group} {verb}"
        for group, verbs in {
            "runs": ("pause", "cancel", "stop", "approve", "reject", "cost"),
            "file": ("edit", "graph", "convert", "import", "lint", "schema"),
            "server": ("token", "audit", "hook", "schedule", "worker", "mcp"),
            "project": ("trust", "doctor", "tools", "memory", "backup", "restore", "prune",
                        "adopt", "completion"),
        }.items()
        for verb in verbs
    },
}  # fmt: skip
_LOOPS = "Loom, Temporal or DBOS"
_NO_CHAT = 'Whorl has no chat; use `whorl run FILE "text"` '
# Whose words are typed, the line of ours, which the other words of the person follow, and the
# words. A line with a space at its end is a sentence instead.
_LINES: dict[tuple[str, str], tuple[str, ...]] = {
    ("mcp-cli", _NO_CHAT): ("chat", "query"),
    ("OrKa", "project memory ls"): ("memory stats", "memory watch"),
    ("OrKa", "project memory rm"): ("memory cleanup",),
    ("OrKa", "project doctor"): ("system status",),
    ("OrKa", "serve"): ("orka-start", "orka-ui"),
    ("Loom", "watch --events"): ("history",),
    (_LOOPS, "run"): ("workflow run",),
    (_LOOPS, "run --detach"): ("workflow start",),
    (_LOOPS, "ls"): ("workflow list",),
    (_LOOPS, "show"): ("workflow status", "workflow show", "workflow get", "workflow steps"),
    (_LOOPS, "watch --events"): ("workflow history",),
    (_LOOPS, "runs approve"): ("workflow signal",),
    (_LOOPS, "runs pause"): ("workflow pause",),
    (_LOOPS, "resume"): ("workflow resume",),
    (_LOOPS, "runs cancel"): ("workflow cancel", "workflow terminate"),
    (_LOOPS, "fork"): ("workflow reset", "workflow fork"),
    ("LangGraph", "serve"): ("dev", "up"),
    ("LangGraph", "the page about operating says how Whorl runs in a container "): ("build",),
    ("Prefect", "server schedule add"): ("deploy",),
    ("Prefect", "serve"): ("server start",),
    ("Prefect", "ls"): ("flow-run ls",),
    ("promptfoo", "experiment run"): ("eval",),
    ("promptfoo", "serve"): ("view",),
    ("promptfoo", "experiment report -o report.csv"): ("export",),
    ("", "ls"): ("list",),
    ("", "ls --status running"): ("ps",),
    ("", "watch"): ("logs",),
    ("", "run"): ("start",),
    ("", "runs cancel"): ("kill",),
    ("", "runs rm"): ("delete",),
    ("", "resume"): ("retry",),
    ("", "fork"): ("rerun",),
    ("", "serve"): ("ui",),
    ("", "validate"): ("check",),
    ("", "project doctor"): ("config",),
    ("", "--version"): ("version",),
}
FOREIGN = {typed: line for line, words in _LINES.items() for typed in words}
# Options of mcp-cli that stand where a command has to.
_MCP_CLI = ("--workflow", "--input-data", "--start-from", "--end-at", "--list-workflows")
_PART = "for mcp-cli's option: whorl try FILE --at STEP, or whorl fork last --at 'LOOP[K]'"
# The same, and those of other systems, after `whorl run`.
OPTIONS = {
    "--input-data": "for mcp-cli's option: whorl run FILE TEXT",
    "--start-from": _PART,
    "--end-at": _PART,
}


def unknown_command(group: click.Group, ctx: click.Context, args: Sequence[str]) -> Exception:
    """Returns the error for a word that is not a command of a group."""
    words = [*ctx.command_path.split()[1:], *args]
    message = f"there is no command {args[0]!r}"
    for size in (2, 1):
        typed, rest = " ".join(words[:size]), words[size:]
        if typed in FOREIGN:
            whose, line = FOREIGN[typed]
            advice = line.strip() if line.endswith(" ") else pasted(*line.split(), *rest)
            before = f"for {whose}'s `{typed}`: " if whose else ""
            return UsageError(message, help=f"{before}{advice}")
        if typed in MOVED:
            moved = UsageError(f"`whorl {words[0]}` has moved")
            moved.help = pasted(*MOVED[typed].split(), *rest)
            return moved
    near = near_command(group, ctx, args[0])
    return click.UsageError(f"{message}; did you mean {near!r}?" if near else message, ctx)


def near_command(group: click.Group, ctx: click.Context, word: str) -> str:
    """Returns the command that a word probably means; at the top level, also one inside a group."""
    from whorl.interfaces.cli import GROUPS

    names = {name: name for name in group.list_commands(ctx)}
    for name in list(names) if ctx.parent is None else ():
        inner = group.get_command(ctx, name) if name in GROUPS else None
        if isinstance(inner, click.Group):
            names = {each: f"{name} {each}" for each in inner.list_commands(ctx)} | names
    short = re.compile(".*".join(map(re.escape, word[:20])), re.IGNORECASE)
    fitting = sorted(filter(short.match, names), key=len) if len(word) > 1 else []
    return names.get(nearest(word, names) or next(iter(fitting), ""), "")


def known_option(args: Sequence[str]) -> UsageError | None:
    """Returns the command that replaces options of mcp-cli, or None without such options."""
    given: dict[str, str] = {}
    words = [part for word in args for part in (word.split("=", 1) if word[:2] == "--" else [word])]
    for option, value in zip(words, [*words[1:], ""], strict=True):
        if option in _MCP_CLI or option == "--verbose":
            given[option] = value
    first = next((option for option in _MCP_CLI if option in given), None)
    if first is None:
        return None
    file = given.get("--workflow", "FILE")
    step = given.get("--start-from") or given.get("--end-at")
    line = ["validate", "."] if "--list-workflows" in given else ["run", file]
    if step:
        line = ["try", file, "--at", step]
    elif "--input-data" in given and line[0] == "run":
        line.append(given["--input-data"])
    line += ["-v"] if "--verbose" in given else []
    message = f"there is no option {first!r} before a command"
    return UsageError(message, help=f"for mcp-cli's options: {shlex.join(['whorl', *line])}")
