"""`whorl approve` and `whorl reject`: a person's answer to what a run asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from whorl.interfaces.cli.options import located, show_options
from whorl.interfaces.cli.stage import Show, on_stage, perform
from whorl.interfaces.cli.steering import steer
from whorl.services.runs import find_run
from whorl.services.steering import decided

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.services.project import Project


def _command(name: str, words: str) -> click.Command:
    def decide(
        project: Project,
        *,
        run: str,
        feedback: str,
        at: str,
        as_json: bool,
        events: str | None,
        verbose: bool,
    ) -> int:
        show = Show(as_json=as_json, events=events, verbose=verbose)
        return perform(
            _decide(project, run, at, show, approved=name == "approve", feedback=feedback)
        )

    decide.__doc__ = words
    made: Callable[..., int] = show_options(located(decide))
    for option in (
        click.option("--at", default="", metavar="ADDRESS", help="Which one, if several wait."),
        click.option("--feedback", "-m", default="", metavar="TEXT", help="Your words to it."),
        click.argument("run", metavar="RUN"),
    ):
        made = option(made)
    return click.command(name=name)(made)


async def _decide(
    project: Project, text: str, at: str, show: Show, *, approved: bool, feedback: str
) -> int:
    project.open_store().close()
    async with on_stage(project, show) as stage:
        run = find_run(stage.store, text)
        event = decided(stage.store, run, at, approved=approved, feedback=feedback)
        return await steer(stage, run, event)


COMMANDS = {
    "approve": _command(
        "approve",
        """Say yes to what a RUN asks: open a gate, or take an iteration as it is.

        \b
          whorl approve last --feedback "good, but mention the price"
        """,
    ),
    "reject": _command(
        "reject",
        """Say no to what a RUN asks: close a gate, or send an iteration back.

        \b
          whorl reject last --feedback "the second paragraph is wrong"
        """,
    ),
}
