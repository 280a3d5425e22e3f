"""What a person would most probably want to do next about a run: a command to be pasted."""

from __future__ import annotations

import re
from shlex import quote
from typing import TYPE_CHECKING, Any

from whorl.interfaces.advice import advice, flags, root_code
from whorl.interfaces.figures import as_much_again
from whorl.interpreter.requests import objection
from whorl.runtimes.journal.folding import fold
from whorl.services.steering import amounts_to_go_on, resumed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.runtimes.journal.journal import LoopRow, RunId
    from whorl.runtimes.sqlite import SqliteStore


# The reasons for which a loop ended that more iterations help against.
_TOO_FEW = frozenset({"max_iterations", "rejected"})


def next_command(store: SqliteStore, run: RunId, result: dict[str, Any]) -> str:
    """What a person would most probably want to do next."""
    match result["status"]:
        case "succeeded":
            usual = f"whorl why {run}" if result["loops"] else f"whorl show {run}"
            return _more(store, run, result) or usual
        case "failed":
            return _after_failure(store, run, result)
        case "waiting":
            return "   # or: ".join(_answers(run, result["waiting_for"]))
        case "paused" if result["paused_by"] == "budget":
            again = as_much_again(store.run(run).budget_usd)
            return _advised(result, "R103")[0] or f"whorl resume {run} --budget {again}"
        case "paused" | "interrupted":
            return f"whorl resume {run}"
        case "running":
            return f"whorl watch {run}"
    return f"whorl show {run}"


def _advised(result: dict[str, Any], code: str) -> tuple[str, dict[str, Any]]:
    """The command in the last warning of a code that has one: its amount is enough. Its facts."""
    for warning in reversed(result["warnings"]):
        if warning["code"] == code:
            words = advice(code, warning.get("facts"), result["run"])
            commands = re.findall(r"`(whorl (?:resume|continue) [^`]*)`", words)
            if commands:
                return str(commands[-1]), warning["facts"]
    return "", {}


def _more(store: SqliteStore, run: RunId, result: dict[str, Any]) -> str:
    """How the last loop that a limit or a person ended goes on, where it can."""
    command, facts = _advised(result, "R102")
    if command and any(loop["exit_reason"] == "budget" for loop in result["loops"]):
        # What was short when the loop ended may be less than what is short by now.
        place = facts["address"] if "--at" in command else ""
        amounts = flags(amounts_to_go_on(store, run, place))
        at = f"--at '{place}' " if place else ""
        return f"whorl continue {run} {at}{amounts}" if amounts else command
    outer = [loop for loop in result["loops"] if "[" not in loop["path"]]
    for loop in reversed(outer):
        if loop["exit_reason"] not in (*_TOO_FEW, "budget"):
            continue
        amounts = flags(amounts_to_go_on(store, run, loop["path"]))
        if loop["exit_reason"] in _TOO_FEW:
            amounts = f"--iterations 3 {amounts}".rstrip()
        elif not amounts:
            amounts = f"--budget {as_much_again(budget_of(store, run, loop['path']))}"
        at = f" --at {quote(loop['path'])}" if len(outer) > 1 else ""
        return f"whorl continue {run}{at} {amounts}"
    return ""


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
        return _with_room(store, run, str(error.get("path")))
    match error.get("code"):
        case "R110" | "R111":
            return f"whorl explain {error['code']}"
        case "R102":
            # Trying the loop again would only reach its limit again.
            return _more(store, run, result) or f"whorl why {run}"
        case "R108":
            return _more(store, run, result) or f"whorl resume {run}   # asks again"
    if objection(fold(store, run).machine, resumed()) is not None:
        return f"whorl show {run}"
    return f"whorl resume {run}   # tries again only what failed"


def _with_room(store: SqliteStore, run: RunId, path: str) -> str:
    """How a call goes on whose answer a budget cut: with as much again for what held it."""
    for row in reversed(store.loops(run)):
        own = _own_budget(row)
        if path.startswith(f"{row.address}[") and own is not None:
            again = as_much_again(own)
            return f"whorl continue {run} --at {quote(row.address)} --budget {again}"
    return f"whorl resume {run} --budget {as_much_again(store.run(run).budget_usd)}"


def _answers(run: str, gates: list[dict[str, Any]]) -> Iterator[str]:
    """The commands that answer what a run asks first."""
    gate = gates[0] if gates else {"address": "", "reason": ""}
    at = f" --at {quote(gate['address'].partition('/:')[0])}" if len(gates) > 1 else ""
    yield f"whorl approve {run}{at}"
    if gate["reason"] == "limit":
        yield f"whorl continue {run}{at} --iterations 3"
    yield f"whorl reject {run}{at} --feedback '...'"
