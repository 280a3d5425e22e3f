"""Commands that drive a run: `run` starts one, `watch` looks on, `drive` is the background."""

from __future__ import annotations

import asyncio
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import UsageError, render_all, safe
from whorl.interfaces.cli import options
from whorl.interfaces.cli.options import located, print_json, read_stdin
from whorl.interfaces.cli.session import Show, on_run, run_session, show_options
from whorl.interfaces.cli.summary import loop_words, print_outputs
from whorl.interfaces.cli.terminal import say
from whorl.interfaces.cli.trust import ask_for_trust
from whorl.interfaces.cli.watchers import Events, Lines, NullWatcher
from whorl.interfaces.figures import plural
from whorl.interfaces.wording import EXIT_CODES, advised, calls_words, effects_words, forecast_words
from whorl.services import preflight
from whorl.services.results import status_words
from whorl.services.runs import check_key, find_run

if TYPE_CHECKING:
    from whorl.dialects import Reading
    from whorl.interfaces.cli.session import RunSession
    from whorl.ir import Workflow
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.local import Start
    from whorl.services.project import Project

# An expression failed: with invented answers, rarely by a mistake of the file.
_UNFIT = (
    "the file reads something out of an answer that an invented one does not have; this says "
    "nothing about a run. Where a step has `returns`, the answer fits; or record a run, and replay "
    "it with `whorl test`"
)


@click.command(name="run")
@click.argument("file", metavar="FILE")
@click.argument("text", metavar="[TEXT]", required=False)
@click.option("--input", "-i", "inputs", multiple=True, metavar="NAME=VALUE",
              help="An input; also NAME:=JSON and NAME=@FILE. May be repeated.")  # fmt: skip
@options.budget_option("The most that the run may spend.")
@click.option("--max-iterations", type=click.IntRange(1), metavar="N",
              help="Limit of iterations for every loop, instead of the file's.")  # fmt: skip
@click.option("--detach", is_flag=True, help="Run in the background and print the run's id.")
@click.option("--dry-run", is_flag=True, help="Try it with invented answers; nothing is sent.")
@click.option("--id", "key", default="", metavar="KEY", help="Start at most one run for this key.")
@click.option("--cold", is_flag=True, help="Leave out what loops remember from earlier runs.")
@show_options
@partial(located, drives=True)
def run_command(
    project: Project,
    *,
    file: str,
    text: str | None,
    inputs: tuple[str, ...],
    budget: float | None,
    max_iterations: int | None,
    detach: bool,
    dry_run: bool,
    key: str,
    cold: bool,
    show: Show,
) -> int:
    """Run a workflow FILE. TEXT is its main input; - reads it from standard input.

    \b
      whorl run polish.yaml "a haiku about rain" --budget 0.50
      whorl run review.yaml -i spec=@spec.md -i strict:=true --json
    """
    from whorl.runtimes.local import Start

    reading = project.read(file)
    show.check(reading.workflow)
    given = options.read_values(inputs, "-i", read_stdin)
    given = options.add_main_text(reading.workflow, given, text, read_stdin)
    given = options.add_secrets(reading.workflow, given)
    preflight.check_given(reading.workflow, given, advice=options.FORMS, has_options=True)
    start = Start(
        input=given,
        limits={} if budget is None else {"cost_usd": budget},
        iterations=max_iterations,
        key=key,
        file=os.path.abspath(file),
        sources=dict(reading.sources),
        cold=cold,
    )
    if reading.warnings:
        say(render_all(reading.warnings, reading.sources))
    if dry_run:
        return _rehearse(reading.workflow, start, show)
    if not show.is_silent:
        ask_for_trust(project)
    return asyncio.run(_run(project, reading, start, show, detach=detach))


async def _run(
    project: Project, reading: Reading, start: Start, show: Show, *, detach: bool
) -> int:
    from whorl.providers.registry import Providers

    providers = Providers(project.settings())
    start, note = preflight.permitted(reading.workflow, providers, start)
    if start.refused is not None and detach:
        raise UsageError(str(start.refused["message"]), code=str(start.refused["code"]))
    if start.refused is None:
        budget: Any = start.limits.get("cost_usd")
        iterations = start.iterations
        foreseen = preflight.forecast(
            reading.workflow, providers, iterations=iterations, budget_usd=budget
        )
        for words in (note, forecast_words(foreseen), effects_words(foreseen.effects)):
            if words:
                say(words)
    origin = "detached" if detach else "terminal"
    async with run_session(project, show, providers=providers, origin=origin) as session:
        run, is_new = await session.runtime.start(reading.workflow, start)
        if not is_new:
            check_key(session.store, run, start)
            status, key = session.store.run(run).status, start.key
            say(f"run {run} was started with the key {key!r} before; it {status_words(status)}")
            if status == "interrupted":
                return await session.take_up(run)
            return await (session.follow(run) if status == "running" else session.settle(run))
        if detach:
            return _detach(project, run, as_json=show.as_json)
        return await session.drive(run)


def _detach(project: Project, run: RunId, *, as_json: bool) -> int:
    """Hands the run to a process of its own, which outlives this one and its terminal."""
    import subprocess

    folder = project.store.parent / "logs"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{run}.log"
    # -P: no file of the working folder takes the place of a module of ours.
    words = [sys.executable, "-P", "-m", "whorl.interfaces.cli", "drive", run]
    words += ["--store", str(project.store)]
    if project.is_own_word:
        words += ["--config", str(project.config)]
    log = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    try:
        subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    finally:
        os.close(log)
    if as_json:
        print_json({"run": run, "status": "running", "log": str(path)})
    else:
        click.echo(run)
        say(f"it runs in the background; next: whorl watch {run}")
    return 0


def _rehearse(workflow: Workflow, start: Start, show: Show) -> int:
    """Shows how a run would go, with invented answers; gives the exit code."""
    from whorl.ir.worst_case import worst_case
    from whorl.services.replay import rehearse

    say("dry run: the answers are invented, nothing is sent, nothing is stored")
    shown = Events() if show.events else Lines(verbose=show.verbose)
    result: dict[str, Any] = rehearse(workflow, start, NullWatcher() if show.as_json else shown)
    if show.as_json:
        print_json(result)
    elif not show.events:
        if result["status"] == "succeeded":
            print_outputs(result["outputs"])
        for loop in result["loops"]:
            say(f"  {loop_words(loop)}")
        if result["error"]:
            say(f"  error[{result['error']['code']}]: {safe(advised(result['error']))}")
            if result["error"]["code"] == "R104":
                say(f"  {_UNFIT}")
        worst = worst_case(workflow)
        most = f"; a run makes {calls_words(worst.calls, worst.typical)}" if worst.calls else ""
        calls = plural(int(result["usage"]["calls"]), "call")
        say(f"dry run {result['status']}; it would have made {calls}{most}")
    return EXIT_CODES.get(str(result["status"]), 1)


@click.command()
@partial(on_run, argument=options.run_option, drives=False)
async def watch(session: RunSession, run: RunId) -> int:
    """Watch a RUN until it ends, pauses or waits. Ctrl-C leaves it alone.

    \b
      whorl watch last
    """
    if isinstance(session.watcher, Events):
        for entry in session.store.read(run):
            session.watcher.entries(run, [entry])
    return await session.follow(run)


@click.command(hidden=True)
@options.run_argument
@partial(located, drives=True)
def drive(project: Project, *, run: str) -> int:
    """Drive a RUN that was just made, in the background."""

    async def work() -> int:
        async with run_session(project, Show(verbose=True), origin="detached") as session:
            return await session.take_up(find_run(session.store, run))

    return asyncio.run(work())
