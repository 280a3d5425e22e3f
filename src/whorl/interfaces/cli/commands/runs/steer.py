"""What a person asks of a run and its loops: continue, accept, stop, decide, fork."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError, plural, safe
from whorl.interfaces.cli import options
from whorl.interfaces.cli.options import more_options
from whorl.interfaces.cli.paste_options import carrying
from whorl.interfaces.cli.printing.next_command import changed_words
from whorl.interfaces.cli.session import on_run
from whorl.interfaces.cli.terminal import say
from whorl.interfaces.status_words import more_words
from whorl.interpreter.budget import NAMES
from whorl.runtimes.journal.forking import Fork
from whorl.services import steering
from whorl.services.forking import new_fork, with_steps
from whorl.services.inspecting.places import loop_around
from whorl.services.inspecting.results import full_result, workflow_of

if TYPE_CHECKING:
    from whorl.interfaces.cli.session import RunSession
    from whorl.interpreter.events import Event
    from whorl.runtimes.journal.journal import RunId
    from whorl.services.steering import More

# How many loops are named before they go on.
LOOPS_MAX = 5
_loop_option = click.option(
    "--at", default="", metavar="LOOP", help="Which loop, where there are several."
)


@click.command(name="continue")
@click.option("--iterations", "-n", type=click.IntRange(1), metavar="N", help="How many more.")
@more_options
@_loop_option
@on_run
async def continue_command(
    session: RunSession, run: RunId, *, iterations: int | None, more: More, at: str
) -> int:
    """Reopen a loop of a RUN at its next iteration; later steps run again as second attempts.

    \b
      whorl continue last --iterations 3 --budget +0.50
      whorl continue last --budget +1       every loop that stopped for its budget

    A loop inside `each` has an address: --at 'all[2]/polish'. A run that is paused goes on with
    `whorl resume`.
    """
    event = steering.continued(session.store, run, at, iterations=iterations, more=more)
    session.say_toy(workflow_of(session.store, run))
    _say_given(session, run, event)
    return await session.steer(run, event)


def _say_given(session: RunSession, run: RunId, event: Event) -> None:
    """Says what will happen, before anything does."""
    lines = steering.what_continues(session.store, run, event.body)
    if lines is None:
        return
    say(*lines[:LOOPS_MAX])
    if len(lines) > LOOPS_MAX:
        say(f"and {plural(len(lines) - LOOPS_MAX, 'more loop')} like these")
    if lines:
        _say_raised(session, run, event)
    elif event.body.get("at"):
        result = full_result(session.store, run)
        is_paused = result["status"] == "paused" and result.get("paused_by") != "budget"
        after = f"; the run stays paused until `whorl resume {run}`" if is_paused else ""
        say(f"{event.body['at']!r} gets {more_words(event.body)}{carrying(after)}")


def _say_raised(session: RunSession, run: RunId, event: Event) -> None:
    amounts = {name: event.body[name] for name in NAMES if event.body.get(name)}
    places = steering.what_is_raised(session.store, run, event.body) if amounts else []
    shown = [repr(place) if place else "the run" for place in places]
    if len(shown) > LOOPS_MAX + 1:
        loops = [place for place in places if place]
        shown = [f"{len(loops):,} loops", *shown[len(loops) :]]
    if shown:
        say(f"{more_words(amounts)} for {'each of ' if len(places) > 1 else ''}{', '.join(shown)}")


@click.command()
@click.option("--iteration", "-n", "number", type=click.IntRange(1), metavar="K",
              help="The iteration whose result is taken.")  # fmt: skip
@_loop_option
@on_run
async def accept(session: RunSession, run: RunId, *, number: int | None, at: str) -> int:
    """End a loop of a RUN with the result of iteration K; later steps run (again) with it.

    \b
      whorl accept last --iteration 2
      whorl accept "last/polish[2]"
    """
    loop = steering.loop_at(session.store, run, at)
    number = number or loop_around(at, [loop])[1]
    if number is None:
        raise UsageError("say which iteration", help=f"for example '{loop}[1]', or --iteration 1")
    if steering.is_accepted(session.store, run, loop, number):
        say(f"iteration {number} of {loop!r} is accepted already")
        return session.finish(run)
    return await session.steer(run, steering.accepted(session.store, run, loop, number))


@click.command()
@_loop_option
@on_run
async def stop(session: RunSession, run: RunId, *, at: str) -> int:
    """End a loop of a RUN after the iteration that is under way, with what it returns then.

    \b
      whorl stop last
      whorl stop last --at 'all[2]/polish'
    """
    return await session.steer(run, steering.stopped(session.store, run, at))


_feedback_option = click.option(
    "--feedback", "-m", default="", metavar="TEXT", help="Your words to it."
)
_question_option = click.option(
    "--at", default="", metavar="ADDRESS", help="Which one, if several wait."
)


@click.command()
@_feedback_option
@_question_option
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE",
              help="Use this instead of a result of the loop; also NAME=@FILE.")  # fmt: skip
@click.option("--value", metavar="VALUE",
              help="Use this instead of what a gate shows; also @FILE, :=JSON.")  # fmt: skip
@on_run
async def approve(
    session: RunSession,
    run: RunId,
    *,
    feedback: str,
    at: str,
    sets: tuple[str, ...],
    value: str | None,
) -> int:
    """Say yes to what a RUN asks: open a gate, or take an iteration, as it is or edited.

    \b
      whorl approve last --feedback "good, but mention the price"
      whorl approve last --set draft=@better.md
    """
    if value is not None and sets:
        raise UsageError("give --set for results of a loop, or --value for what a gate shows")
    option, written = ("--set", sets) if value is None else ("--value", (f"value={value}",))
    if value is not None and value.startswith(":="):
        written = (f"value{value}",)
    given = options.read_values(written, option, options.read_stdin)
    edits = steering.Edits(given if value is None else given["value"]) if given else None
    event = steering.decided(session.store, run, at, approved=True, feedback=feedback, edits=edits)
    return await session.steer(run, event)


@click.command()
@_feedback_option
@_question_option
@on_run
async def reject(session: RunSession, run: RunId, *, feedback: str, at: str) -> int:
    """Say no to what a RUN asks: close a gate, or send an iteration back.

    \b
      whorl reject last --feedback "the second paragraph is wrong"
    """
    event = steering.decided(session.store, run, at, approved=False, feedback=feedback)
    return await session.steer(run, event)


@click.command()
@click.option("--at", default="", metavar="LOOP[K]", help="The iteration to redo.")
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE",
              help="Another input, carried value or variable; also NAME:=JSON.")  # fmt: skip
@click.option("--model", "models", multiple=True, metavar="STEP=MODEL",
              help="Another model for a step.")  # fmt: skip
@click.option("--prompt", "prompts", multiple=True, metavar="STEP=TEXT",
              help="Another prompt for a step; also STEP=@FILE.")  # fmt: skip
@click.option("--file", metavar="FILE", help="Another version of the workflow.")
@options.workflow_option
@options.budget_option("The most that the new run may spend.")
@on_run
async def fork(
    session: RunSession,
    run: RunId,
    *,
    at: str,
    sets: tuple[str, ...],
    models: tuple[str, ...],
    prompts: tuple[str, ...],
    file: str | None,
    workflow: str,
    budget: float | None,
) -> int:
    """Start a new run that keeps the iterations of a RUN before LOOP[K] and redoes that one.

    \b
      whorl fork last --at "polish[2]" --set feedback="shorter, please"
      whorl fork last --at "polish[2]" --model write=gpt-5 --prompt write=@shorter.md
    """
    if not at:
        raise UsageError("say which iteration to redo", help="for example --at 'polish[2]'")
    reading = session.project.read(file, workflow) if file else None
    changed = reading.workflow if reading else None
    steps: dict[str, dict[str, str]] = {}
    for field, written in (("model", models), ("prompt", prompts)):
        for name, text in options.read_values(written, f"--{field}", options.read_stdin).items():
            steps.setdefault(name, {})[field] = str(text)
    if steps:
        changed = with_steps(changed or workflow_of(session.store, run), steps)
    values = options.read_values(sets, "--set", options.read_stdin)
    now = changed or workflow_of(session.store, run)
    fork = Fork(
        at=at,
        values=options.with_paths(session.project, now, values),
        limits={} if budget is None else {"cost_usd": budget},
        workflow=changed,
        sources=dict(reading.sources) if reading else None,
        file=os.path.abspath(file) if file else "",
    )
    session.show.check(now)
    session.say_toy(now)
    given = {"--at": (at,), "--set": sets, "--model": models, "--prompt": prompts}
    words = [word for name, texts in given.items() for text in texts for word in (name, text)]
    words += [] if budget is None else ["--budget", f"{budget:g}"]
    if not file and (notice := changed_words(session.store, run, words)):
        say(carrying(safe(notice)))
    new, _ = await new_fork(session.runtime, session.providers, run, fork)
    say(f"run {new} is a fork of {run} at {at}")
    return await session.drive(new)
