"""Experiments over HTTP: listing and running them, their results, and the effect of other rules."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import Response, StreamingResponse
from pydantic import Field

from whorl.errors import InvalidWorkflow, UsageError
from whorl.interfaces.http import models
from whorl.interfaces.http.journal import Listener, event_text
from whorl.interfaces.http.state import Asking, KnownRun, ServerState, State, check_query
from whorl.interfaces.http.streams import SSE, streamed
from whorl.lazily import dataclass
from whorl.runtimes.journal.journal import RunId
from whorl.services.files.preflight import loops_of
from whorl.services.inspecting.results import open_gates
from whorl.wings.experiments.document import read_experiment
from whorl.wings.experiments.report import ungraded
from whorl.wings.experiments.results import Study, judge_of
from whorl.wings.experiments.runner import Progress
from whorl.wings.experiments.server_jobs import AskedExperiment, Experiments, fault_words
from whorl.wings.experiments.trials import (
    ENDED,
    PREFIX,
    cost_of,
    digest,
    is_grading,
    key_prefix,
    lacks_money,
    runs_by_name,
)
from whorl.wings.experiments.what_if.query import (
    document_of,
    facts_document,
    rule_of,
    run_facts,
    what_if_of,
)

# Experiments as JSON: the requests and the answers.

Part = Annotated[str, Field(max_length=1_000)]


class Span(models.Closed):
    """A number with its interval of 95 %; without one, there are too few cases for it."""

    value: float | None
    low: float | None = None
    high: float | None = None


class BestItem(models.Closed):
    """The variant with the highest grade; `words` says whether that is seen to be better."""

    variant: str
    grade: Span
    difference: Span | None = Field(description="difference to the baseline, which has null")
    words: str


class ExperimentItem(models.Closed):
    """An experiment of the project; without a file, only runs are left of it."""

    name: str
    file: str | None = None
    state: str = Field(
        description="new, running, paused (by its budget), stopped, failed, open (trials are "
        "missing, and it is not running) or done"
    )
    reason: str = Field(default="", description="why it has failed")
    trouble: str = Field(default="", description="why its file cannot be used")
    cases: int = 0
    variants: list[str] = Field(default_factory=list, description="the baseline first")
    trials: int = 0
    done: int = 0
    running: int = Field(default=0, description="running runs")
    runs: int
    spent_usd: float | None = Field(description="null if no call had a known price")
    expected_usd: float | None = Field(default=None, description="in total, at the rate so far")
    budget_usd: float | None = None
    updated_at: float | None = None
    best: BestItem | None = Field(default=None, description="if the experiment is done")


class VariantItem(models.Closed):
    """How far a variant is."""

    name: str
    trials: int
    done: int


class GraderItem(models.Closed):
    """A grader; `person`, `judge`, `ask`, `use` and `run` grade by runs of their own."""

    name: str
    kind: str


class ExperimentDetail(ExperimentItem):
    """An experiment with everything that its page shows first."""

    generation: int
    baseline: str
    progress: list[VariantItem]
    graders: list[GraderItem] = Field(description="the first one is the main one")
    loops: list[str] = Field(description="of the baseline; those that are explored first")
    explore: dict[str, int]
    repeat: int
    margin: float
    whole_cases: int = Field(description="cases that all variants have")
    graded: int = Field(description="gradings that have ended")
    people: int = Field(description="gradings that wait for a person")


class NewExperiment(models.Closed):
    """An experiment file of the project to run or to continue."""

    file: models.FileName
    budget_usd: models.Dollars | None = Field(default=None, description="instead of the file's")
    fresh: models.Flag = Field(default=False, description="run everything again, also what is done")


class TrialItem(models.Closed):
    """One run of a case under a variant."""

    run: str
    status: str
    error: str
    grades: dict[str, float | None]
    solved: bool | None
    cost_usd: float | None = Field(description="null: a model has no price")
    iterations: int
    returned: int | None


class CaseCell(models.Closed):
    """A case under a variant: means over its trials."""

    grade: float | None
    difference: float | None = Field(description="difference to the baseline")
    solved: float
    cost_usd: float | None
    iterations: float
    trials: list[TrialItem]


class CaseItem(models.Closed):
    """A case; `spread` is its largest difference to the baseline."""

    case: str
    group: str
    spread: float
    cells: dict[str, CaseCell] = Field(description="by variant")


class CaseList(models.Closed):
    """A row for each case, the largest differences first."""

    baseline: str
    variants: list[str]
    grader: str
    cases: list[CaseItem]


class GradingItem(models.Closed):
    """A result that waits for a person's grade; which variant made it is not shown."""

    run: str
    grader: str
    address: str = Field(description="the question, for approve and reject of the run")
    message: str
    show: models.JsonValue = None


class GradingList(models.Closed):
    """What waits for a person, in random order."""

    gradings: list[GradingItem]


class LoopQuery(models.Closed):
    """Which loop, and of which variant; without: the explored one, of the baseline."""

    at: Part = ""
    variant: Part = ""


class RunLoopQuery(models.Closed):
    """Which loop; without: the first."""

    at: Part = ""


class JudgeQuery(models.Closed):
    """The judge of a loop or of a grader (`of`), against the grades of another grader."""

    against: Part
    of: Part = ""
    variant: Part = ""


class AskedLimits(models.Closed):
    """The limits of a loop, in the words of the native format."""

    iterations: models.Number | None = None
    time: models.Words | None = None
    cost: models.Amount | None = None
    tokens: models.Number | None = None
    calls: models.Number | None = None


class AskedRule(models.Closed):
    """Another rule for a loop, in the words of the native format; what is left out stays."""

    at: models.Words = ""
    variant: models.Words = ""
    until: models.Words = ""
    at_most: models.Number | AskedLimits | None = None
    returns: Annotated[str | None, Field(pattern="^(last|best|first)$")] = None

    def rule(self) -> dict[str, Any]:
        most: Any = self.at_most
        if isinstance(most, AskedLimits):
            most = most.model_dump(exclude_none=True)
        return {"until": self.until, "at_most": most, "returns": self.returns}


class Found(models.Closed):
    """What was found, in the shape that the command prints with --json."""

    document: models.JsonValue


router = APIRouter(prefix="/api/experiments", tags=["experiments"])
runs_router = APIRouter(prefix="/api/runs", tags=["experiments"])
_plain = [Depends(check_query)]

Name = Annotated[str, Path(min_length=1, max_length=200)]
# The least time between two looks of a stream at a running experiment.
_LOOK_S = 1.0


@router.get("", dependencies=_plain)
def list_experiments(state: State) -> list[ExperimentItem]:
    """The experiment files of the project, and experiments of which only runs are left."""
    job, runs = state.job(Experiments), runs_by_name(state.store)
    asked, items = job.table.all(), []
    for name, file in job.files().items():
        try:
            study = job.study(name, file)
            item, _ = _item(state, study, asked.get(name))
            found = study.report().best() if item.state == "done" else None
            item.best = BestItem(**found) if found else None
        except (InvalidWorkflow, UsageError) as fault:
            shown, trouble = state.shown_file(file), fault_words(fault)
            item = ExperimentItem(
                name=name, file=shown, state="failed", trouble=trouble, runs=0, spent_usd=0.0
            )
        item.runs = len(runs.pop(key_prefix(name).removeprefix(PREFIX).rstrip(":"), []))
        items.append(item)
    for name, left in runs.items():
        more: dict[str, Any] = {"updated_at": max(row.updated_at for row in left)}
        more |= {"runs": len(left), "spent_usd": cost_of(left)}
        items.append(ExperimentItem(name=name, state="open", **more))
    return sorted(items, key=lambda item: -(item.updated_at or 0.0))


@router.post("", status_code=202, dependencies=_plain)
async def run_experiment(state: State, asking: Asking, new: NewExperiment) -> ExperimentDetail:
    """Runs what is missing of an experiment, on this server or another one.

    403: the role `run` cannot give it more budget than its file does. 409: it is running already.
    """
    path = str(await asyncio.to_thread(state.file, new.file))
    own = (await asyncio.to_thread(read_experiment, state.project, path)).budget
    if own is not None and new.budget_usd is not None and new.budget_usd > own:
        asking.check("raise limits")
    name = await state.job(Experiments).ask(path, budget=new.budget_usd, fresh=new.fresh)
    return await _detail(state, name)


@router.get("/{name}", dependencies=_plain)
def show_experiment(state: State, name: Name) -> ExperimentDetail:
    """How far an experiment is."""
    return _described(state, _study(state, name))


@router.post("/{name}/stop", status_code=202, dependencies=_plain)
async def stop_experiment(state: State, name: Name, _: models.Nothing) -> ExperimentDetail:
    """Begins no more trials; running trials finish. 409: it is not running."""
    await state.job(Experiments).stop(name)
    return await _detail(state, name)


@router.get("/{name}/events", dependencies=_plain, responses={200: SSE},
            response_class=StreamingResponse)  # fmt: skip
async def experiment_events(state: State, name: Name) -> Response:
    """`experiment` with an ExperimentDetail whenever that changes."""
    study = await asyncio.to_thread(_study, state, name)
    return streamed(state, None, _Changes(state, study).news)


@router.get("/{name}/report", dependencies=_plain)
def report(state: State, name: Name) -> Found:
    """What an experiment found so far; nothing is run."""
    return Found(document=_study(state, name).report().document())


@router.get("/{name}/cases", dependencies=_plain)
def list_cases(state: State, name: Name) -> CaseList:
    """A row for each case, with the grade of each variant and links to the runs."""
    study = _study(state, name)
    found = study.report()
    made = [CaseItem(**row) for row in found.by_case()]
    variants = list(study.experiment.variants)
    return CaseList(baseline=found.baseline, variants=variants, grader=found.grader, cases=made)


@router.get("/{name}/queue", dependencies=_plain)
def list_gradings(state: State, name: Name) -> GradingList:
    """Results that wait for a person's grade; approve and reject of the run answer."""
    study = _study(state, name)
    waiting = [r for key, r in study.rows.items() if is_grading(key) and r.status == "waiting"]
    seed = study.experiment.order_seed
    gradings = [
        GradingItem.from_row(gate, run=row.id, grader=row.name.removeprefix("grade-"))
        for row in sorted(waiting, key=lambda row: digest(seed, row.key))
        for gate in open_gates(study.store, row.id)
    ]
    return GradingList(gradings=gradings)


@router.get("/{name}/facts")
def list_facts(state: State, name: Name, query: Annotated[LoopQuery, Query()]) -> Found:
    """What the conditions of a loop saw in each iteration of each run, with grades and costs.

    With it any rule over the same conditions is answered without asking again.
    """
    study = _study(state, name)
    loop = study.loop(query.at, query.variant)
    subjects = study.subjects(loop, query.variant)
    return Found(document=facts_document(loop, subjects, study.experiment.margin))


@router.get("/{name}/judge")
def show_judge(state: State, name: Name, query: Annotated[JudgeQuery, Query()]) -> Found:
    """How far a judge agrees with the labels of a grader."""
    of = (query.against, query.of, query.variant)
    return Found(document=judge_of(_study(state, name), *of).document())


@router.post("/{name}/what-if", dependencies=_plain)
def what_if(state: State, name: Name, asked: AskedRule) -> Found:
    """What a rule, or without one many of them, would have given and cost; no call is made."""
    study = _study(state, name)
    loop = study.loop(asked.at, asked.variant)
    given, workflow = asked.rule(), study.workflow(asked.variant)
    rules = [rule_of(workflow, loop, **given)] if any(given.values()) else None
    return Found(document=document_of(study.sweep(asked.at, asked.variant, rules), loop))


@runs_router.post("/{run}/what-if", dependencies=_plain)
def what_if_of_run(state: State, run: KnownRun, asked: AskedRule) -> Found:
    """What a rule would have done in a run; no call is made."""
    return Found(document=what_if_of(state.store, run, asked.at, **asked.rule()).document())


@runs_router.get("/{run}/facts")
def facts_of_run(state: State, run: KnownRun, query: Annotated[RunLoopQuery, Query()]) -> Found:
    """What the conditions of a loop of a run saw in each iteration."""
    loop, subject = run_facts(state.store, run, query.at)
    return Found(document=facts_document(loop, [subject], 0.0))


def _study(state: ServerState, name: str) -> Study:
    return state.job(Experiments).study(name)


async def _detail(state: ServerState, name: str) -> ExperimentDetail:
    return await asyncio.to_thread(show_experiment, state, name)


def _item(
    state: ServerState, study: Study, asked: AskedExperiment | None
) -> tuple[ExperimentItem, Progress]:
    """Returns the progress of an experiment, by its runs and by the request to run it."""
    experiment, progress, found = study.experiment, progress_of(study), study.rows.values()
    if asked is not None and asked.budget_usd is not None:
        progress.budget_usd = asked.budget_usd
    running = sum(row.status == "running" for row in found)
    # A grading may have stopped before its end, so that its result has no grade.
    gradings = (row for key, row in study.rows.items() if is_grading(key))
    has_open = any(row.status not in (*ENDED, "waiting") for row in gradings)
    graded = [one for block in study.graded for one in block] if has_open else []
    is_done = progress.done == progress.trials and not ungraded(experiment, graded)
    status, reason = "running" if running else "done" if is_done else "open" if found else "new", ""
    if asked is not None and asked.state != "done" and (status != "done" or asked.state == "asked"):
        status, reason = "running" if asked.state == "asked" else asked.state, asked.reason
    item = ExperimentItem(
        name=experiment.name,
        file=state.shown_file(experiment.file) or None,
        state=status,
        reason=reason,
        cases=len(experiment.cases),
        variants=sorted(experiment.variants, key=lambda name: name != experiment.baseline),
        trials=progress.trials,
        done=progress.done,
        running=running,
        runs=len(found),
        spent_usd=cost_of(found),
        expected_usd=progress.expected_usd,
        budget_usd=progress.budget_usd,
        updated_at=max((row.updated_at for row in found), default=None),
    )
    return item, progress


def progress_of(study: Study) -> Progress:
    """Returns the progress of an experiment from its runs, for any process that runs it."""
    experiment, found = study.experiment, study.rows
    made = Progress.of(experiment, study.prepared, found.values())
    for block in study.blocks:
        done = [
            trial
            for trial in block
            if (row := found.get(trial.key)) is not None and row.status in (*ENDED, "paused")
            if not lacks_money(study.store, trial, row)
        ]
        for trial in done:
            made.variants[trial.variant] += 1
        made.done += len(done)
        made.whole += len(done) == len(block)
    gradings = [row for key, row in found.items() if is_grading(key)]
    made.graded = sum(row.status == "succeeded" for row in gradings)
    made.people = sum(row.status == "waiting" for row in gradings)
    return made


def _described(state: ServerState, study: Study) -> ExperimentDetail:
    experiment = study.experiment
    asked = state.job(Experiments).table.all().get(experiment.name)
    item, progress = _item(state, study, asked)
    each = len(experiment.cases) * experiment.repeat
    loops = [loop.name for _, loop in loops_of(study.workflow())]
    return ExperimentDetail(
        **item.model_dump(),
        generation=study.generation,
        baseline=experiment.baseline,
        progress=[VariantItem(name=n, trials=each, done=d) for n, d in progress.variants.items()],
        graders=[GraderItem(name=n, kind=g.kind) for n, g in experiment.graders.items()],
        loops=list(dict.fromkeys([*experiment.explore, *loops])),
        explore=experiment.explore,
        repeat=experiment.repeat,
        margin=experiment.margin,
        whole_cases=progress.whole,
        graded=progress.graded,
        people=progress.people,
    )


@dataclass(slots=True)
class _Changes:
    """The stream of one experiment; `last` is the text that was sent last."""

    state: ServerState
    study: Study
    last: str = ""
    is_running: bool = False

    async def news(self, listener: Listener) -> tuple[str, float | None]:
        touched, listener.touched = listener.touched, set()
        text = await asyncio.to_thread(self._look, touched)
        # The end of an experiment is not the end of a run.
        return text, _LOOK_S if self.is_running else None

    def _look(self, touched: set[RunId]) -> str:
        prefix, rows = key_prefix(self.study.experiment.name), map(self.state.store.run, touched)
        is_concerned = self.is_running or any(row.key.startswith(prefix) for row in rows)
        if self.last and not is_concerned:
            return ""
        self.study.refresh()
        found = _described(self.state, self.study)
        self.is_running = found.state == "running"
        text = found.model_dump_json()
        is_new, self.last = text != self.last, text
        return event_text(text, "experiment") if is_new else ""
