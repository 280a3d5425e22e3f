"""Suggests what a user would most probably do next about a run, as one command to paste."""

from __future__ import annotations

import os
from contextlib import suppress
from shlex import quote
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError, safe
from whorl.interfaces.advice import command, flags, root_code, way_on
from whorl.interfaces.cli.options import pasted
from whorl.interpreter.events import split_iteration
from whorl.interpreter.requests import objection
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.sqlite.listing import EXPERIMENT, TRY
from whorl.services.inspecting.results import amounts_to_go_on, workflow_of
from whorl.services.runs import changed_file, find_run
from whorl.services.steering import resumed

if TYPE_CHECKING:
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore


# The reasons for which a loop ended that more iterations help against.
_TOO_FEW = frozenset({"max_iterations", "rejected"})
# These can be done anywhere, and mean the newest run if none is named.
_LOOKS = frozenset({"show", "why", "diff"})


def next_command(store: SqliteStore, run: RunId, result: dict[str, Any], asked: str = "") -> str:
    """Returns the command that a user most probably runs next, or "" if that one was `asked`."""
    verb, *words = _next(store, run, result, asked)
    if verb == asked:
        return ""
    if verb in _LOOKS and words[0] == run:
        # A try is not the newest run, even if it is the only one.
        with suppress(UsageError):
            words = words[find_run(store, "last") == run :]
    text, folder = pasted(verb, *words), store.run(run).project
    is_anywhere = verb in _LOOKS or verb in ("watch", "help")
    return f"cd {quote(folder)} && {text}" if folder and not is_anywhere else text


def _next(store: SqliteStore, run: RunId, result: dict[str, Any], asked: str) -> list[str]:
    if store.run(run).key.startswith(TRY):
        return ["show", f"{run}/{workflow_of(store, run).body.nodes[-1].name}"]
    # A mocked run cannot continue with real answers.
    match "mocked" if "mocked" in result else result["status"]:
        case "mocked":
            return _look(store, run, result, asked)
        case "succeeded":
            more = [] if asked in ("fork", "accept") else _more(store, run, result)
            return more or _look(store, run, result, asked)
        case "failed":
            return _after_failure(store, run, result)
        case "waiting":
            gates = result["waiting_for"]
            loop, is_limit = gates[0]["address"].partition("/:")[0], gates[0]["reason"] == "limit"
            # Without --at, the command would not mean a loop inside another one.
            is_named = len(gates) > 1 or (is_limit and "[" in loop)
            return ["runs", "approve", run, *(["--at", loop] if is_named else [])]
        case "paused" if result["paused_by"] == "budget":
            return _advised(result, "R103") or ["resume", run]
        case "paused" | "interrupted":
            return ["resume", run]
        case "running":
            return ["watch", run]
    return ["show", run]


def _look(store: SqliteStore, run: RunId, result: dict[str, Any], asked: str) -> list[str]:
    """Returns the command that shows most about a run that has ended."""
    loops = [loop for loop in result["loops"] if "[" not in loop["path"]]
    path, number = (loops[-1]["path"], loops[-1]["iterations"]) if loops else ("", 0)
    words = [str(number - 1), str(number)]
    if asked == "fork":
        forked = [entry.event for entry in store.read(run, kinds=frozenset({"run.forked"}))]
        path, number = split_iteration(str(forked[-1].body["at"]))
        words = [str(number), str(number), "--with", result["parent"]]
    if asked == "fork" or (asked == "why" and number > 1):
        return ["diff", run, *words, *(["--at", path] if len(loops) > 1 else [])]
    return ["why" if result["loops"] and asked not in ("why", "accept") else "show", run]


def _after_failure(store: SqliteStore, run: RunId, result: dict[str, Any]) -> list[str]:
    error = result["error"]
    code, root = error.get("code"), root_code(error)
    if code in ("R102", "R108"):
        # Trying a loop again would only reach its limit again.
        return _more(store, run, result) or ["why" if code == "R102" else "resume", run]
    if root == "P118" or code in ("R110", "R111"):
        return ["help", "P118" if root == "P118" else code]
    # A run keeps the tools and the files that it began with.
    if root == "P122" or changed_file(store, run):
        return _start_again(store, run)
    if objection(fold(store, run).machine, resumed()) is not None:
        return ["show", run]
    # An expression fails again, whatever is repeated.
    return ["show", f"{run}/{error['path']}"] if root == "R104" else ["resume", run]


def changed_words(store: SqliteStore, run: RunId) -> str:
    """Returns "", or that a run keeps the old version of a file, and what uses the present one."""
    file = changed_file(store, run)
    words = "has changed since this run began; the run keeps the old version; to use the new one: "
    way = f"`{command(*_start_again(store, run))}`" if file else ""
    return way and f"{safe(os.path.relpath(file))} {words}{way}"


def _start_again(store: SqliteStore, run: RunId) -> list[str]:
    """Returns the command that uses the present file: a fork, which keeps inputs, or a new run."""
    row = store.run(run)
    file = safe(os.path.relpath(row.file))
    if row.key.startswith(EXPERIMENT):
        return ["experiment", "run", file]
    outer = [loop for loop in store.loops(run) if "[" not in loop.address and loop.iterations]
    if not outer:
        ports = [port for port in workflow_of(store, run).inputs if port.required]
        return ["run", file, *(w for port in ports for w in ("-i", f"{port.name}=VALUE"))]
    return ["fork", run, "--at", f"{outer[-1].address}[{outer[-1].iterations}]", "--file", file]


def _more(store: SqliteStore, run: RunId, result: dict[str, Any]) -> list[str]:
    """Returns the command that continues the last loop ended by a limit or a person, if any can."""
    loops = result["loops"]
    if any(loop["exit_reason"] == "budget" for loop in loops):
        return _advised(result, "R102")
    for path in (loop["path"] for loop in loops[::-1] if loop["exit_reason"] in _TOO_FEW):
        if "[" not in path:
            amounts = flags(amounts_to_go_on(fold(store, run).machine, path))
            at = ["--at", path] if len(loops) > 1 else []
            return ["continue", run, *at, "--iterations", "3", *amounts]
    return []


def _advised(result: dict[str, Any], code: str) -> list[str]:
    """Returns the command of the newest warning with a code, if it has one; its amount suffices."""
    facts = (each.get("facts") for each in result["warnings"][::-1] if each["code"] == code)
    ways = (way_on(code, each, result["run"]) for each in facts if each)
    return next((words for words in ways if words), [])
