"""Options that many commands share, and how a command finds its project and its run."""

from __future__ import annotations

import json
import os
import sys
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click

from whorl.errors import UsageError
from whorl.interfaces.cli.group import EVENTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language import Json
    from whorl.services.project import Project

P = ParamSpec("P")
R = TypeVar("R")

STDIN_BYTES_MAX = 2_000_000
NO_RUNS = "no runs yet; start one with `whorl run FILE`"


def located(function: Callable[..., R]) -> Callable[..., R]:
    """Adds --store and --config, and gives the command its project as first argument."""
    return _located(function, is_checked=True)


def located_anyhow(function: Callable[..., R]) -> Callable[..., R]:
    """The same for a command that itself says what is wrong with the configuration."""
    return _located(function, is_checked=False)


def _located(function: Callable[..., R], *, is_checked: bool) -> Callable[..., R]:
    @click.option("--store", metavar="PATH", help="Folder or file of the store.")
    @click.option("--config", metavar="FILE", help="Configuration instead of whorl.toml.")
    @click.pass_context
    @wraps(function)
    def command(ctx: click.Context, /, **options: Any) -> R:
        given: dict[str, str | None] = {name: options.pop(name) for name in ("store", "config")}
        outer = ctx.find_root().obj or {}
        chosen = {name: value or outer.get(name) for name, value in given.items()}
        return function(find(**chosen, is_checked=is_checked), **options)

    return command


def find(*, store: str | None, config: str | None, is_checked: bool = True) -> Project:
    """The project around the working folder."""
    from whorl.services.project import find_project

    return find_project(os.environ, store=store, config=config, is_checked=is_checked)


def run_option(function: Callable[P, R]) -> Callable[P, R]:
    """Adds the argument RUN of commands that only look; without it, the newest run is meant."""
    return click.argument("run", metavar="[RUN]", default="last")(function)


def json_option(function: Callable[P, R]) -> Callable[P, R]:
    """Adds --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def show_options(function: Callable[P, R]) -> Callable[P, R]:
    """Adds the options of commands that drive a run."""
    function = click.option(
        "--verbose", "-v", is_flag=True, help="Show every step, not only iterations."
    )(function)
    function = click.option(
        "--events",
        type=click.Choice(EVENTS),
        metavar="[=dialect]",
        help="Print the events of the journal, one JSON object a line; =dialect under the names "
        "that the file's own dialect has for them.",
    )(function)
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(
        function
    )


class More(click.ParamType[float]):
    """An amount to add: +0.50."""

    name = "+AMOUNT"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Reads `+0.50`."""
        if isinstance(value, float):
            return value
        text = str(value)
        if not text.startswith("+"):
            self.fail(f"{text!r} is what is added, so write +{text.lstrip('$')}", param, ctx)
        return _amount(text[1:], text, self, param, ctx)


class MoreOf(click.ParamType[int]):
    """A whole number to add: +10k."""

    name = "+N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Reads `+500` or `+10k`."""
        from whorl.ir.durations import parse_count

        if isinstance(value, int):
            return value
        text = str(value)
        if not text.startswith("+"):
            self.fail(f"{text!r} is what is added, so write +{text}", param, ctx)
        try:
            count = parse_count(text[1:])
        except ValueError:
            count = 0
        if not 0 < count < 10**12:
            self.fail(f"{text!r} is no number to add, such as +500 or +10k", param, ctx)
        return count


def more_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What may be added to budgets: dollars, tokens, calls; the command gets it as `more`."""

    @wraps(command)
    def with_more(
        *args: Any, budget: float | None, tokens: int | None, calls: int | None, **rest: Any
    ) -> Any:
        from whorl.services.steering import More as Added

        return command(*args, more=Added(budget, tokens, calls), **rest)

    for option in (
        click.option("--calls", type=MoreOf(), help="Calls to add to the budget, such as +10."),
        click.option("--tokens", type=MoreOf(), help="Tokens to add, such as +10k."),
        click.option("--budget", type=More(), help="Dollars to add, such as +0.50."),
    ):
        with_more = option(with_more)
    return with_more


class Amount(click.ParamType[float]):
    """An amount of dollars."""

    name = "DOLLARS"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Reads `1.00` or `$1.00`."""
        return value if isinstance(value, float) else _amount(str(value), value, self, param, ctx)


def _amount(
    text: str,
    written: object,
    kind: click.ParamType[float],
    param: click.Parameter | None,
    ctx: click.Context | None,
) -> float:
    try:
        amount = float(text.strip().lstrip("$"))
    except ValueError:
        amount = -1.0
    if not 0 < amount < 1e9:
        kind.fail(f"{written!r} is no amount of dollars such as 0.50", param, ctx)
    return amount


def read_stdin() -> str:
    """The text on standard input."""
    from whorl.source import read_text
    from whorl.source.tree import Limits

    if sys.stdin.isatty():
        click.echo("reading from the terminal; end with Ctrl-D", err=True)
    content = sys.stdin.buffer.read(STDIN_BYTES_MAX + 1)
    if len(content) > STDIN_BYTES_MAX:
        raise UsageError(f"standard input has more than {STDIN_BYTES_MAX:,} bytes")
    return read_text(content, "standard input", limits=Limits(bytes_max=STDIN_BYTES_MAX))


def print_json(value: Json | object) -> None:
    """Prints one JSON document on standard output."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))
