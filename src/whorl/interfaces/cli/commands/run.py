"""`whorl run`: starts a run of a workflow file and drives it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError, render_all
from whorl.interfaces.cli.options import Amount, located, print_json, read_stdin, show_options
from whorl.interfaces.cli.stage import Show, Stage, on_stage, perform, say
from whorl.interfaces.inputs import FORMS, add_main_text, read_values
from whorl.interfaces.wording import forecast_words
from whorl.services.preflight import (
    TOY,
    check_given,
    check_models,
    forecast,
    is_left_to_toy,
    refusal,
    scripted_by,
)
from whorl.services.results import status_words
from whorl.services.runs import check_key

if TYPE_CHECKING:
    from whorl.dialects import Reading
    from whorl.language import Json
    from whorl.providers.registry import Providers
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.local import Start
    from whorl.services.project import Project


@click.command(name="run")
@click.argument("file", metavar="FILE")
@click.argument("text", metavar="[TEXT]", required=False)
@click.option("--input", "-i", "inputs", multiple=True, metavar="NAME=VALUE",
              help="An input; also NAME:=JSON and NAME=@FILE. May be repeated.")  # fmt: skip
@click.option("--budget", type=Amount(), help="The most that the run may spend.")
@click.option("--max-iterations", type=click.IntRange(1), metavar="N",
              help="Limit of iterations for every loop, instead of the file's.")  # fmt: skip
@click.option("--detach", is_flag=True, help="Run in the background and print the run's id.")
@click.option("--dry-run", is_flag=True, help="Try it with invented answers; nothing is sent.")
@click.option("--id", "key", default="", metavar="KEY", help="Start at most one run for this key.")
@click.option("--cold", is_flag=True, help="Leave out what loops remember from earlier runs.")
@show_options
@located
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
    as_json: bool,
    events: str | None,
    verbose: bool,
) -> int:
    """Run a workflow FILE. TEXT is its main input; - reads it from standard input.

    \b
      whorl run polish.yaml "a haiku about rain" --budget 0.50
      whorl run review.yaml -i spec=@spec.md -i strict:=true --json
    """
    from whorl.runtimes.local import Start

    show = Show(as_json=as_json, events=events, verbose=verbose)
    reading = project.read(file)
    show.check(reading.workflow)
    given = read_values(inputs, "-i", read_stdin)
    given = add_main_text(reading.workflow, given, text, read_stdin)
    check_given(reading.workflow, given, advice=FORMS, has_options=True)
    cost = budget if budget is not None else reading.workflow.limits.cost_usd
    limits: dict[str, Json] = {} if cost is None else {"cost_usd": cost}
    start = Start(
        input=given,
        limits=limits,
        iterations=max_iterations,
        key=key,
        file=os.path.abspath(file),
        sources=dict(reading.sources),
        cold=cold,
    )
    _warn(reading)
    if dry_run:
        from whorl.interfaces.cli.commands.rehearsal import show_rehearsal

        return show_rehearsal(reading.workflow, start, show)
    return perform(_run(project, reading, start, show, detach=detach))


async def _run(
    project: Project, reading: Reading, start: Start, show: Show, *, detach: bool
) -> int:
    from dataclasses import replace

    from whorl.providers.registry import Providers

    settings = project.settings()
    providers = Providers(settings)
    refused = refusal(reading.workflow, settings)
    if refused is not None and detach:
        raise UsageError(str(refused["message"]), code=str(refused["code"]))
    if refused is None:
        _foresee(reading, providers, start)
    start = replace(start, refused=refused)
    async with on_stage(project, show, providers=providers) as stage:
        run, is_new = await stage.runtime.start(reading.workflow, start)
        if not is_new:
            check_key(stage.store, run, start)
            return await _attach(stage, run, start.key)
        if detach:
            return _detach(project, run, as_json=show.as_json)
        return await stage.drive(run)


def _foresee(reading: Reading, providers: Providers, start: Start) -> None:
    check_models(reading.workflow, providers)
    if is_left_to_toy(reading.workflow, providers):
        say(TOY)
    script = scripted_by(reading.workflow, providers)
    if script:
        say(f"no model is asked: the replies are scripted (provider {script!r})")
    budget = start.limits.get("cost_usd")
    told = forecast(
        reading.workflow,
        providers,
        iterations=start.iterations,
        budget_usd=budget if isinstance(budget, float | int) else None,
    )
    words = forecast_words(told)
    if words:
        say(words)


def _warn(reading: Reading) -> None:
    if reading.warnings:
        say(render_all(reading.warnings, reading.sources))


async def _attach(stage: Stage, run: RunId, key: str) -> int:
    status = stage.store.run(run).status
    say(f"run {run} was started with the key {key!r} before; it {status_words(status)}")
    if status == "running":
        return await stage.follow(run)
    return await stage.settle(run)


def _detach(project: Project, run: RunId, *, as_json: bool) -> int:
    """Hands the run to a process of its own, which outlives this one and its terminal."""
    import subprocess

    folder = project.store.parent / "logs"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{run}.log"
    words = [sys.executable, "-m", "whorl.interfaces.cli", "drive", run]
    words += ["--store", str(project.store)]
    if project.config is not None:
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


COMMANDS = {"run": run_command}
