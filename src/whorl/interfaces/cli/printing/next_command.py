"""What a person would most probably want to do next about a run: a command to be pasted."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from shlex import join, quote
from typing import TYPE_CHECKING, Any

from whorl.errors import safe
from whorl.interfaces.advice import advice, flags, root_code
from whorl.interfaces.formatting import as_much_again
from whorl.interpreter.requests import objection
from whorl.providers.redaction import HIDDEN
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.journal.sealed_secrets import shown
from whorl.runtimes.sqlite.listing import EXPERIMENT
from whorl.services.files.versions import changed_file, one_of_several
from whorl.services.inspecting.results import amounts_to_go_on, workflow_of
from whorl.services.steering import resumed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whorl.language import Json
    from whorl.runtimes.journal.journal import LoopRow, RunId
    from whorl.runtimes.sqlite import SqliteStore


# The reasons for which a loop ended that more iterations help against.
_TOO_FEW = frozenset({"max_iterations", "rejected"})
# These can be done anywhere.
_LOOKS = frozenset({"show", "why", "watch", "explain"})
# A longer command is not repeated with its inputs.
_COMMAND_MAX = 300


def next_command(store: SqliteStore, run: RunId, result: dict[str, Any]) -> str:
    """What a person would most probably want to do next, in the folder where the run belongs."""
    command = _next(store, run, result)
    folder = store.run(run).project
    is_look = not folder or command.split()[1] in _LOOKS
    return command if is_look else f"cd {quote(folder)} && {command}"


def _next(store: SqliteStore, run: RunId, result: dict[str, Any]) -> str:
    match result["status"]:
        case "succeeded":
            usual = f"whorl why {run}" if result["loops"] else f"whorl show {run}"
            return _more(store, run, result) or usual
        case "failed":
            usual = _after_failure(store, run, result)
            if usual.startswith("whorl resume") and (file := changed_file(store, run)):
                command, note = run_again(store, run)
                changed = f"{_seen(file)} has changed since this run began"
                return f"{command}   # {note}{', ' if note else ''}{changed}"
            if usual.startswith("whorl resume") and _is_of_file(store, run, result["error"] or {}):
                command, note = run_again(store, run)
                file = _seen(store.run(run).file)
                return f"{command}   # {note}{', ' if note else ''}after you have corrected {file}"
            return usual
        case "waiting":
            return "   # or: ".join(_answers(store, run, result["waiting_for"]))
        case "paused" if result["paused_by"] == "budget":
            return _advised(result, "R103") or f"whorl resume {run}"
        case "paused" | "interrupted":
            return f"whorl resume {run}"
        case "running":
            return f"whorl watch {run}"
    return f"whorl show {run}"


def _is_of_file(store: SqliteStore, run: RunId, error: dict[str, Any]) -> bool:
    """Whether a step would fail again for what the file says, however often it is tried."""
    words = str(_root(error).get("message", ""))
    match root_code(error):
        case "R104":
            is_own = True
        case "P113":
            # Others are about a file or a folder, which may be there the next time.
            is_own = words.startswith("input ")
        case "P125":
            # Others advise a permission, with which it goes on.
            is_own = "[allow]" not in words
        case _:
            is_own = False
    return is_own and os.path.isfile(store.run(run).file)


def _root(error: dict[str, Any]) -> dict[str, Any]:
    cause = error.get("cause")
    return _root(cause) if isinstance(cause, dict) and cause.get("code") else error


def changed_words(store: SqliteStore, run: RunId, forking: Sequence[str] = ()) -> str:
    """That a run goes on with another version of its file than there is now, and how to use that.

    Nothing where its files are as it knows them. `forking` are the words that a fork was asked for.
    """
    file = changed_file(store, run)
    if not file:
        return ""
    own, loops = _file_words(store, run), store.loops(run)
    outer = [row for row in loops if "[" not in row.address and row.iterations]
    if not forking and outer:
        forking = ["--at", f"{outer[-1].address}[{outer[-1].iterations}]"]
    ways = [f"`{join(['whorl', 'fork', run, *forking, '--file', *own])}`"]
    ways = [] if not forking or _is_of_experiment(store, run) else ways
    command, note = run_again(store, run)
    ways.append(f"`{command}`{note and f' {note}'}")
    return (
        f"{_seen(file)} has changed since this run began; it goes on with the version it began "
        f"with; to use the new one: {', or from the beginning: '.join(ways)}"
    )


def run_again(store: SqliteStore, run: RunId) -> tuple[str, str]:
    """The command that runs the file of a run anew with what that was given, and what it lacks."""
    if _is_of_experiment(store, run):
        return join(["whorl", "experiment", "run", _seen(store.run(run).file)]), ""
    body, workflow = shown(next(iter(store.read(run, limit=1))).event), workflow_of(store, run)
    words = ["whorl", "run", *_file_words(store, run)]
    secret = {port.name for port in workflow.inputs if port.secret}
    given: Any = body.get("input") or {}
    given = given | {
        port.name: _seen_files(store.run(run).file, given[port.name])
        for port in workflow.inputs
        if port.type in ("file", "files") and port.name in given
    }
    texts = (f"{n}=VALUE" if n in secret else _given(n, v) for n, v in given.items())
    inputs = [word for text in texts for word in ("-i", text)]
    limits: Any = body.get("limits") or {}
    options = []
    if (budget := limits.get("cost_usd")) not in (None, workflow.limits.cost_usd):
        options += ["--budget", f"{budget:g}"]
    if iterations := body.get("iterations"):
        options += ["--max-iterations", str(iterations)]
    whole = join([*words, *inputs, *options])
    if len(whole) > _COMMAND_MAX or HIDDEN in whole:
        return join([*words, *options]), "with the same inputs"
    return whole, ""


def _file_words(store: SqliteStore, run: RunId) -> list[str]:
    """The file of a run, and which of its workflows is meant, as commands take them."""
    name = one_of_several(store, run)
    return [_seen(store.run(run).file), *(["--workflow", name] if name else [])]


def _is_of_experiment(store: SqliteStore, run: RunId) -> bool:
    return store.run(run).key.startswith(EXPERIMENT)


def _seen(file: str) -> str:
    """A path as it is written in the current folder."""
    return safe(os.path.relpath(file))


def _seen_files(file: str, paths: Json) -> Json:
    """Files that a run was given, as they are written in the current folder.

    The run knows them as they are seen from the project, which lies around its own file.
    """
    if isinstance(paths, list):
        return [_seen_files(file, path) for path in paths]
    found = (os.path.join(folder, str(paths)) for folder in Path(file).parents)
    return next((_seen(path) for path in found if os.path.exists(path)), paths)


def _given(name: str, value: Json) -> str:
    """An input as `-i` takes it."""
    if isinstance(value, str) and value.isprintable() and not value.startswith("@"):
        return f"{name}={value}"
    return f"{name}:={json.dumps(value, ensure_ascii=False)}"


def _advised(result: dict[str, Any], code: str) -> str:
    """The command in the last warning of a code that has one: its amount is enough."""
    for warning in reversed(result["warnings"]):
        if warning["code"] == code:
            words = advice(code, warning.get("facts"), result["run"])
            commands = re.findall(r"`(whorl (?:resume|continue) [^`]*)`", words)
            if commands:
                return str(commands[-1])
    return ""


def _more(store: SqliteStore, run: RunId, result: dict[str, Any]) -> str:
    """How the last loop that a limit or a person ended goes on, where it can."""
    command = _advised(result, "R102")
    if command and any(loop["exit_reason"] == "budget" for loop in result["loops"]):
        return command
    outer = [loop for loop in result["loops"] if "[" not in loop["path"]]
    for loop in reversed(outer):
        if loop["exit_reason"] not in (*_TOO_FEW, "budget"):
            continue
        amounts = flags(amounts_to_go_on(fold(store, run).machine, loop["path"]))
        if loop["exit_reason"] in _TOO_FEW:
            amounts = f"--iterations 3 {amounts}".rstrip()
        elif not amounts:
            amounts = f"--budget {as_much_again(budget_of(store, run, loop['path']))}"
        at = f" --at {quote(loop['path'])}" if _has_others(loop, result["loops"]) else ""
        return f"whorl continue {run}{at} {amounts}"
    return ""


def _has_others(loop: dict[str, Any], loops: Sequence[dict[str, Any]]) -> bool:
    """Whether there are loops beside one, also in `each`; those inside of it do not count."""
    inside = (loop["path"], f"{loop['path']}[")
    return any(other["path"] != inside[0] and not other["path"].startswith(inside[1])
               for other in loops)  # fmt: skip


def budget_of(store: SqliteStore, run: RunId, loop: str) -> float | None:
    """The dollars that a loop may spend: its own limit or the run's, whichever is lower."""
    own = [_own_budget(row) for row in store.loops(run) if row.address == loop]
    budgets = [item for item in (*own, store.run(run).budget_usd) if item is not None]
    return min(budgets, default=None)


def _own_budget(row: LoopRow) -> float | None:
    cost = row.limits.get("cost_usd") if isinstance(row.limits, dict) else None
    return cost if isinstance(cost, int | float) else None


def _after_failure(store: SqliteStore, run: RunId, result: dict[str, Any]) -> str:
    error = result["error"] or {}
    if root_code(error) == "P118":
        if "raise the budget" not in str(error.get("message")):
            return "whorl explain P118"
        return _with_room(store, run, str(error.get("path"))) or f"whorl resume {run}"
    match error.get("code"):
        case "R110" | "R111":
            return f"whorl explain {error['code']}"
        case "R102":
            # Trying the loop again would only reach its limit again.
            return _more(store, run, result) or f"whorl why {run}"
        case "R108":
            return _more(store, run, result) or f"whorl resume {run}   # asks again"
    if root_code(error) == "P122":
        # The run keeps the tools that it began with.
        command, note = run_again(store, run)
        return f"{command}   # {note}" if note else command
    if objection(fold(store, run).machine, resumed()) is not None:
        return f"whorl show {run}"
    return f"whorl resume {run}   # tries again only what failed"


def _with_room(store: SqliteStore, run: RunId, path: str) -> str:
    """How a call goes on whose answer a budget cut: with as much again for what held it."""
    rows = (row for row in reversed(store.loops(run)) if path.startswith(f"{row.address}["))
    limits: Any = {f"continue {run} --at {quote(row.address)}": row.limits for row in rows}
    limits[f"resume {run}"] = fold(store, run).machine.state["limits"]
    names = ("cost_usd", "tokens")
    ways = ((verb, {name: (own or {}).get(name) for name in names}) for verb, own in limits.items())
    return next((f"whorl {verb} {flags(own)}" for verb, own in ways if flags(own)), "")


def _answers(store: SqliteStore, run: RunId, gates: list[dict[str, Any]]) -> Iterator[str]:
    """The commands that answer what a run asks first."""
    gate = gates[0] if gates else {"address": "", "reason": ""}
    loop, is_limit = gate["address"].partition("/:")[0], gate["reason"] == "limit"
    # A loop that lies in another one is not the one that would be meant.
    at = f" --at {quote(loop)}" if len(gates) > 1 or (is_limit and "[" in loop) else ""
    yield f"whorl approve {run}{at}"
    if is_limit:
        more = flags(amounts_to_go_on(fold(store, run).machine, loop))
        yield f"whorl continue {run}{at} --iterations 3 {more}".rstrip()
    yield f"whorl reject {run}{at} --feedback '...'"
