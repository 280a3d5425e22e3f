"""The commands `experiment` (run, report, gate), `what-if` for other rules, `judge` for judges."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import Diagnostic, UsageError, did_you_mean, plural, safe
from whorl.interfaces.cli.commands import change_store, open_if_any, print_list, with_json
from whorl.interfaces.cli.group import CommandGroup
from whorl.interfaces.cli.options import (
    dollars_given,
    located,
    output_option,
    pasted,
    print_json,
    write_file,
)
from whorl.interfaces.cli.terminal import echo, print_lines, say
from whorl.interfaces.formatting import dollars
from whorl.wings.experiments import words
from whorl.wings.experiments.document import ENDINGS, read_experiment
from whorl.wings.experiments.report import Commands, nothing_ended, same_runs
from whorl.wings.experiments.trials import blocks_of
from whorl.wings.experiments.variants import loop_named, prepare, unknown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from whorl.ir import Loop
    from whorl.providers.registry import Providers
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project
    from whorl.services.run_driver import Driving
    from whorl.wings.experiments.document import Experiment
    from whorl.wings.experiments.report import Report
    from whorl.wings.experiments.results import Study
    from whorl.wings.experiments.runner import Progress
    from whorl.wings.experiments.server_jobs import Experiments

# The exit codes of a command that a budget has stopped, and of a gate that fails.
PAUSED, _FAILED = 5, 1
_RULE = ("until", "at_most", "returns")


@click.group(cls=CommandGroup)
def experiment() -> None:
    """Run a workflow over cases and variants, grade what comes out, and compare.

    \b
      whorl experiment run polish.experiment.yaml
      whorl experiment what-if polish.experiment.yaml
    """


file_argument = click.argument("file", metavar="FILE")
budget_option = click.option(
    "--budget", default="", metavar="DOLLARS", help="Budget instead of the file's; +5 adds to it."
)


@experiment.command(name="run")
@file_argument
@budget_option
@click.option("--fresh", is_flag=True, help="Run everything again, including finished trials.")
@click.option("--detach", is_flag=True, help="Run in the background.")
@partial(with_json, drives=True)
def run_command(
    project: Project, *, file: str, budget: str, fresh: bool, detach: bool, as_json: bool
) -> int:
    """Run or continue an experiment FILE; when all is done, only report.

    \b
      whorl experiment run polish.experiment.yaml --budget 5
    """
    read = read_file(project, file)
    if detach:
        return _detach(project, read, fresh=fresh, budget=budget)
    options: Any = {"fresh": fresh, "budget": budget, "is_quiet": as_json}
    found, commands, paused = _conducted(project, read, file, **options)
    if as_json:
        print_json(found.document())
    else:
        _print_report(words.report_lines(found, file, pasted, commands), paused)
    if paused:
        say(paused, f"next: {commands.run}{' --json' if as_json else ''}")
    return PAUSED if paused else 0


@experiment.command()
@file_argument
@click.option("--cases", "variant", default="", metavar="VARIANT", help="A row for each case.")
@click.option("--save", metavar="FILE", help="Keep grades and costs by case for `experiment gate`.")
@click.option("--csv", "as_csv", is_flag=True, help="A row for each trial.")
@click.option("--markdown", "as_markdown", is_flag=True, help="For a pull request.")
@with_json
@output_option(csv="as_csv", md="as_markdown", json="as_json")
def report(project: Project, *, file: str, variant: str, as_json: bool, **options: Any) -> None:
    """Show what an experiment FILE found so far; nothing is run."""
    from whorl.wings.experiments.gate import saved

    read = read_file(project, file)
    if variant and variant not in read.variants:
        raise unknown("variant", variant, read.variants)
    with recorded(project, file) as study:
        found, commands = study.report(), study.commands
        if options["save"] or variant:
            study.check_ended()
    if options["save"]:
        kept = json.dumps(saved(found, read), indent=1)
        write_file(options["save"], f"{kept}\n", advice="name another FILE")
    if as_json:
        print_json(found.document())
    elif options["as_csv"]:
        echo(words.csv_text(found), nl=False)
    elif options["as_markdown"]:
        print_lines(words.markdown_lines(found))
    else:
        cases = words.case_lines(found, variant) if variant else []
        _print_report([*cases, *words.report_lines(found, file, pasted, commands)])


@experiment.command()
@file_argument
@click.option("--variant", default="", metavar="NAME", help="The variant to judge. [default: base]")
@click.option("--against", default="", metavar="VARIANT|FILE",
              help="A variant, another experiment, or a saved report.")  # fmt: skip
@click.option("--strict", is_flag=True, help="Also fail if it is undecided.")
@budget_option
@click.option("--markdown", "as_markdown", is_flag=True, help="Also print the report.")
@click.option("--junit", metavar="FILE", help="Write one test for each case.")
@partial(with_json, drives=True)
def gate(project: Project, *, file: str, against: str, as_json: bool, **options: Any) -> int:
    """Run what is missing of FILE, and fail if it is worse than a baseline.

    \b
      whorl experiment gate polish.experiment.yaml --against baseline.json
      whorl experiment gate polish.experiment.yaml --against old.experiment.yaml
    """
    from whorl.wings.experiments import gate as gates

    read = read_file(project, file)
    variant = options["variant"] or read.baseline
    # Errors in the comparison are reported before anything is paid for.
    before = _baseline(project, read, file, variant, against)
    conducting: Any = {"fresh": False, "budget": options["budget"], "is_quiet": True}
    found, commands, paused = _conducted(project, read, file, **conducting)
    if before is None:
        before = gates.saved(replace(found, baseline=against), read)
    decided = gates.gate_of(found, read, variant, before)
    if paused:
        # The missing trials may change the decision.
        trials = f"{found.done} of {plural(found.trials, 'trial')}"
        decided.reasons = [f"only {trials} done; the budget allows no more"]
        decided.verdict = "undecided"
    if as_json:
        print_json(decided.document())
    else:
        print_lines(words.markdown_lines(found) if options["as_markdown"] else [])
        print_lines(words.gate_lines(decided))
    is_failure = decided.verdict == "fail" or (decided.verdict == "undecided" and options["strict"])
    if options["junit"]:
        fell = gates.fallen(found, variant, before, gates.margin_of(read))
        text = words.junit_text(found, variant, decided, fell, is_failure=is_failure)
        write_file(options["junit"], text, advice="name another FILE")
    if paused:
        say(paused, f"next: {commands.run}")
        return PAUSED
    return _FAILED if is_failure else 0


def _print_report(lines: list[str], paused: str = "") -> None:
    """Prints a report; the next command, if its last line is one, beside it."""
    is_next = lines[-1].startswith("next: ")
    print_lines(lines[:-1] if is_next else lines)
    say(*(lines[-1:] if is_next and not paused else []))


def _baseline(
    project: Project, read: Experiment, file: str, variant: str, against: str
) -> dict[str, Any] | None:
    """Returns what a gate compares with: a saved report, or the results of another experiment.

    None: another variant of the same experiment, which is run first.
    """
    from whorl.source.paths import open_file
    from whorl.wings.experiments.gate import check_comparable, check_saved

    if not against:
        why = "say what to compare with: --against baseline.json, or a variant"
        raise UsageError(why, help=_to_save(file, "baseline.json"))
    if variant not in read.variants:
        raise unknown("variant", variant, read.variants)
    if against == variant:
        others = ", ".join(safe(name) for name in read.variants if name != variant)
        advice = f"name one with --variant: {others}" if others else _to_save(file, "baseline.json")
        raise UsageError(f"{variant!r} cannot be compared with itself", help=advice)
    if against in read.variants:
        return None
    if _path(project, against) is None:
        why = f"{against!r} is not a variant of {read.name!r}, and there is no file of that name"
        advice = did_you_mean(against, read.variants) or _to_save(read.file, against)
        raise UsageError(why, help=advice, code="W005")
    if against.endswith(ENDINGS) or not against.endswith(".json"):
        before = _found_by(project, against)
    else:
        try:
            before = check_saved(json.loads(open_file(against, size_max=64 * 1024 * 1024)))
        except ValueError as fault:
            raise UsageError(f"{against!r} is not a saved report: {fault}", code="W001") from None
    check_comparable(read, before, against)
    return before


def _found_by(project: Project, against: str) -> dict[str, Any]:
    """Returns the results of another experiment so far."""
    from whorl.wings.experiments.gate import saved

    other = read_file(project, against)
    with open_if_any(project) as store:
        found = None if store is None else _study_of(project, store, other, other.file).report()
    if found is None or not found.cases:
        why = f"no case of experiment {other.name!r} is done, so there is nothing to compare with"
        raise UsageError(why, help=pasted("experiment", "run", other.file), code="X110")
    if not found.is_complete:
        say(f"{against}: {found.done} of {plural(found.trials, 'trial')} done")
    return saved(found, other)


@experiment.command(name="ls")
@with_json
def ls_command(project: Project, *, as_json: bool) -> None:
    """List experiments that have runs."""
    from whorl.wings.experiments.trials import cost_of, runs_by_name

    with open_if_any(project) as store:
        runs = {} if store is None else runs_by_name(store)
    documents, lines = [], []
    for name, rows in runs.items():
        documents.append({"name": name, "runs": len(rows), "cost_usd": (cost := cost_of(rows))})
        paid = words.spent_words(cost or 0.0, unpriced=any(row.unpriced_calls for row in rows))
        lines.append((safe(name), plural(len(rows), "run"), paid))
    print_list(documents, (), lines, as_json=as_json, empty="no experiment has runs yet")


@experiment.command(name="rm")
@click.argument("name", metavar="NAME")
@located
def rm_command(project: Project, *, name: str) -> None:
    """Delete all runs of an experiment: trials and gradings."""
    from whorl.wings.experiments.server_jobs import remove

    count = asyncio.run(remove(project, name, pasted("experiment", "rm", name)))
    say(f"deleted {plural(count, 'run')} of {safe(name)}")


@experiment.command(name="stop")
@click.argument("name", metavar="NAME")
@located
def stop_command(project: Project, *, name: str) -> None:
    """Stop starting trials of an experiment in the background. Running trials finish.

    \b
      whorl experiment stop polish
    """
    from whorl.wings.experiments.server_jobs import ExperimentTable

    if not change_store(project, lambda store: ExperimentTable(store).stop(name)):
        raise UsageError(f"experiment {name!r} does not run in the background", code="W905")
    say(f"no new trials of {safe(name)} start; running trials finish")


@experiment.command(name="drive", hidden=True)
@click.argument("name", metavar="NAME")
@partial(located, drives=True)
def drive_command(project: Project, *, name: str) -> int:
    """Run a requested experiment in the background."""

    async def work() -> int:
        async with _experiments(project) as experiments:
            ended = await experiments.settled(name)
        say(f"{safe(name)}: {ended.state} {safe(ended.reason)}".rstrip())
        return {"done": 0, "paused": PAUSED}.get(ended.state, _FAILED)

    return asyncio.run(work())


@asynccontextmanager
async def _driving(project: Project, origin: str) -> AsyncIterator[tuple[Driving, Providers]]:
    from whorl.providers.registry import Providers
    from whorl.services.run_driver import Driving
    from whorl.services.runs import open_runtime

    providers = Providers(project.settings())
    async with open_runtime(project, providers, origin=origin) as runtime:
        driving = Driving(runtime)
        try:
            yield driving, providers
        finally:
            await driving.close()


@asynccontextmanager
async def _experiments(project: Project) -> AsyncIterator[Experiments]:
    """Opens the experiments that run in the background."""
    from whorl.wings.experiments.server_jobs import Experiments

    async with _driving(project, "detached") as (driving, providers):
        experiments = Experiments(project, providers, driving)
        try:
            yield experiments
        finally:
            await driving.close()
            await experiments.close()


def _detach(project: Project, experiment: Experiment, *, fresh: bool, budget: str) -> int:
    """Starts a background process for an experiment. If it ends early, a server continues."""
    from whorl.interfaces.cli.commands.run import start_elsewhere
    from whorl.wings.experiments.trials import digest

    async def work() -> str:
        async with _experiments(project) as experiments:
            amount = _budget_of(budget, experiment)
            file = str(Path(experiment.file).resolve())
            return await experiments.ask(file, budget=amount, fresh=fresh)

    name = asyncio.run(work())
    start_elsewhere(project, ["experiment", "drive", name], f"experiment-{digest(name)}")
    echo(name)
    say("it runs in the background", f"next: {pasted('experiment', 'report', experiment.file)}")
    return 0


def check_file(project: Project, file: str) -> tuple[str, list[Diagnostic]]:
    """Returns a summary and the warnings of an experiment file; raises InvalidWorkflow."""
    read = read_experiment(project, file)
    blocks = blocks_of(read, prepare(project, read), project.settings(), 1)
    same = same_runs(trial for block in blocks for trial in block)
    found = [Diagnostic("W023", f"variants {each}", severity="warning") for each in same]
    counts = f"{plural(len(read.cases), 'case')}, {plural(len(read.variants), 'variant')}"
    return f"ok, an experiment, {counts}, {plural(read.trials, 'trial')}", found


# Experiments from a terminal: finding their files, running them, and showing progress.


def read_file(project: Project, file: str) -> Experiment:
    """Reads the experiment of a file, or of the name that its file begins with."""
    return read_experiment(project, str(_path(project, file) or file))


def _path(project: Project, file: str) -> Path | None:
    """Returns the path of a file, or of an experiment by the beginning of its file's name."""
    paths = (base / f"{file}{end}" for base in (Path(), project.root) for end in (*ENDINGS, ""))
    return next((path for path in paths if path.is_file()), None)


def _commands_for(file: str, *options: str) -> Commands:
    return Commands(pasted("experiment", "run", file, *options))


def _study_of(
    project: Project, store: SqliteStore, experiment: Experiment, file: str, generation: int = 1
) -> Study:
    """Returns an experiment with its runs; commands name the file as it was given."""
    from whorl.wings.experiments.results import Study

    of = (project, store, experiment, project.settings(), _commands_for(file))
    return Study(*of, generation=generation)


@contextmanager
def recorded(project: Project, file: str) -> Iterator[Study]:
    """Opens an experiment with its runs; raises UsageError X110 if the project has no runs yet.

    Without its rights a folder has other models and other trials, so it must be trusted.
    """
    from whorl.services.configuration.trust import check_trusted

    read = read_file(project, file)
    if not project.has_runs():
        raise nothing_ended(read.name, _commands_for(file))
    check_trusted(project.settings())
    with closing(project.open_store()) as store:
        yield _study_of(project, store, read, file)


def _conducted(
    project: Project, experiment: Experiment, file: str, *, fresh: bool, budget: str, is_quiet: bool
) -> tuple[Report, Commands, str]:
    """Runs the missing trials of an experiment; returns its report, and commands to continue it.

    If its budget has stopped it, also returns its progress.
    """
    amount = _budget_of(budget, experiment)

    async def work() -> tuple[Progress, int]:
        from whorl.wings.experiments.runner import ExperimentRunner

        watch = (lambda _: None) if is_quiet else _watcher()
        async with _driving(project, "terminal") as (driving, providers):
            runner = ExperimentRunner(project, driving, providers, experiment, watch)
            forecast = runner.open(fresh=fresh, budget=amount)
            if not is_quiet:
                say(*words.forecast_lines(experiment, forecast, runner.progress))
                if runner.remembers:
                    say("  trials see nothing of each other: memory across runs is off")
            return await runner.run(), runner.generation

    progress, generation = asyncio.run(work())
    with closing(project.open_store()) as store:
        study = _study_of(project, store, experiment, file, generation)
        found = study.report()
        if not progress.is_paused:
            return found, study.commands, ""
        more_usd = study.more_usd(progress.needs_usd)
        # If no trial has begun, the next command still needs `--fresh`.
        options = ["--fresh"] if fresh and not study.rows else []
        commands = _commands_for(file, *options).with_budget(more_usd, experiment.budget)
        spent = f"{dollars(found.spent_usd)} of {dollars(progress.budget_usd or 0.0)} spent"
        cases = plural(found.cases, "whole case")
        paused = f"budget: {found.done} of {found.trials} trials done, {cases}, {spent}"
        return found, commands, paused


def _watcher() -> Callable[[Progress], None]:
    """Returns a callback that prints the progress at each tenth."""
    began, shown = time.monotonic(), 0

    def watch(progress: Progress) -> None:
        nonlocal shown
        share = 10 * progress.done // max(1, progress.trials)
        if share > shown:
            shown = share
            say(words.progress_line(progress, time.monotonic() - began))

    return watch


def _budget_of(text: str, experiment: Experiment) -> float | None:
    if not text:
        return None
    amount = dollars_given(text.removeprefix("+"))
    return (experiment.budget or 0.0) + amount if text.startswith("+") else amount


def _to_save(file: str, save: str) -> str:
    """Returns the advice that tells how to save a report for a gate."""
    return f"save one before a change: {pasted('experiment', 'report', file, '--save', save)}"


# Other rules, and judges.


@experiment.command(name="what-if")
@click.argument("what", metavar="[RUN|FILE]", nargs=-1)
@click.option("--workflow", default="", metavar="NAME", help="All runs of one version of it.")
@click.option("--version", default="", metavar="HASH", help="Which run. [default: the newest]")
@click.option("--at", default="", metavar="LOOP", help="Which loop. [default: the first]")
@click.option("--variant", default="", metavar="NAME", help="Default: the baseline.")
@click.option("--until", default="", metavar="CONDITION", help="An expression, or YAML.")
@click.option("--at-most", type=click.IntRange(1), metavar="N", help="The number of iterations.")
@click.option("--return", "returns", type=click.Choice(["last", "best", "first"]))
@click.option("--check", type=click.IntRange(0), default=0, metavar="N",
              help="Replay this many answers through the engine.")  # fmt: skip
@click.option("--csv", "as_csv", is_flag=True, help="CSV with a row for each rule, or run.")
@partial(with_json, drives=True)
@output_option(csv="as_csv", json="as_json")
def what_if(project: Project, *, what: tuple[str, ...], **options: Any) -> int:
    """Compute the result of another stop rule, without new calls.

    For an experiment FILE without a rule, it compares many rules and recommends one.
    For a --workflow, it uses all recorded runs.

    \b
      whorl experiment what-if last --at-most 3 --until "review.approved" --return best
      whorl experiment what-if polish.experiment.yaml
    """
    is_experiment = len(what) == 1 and _path(project, what[0]) is not None
    if is_experiment:
        # A wrong name is reported before anything has to be run.
        read = read_file(project, what[0])
        loop_named(read, prepare(project, read), options["at"], options["variant"])
    if bool(what) == bool(options["workflow"]):
        raise UsageError("name a RUN, an experiment FILE, or a --workflow")
    rule = {name: options[name] for name in _RULE}
    if is_experiment:
        with recorded(project, what[0]) as study:
            _of_experiment(study, rule, options)
    else:
        with closing(project.open_store()) as store:
            _of_runs(store, what, rule, options)
    return 0


def _of_runs(
    store: SqliteStore, what: tuple[str, ...], rule: dict[str, Any], options: dict[str, Any]
) -> None:
    from whorl.services.runs import find_run
    from whorl.wings.experiments.what_if.query import runs_of_version, what_ifs_of

    runs, others = [find_run(store, run) for run in what], 0
    if options["workflow"]:
        runs, others = runs_of_version(store, options["workflow"], options["version"])
    answers = [
        answer
        for number, run in enumerate(runs)
        for answer in what_ifs_of(
            store, run, options["at"], check=number < options["check"], **rule
        )
    ]
    if others:
        say(f"{plural(others, 'run')} of other versions left out")
    if options["as_json"]:
        print_json([answer.document() for answer in answers])
    elif options["as_csv"]:
        echo(words.answers_csv(answers), nl=False)
    else:
        for answer in answers:
            print_lines(words.answer_lines(answer))
        print_lines(words.answers_lines(answers))


def _of_experiment(study: Study, rule: dict[str, Any], options: dict[str, Any]) -> None:
    from whorl.wings.experiments.what_if.query import document_of, rule_of

    start, variant = time.perf_counter(), options["variant"]
    loop = study.loop(options["at"], variant)
    rules = [rule_of(study.workflow(variant), loop, **rule)] if any(rule.values()) else None
    found = study.sweep(options["at"], variant, rules)
    document = document_of(found, loop)
    if options["check"]:
        _check(study, loop, rule, variant, options["check"])
    if options["as_json"]:
        print_json(document)
    elif options["as_csv"]:
        echo(words.sweep_csv(document), nl=False)
    else:
        of = (study.experiment, variant, time.perf_counter() - start)
        print_lines(words.sweep_lines(found, *of, is_named=bool(rules)))
        print_lines(f"to use it: {line}" for line in document["use"])


def _check(study: Study, loop: Loop, rule: dict[str, Any], variant: str, count: int) -> None:
    """Replays some answers of a rule through the engine; raises InternalError if one differs."""
    from whorl.services.runs import find_run
    from whorl.wings.experiments.what_if.query import what_if_of

    runs = [find_run(study.store, s.facts.run) for s in study.subjects(loop, variant)[:count]]
    answers = [what_if_of(study.store, run, loop.name, check=True, **rule) for run in runs]
    if known := sum(one.answer.exact for one in answers):
        say(f"{plural(known, 'answer')} replayed through the engine: all the same")
    else:
        tried = plural(len(runs), "run")
        say(f"no answer of this rule could be checked: not known in any of {tried} that were tried")


@experiment.command()
@click.argument("file", metavar="FILE")
@click.argument("name", metavar="[LOOP|GRADER]", default="")
@click.option("--against", required=True, metavar="GRADER|FILE",
              help="Whose grades are the labels; or a .csv: case, iteration, label.")  # fmt: skip
@click.option("--variant", default="", metavar="NAME",
              help="Default: the baseline for a loop, all for a grader.")  # fmt: skip
@click.option("--csv", "as_csv", is_flag=True, help="CSV of the results on which they differ.")
@partial(with_json, drives=True)
@output_option(csv="as_csv", json="as_json")
def judge(
    project: Project, *, file: str, name: str, against: str, as_json: bool, **options: Any
) -> None:
    """Measure how often the judge of a loop, or of a grader, agrees with labels.

    \b
      whorl experiment judge polish.experiment.yaml --against right
      whorl experiment judge polish.experiment.yaml --against labels.csv
    """
    from whorl.wings.experiments.results import FileLabels, check_judged, judge_of

    # Wrong names, and unreadable labels, are reported before anything has to be run.
    read, labels, variant = read_file(project, file), None, options["variant"]
    if against not in read.graders and against.endswith(".csv"):
        labels = FileLabels(against, variant or read.baseline)
    check_judged(read, prepare(project, read), "" if labels else against, name, variant)
    with recorded(project, file) as study:
        found = judge_of(study, against, name, variant, labels)
    if as_json:
        print_json(found.document())
    elif options["as_csv"]:
        echo(words.judge_csv(found), nl=False)
    else:
        print_lines(words.judge_lines(found))
