"""Commands to paste: with the configuration and the store that this command was given."""

from __future__ import annotations

import shlex
from typing import Any

import click

from whorl.interfaces import advice
from whorl.lazily import regex

# The commands that look for the project, where they are named to be pasted.
_COMMAND = regex(
    r"(?<![\w./-])whorl (?=(?:run|try|resume|continue|accept|stop|fork|pause|cancel|approve|reject"
    r"|ls|status|show|watch|why|diff|cost|test|validate|serve|doctor|tools|token|hook|schedule"
    r"|memory|prune|backup|restore|worker)\b)"
)


def given_options() -> list[str]:
    """--config and --store, where this command was given them."""
    context = click.get_current_context(silent=True)
    if context is None:
        return []
    outer = context.find_root().obj or {}
    given = {name: context.params.get(name) or outer.get(name) for name in ("config", "store")}
    return [part for name, value in given.items() if value for part in (f"--{name}", value)]


def carrying(words: str) -> str:
    """Words of ours, in which the commands to paste have the options that this one was given."""
    options = given_options()
    return _COMMAND.sub(lambda _: f"whorl {shlex.join(options)} ", words) if options else words


def with_help(result: dict[str, Any], *, is_kept: bool = True) -> dict[str, Any]:
    """A result document in which errors and warnings say what to do, as this command can do it."""
    result = advice.with_help(result, is_kept=is_kept)
    for message in (*result["warnings"], result["error"]):
        if message and message.get("help"):
            message["help"] = carrying(message["help"])
    return result
