"""What to do about an error, a warning or a refusal: made from its code and its facts alone."""

from __future__ import annotations

from itertools import pairwise
from math import ceil, floor, log10
from shlex import quote
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


# The flags of the command line that raise a budget.
_FLAGS = {"cost_usd": "--budget", "tokens": "--tokens", "calls": "--calls"}
# The fields that raise a limit, where a loop's own format names none; of the run: `run`.
_FIELDS = {
    "max_iterations": "at_most.iterations",
    "timeout": "at_most.time",
    "cost": "at_most.cost",
    "tokens": "at_most.tokens",
    "calls": "at_most.calls",
    "run": "budget",
    "score": "`low` and `high` of the score",
}
# Those of a loop in Python.
_OPTIONS = {
    "max_iterations": "whorl.loop(at_most=...)",
    "timeout": "whorl.loop(time=...)",
    **dict.fromkeys(("cost", "tokens", "calls"), "whorl.loop(budget=...)"),
    "run": "@whorl.workflow(budget=...)",
    "score": "`whorl.loop(range=...)`",
}


def advice(code: str, facts: Mapping[str, Any] | None, run: str = "RUN") -> str:
    """What to do about an error, a warning or a refusal: made from its code and its facts alone.

    A message that passes another one on has the code of that one among its facts. Without a `run`
    (it was only tried), no command is named that takes one.
    """
    if not facts:
        return ""
    match facts.get("code", code):
        case "R102":
            return _after_limit(facts, run)
        case "R103" if not run:
            return "raise its budget"
        case "R103":
            return f"give it more: `{command(*way_on(code, facts, run))}`"
        case "R105" if "history" in facts:
            return "records of `memory` can hold more"
        case "R105" if "cpu_s" in facts:
            return "give its loops lower limits, or raise `cpu` in [limits] of whorl.toml"
        case "R105":
            return "give its loops lower limits, or let them `wait` for a second from time to time"
        case "R106" if run:
            return f"see why, then `whorl resume {run}` tries it again"
        case "R111":
            return f"give it with `-i {facts['input']}=VALUE`"
        case "R115":
            low, high = facts["low"], facts["high"]
            ends = "" if low is None else f" from {low:g}"
            ends += "" if high is None else f" to {high:g}"
            field = _fields_of(facts).get("score")
            return f"ask for a score{ends} in the prompt{f', or change {field}' if field else ''}"
        case "P124":
            return "raise max_turns"
        case "W900" | "W905" if run:
            return _after_refusal(facts, run)
    return ""


def _after_limit(facts: Mapping[str, Any], run: str) -> str:
    """Returns the command that continues a loop, if any, and what raises a new run's limit.

    A run keeps the file that it began with, so a change of a field there has no effect on it.
    """
    fields, limit = _fields_of(facts), facts["limit"]
    budget = limit.removesuffix("_usd") if limit in _FLAGS else ""
    field = fields.get(budget) or fields.get(facts["reason"], "the limit")
    if facts["of_run"]:
        # A format without a field for it has the flag of the command line.
        field = fields.get("run", "--budget")
        field += f".{budget}" if fields is _FIELDS and budget != "cost" else ""
    raised = f"raise `{field}`"
    if not run:
        return raised
    if facts["reason"] == "max_iterations":
        raised += " or give `whorl run` a higher `--max-iterations`"
    words = way_on("R102", facts, run)
    return f"`{command(*words)}` continues it; for a new run, {raised}" if words else raised


def _fields_of(facts: Mapping[str, Any]) -> Mapping[str, str]:
    own = facts.get("fields")
    return _OPTIONS if own == "python" else own or _FIELDS


def way_on(code: str, facts: Mapping[str, Any], run: str) -> list[str]:
    """Returns the words of the command that continues a run after a limit, or [] if it cannot."""
    match facts.get("code", code):
        case "R103" if "loop" in facts:
            return ["continue", run, "--at", facts["loop"], *flags(facts["more"])]
        case "R103":
            return ["resume", run, *flags(facts["more"])]
        case "R102" if facts["continues"]:
            iterations = ["--iterations", str(facts["iterations"])] if facts["iterations"] else []
            # More money alone is for all loops that lack it: one of many need not be named.
            is_any = facts["limit"] in _FLAGS and "[" in facts["address"]
            at = [] if is_any else ["--at", facts["address"]]
            return ["continue", run, *at, *iterations, *flags(facts["more"])]
    return []


def command(*words: str) -> str:
    """Returns a command as a shell takes it; an address is always in quotes."""
    written = [f"'{word}'" if option == "--at" and quote(word) == word else quote(word)
               for option, word in pairwise(("whorl", *words))]  # fmt: skip
    return " ".join(("whorl", *written))


def _after_refusal(facts: Mapping[str, Any], run: str) -> str:
    more, verb = flags(facts.get("more") or {}), facts.get("verb")
    if verb is None:
        return "say which with --at" if "loops" in facts else ""
    if verb == "start":
        return "start a new one"
    if verb == "add":
        return f"add `{' '.join(more)}`"
    if verb == "fork" and "at" not in facts:
        return f"fork there instead: `whorl fork {run} --at ...`"
    at = ["--at", facts["at"]] if "at" in facts else []
    what = "start a new run from there" if verb == "fork" else f"{verb} it"
    return f"{what} with `{command(verb, run, *at, *more)}`"


def flags(more: Mapping[str, float | None]) -> list[str]:
    """Returns the flags that raise budgets by sensible amounts, at least by what is missing."""
    words: list[str] = []
    for name, flag in _FLAGS.items():
        if much := more.get(name) or 0.0:
            digits = 1 - floor(log10(much))
            dollars = f"{ceil(much * 10.0**digits - 1e-9) / 10.0**digits:.{max(digits, 1)}f}"
            amount = dollars.rstrip("0").rstrip(".") if name == "cost_usd" else str(ceil(much))
            words += [flag, f"+{amount}"]
    return words


def advised(message: Mapping[str, Any], run: str = "RUN") -> str:
    """Returns an error or a warning with what to do about it."""
    words, help_ = str(message.get("message", "")), message.get("help")
    if help_ is None:
        help_ = advice(str(message.get("code", "")), message.get("facts"), run)
    return f"{words}; {help_}" if help_ else words


def with_help(result: dict[str, Any], *, is_kept: bool = True) -> dict[str, Any]:
    """Adds to the errors and warnings of a result document what to do about them.

    `is_kept` is false for a run that was only tried.
    """
    run = result["run"] if is_kept else ""
    for message in (*result["warnings"], result["error"]):
        if message and message.get("facts"):
            message["help"] = advice(message["code"], message["facts"], run)
    return result


def root_code(error: Mapping[str, Any]) -> str:
    """Returns the code of the root cause of an error, whose page says most."""
    cause = error.get("cause")
    return root_code(cause) if isinstance(cause, dict) and cause.get("code") else str(error["code"])
