"""Experiments from a terminal: their files, running them, and how far they are."""

from __future__ import annotations

import asyncio
import math
import shlex
import shutil
import sys
import time
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from whorl.errors import UsageError, plural
from whorl.interfaces.cli.paste_options import given_options
from whorl.interfaces.cli.terminal import cleaned, say, steer
from whorl.interfaces.formatting import dollars
from whorl.wings.experiments import progress_words, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project
    from whorl.wings.experiments.document import Experiment
    from whorl.wings.experiments.reporting.notes import Commands
    from whorl.wings.experiments.reporting.report import Report
    from whorl.wings.experiments.results import Study
    from whorl.wings.experiments.running.budget_advice import AdvisedStudy
    from whorl.wings.experiments.running.progress import Progress

# How a command ends that a budget has stopped.
PAUSED = 5
_ENDINGS = (".experiment.yaml", ".experiment.yml", ".experiment.json", "")


def read_file(project: Project, file: str) -> Experiment:
    """The experiment of a file, or of the name that its file begins with."""
    from whorl.wings.experiments.document import read_experiment

    return read_experiment(project, str(_found(project, file) or file))


def is_file(project: Project, file: str) -> bool:
    """Whether this is a file, or the name that an experiment's file begins with."""
    return _found(project, file) is not None


def _found(project: Project, file: str) -> Path | None:
    paths = (base / (file + ending) for base in (Path(), project.root) for ending in _ENDINGS)
    return next((path for path in paths if path.is_file()), None)


def pasted(*words: str) -> str:
    """A command to paste: with the configuration and the store that this one was given."""
    return shlex.join(["whorl", *given_options(), *words])


def study_of(
    project: Project,
    store: SqliteStore,
    experiment: Experiment,
    file: str = "",
    *,
    generation: int = 1,
) -> AdvisedStudy:
    """An experiment with its runs; commands name the file as it was given."""
    from whorl.wings.experiments.running.budget_advice import AdvisedStudy

    commands = words.commands_for(file or experiment.file, pasted)
    of = (project, store, experiment, project.settings(), commands)
    return AdvisedStudy(*of, generation=generation)


@contextmanager
def recorded(project: Project, file: str) -> Iterator[Study]:
    """An experiment with its runs; raises UsageError X109 where there is no store yet.

    Without its rights a folder has other models, and so other trials: that is told as well.
    """
    from whorl.services.configuration.trust import check_trusted
    from whorl.wings.experiments.reporting.notes import nothing_ended

    experiment = read_file(project, file)
    if not project.has_runs():
        raise nothing_ended(experiment.name, words.commands_for(file, pasted))
    check_trusted(project.settings())
    with closing(project.open_store()) as store:
        yield study_of(project, store, experiment, file)


class Conducted(NamedTuple):
    """What an experiment found, how far it is, whether what-if has answers, and what goes on.

    `more_usd` have to be added to the budget of the file for that. So many calls are in doubt, and
    so much is reserved for them.
    """

    report: Report
    progress: Progress
    is_answered: bool
    commands: Commands
    more_usd: float | None
    in_doubt: tuple[int, float]


def conducted(
    project: Project, experiment: Experiment, file: str, *, fresh: bool, budget: str, is_quiet: bool
) -> Conducted:
    """Runs what is missing of an experiment; gives the report."""
    from whorl.wings.experiments.reporting.cost_notes import doubtful_usd

    amount = budget_of(budget, experiment)

    async def work() -> tuple[Progress, int]:
        from whorl.providers.registry import Providers
        from whorl.services.run_driver import Driving
        from whorl.services.runs import open_runtime
        from whorl.wings.experiments.runner import ExperimentRunner

        providers = Providers(project.settings())
        async with open_runtime(project, providers, origin="terminal") as runtime:
            driving = Driving(runtime)
            watch = (lambda _: None) if is_quiet else _teller()
            try:
                conductor = ExperimentRunner(project, driving, providers, experiment, watch)
                forecast = conductor.open(fresh=fresh, budget=amount)
                if not is_quiet:
                    say(progress_words.forecast_line(experiment, forecast, conductor.progress))
                    for line in progress_words.unpriced_lines(forecast):
                        say(line)
                    if conductor.remembers:
                        say("  trials see nothing of each other: memory across runs is off")
                return await conductor.run(), conductor.generation
            finally:
                await driving.close()

    progress, generation = asyncio.run(work())
    with closing(project.open_store()) as store:
        study = study_of(project, store, experiment, file, generation=generation)
        more_usd = None
        if progress.is_paused:
            more_usd = replace(study.needed(), is_limited=True).more(
                experiment.budget, progress.needs_usd
            )
        commands = words.commands_for(file, pasted)
        if fresh and not study.rows:
            # Nothing of it has begun, so it is still to be run anew.
            commands = replace(commands, run=commands.fresh)
        commands = commands.with_budget(more_usd, experiment.budget)
        found = study.report(), progress, study.is_answered()
        commands = commands if progress.is_paused else study.commands
        return Conducted(*found, commands, more_usd, doubtful_usd(store, study.rows))


def _teller() -> Callable[[Progress], None]:
    """Says how far it is: on a terminal with a bar for each variant, else at each tenth."""
    size = shutil.get_terminal_size()
    if sys.stderr.isatty():
        return _bars(size.columns, size.lines)
    shown = [0]
    foreseen: list[str] = []

    def watch(progress: Progress) -> None:
        if not foreseen and progress.expected_usd and progress.done < progress.trials:
            foreseen.append(progress_words.expected_line(progress))
            say(foreseen[0])
        share = 10 * progress.done // max(1, progress.trials)
        if share > shown[0]:
            shown[0] = share
            say(progress_words.progress_line(progress))

    return watch


def _bars(columns: int, rows: int) -> Callable[[Progress], None]:
    """Draws the bars in the place of those before; of many variants only the last line."""
    began, drawn = time.monotonic(), [0]

    def watch(progress: Progress) -> None:
        lines = progress_words.progress_lines(progress, columns, time.monotonic() - began)
        lines = lines if len(lines) < rows else lines[-1:]
        up = f"\x1b[{drawn[0]}A" if drawn[0] else ""
        text = "".join(f"{cleaned(each)}\x1b[K\n" for each in lines)
        steer(f"{up}\r{text}")
        drawn[0] = len(lines)

    return watch


def budget_of(text: str, experiment: Experiment) -> float | None:
    if not text:
        return None
    is_more = text.startswith("+")
    try:
        amount = float(text.removeprefix("+").removeprefix("$"))
    except ValueError:
        amount = math.nan
    # As the field of the file: a number of dollars that is not negative.
    if not 0 <= amount < math.inf:
        raise UsageError(f"{text!r} is not an amount of dollars such as 5 or +5")
    return (experiment.budget or 0.0) + amount if is_more else amount


def to_save(file: str, save: str) -> str:
    """How a report is saved for a gate."""
    return f"save one before a change: {pasted('experiment', 'report', file, '--save', save)}"


def say_paused(conducted: Conducted, again: str) -> None:
    """How far it is, and the command that goes on."""
    report, progress = conducted.report, conducted.progress
    calls, doubtful_usd = conducted.in_doubt
    spent = f"{dollars(report.spent_usd)} of {dollars(progress.budget_usd or 0.0)} spent"
    if doubtful_usd:
        of = f"{plural(calls, 'call')} in doubt, whose cost nobody knows"
        spent += f", of which {dollars(doubtful_usd)} is reserved for {of}"
    done = f"{report.done} of {report.trials} trials done, {plural(report.cases, 'whole case')}"
    say(f"budget: {done}, {spent}; go on with: {again}")
