"""`try`: one step, or one iteration of a loop, with values that are given or pinned."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import UsageError, safe
from whorl.interfaces.cli import options
from whorl.interfaces.cli.options import located, read_stdin, with_paths
from whorl.interfaces.cli.output_options import Show, show_options
from whorl.interfaces.cli.session import run_session
from whorl.interfaces.cli.terminal import say
from whorl.interfaces.cli.trust import ask_for_trust
from whorl.services.configuration.trust import check_trusted
from whorl.services.files import preflight
from whorl.services.project import is_code
from whorl.services.runs import find_run
from whorl.source.paths import open_file
from whorl.wings.editor import single_step

if TYPE_CHECKING:
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.services.project import Project

_ITERATION = re.compile(r"(?P<run>[^/]+)/(?P<loop>.+)\[(?P<number>[0-9]{1,9})\]")


@click.command(name="try")
@click.argument("file", metavar="FILE")
@click.option("--at", required=True, metavar="STEP", help="The step, or the loop, that is tried.")
@click.option("--input", "-i", "inputs", multiple=True, metavar="NAME=VALUE",
              help="An input of the workflow; also NAME:=JSON and NAME=@FILE.")  # fmt: skip
@click.option("--value", "values", multiple=True, metavar="NAME=VALUE",
              help="What the step sees: a step before it, or a carried value.")  # fmt: skip
@click.option("--values-of", metavar="RUN/LOOP[N]", help="The values of an iteration of a run.")
@click.option("--pin", "pins", multiple=True, metavar="STEP=VALUE",
              help="The result of a step that is not run; also STEP:=JSON.")  # fmt: skip
@click.option("--keep-pins", is_flag=True, help="Keep these pins for further tries of the file.")
@options.budget_option("The most that it may spend.")
@click.option("--yes", "may", is_flag=True, help="Let it run commands, call and write.")
@show_options
@partial(located, drives=True)
def try_command(
    project: Project,
    *,
    file: str,
    at: str,
    inputs: tuple[str, ...],
    values: tuple[str, ...],
    values_of: str | None,
    pins: tuple[str, ...],
    keep_pins: bool,
    budget: float | None,
    may: bool,
    show: Show,
) -> int:
    """Run one step of a workflow FILE alone, or the body of a loop once.

    \b
      whorl try polish.yaml --at polish -i task=bees
      whorl try polish.yaml --at polish --values-of last/polish[3]
      whorl try polish.yaml --at polish --pin review=@review.json
      whorl try polish.yaml --at polish/review --value write="A draft."

    A try is a run: it is journalled and has a budget of $0.25 unless you say otherwise. `whorl ls`
    and `whorl cost` leave it out unless you ask (--all). Pins that were kept hold for each try.
    """
    path = project.locate(file)
    text = _text(project, path)
    name, read = os.path.relpath(os.path.abspath(path), project.root), project.read_text(text, path)
    given = {_inside(at, step): value for step, value in _read(pins, "--pin").items()}
    single_step.check_names(read.workflow, single_step.Wanted(text, path, at, pins=given))
    if keep_pins:
        before = {step: pin.value for step, pin in single_step.pins_of(project, name).items()
                  if not pin.is_stale}  # fmt: skip
        single_step.save_pins(project, name, before | given, None)
    kept = single_step.pins_of(project, name, text)
    for step, pin in kept.items():
        if pin.is_stale:
            say(f"the pin of {safe(step)} is stale, and is not used")
    wanted = single_step.Wanted(
        text,
        os.path.abspath(path),
        at,
        with_paths(project, read.workflow, _read(inputs, "-i")),
        _read(values, "--value"),
        {step: pin.value for step, pin in kept.items() if not pin.is_stale} | given,
        _source(project, values_of),
        single_step.BUDGET_USD if budget is None else budget,
    )
    single_step.check_names(read.workflow, replace(wanted, pins={}))
    if not show.is_silent:
        ask_for_trust(project)
    return asyncio.run(_try(project, wanted, show, may=may))


def _text(project: Project, path: str) -> str:
    """The text of a file; a workflow that is written in Python has none to take a step from."""
    if is_code(path) and not os.path.exists(path):
        check_trusted(project.settings())
        words = f"{path!r} is written in Python, and no step of it can be tried alone"
        raise UsageError(words, help=f"`whorl run {path}` runs all of it")
    return open_file(path)


def _read(words: tuple[str, ...], option: str) -> dict[str, Json]:
    return options.read_values(words, option, read_stdin)


def _inside(at: str, step: str) -> str:
    """The path of a pinned step, which may be named by what it is called in the one tried."""
    return step if "/" in step else f"{at}/{step}"


def _source(project: Project, written: str | None) -> single_step.Source | None:
    if written is None:
        return None
    found = _ITERATION.fullmatch(written)
    if found is None:
        raise UsageError(f"{written!r} does not name an iteration", help="such as last/polish[3]")
    with closing(project.open_store()) as store:
        return single_step.Source(
            find_run(store, found["run"]), found["loop"], int(found["number"])
        )


async def _try(project: Project, wanted: single_step.Wanted, show: Show, *, may: bool) -> int:
    from whorl.providers.registry import Providers

    providers = Providers(project.settings())
    async with run_session(project, show, providers=providers) as session:
        workflow, start = single_step.prepare(project, session.store, wanted, forms=options.FORMS)
        show.check(workflow)
        if not may:
            _ask(workflow, providers.settings)
        start, note = preflight.permitted(workflow, providers, start)
        if note:
            say(note)
        run, _ = await session.runtime.start(workflow, start)
        return await session.drive(run)


def _ask(workflow: Workflow, settings: Any) -> None:
    """Asks once whether a try may do what it does outside; raises UsageError where it may not."""
    try:
        single_step.check_effects(workflow, settings)
    except UsageError as fault:
        if not sys.stdin.isatty() or not click.confirm(f"{fault}; go on?", err=True):
            raise
