"""Suggests what a user would most probably do next about a run, as commands to paste."""

from __future__ import annotations

import json
import os
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from whorl.errors import safe
from whorl.interfaces.advice import command, flags, root_code, way_on
from whorl.interfaces.cli.options import pasted, step_words
from whorl.interfaces.formatting import as_much_again
from whorl.interpreter.requests import objection
from whorl.lazily import dataclass
from whorl.providers.redaction import HIDDEN
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.journal.sealed_secrets import shown
from whorl.runtimes.sqlite.listing import EXPERIMENT
from whorl.services.inspecting.results import amounts_to_go_on, workflow_of
from whorl.services.runs import changed_file, one_of_several
from whorl.services.steering import chosen_steps, resumed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.language import Json
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore


# The reasons for which a loop ended that more iterations help against.
_TOO_FEW = frozenset({"max_iterations", "rejected"})
# These can be done anywhere.
_LOOKS = frozenset({"show", "why", "watch", "help"})
# A longer command is not repeated with its inputs.
_COMMAND_MAX = 300


@dataclass(frozen=True, slots=True)
class Command:
    """A suggested command, and what the user may have to know about it."""

    words: Sequence[str]
    note: str = ""

    def __str__(self) -> str:
        return f"{pasted(*self.words)}{self.note and f'   # {self.note}'}"


def next_command(store: SqliteStore, run: RunId, result: dict[str, Any], asked: str = "") -> str:
    """Returns the command that a user most probably runs next, in the folder of the run's project.

    Returns "" if that is the command that was `asked`.
    """
    commands = _next(store, run, result)
    verb, folder = commands[0].words[0], store.run(run).project
    text = "   # or: ".join(map(str, commands)) if verb != asked else ""
    return f"cd {quote(folder)} && {text}" if text and folder and verb not in _LOOKS else text


def _next(store: SqliteStore, run: RunId, result: dict[str, Any]) -> list[Command]:
    if "mocked" in result:
        # A mocked run cannot continue with real answers.
        return [Command(["why" if result["loops"] else "show", run])]
    match result["status"]:
        case "succeeded":
            usual = Command(["why" if result["loops"] else "show", run])
            return [_more(store, run, result) or usual]
        case "failed":
            return [_after_failure(store, run, result)]
        case "waiting":
            return _answers(store, run, result["waiting_for"])
        case "paused" if result["paused_by"] == "budget":
            return [_advised(result, "R103") or Command(["resume", run])]
        case "paused" | "interrupted":
            return [Command(["resume", run])]
        case "running":
            return [Command(["watch", run])]
    return [Command(["show", run])]


def _after_failure(store: SqliteStore, run: RunId, result: dict[str, Any]) -> Command:
    error = result["error"]
    root = root_code(error)
    # Trying a loop again would only reach its limit again.
    more = _more(store, run, result) if error.get("code") in ("R102", "R108") else None
    if more or error.get("code") == "R102":
        return more or Command(["why", run])
    if root == "P118" and "raise the budget" in str(error.get("message")):
        return _with_room(store, run, str(error.get("path"))) or Command(["resume", run])
    if root == "P118" or error.get("code") in ("R110", "R111"):
        return Command(["help", "P118" if root == "P118" else error["code"]])
    if root == "P122" and "since this run began" in str(error.get("message")):
        # The run keeps the tools that it began with.
        return run_again(store, run)
    is_asked = error.get("code") == "R108"
    if not is_asked and objection(fold(store, run).machine, resumed()) is not None:
        return Command(["show", run])
    if file := changed_file(store, run):
        return run_again(store, run, f"{_seen(file)} has changed since this run began")
    if _is_of_file(error, root) and os.path.isfile(store.run(run).file):
        return run_again(store, run, f"after you have corrected {_seen(store.run(run).file)}")
    return Command(["resume", run], "asks again" if is_asked else "tries again only what failed")


def _is_of_file(error: dict[str, Any], root: str) -> bool:
    """Returns whether every retry of a step would fail because of what the file says."""
    while isinstance(cause := error.get("cause"), dict) and cause.get("code"):
        error = cause
    words = str(error.get("message", ""))
    # Others are about a file or a folder, which may be there the next time, or about a permission.
    return root == "R104" or (root == "P113" and words.startswith("input ")) or (
        root == "P125" and "[allow]" not in words)  # fmt: skip


def changed_words(store: SqliteStore, run: RunId, forking: Sequence[str] = ()) -> str:
    """Says that a run uses an older version of its file, and how to use the current one.

    Returns "" if its files have not changed. `forking` are the words of a fork that was requested.
    """
    file = changed_file(store, run)
    if not file:
        return ""
    outer = [row for row in store.loops(run) if "[" not in row.address and row.iterations]
    if not forking and outer:
        forking = ["--at", f"{outer[-1].address}[{outer[-1].iterations}]"]
    again = run_again(store, run)
    ways = f"`{command(*again.words)}`{again.note and f' {again.note}'}"
    if forking and not _is_of_experiment(store, run):
        fork = command("fork", run, *forking, "--file", *_file_words(store, run))
        ways = f"`{fork}`, or from the beginning: {ways}"
    return (
        f"{_seen(file)} has changed since this run began; it goes on with the version it began "
        f"with; to use the new one: {ways}"
    )


def run_again(store: SqliteStore, run: RunId, note: str = "") -> Command:
    """Returns the command that runs a file again with a run's inputs; its note names the rest."""
    if _is_of_experiment(store, run):
        return Command(["experiment", "run", _seen(store.run(run).file)], note)
    body, workflow = shown(next(iter(store.read(run, limit=1))).event), workflow_of(store, run)
    ports = {port.name: port for port in workflow.inputs}
    inputs: list[str] = []
    given: Any = body.get("input") or {}
    for name, value in given.items():
        if name in ports and ports[name].type in ("file", "files"):
            value = _seen_files(store.run(run).file, value)
        is_secret = name in ports and ports[name].secret
        inputs += ["-i", f"{name}=VALUE" if is_secret else _given(name, value)]
    limits: Any = body.get("limits") or {}
    options = step_words(chosen_steps(store, run))
    if (budget := limits.get("cost_usd")) not in (None, workflow.limits.cost_usd):
        options += ["--budget", f"{budget:g}"]
    if iterations := body.get("iterations"):
        options += ["--max-iterations", str(iterations)]
    words = ["run", *_file_words(store, run)]
    whole = [*words, *inputs, *options]
    if len(command(*whole)) <= _COMMAND_MAX and HIDDEN not in command(*whole):
        return Command(whole, note)
    return Command([*words, *options], ", ".join(filter(None, ("with the same inputs", note))))


def _file_words(store: SqliteStore, run: RunId) -> list[str]:
    """Returns the file of a run as command words, with its workflow if the file has several."""
    name = one_of_several(store, run)
    return [_seen(store.run(run).file), *(["--workflow", name] if name else [])]


def _is_of_experiment(store: SqliteStore, run: RunId) -> bool:
    return store.run(run).key.startswith(EXPERIMENT)


def _seen(file: str) -> str:
    """Returns a path relative to the current folder."""
    return safe(os.path.relpath(file))


def _seen_files(file: str, paths: Json) -> Json:
    """Returns input files of a run as paths relative to the current folder.

    The run stores them relative to the project, whose folder contains the run's own file.
    """
    if isinstance(paths, list):
        return [_seen_files(file, path) for path in paths]
    found = (os.path.join(folder, str(paths)) for folder in Path(file).parents)
    return next((_seen(path) for path in found if os.path.exists(path)), paths)


def _given(name: str, value: Json) -> str:
    """Returns an input in the form of `-i`."""
    if isinstance(value, str) and value.isprintable() and not value.startswith("@"):
        return f"{name}={value}"
    return f"{name}:={json.dumps(value, ensure_ascii=False)}"


def _advised(result: dict[str, Any], code: str) -> Command | None:
    """Returns the command of the newest warning with a code, if it has one; its amount suffices."""
    facts = (each.get("facts") for each in result["warnings"][::-1] if each["code"] == code)
    ways = (way_on(code, each, result["run"]) for each in facts if each)
    return next((Command(words) for words in ways if words), None)


def _more(store: SqliteStore, run: RunId, result: dict[str, Any]) -> Command | None:
    """Returns the command that continues the last loop ended by a limit or a person, if any can."""
    loops = result["loops"]
    advised = _advised(result, "R102")
    if advised and any(loop["exit_reason"] == "budget" for loop in loops):
        return advised
    for loop in reversed([loop for loop in loops if "[" not in loop["path"]]):
        path, is_short = loop["path"], loop["exit_reason"] in _TOO_FEW
        if not is_short and loop["exit_reason"] != "budget":
            continue
        amounts = flags(amounts_to_go_on(fold(store, run).machine, path))
        if is_short:
            amounts = ["--iterations", "3", *amounts]
        elif not amounts:
            amounts = ["--budget", as_much_again(budget_of(store, run, path))]
        # Those inside of it do not count, and those in `each` do.
        others = [each["path"] for each in loops if not f"{each['path']}[".startswith(f"{path}[")]
        at = ["--at", path] if others else []
        return Command(["continue", run, *at, *amounts])
    return None


def budget_of(store: SqliteStore, run: RunId, loop: str) -> float | None:
    """Returns the dollars that a loop may spend: its own limit or the run's, whichever is lower."""
    limits: list[Any] = [row.limits for row in store.loops(run) if row.address == loop]
    own = [each.get("cost_usd") for each in limits if isinstance(each, dict)]
    budgets = (*own, store.run(run).budget_usd)
    return min((each for each in budgets if isinstance(each, int | float)), default=None)


def _with_room(store: SqliteStore, run: RunId, path: str) -> Command | None:
    """Returns the command that repeats a call cut short by a budget, with that budget doubled."""
    rows = [row for row in store.loops(run)[::-1] if path.startswith(f"{row.address}[")]
    ways: list[tuple[list[str], Any]]
    ways = [(["continue", run, "--at", row.address], row.limits) for row in rows]
    ways.append((["resume", run], fold(store, run).machine.state["limits"]))
    for words, limits in ways:
        if more := flags({name: (limits or {}).get(name) for name in ("cost_usd", "tokens")}):
            return Command([*words, *more])
    return None


def _answers(store: SqliteStore, run: RunId, gates: list[dict[str, Any]]) -> list[Command]:
    """Returns the commands that answer the first open question of a run."""
    gate = gates[0] if gates else {"address": "", "reason": ""}
    loop, is_limit = gate["address"].partition("/:")[0], gate["reason"] == "limit"
    # Without --at, the command would not mean a loop inside another one.
    at = ["--at", loop] if len(gates) > 1 or (is_limit and "[" in loop) else []
    answers = [Command(["runs", "approve", run, *at])]
    if is_limit:
        more = flags(amounts_to_go_on(fold(store, run).machine, loop))
        answers.append(Command(["continue", run, *at, "--iterations", "3", *more]))
    return [*answers, Command(["runs", "reject", run, *at, "-m", "..."])]
