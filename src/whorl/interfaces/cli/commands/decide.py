"""`whorl approve` and `whorl reject`: a person's answer to what a run asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError, did_you_mean
from whorl.interfaces.cli.options import located, show_options
from whorl.interfaces.cli.stage import Show, Stage, on_stage, perform
from whorl.interfaces.cli.steering import asked, steer
from whorl.interfaces.results import open_gates

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.interfaces.project import Project
    from whorl.interfaces.results import Gate
    from whorl.language import Json
    from whorl.runtimes.journal import RunId


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
        body: dict[str, Json] = {"approved": name == "approve", "by": "person"}
        if feedback:
            body["feedback"] = feedback
        return perform(_decide(project, run, at, body, show))

    decide.__doc__ = words
    made: Callable[..., int] = show_options(located(decide))
    for option in (
        click.option("--at", default="", metavar="ADDRESS", help="Which one, if several wait."),
        click.option("--feedback", "-m", default="", metavar="TEXT", help="Your words to it."),
        click.argument("run", metavar="RUN"),
    ):
        made = option(made)
    return click.command(name=name)(made)


async def _decide(project: Project, text: str, at: str, body: dict[str, Json], show: Show) -> int:
    project.open_store().close()
    async with on_stage(project, show) as stage:
        run = stage.store.resolve(text)
        gate = _chosen(stage, run, at)
        return await steer(stage, run, asked("gate.decided", body, gate.address))


def _chosen(stage: Stage, run: RunId, at: str) -> Gate:
    gates = open_gates(stage.store, run)
    places = ", ".join(gate.address for gate in gates)
    if at:
        found = [gate for gate in gates if gate.address == at]
        if found:
            return found[0]
    elif len(gates) == 1:
        return gates[0]
    elif gates:
        raise UsageError(f"several decisions are open: {places}", help="say which with --at",
                         code="W903")  # fmt: skip
    decided = _decided_last(stage, run, at)
    if decided:
        raise UsageError(f"run {run} asks nothing any more: {decided}", help="see `whorl show`")
    if gates:
        hint = did_you_mean(at, [gate.address for gate in gates])
        raise UsageError(f"nothing is asked at {at!r}; open: {places}", help=hint, code="W903")
    status = stage.store.run(run).status
    raise UsageError(f"run {run} asks nothing; it is {status}", help=f"`whorl status {run}`")


def _decided_last(stage: Stage, run: RunId, at: str) -> str:
    last = ""
    for entry in stage.store.read(run):
        event = entry.event
        if event.kind == "gate.decided" and at in ("", event.address):
            verb = "approved" if event.body.get("approved") else "rejected"
            last = f"{event.address!r} was {verb} already"
    return last


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
