"""Commands to paste: with the configuration and the store that this command was given."""

from __future__ import annotations

import shlex
from typing import Any

import click
from click.core import ParameterSource

from whorl.interfaces import advice
from whorl.lazily import regex

# The commands that look for the project, where they are named to be pasted.
_COMMAND = regex(
    r"(?<![\w./-])whorl (?=(?:run|try|resume|continue|accept|stop|fork|pause|cancel|approve|reject"
    r"|ls|status|show|watch|why|diff|cost|test|validate|serve|doctor|tools|token|hook|schedule"
    r"|memory|prune|backup|restore|adopt|worker)\b)"
)


def given_options() -> list[str]:
    """--config and --store, where this command was given them."""
    context = click.get_current_context(silent=True)
    if context is None:
        return []
    outer = context.find_root().obj or {}
    given = {name: context.params.get(name) or outer.get(name) for name in ("config", "store")}
    return [part for name, value in given.items() if value for part in (f"--{name}", value)]


def same_command(*leaving: str) -> list[str]:
    """The words of this command with all that it was given, but these parameters.

    Those of `given_options` are not among them.
    """
    context = click.get_current_context()
    words: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        is_given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not is_given or name in ("config", "store", *leaving):
            continue
        value = context.params[name]
        if isinstance(parameter, click.Option):
            option = max(parameter.opts, key=len)
            for each in value if parameter.multiple else [value]:
                words += [option] if parameter.is_flag else [option, *_texts(each)]
        else:
            words += _texts(value)
    names = []
    while context.parent is not None:
        names.append(context.info_name or "")
        context = context.parent
    return [*reversed(names), *words]


def _texts(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, tuple) else [str(value)]


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
