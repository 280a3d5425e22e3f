"""`what-if`: what another stop rule would have done; `judge`: how far a judge can be trusted."""

from __future__ import annotations

import time
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import UsageError, plural
from whorl.interfaces.cli.options import json_option, located, print_json, write_file
from whorl.interfaces.cli.terminal import echo, print_lines, room, say
from whorl.runtimes.journal.journal import RunId
from whorl.services.runs import find_run
from whorl.wings.experiments import words
from whorl.wings.experiments.commands.experiments import is_file, read_file, recorded

if TYPE_CHECKING:
    from whorl.ir import Loop
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project
    from whorl.wings.experiments.results import Study


class _AtMost(click.ParamType):  # type: ignore[type-arg]
    """A number of iterations, or limits as YAML."""

    name = "limits"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if isinstance(value, str) and value.strip().startswith("{"):
            return value
        return click.IntRange(1).convert(value, param, ctx)


csv_option = click.option(
    "--csv", "as_csv", is_flag=True, help="A row for each rule, or run, as CSV."
)


@click.command(name="what-if")
@click.argument("what", metavar="[RUN|FILE]", nargs=-1)
@click.option("--workflow", default="", metavar="NAME", help="All runs of one version of it.")
@click.option("--version", default="", metavar="HASH", help="Which one; default: the newest.")
@click.option("--loop", default="", metavar="NAME", help="Which loop; default: the first.")
@click.option("--variant", default="", metavar="NAME", help="Default: the baseline.")
@click.option("--until", default="", metavar="CONDITION", help="An expression, or YAML.")
@click.option("--at-most", type=_AtMost(), metavar="N|LIMITS",
              help="Iterations, or YAML: '{iterations: 5, cost: 0.1, time: 60s}'.")  # fmt: skip
@click.option("--return", "returns", type=click.Choice(["last", "best", "first"]))
@click.option("--check", type=click.IntRange(0), default=0, metavar="N",
              help="Replay this many answers through the engine.")  # fmt: skip
@click.option("--svg", metavar="FILE", help="Draw grade by iteration, and cost against grade.")
@csv_option
@json_option
@partial(located, drives=True)
def what_if(project: Project, *, what: tuple[str, ...], as_json: bool, **options: Any) -> int:
    """Show what another stop rule would have done, without a single call.

    Of an experiment FILE without a rule: of many rules, with the frontier and a recommended one.
    Of a --workflow: over all of its recorded runs.

    \b
      whorl what-if last --at-most 3 --until "review.approved" --return best
      whorl what-if polish.experiment.yaml
    """
    if len(what) == 1 and is_file(project, what[0]):
        _check_named(project, what[0], options["loop"], options["variant"])
    if bool(what) == bool(options["workflow"]):
        raise UsageError("name a RUN, an experiment FILE, or a --workflow")
    if len(what) == 1 and is_file(project, what[0]):
        with recorded(project, what[0]) as study:
            return _of_experiment(study, as_json=as_json, **options)
    with closing(project.open_store()) as store:
        return _of_runs(store, what, as_json=as_json, **options)


def _of_runs(store: SqliteStore, what: tuple[str, ...], *, as_json: bool, **options: Any) -> int:
    from whorl.wings.experiments.what_if.query import runs_of_version, what_ifs_of

    rule = {n: options[n] for n in ("until", "at_most", "returns")}
    if not any(rule.values()):
        raise UsageError("say which rule: --until, --at-most or --return")
    runs, others = [find_run(store, run) for run in what], 0
    if options["workflow"]:
        runs, others = runs_of_version(store, options["workflow"], options["version"])
    checks = options["check"]
    answers = [
        answer
        for number, run in enumerate(runs)
        for answer in what_ifs_of(store, run, options["loop"], check=number < checks, **rule)
    ]
    if others:
        say(f"{plural(others, 'run')} of other versions left out")
    if as_json:
        print_json([answer.document() for answer in answers])
    elif options["as_csv"]:
        echo(words.answers_csv(answers), nl=False)
    else:
        for answer in answers:
            print_lines(words.answer_lines(answer))
        print_lines(words.answers_lines(answers))
    return 0


def _check_named(project: Project, file: str, loop: str, variant: str) -> None:
    """A wrong name is told before anything has to be run."""
    from whorl.wings.experiments.lookup import loop_named
    from whorl.wings.experiments.variants import prepare

    experiment = read_file(project, file)
    loop_named(experiment, prepare(project, experiment), loop, variant)


def _of_experiment(study: Study, *, as_json: bool, **options: Any) -> int:
    from whorl.wings.experiments.what_if.query import document_of, rule_of

    start = time.perf_counter()
    loop = study.loop(options["loop"], options["variant"])
    given = {n: options[n] for n in ("until", "at_most", "returns")}
    workflow = study.workflow(options["variant"])
    rules = [rule_of(workflow, loop, **given)] if any(given.values()) else None
    found = study.sweep(options["loop"], options["variant"], rules)
    if options["check"]:
        _check(study, loop, given, options)
    if options["svg"]:
        from whorl.wings.experiments.curves import sweep_svg

        write_file(options["svg"], sweep_svg(found), advice="name another FILE")
        say(f"wrote {options['svg']}")
    if as_json:
        print_json(document_of(found, loop))
    elif options["as_csv"]:
        echo(words.sweep_csv(document_of(found, loop)), nl=False)
    else:
        of = (study.experiment, options["variant"], time.perf_counter() - start)
        print_lines(words.sweep_lines(found, *of, room(), is_named=bool(rules)))
        if found.recommended is not None:
            print_lines([f"to use it: {line}" for line in document_of(found, loop)["use"]])
    return 0


def _check(study: Study, loop: Loop, given: dict[str, Any], options: dict[str, Any]) -> None:
    """Replays some answers of a rule through the engine; raises InternalError where one differs."""
    from whorl.wings.experiments.what_if.query import what_if_of

    if not any(given.values()):
        raise UsageError("--check replays the answers of one rule: --until, --at-most or --return")
    subjects = study.subjects(loop, options["variant"])[: options["check"]]
    runs = [RunId(subject.facts.run) for subject in subjects]
    answers = [what_if_of(study.store, run, loop.name, check=True, **given) for run in runs]
    known = sum(one.answer.exact for one in answers)
    if known:
        say(f"{plural(known, 'answer')} replayed through the engine: all the same")
    else:
        tried = plural(len(runs), "run")
        say(f"no answer of this rule could be checked: not known in any of {tried} that were tried")


@click.command()
@click.argument("file", metavar="FILE")
@click.argument("name", metavar="[LOOP|GRADER]", default="")
@click.option("--against", required=True, metavar="GRADER|FILE",
              help="Whose grades are the labels; or a .csv: case, iteration, label.")  # fmt: skip
@click.option("--variant", default="", metavar="NAME",
              help="Default: of a loop the baseline, of a grader all.")  # fmt: skip
@click.option("--csv", "as_csv", is_flag=True, help="The results on which they differ, as CSV.")
@json_option
@partial(located, drives=True)
def judge(
    project: Project, *, file: str, name: str, against: str, as_json: bool, **options: Any
) -> None:
    """Show how far the judge of a loop, or of a grader, can be trusted.

    \b
      whorl judge polish.experiment.yaml --against right
      whorl judge polish.experiment.yaml --against labels.csv
    """
    from whorl.wings.experiments.judge import FileLabels, judge_of
    from whorl.wings.experiments.lookup import check_judged
    from whorl.wings.experiments.variants import prepare

    variant = options["variant"]
    # Wrong names, and labels that cannot be read, are told before anything has to be run.
    read, labels = read_file(project, file), None
    if against not in read.graders and against.endswith(".csv"):
        labels = FileLabels(against, variant or read.baseline)
    check_judged(read, prepare(project, read), "" if labels else against, name, variant)
    with recorded(project, file) as study:
        report = judge_of(study, against, name, variant, labels)
    if as_json:
        print_json(report.document())
    elif options["as_csv"]:
        echo(words.judge_csv(report), nl=False)
    else:
        print_lines(words.judge_lines(report))
