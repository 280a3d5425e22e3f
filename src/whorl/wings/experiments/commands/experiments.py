"""Experiments: `run` conducts one, `report` tells what it found, `gate` decides for CI."""

from __future__ import annotations

import asyncio
import json
import math
import shutil
import sys
import time
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from whorl.errors import UsageError, did_you_mean, plural, safe
from whorl.interfaces.cli.group import CommandGroup
from whorl.interfaces.cli.options import (
    json_option,
    located,
    pasted,
    print_json,
    same_command,
    write_file,
)
from whorl.interfaces.cli.terminal import cleaned, echo, print_lines, say, steer
from whorl.interfaces.formatting import dollars
from whorl.wings.experiments import words
from whorl.wings.experiments.document import read_experiment
from whorl.wings.experiments.reporting.notes import warnings
from whorl.wings.experiments.trials import blocks_of
from whorl.wings.experiments.variants import prepare

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from whorl.errors import Diagnostic
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project
    from whorl.wings.experiments.document import Experiment
    from whorl.wings.experiments.remaining import Progress
    from whorl.wings.experiments.reporting.notes import Commands
    from whorl.wings.experiments.reporting.report import Report
    from whorl.wings.experiments.results import Study
    from whorl.wings.experiments.server_jobs import Experiments

_FAILED = 1


@click.group(cls=CommandGroup)
def experiment() -> None:
    """Run a workflow over cases and variants, grade what comes out, and compare.

    \b
      whorl experiment run polish.experiment.yaml
      whorl what-if polish.experiment.yaml
    """


file_argument = click.argument("file", metavar="FILE")
budget_option = click.option(
    "--budget", default="", metavar="DOLLARS", help="Instead of the file's; +5 adds to it."
)


@experiment.command(name="run")
@file_argument
@budget_option
@click.option("--fresh", is_flag=True, help="Run everything again, also what is done.")
@click.option("--detach", is_flag=True, help="Run in the background.")
@json_option
@partial(located, drives=True)
def run_command(
    project: Project, *, file: str, budget: str, fresh: bool, detach: bool, as_json: bool
) -> int:
    """Run an experiment FILE, go on with it, or, when all is done, only report.

    \b
      whorl experiment run polish.experiment.yaml --budget 5
    """
    read = read_file(project, file)
    if detach:
        return _detach(project, read, fresh=fresh, budget=budget)
    done = conducted(project, read, file, fresh=fresh, budget=budget, is_quiet=as_json)
    report, progress = done.report, done.progress
    if as_json:
        print_json(report.document())
    else:
        of = (report, file, pasted, done.commands)
        print_lines(words.report_lines(*of, is_answered=done.is_answered))
    if progress.is_paused:
        say_paused(done, done.commands.run + (" --json" if as_json else ""))
        return PAUSED
    return 0


@experiment.command()
@file_argument
@click.option("--cases", "variant", default="", metavar="VARIANT", help="A row for each case.")
@click.option("--save", metavar="FILE", help="Keep grades and costs by case for a later gate.")
@click.option("--csv", "as_csv", is_flag=True, help="A row for each trial.")
@click.option("--markdown", "as_markdown", is_flag=True, help="For a pull request.")
@json_option
@located
def report(
    project: Project,
    *,
    file: str,
    variant: str,
    save: str | None,
    as_csv: bool,
    as_markdown: bool,
    as_json: bool,
) -> None:
    """Show what an experiment FILE found so far; nothing is run."""
    from whorl.wings.experiments.reporting.gate import saved
    from whorl.wings.experiments.variants import no_variant

    read = read_file(project, file)
    if variant and variant not in read.variants:
        raise no_variant(variant, read.variants)
    with recorded(project, file) as study:
        found, is_answered, commands = study.report(), study.is_answered(), study.commands
        if save or variant:
            study.check_ended()
    if save:
        kept = json.dumps(saved(found, read), indent=1)
        write_file(save, f"{kept}\n", advice="name another FILE")
    if as_json:
        print_json(found.document())
    elif as_csv:
        echo(words.csv_text(found), nl=False)
    elif as_markdown:
        print_lines(words.markdown_lines(found))
    else:
        print_lines(words.report_lines(found, file, pasted, commands, is_answered=is_answered))
        if variant:
            print_lines(words.case_lines(found, variant))


@experiment.command()
@file_argument
@click.option("--variant", default="", metavar="NAME", help="What is judged; default: base.")
@click.option("--against", default="", metavar="VARIANT|FILE",
              help="A variant, another experiment, or a saved report.")  # fmt: skip
@click.option("--strict", is_flag=True, help="Fail where it is undecided.")
@budget_option
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the report, too.")
@click.option("--junit", metavar="FILE", help="Write one test for each case.")
@json_option
@partial(located, drives=True)
def gate(project: Project, *, file: str, as_json: bool, **options: Any) -> int:
    """Run what is missing of FILE, and fail where it got worse than a baseline.

    \b
      whorl experiment gate polish.experiment.yaml --against baseline.json
      whorl experiment gate polish.experiment.yaml --against old.experiment.yaml
    """
    from whorl.wings.experiments.reporting.gate import (
        check_comparable,
        fallen,
        gate_of,
        margin_of,
        saved,
    )
    from whorl.wings.experiments.variants import no_variant

    read = read_file(project, file)
    against, variant = options["against"], options["variant"] or read.baseline
    budget = options["budget"]
    if not against:
        why = "say what to compare with: --against baseline.json, or a variant"
        raise UsageError(why, help=to_save(file, "baseline.json"))
    # What cannot be compared, or compared with, is told before anything is paid for.
    if variant not in read.variants:
        raise no_variant(variant, read.variants)
    if against == variant:
        others = [name for name in read.variants if name != variant]
        advice = f"name one with --variant: {', '.join(map(safe, others))}"
        why = f"{variant!r} cannot be compared with itself"
        raise UsageError(why, help=advice if others else to_save(file, "baseline.json"))
    before = None if against in read.variants else _baseline(project, read, against)
    if before is not None:
        check_comparable(read, before, against)
    done = conducted(project, read, file, fresh=False, budget=budget, is_quiet=True)
    found, progress = done.report, done.progress
    if before is None:
        before = saved(replace(found, baseline=against), read)
    decided = gate_of(found, read, variant, before)
    if progress.is_paused:
        # What is missing may decide otherwise.
        missing = (
            f"only {found.done} of {plural(found.trials, 'trial')} done; the budget allows no more"
        )
        decided.verdict, decided.reasons = "undecided", [missing]
    if as_json:
        print_json(words.gate_document(decided))
    else:
        print_lines(words.markdown_lines(found) if options["as_markdown"] else [])
        print_lines(words.gate_lines(decided))
    is_failure = decided.verdict == "fail" or (decided.verdict == "undecided" and options["strict"])
    if options["junit"]:
        fell = fallen(found, variant, before, margin_of(read))
        text = words.junit_text(found, variant, decided, fell, is_failure=is_failure)
        write_file(options["junit"], text, advice="name another FILE")
    if progress.is_paused:
        more = [] if done.more_usd is None else ["--budget", f"+{done.more_usd:g}"]
        say_paused(done, pasted(*same_command("budget"), *more))
        return PAUSED
    return _FAILED if is_failure else 0


def _baseline(project: Project, read: Experiment, against: str) -> dict[str, Any]:
    """What a gate compares with: a saved report, or what another experiment has found."""
    from whorl.source.paths import open_file
    from whorl.wings.experiments.reporting.gate import check_saved, saved

    if not is_file(project, against):
        words = f"{against!r} is no variant of {read.name!r}, and there is no file of that name"
        advice = did_you_mean(against, read.variants) or to_save(read.file, against)
        raise UsageError(words, help=advice, code="X100")
    if against.endswith(".json"):
        try:
            value: Any = json.loads(open_file(against, size_max=64 * 1024 * 1024))
        except ValueError as fault:
            raise UsageError(f"{against!r} is not a saved report: {fault}", code="X100") from None
        if not isinstance(value, dict) or "workflow" not in value:
            if not check_saved(value)["cases"]:
                words = f"{against!r} has no case, so there is nothing to compare with"
                raise UsageError(words, help=to_save(read.file, against), code="X115")
            return check_saved(value)
    other = read_file(project, against)
    found = None
    if project.has_runs():
        with closing(project.open_store()) as store:
            found = study_of(project, store, other).report()
    if found is None or not found.cases:
        words = f"no case of experiment {other.name!r} is done, so there is nothing to compare with"
        raise UsageError(words, help=pasted("experiment", "run", other.file), code="X115")
    if not found.is_complete:
        say(f"{against}: {found.done} of {plural(found.trials, 'trial')} done")
    return saved(found, other)


@experiment.command(name="ls")
@json_option
@located
def ls_command(project: Project, *, as_json: bool) -> None:
    """List experiments that have runs."""
    from whorl.runtimes.sqlite.listing import RunFilter
    from whorl.wings.experiments.trials import PREFIX

    found: dict[str, dict[str, Any]] = {}
    if project.has_runs():
        with closing(project.open_store()) as store:
            for row in store.list_runs(RunFilter(key=PREFIX), 2**31):
                name = row.key.removeprefix(PREFIX).partition(":")[0]
                one = found.setdefault(name, {"name": name, "runs": 0, "cost_usd": 0.0})
                one["runs"] += 1
                one["cost_usd"] += row.cost_usd
    if as_json:
        print_json(list(found.values()))
    else:
        each = ((safe(o["name"]), plural(o["runs"], "run"), o["cost_usd"]) for o in found.values())
        print_lines(f"{name}  {runs}  {dollars(cost)}" for name, runs, cost in each)


@experiment.command(name="rm")
@click.argument("name", metavar="NAME")
@located
def rm_command(project: Project, *, name: str) -> None:
    """Delete all runs of an experiment: trials and gradings."""
    from whorl.wings.experiments.server_jobs import remove
    from whorl.wings.experiments.what_if.loop_facts import FOLDER, clear_facts

    count = asyncio.run(remove(project, name, pasted(*same_command())))
    say(f"deleted {plural(count, 'run')} of {safe(name)}")
    clear_facts(project.store.parent / FOLDER)


@experiment.command(name="stop")
@click.argument("name", metavar="NAME")
@located
def stop_command(project: Project, *, name: str) -> None:
    """Start no more trials of an experiment that a server or the background runs.

    \b
      whorl experiment stop polish
    """
    from whorl.wings.experiments.server_jobs import ExperimentTable

    async def work() -> bool:
        async with project.open_store() as store:
            return await ExperimentTable(store).stop(name)

    if not asyncio.run(work()):
        raise UsageError(f"experiment {name!r} does not run in the background", code="W905")
    say(f"trials of {safe(name)} that are under way go on to their end, and no more begin")


@experiment.command(name="drive", hidden=True)
@click.argument("name", metavar="NAME")
@partial(located, drives=True)
def drive_command(project: Project, *, name: str) -> int:
    """Drive an experiment that was asked for, in the background."""

    async def work() -> int:
        async with _experiments(project, "detached") as experiments:
            ended = await experiments.settled(name)
        say(f"{safe(name)}: {ended.state} {safe(ended.reason)}".rstrip())
        return {"done": 0, "paused": PAUSED}.get(ended.state, _FAILED)

    return asyncio.run(work())


@asynccontextmanager
async def _experiments(project: Project, origin: str) -> AsyncIterator[Experiments]:
    from whorl.providers.registry import Providers
    from whorl.services.run_driver import Driving
    from whorl.services.runs import open_runtime
    from whorl.wings.experiments.server_jobs import Experiments

    providers = Providers(project.settings())
    async with open_runtime(project, providers, origin=origin) as runtime:
        driving = Driving(runtime)
        experiments = Experiments(project, providers, driving)
        try:
            yield experiments
        finally:
            await driving.close()
            await experiments.close()


def _detach(project: Project, experiment: Experiment, *, fresh: bool, budget: str) -> int:
    """Leaves an experiment to a process of its own, and to servers where that one ends."""
    from whorl.interfaces.cli.commands.run import start_elsewhere
    from whorl.wings.experiments.trials import digest

    async def work() -> str:
        async with _experiments(project, "detached") as experiments:
            amount = budget_of(budget, experiment)
            file = str(Path(experiment.file).resolve())
            return await experiments.ask(file, budget=amount, fresh=fresh)

    name = asyncio.run(work())
    start_elsewhere(project, ["experiment", "drive", name], f"experiment-{digest(name)}")
    echo(name)
    say(f"it runs in the background; next: {pasted('experiment', 'report', experiment.file)}")
    return 0


def check_file(project: Project, file: str) -> tuple[str, list[Diagnostic]]:
    """What an experiment file comes to, and what is odd in it; its mistakes are raised."""
    experiment = read_experiment(project, file)
    blocks = blocks_of(experiment, prepare(project, experiment), project.settings(), 1)
    found = list(warnings(experiment, (trial for block in blocks for trial in block)))
    cases, variants = len(experiment.cases), len(experiment.variants)
    words = f"{plural(cases, 'case')}, {plural(variants, 'variant')}"
    return f"an experiment, {words}, {plural(experiment.trials, 'trial')}", found


# Experiments from a terminal: their files, running them, and how far they are.

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


def study_of(
    project: Project,
    store: SqliteStore,
    experiment: Experiment,
    file: str = "",
    *,
    generation: int = 1,
) -> Study:
    """An experiment with its runs; commands name the file as it was given."""
    from whorl.wings.experiments.results import Study

    commands = words.commands_for(file or experiment.file, pasted)
    of = (project, store, experiment, project.settings(), commands)
    return Study(*of, generation=generation)


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
    from whorl.wings.experiments.reporting.notes import doubtful_usd

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
                    say(words.forecast_line(experiment, forecast, conductor.progress))
                    for line in words.unpriced_lines(forecast):
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
            more_usd = study.more_usd(progress.needs_usd)
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
            foreseen.append(words.expected_line(progress))
            say(foreseen[0])
        share = 10 * progress.done // max(1, progress.trials)
        if share > shown[0]:
            shown[0] = share
            say(words.progress_line(progress))

    return watch


def _bars(columns: int, rows: int) -> Callable[[Progress], None]:
    """Draws the bars in the place of those before; of many variants only the last line."""
    began, drawn = time.monotonic(), [0]

    def watch(progress: Progress) -> None:
        lines = words.progress_lines(progress, columns, time.monotonic() - began)
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
