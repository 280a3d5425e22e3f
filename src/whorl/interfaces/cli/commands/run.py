"""Commands that drive a run: `run` starts one, `watch` follows one, `drive` is the background."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import UsageError, plural, safe
from whorl.interfaces.advice import advised
from whorl.interfaces.cli import options
from whorl.interfaces.cli.group import show_diagnostics
from whorl.interfaces.cli.session import Show, on_run, run_session, show_options
from whorl.interfaces.cli.summary import loop_words, mock_file, print_outputs
from whorl.interfaces.cli.terminal import echo, say
from whorl.interfaces.cli.watchers import Events, Lines, NullWatcher
from whorl.interfaces.formatting import line
from whorl.interfaces.status_words import EXIT_CODES, effects_words, forecast_words
from whorl.ir.walk import is_program
from whorl.plugins import needed
from whorl.providers.registry import Providers
from whorl.providers.settings.sections import VARIABLE
from whorl.runtimes.sqlite.listing import MOCKED
from whorl.runtimes.start_options import Start
from whorl.services.files import forecasting, preflight
from whorl.services.inspecting.results import status_words
from whorl.services.runs import QUEUED_S, check_key, find_run
from whorl.services.serving.triggers import starts_of
from whorl.services.steering import with_steps

if TYPE_CHECKING:
    from whorl.dialects import Reading
    from whorl.interfaces.cli.session import RunSession
    from whorl.ir import Workflow
    from whorl.runtimes.journal.journal import RunId
    from whorl.services.project import Project
    from whorl.services.serving.triggers import Starts

# An expression failed: with invented answers, rarely by a mistake of the file.
_UNFIT = "the file reads a field that the invented answer lacks; add `returns` to the step"


class _RunCommand(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads `--mocks` as `--mocks=`: click would take the next word for the test."""
        end = args.index("--") if "--" in args else len(args)
        made = ["--mocks=" if word == "--mocks" else word for word in args[:end]]
        return super().parse_args(ctx, made + args[end:])


@click.command(name="run", cls=_RunCommand)
@click.argument("file", metavar="FILE")
@click.argument("text", metavar="[TEXT]", required=False)
@options.input_options
@options.budget_option("The most that the run may spend.")
@click.option("--max-iterations", "iterations", type=click.IntRange(1), metavar="N",
              help="Limit of iterations for every loop, instead of the file's.")  # fmt: skip
@click.option("--detach", is_flag=True, help="Run in the background and print the run's id.")
@click.option(
    "--dry-run", is_flag=True, help="Try it with invented answers; files are read, nothing is sent."
)
@click.option("--key", default="", metavar="KEY", help="Start at most one run for this key.")
@options.workflow_option
@options.step_options
@click.option("--explore", multiple=True, metavar="LOOP=N",
              help="Run N iterations even if the loop's rule stops earlier.")  # fmt: skip
@click.option("--label", "labels", multiple=True, metavar="NAME=VALUE",
              help="A label to find the run by: `whorl ls --label NAME=VALUE`.")  # fmt: skip
@click.option("--runtime", type=click.Choice(["local", "temporal"]),
              help="The runtime, instead of [runtime] kind.")  # fmt: skip
@click.option("--cold", is_flag=True, help="Ignore the memory of earlier runs.")
@click.option("--mocks", metavar="[=TEST]",
              help="Take answers from TEST, or the first test, of FILE.")  # fmt: skip
@show_options
@partial(options.located, drives=True)
def run_command(
    project: Project,
    *,
    file: str,
    text: str | None,
    inputs: tuple[str, ...],
    budget: float | None,
    detach: bool,
    dry_run: bool,
    workflow: str,
    explore: tuple[str, ...],
    labels: tuple[str, ...],
    runtime: str | None,
    steps: dict[str, dict[str, str]],
    mocks: str | None,
    show: Show,
    **as_given: Any,
) -> int:
    """Run a workflow FILE. TEXT is its main input; - reads it from standard input.

    \b
      whorl run polish.yaml "a haiku about rain" --budget 0.50
      whorl run review.yaml -i spec=@spec.md -i strict:=true --json
    """
    if runtime is not None:
        project = replace(project, environment={**project.environment, VARIABLE: runtime})
    named, file = file, project.find(file)
    if file != named and not show.is_silent:
        say(f"{safe(named)} is {safe(file)}")
    reading = project.read(file, workflow)
    reading = replace(reading, workflow=with_steps(reading.workflow, steps))
    read = reading.workflow
    show.check(read)
    given = options.read_inputs(project, read, inputs, text=text, file=file)
    mocked = None
    if mocks is not None:
        if detach or dry_run or project.is_on_cluster:
            other = "--detach" if detach else "--dry-run" if dry_run else "--runtime temporal"
            raise UsageError(f"--mocks and {other} exclude each other", help=f"leave {other} out")
        mocked = needed("mocks")(project, file, reading, mocks)
        given = mocked.inputs | given
    given = options.add_secrets(read, given)
    preflight.check_given(read, given, advice=options.FORMS, has_options=True)
    start = Start(
        input=given,
        limits={} if budget is None else {"cost_usd": budget},
        file=os.path.abspath(file),
        sources=dict(reading.sources),
        explore=_explored(read, explore),
        labels=preflight.check_labels(options.read_labels(labels)),
        steps=steps,
        **as_given,
    )
    if mocked is not None:
        iterations = start.iterations or mocked.iterations
        marked = start.labels | {MOCKED: mocked.name}
        start = replace(start, labels=marked, iterations=iterations, cold=True)
    if reading.warnings:
        show_diagnostics(reading.warnings, reading.sources)
    starts = starts_of(read, start, time.time())
    if starts.reason:
        say(f"{plural(starts.skipped, 'run')} not started: {safe(starts.reason)}")
    if not starts.each:
        if show.as_json:
            options.print_json({"runs": [], "reason": starts.reason})
        return 0
    if dry_run:
        return max(_rehearse(project, read, each, show) for each in starts.each)
    if not show.is_silent and mocked is None:
        options.ask_for_trust(project)
    return asyncio.run(_run(project, reading, starts, show, mocked, detach=detach))


def _explored(workflow: Workflow, words: tuple[str, ...]) -> dict[str, int]:
    """Returns the loops to explore, each with its number of iterations."""
    explored: dict[str, int] = {}
    for word in words:
        name, _, number = word.partition("=")
        if not number.isdigit() or not int(number):
            raise UsageError(f"--explore takes LOOP=N, not {word!r}", help="--explore polish=8")
        if why := preflight.not_explored(workflow, name):
            raise UsageError(why, code="X107")
        explored[name] = int(number)
    return explored


async def _run(
    project: Project, reading: Reading, starts: Starts, show: Show, mocked: Any, *, detach: bool
) -> int:
    """Starts all runs, then drives one after the other; returns the worst of their exit codes."""
    workflow = reading.workflow if mocked is None else mocked.workflow
    providers = Providers(project.settings()) if mocked is None else mocked.providers
    start, about, is_forecast = starts.each[0], [], False
    if mocked is not None:
        about = [f"mocked by {mock_file({'mocked': mocked.name})}, nothing is sent or paid"]
    else:
        start, note = preflight.permitted(workflow, providers, start)
        if start.refused is not None and detach:
            raise UsageError(str(start.refused["message"]), code=str(start.refused["code"]))
        is_forecast = start.refused is None
    origin = "detached" if detach else "terminal"
    async with run_session(project, show, providers=providers, origin=origin) as session:
        if is_forecast:
            # In a thread, since code that is tried has an event loop of its own.
            seen = await asyncio.to_thread(_forecast, session, reading, providers, start)
            about = [*seen, note]
        session.loaded = [{"code": each.code, "message": each.message, "path": each.node or ""}
                          for each in reading.warnings]  # fmt: skip
        each_start = [replace(s, refused=start.refused, at_once=start.at_once) for s in starts.each]
        made = [(each, *await session.runtime.start(workflow, each)) for each in each_start]
        for each, run, _ in made:
            await options.note_start(session.store, run, each.file)
        if mocked is not None:
            session.decide = mocked.providers.decide
        results: list[object] = []
        if starts.is_split:
            say(f"{plural(len(made), 'run')}, one for each item of the trigger")
            session.report = results.append
        code = 0
        for each, run, is_new in made:
            if not session.was_stopped:
                if is_new:
                    words, *others = about or [""]
                    head = f"run {run} of {line(workflow.name, 60)}"
                    say(f"{head}{words and f': {words}'}", *filter(None, others))
                code = max(code, await _drive(session, each, run, is_new, detach=detach))
    if starts.is_split and show.as_json:
        options.print_json({"runs": results})
    return code


def _forecast(session: RunSession, reading: Reading, providers: Any, start: Start) -> list[str]:
    """Returns how many calls there will be, and what they do outside."""
    given: Any = {"budget_usd": start.limits.get("cost_usd"), "iterations": start.iterations}
    workflow, given["included"] = reading.workflow, reading.included
    if is_program(workflow):
        from whorl.services.replay import forecast_of

        foreseen = forecast_of(session.store, workflow, providers, start, **given)
    else:
        foreseen = forecasting.forecast(workflow, providers, **given)
    return [forecast_words(foreseen), effects_words(foreseen.effects)]


async def _drive(
    session: RunSession, start: Start, run: RunId, is_new: bool, *, detach: bool
) -> int:
    if not is_new:
        check_key(session.store, run, start)
        status, key = session.store.run(run).status, start.key
        say(f"run {run} was started with the key {key!r} before; it {status_words(status)}")
        if status == "interrupted":
            return await session.take_up(run)
        return await (session.follow(run) if status == "running" else session.settle(run))
    if not detach:
        return await session.drive(run)
    # A background process drives it, or the workers of the cluster.
    log = None if session.store.is_mirror else start_elsewhere(session.project, ["drive", run], run)
    if session.show.as_json:
        session.report({"run": run, "status": "running", "log": log})
    else:
        echo(run)
        say("it runs in the background", f"next: {options.pasted('watch', run)}")
    return 0


def start_elsewhere(project: Project, command: list[str], name: str) -> str:
    """Starts a process that outlives this one and its terminal; returns the path of its log."""
    import subprocess

    path = project.store.parent / "logs" / f"{name}.log"
    project.check_store(f"logs/{path.name}")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # -P: no file of the working folder takes the place of a module of ours.
    words = [sys.executable, "-P", "-m", "whorl.interfaces.cli", *command]
    words += ["--store", str(project.store)]
    if project.is_own_word:
        words += ["--config", str(project.config or project.foreign)]
    log = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    environment = {**os.environ, VARIABLE: project.environment.get(VARIABLE, "")}
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
    try:
        subprocess.Popen(words, start_new_session=True, env=environment, **streams)
    finally:
        os.close(log)
    return str(path)


def _rehearse(project: Project, workflow: Workflow, start: Start, show: Show) -> int:
    """Shows how a run would proceed, with invented answers; returns the exit code."""
    from whorl.services.replay import rehearse

    say("dry run: the answers are invented, nothing is sent, nothing is stored")
    shown = Events() if show.events else Lines(verbose=show.verbose)
    kinds: Any = Providers(project.settings())
    watcher = NullWatcher() if show.as_json else shown
    tried = rehearse(workflow, start, watcher, lambda asked: kinds.kind(asked.kind).work(asked))
    result: dict[str, Any] = options.with_help(tried, is_kept=False)
    status, error = str(result["status"]), result["error"]
    if show.as_json:
        options.print_json(result)
    elif not show.events:
        if status == "succeeded":
            print_outputs(result["outputs"])
        say(*(f"  {loop_words(loop)}" for loop in result["loops"]))
        if error:
            unfit = [f"  {_UNFIT}"] if error["code"] == "R104" else []
            say(f"  error[{error['code']}]: {safe(advised(error))}", *unfit)
        calls = plural(int(result["usage"]["calls"]), "call")
        say(f"dry run {status}; it would have made {calls}")
    return EXIT_CODES.get(status, 1)


@click.command()
@partial(on_run, argument=options.run_option, drives=False)
async def watch(session: RunSession, run: RunId) -> int:
    """Watch a RUN until it ends, pauses or waits. Ctrl-C leaves it alone.

    \b
      whorl watch last
    """
    return await session.follow(run, from_start=isinstance(session.watcher, Events))


@click.command(hidden=True)
@options.run_argument
@partial(options.located, drives=True)
def drive(project: Project, *, run: str) -> int:
    """Drive a RUN that was just made, in the background."""

    async def work() -> int:
        async with run_session(project, Show(verbose=True), origin="detached") as session:
            found = find_run(session.store, run)
            while session.store.is_queued(found) and not await session.store.admit(found):
                await asyncio.sleep(QUEUED_S)
            return await session.take_up(found)

    return asyncio.run(work())
