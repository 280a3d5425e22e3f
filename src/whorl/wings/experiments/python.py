"""Experiments from Python: the fields of the file, with rows and functions of the program."""

from __future__ import annotations

import asyncio
import inspect
import json
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whorl.dialects.reader import parse
from whorl.errors import UsageError
from whorl.interfaces.python.loading import project_of
from whorl.interfaces.python.values import plain_value
from whorl.providers.functions import Tasks
from whorl.providers.registry import Providers
from whorl.services.run_driver import Driving
from whorl.services.runs import find_run, open_runtime
from whorl.wings.experiments.document import ENDINGS, NAMES, read_document, read_experiment
from whorl.wings.experiments.report import Commands, nothing_ended
from whorl.wings.experiments.results import Study
from whorl.wings.experiments.runner import ExperimentRunner
from whorl.wings.experiments.what_if.query import what_if_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from whorl.interfaces.python.values import Config, FilePath
    from whorl.services.project import Project
    from whorl.wings.experiments.document import Experiment as Read
    from whorl.wings.experiments.report import Report, VariantReport
    from whorl.wings.experiments.what_if.sweep import Sweep

_COMMANDS = Commands(
    "run() or run_sync() of the experiment runs it",
    budget="run_sync(budget={all:g}) of the experiment continues it",
)


class Experiment:
    """A workflow over cases and variants; `run` runs what is missing, and gives the report.

    The first argument is a workflow file, or an experiment file, which says all the rest. A grader
    may be a function, plain or a coroutine, that takes any of `case`, `inputs`, `outputs`,
    `results` and `run` by name. Other options are the fields of experiment files.
    """

    def __init__(
        self,
        file: FilePath,
        *,
        cases: Sequence[Mapping[str, object]] | FilePath | None = None,
        grade: object = None,
        config: Config | None = None,
        store: FilePath | None = None,
        trust: bool = False,
        **options: object,
    ) -> None:
        self._tasks = Tasks()
        self._project: Project = project_of(config, store, trust=trust)
        if str(file).endswith(ENDINGS):
            if cases is not None or grade is not None or options:
                raise UsageError("an experiment file says its cases, graders and options itself")
            self._read: Read = read_experiment(self._project, str(file))
            return
        fields: dict[str, Any] = {"experiment": 1, "workflow": str(file), **options}
        fields |= {"cases": str(cases) if isinstance(cases, str | Path) else cases}
        graders = {"grade": grade} if callable(grade) else grade
        functions = {n: one for n, one in _items(graders) if callable(one)}
        words = {n: self._grader(n, functions[n]) for n in functions}
        fields["grade"] = graders if not words else {n: words.get(n, g) for n, g in _items(graders)}
        name = options.get("name") or Path(file).stem
        text = json.dumps({n: plain_value(v, n) for n, v in fields.items() if v is not None})
        self._read = read_document(self._project, parse(text, f"{name}.experiment.json"))
        for grader, function in functions.items():
            known = self._read.graders[grader]
            self._read.graders[grader] = replace(known, function=function)

    def _grader(self, name: str, function: Callable[..., Any]) -> dict[str, Any]:
        """Registers a grading function as a task, and returns its grader in the form of a file."""
        asked = list(inspect.signature(function).parameters)
        if other := [each for each in asked if each not in NAMES]:
            known = ", ".join(NAMES)
            raise UsageError(f"grader {name!r} takes {other[0]!r}; it may take {known}")
        self._tasks.add(f"grade-{name}", function)
        return {"use": f"grade-{name}", "with": {each: f"{{{{ {each} }}}}" for each in asked}}

    async def run(self, *, budget: float | None = None, fresh: bool = False) -> ExperimentReport:
        """Runs what is missing, resumes what was interrupted, and reports."""
        providers = Providers(self._project.settings(), self._tasks)
        async with open_runtime(self._project, providers, origin="python") as runtime:
            driving = Driving(runtime)
            try:
                runner = ExperimentRunner(self._project, driving, providers, self._read)
                runner.open(fresh=fresh, budget=budget)
                await runner.run()
            finally:
                await driving.close()
        return self.report()

    def run_sync(self, *, budget: float | None = None, fresh: bool = False) -> ExperimentReport:
        """The same as `run`, for programs without an event loop."""
        return asyncio.run(self.run(budget=budget, fresh=fresh))

    def report(self) -> ExperimentReport:
        """What was found so far; nothing is run."""
        if not self._project.has_runs():
            raise nothing_ended(self._read.name, _COMMANDS)
        with _recorded(self._project, self._read) as study:
            return ExperimentReport(self._project, self._read, study.report())


def _items(graders: object) -> list[tuple[str, Any]]:
    return list(graders.items()) if isinstance(graders, dict) else []


@contextmanager
def _recorded(project: Project, read: Read) -> Iterator[Study]:
    with closing(project.open_store()) as store:
        yield Study(project, store, read, project.settings(), _COMMANDS)


class ExperimentReport:
    """The results of an experiment, with the numbers of the command line's JSON."""

    def __init__(self, project: Project, read: Read, report: Report) -> None:
        self._project, self._read, self._report = project, read, report

    @property
    def variants(self) -> dict[str, VariantReport]:
        return self._report.variants

    @property
    def is_complete(self) -> bool:
        return self._report.is_complete

    def frame(self) -> list[dict[str, Any]]:
        """Returns a row for each trial, for pandas or polars."""
        return self._report.rows

    def document(self) -> dict[str, Any]:
        return self._report.document()

    def what_if(self, at: str = "", variant: str = "") -> Sweep:
        """Returns what other rules would have given and cost, without a call."""
        with _recorded(self._project, self._read) as study:
            return study.sweep(at, variant)


class WhatIfAnswer:
    """What a rule would have done in a run. If it is not `exact`, `why` is the reason.

    `cost_usd` is None where a model of the run has no price.
    """

    def __init__(self, found: Any) -> None:
        answer = found.answer
        self.exact: bool = answer.exact
        self.why: str = answer.why
        self.iterations: int = answer.iterations
        self.returned: int | None = answer.returned
        self.exit_reason: str = answer.exit_reason
        self.stopped_by: str = answer.stopped_by
        self.cost_usd: float | None = found.cost_of(answer)
        self.outputs: dict[str, Any] | None = found.outputs
        self.results: dict[str, Any] | None = found.results


def what_if(
    run: str = "last",
    *,
    until: str = "",
    at_most: int | None = None,
    returns: str | None = None,
    at: str = "",
    config: Config | None = None,
    store: FilePath | None = None,
) -> WhatIfAnswer:
    """What another rule would have done in a recorded run, without a call.

    `at_most` is a number of iterations, `at` a loop; without it, the first one.
    """
    with closing(project_of(config, store).open_store()) as opened:
        rule = {"until": until, "at_most": at_most, "returns": returns}
        return WhatIfAnswer(what_if_of(opened, find_run(opened, run), at, **rule))
