"""How a command shows a run: as JSON, as events, as plain lines or live."""

from __future__ import annotations

import os
import sys
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import UsageError
from whorl.interfaces.cli import watchers
from whorl.interfaces.cli.group import EVENTS
from whorl.interfaces.cli.terminal import is_plain
from whorl.interfaces.cli.watchers import Lines, NullWatcher
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.ir import Workflow


@dataclass(frozen=True, slots=True)
class Show:
    """How a command shows what happens."""

    as_json: bool = False
    events: str | None = None
    verbose: bool = False

    @property
    def is_silent(self) -> bool:
        """Whether a program reads the output, so that nobody is asked anything."""
        return self.as_json or bool(self.events)

    def check(self, workflow: Workflow) -> None:
        """Refuses what cannot be shown of a workflow, before a run of it is made."""
        if self.as_json and self.events:
            raise UsageError("--json and --events exclude each other", help="leave one of them out")
        if self.events == "dialect":
            watchers.translator_of(workflow)

    def watcher(self) -> NullWatcher:
        if self.as_json and not self.events:
            return Lines(verbose=True) if self.verbose else NullWatcher()
        if self.events:
            return watchers.DialectEvents() if self.events == "dialect" else watchers.Events()
        is_able = os.environ.get("TERM", "dumb") != "dumb" and not is_plain(os.environ)
        if sys.stderr.isatty() and is_able and not self.verbose:
            from whorl.interfaces.cli.live_view import Live

            return Live()
        return Lines(verbose=self.verbose)


def show_options(command: Callable[..., int]) -> Callable[..., int]:
    """Adds the options of commands that drive a run; the command gets them as `show`."""

    @click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
    @click.option(
        "--events",
        type=click.Choice(EVENTS),
        metavar="[=dialect]",
        help="Print the events of the journal, one JSON object a line; =dialect under the names "
        "that the file's own dialect has for them.",
    )
    @click.option("--verbose", "-v", is_flag=True, help="Show every step, not only iterations.")
    @wraps(command)
    def with_show(*, as_json: bool, events: str | None, verbose: bool, **options: Any) -> int:
        return command(show=Show(as_json, events, verbose), **options)

    return with_show
