"""Trials: the runs of an experiment, their order, and the outcome of each.

A trial is an ordinary run with a key over all that it depends on. So it is started at most once,
an unchanged trial is not run again, and results are read from the runs by their keys.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.errors import Diagnostic, InvalidWorkflow
from whorl.interpreter.budget import NOTHING
from whorl.interpreter.events import amount_in, numbered
from whorl.interpreter.frames import OUTSIDE, REFUSED, is_cut, is_outside, root_of
from whorl.ir import content_hash, to_json
from whorl.language import Expression, LanguageError, MappingScope, evaluate, free_names, to_text
from whorl.lazily import dataclass
from whorl.runtimes.journal.forking import look_into
from whorl.runtimes.journal.journal import known_cost
from whorl.runtimes.sqlite.listing import EXPERIMENT, RunFilter
from whorl.services.files.forecasting import models_of
from whorl.wings.experiments.document import (
    NAMES,
    RUN_FACTS,
    expression_of,
    filled,
    inputs_of,
    with_templates,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from whorl.ir import Workflow
    from whorl.providers.settings import Settings
    from whorl.runtimes.journal.journal import RunId, RunRow
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project
    from whorl.wings.experiments.document import Case, Experiment, Grader
    from whorl.wings.experiments.variants import Prepared

PREFIX = EXPERIMENT
ENDED = ("succeeded", "failed", "cancelled")
# How often a run that a provider failed is resumed.
RESUMES_MAX = 3
# Sums of dollars are exact to this.
EXACT_USD = 1e-9
# A budget does not allow a call.
STOPPED = "R103"
_FINISHED = frozenset({"run.finished"})
_ENDS = frozenset({"run.finished", "loop.finished", "iteration.finished", "warning"})
_STEERED = frozenset({"run.accepted", "run.cancelled", "run.continued"})
_SHORTAGE = frozenset({"budget.reached", "run.finished", "run.paused", "run.resumed"})
# The author of resumes after a lack of money: not a person, who may have other reasons.
BY_EXPERIMENT = "experiment"


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of one case under one variant; `number` counts repeats from 1.

    `limit_usd` is the limit of the run's cost by its files; None: they set no limit.
    """

    case: Case
    variant: str
    number: int
    inputs: dict[str, Any]
    key: str
    limit_usd: float | None = None


@dataclass(slots=True)
class Outcome:
    """The outcome of a trial. Cost and iterations are those of its own rule.

    `extra_usd` is the cost of exploring beyond that. Costs leave out `unpriced` calls, which have
    no known price, and include the reserve of `in_doubt` calls. `is_short`: the trial lacked money
    and may have more, so it is not done.
    """

    trial: Trial
    run: RunId | None = None
    status: str = "missing"
    error: str = ""
    message: str = ""
    outputs: dict[str, Any] = field(default_factory=dict)
    cost_usd: float = 0.0
    extra_usd: float = 0.0
    seconds: float = 0.0
    iterations: int = 0
    returned: int | None = None
    exit_reason: str = ""
    stopped_by: str = ""
    loop: str = ""
    scores: dict[int, float] = field(default_factory=dict)
    unpriced: int = 0
    in_doubt: int = 0
    is_short: bool = False

    @property
    def is_done(self) -> bool:
        is_stopped = self.status == "paused" and self.error == STOPPED
        return (self.status in ENDED or is_stopped) and not self.is_short

    @property
    def is_outside(self) -> bool:
        """Whether a provider or service failed it, which says nothing about the variant."""
        return self.status == "failed" and self.error in OUTSIDE | REFUSED


def digest(*parts: object) -> str:
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def key_prefix(name: str, generation: int | None = None) -> str:
    plain = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
    return f"{PREFIX}{plain}:" + ("" if generation is None else f"{generation}:")


def is_grading(key: str) -> bool:
    """Returns whether the run of this key grades a result."""
    return key.rpartition(":")[2].startswith("grade-")


def blocks_of(
    experiment: Experiment, prepared: Mapping[str, Prepared], settings: Settings, generation: int
) -> list[list[Trial]]:
    """Returns all trials: a block for each case, in file order; inside it, in a drawn order."""
    prefix = key_prefix(experiment.name, generation)
    hashes = {
        name: (content_hash(to_json(one.workflow)), models_of(one.workflow, settings))
        for name, one in prepared.items()
    }
    limits: dict[str, float | None] = {}
    for name, one in prepared.items():
        both = (experiment.trial_budget, one.workflow.limits.cost_usd)
        limits[name] = min((limit for limit in both if limit is not None), default=None)
    blocks = []
    for case in experiment.cases:
        block = []
        for name, one in prepared.items():
            own = inputs_of(one.workflow, case, experiment.inputs) | one.variant.inputs
            for number in range(1, experiment.repeat + 1):
                key = digest(hashes[name], case.id, own, number, experiment.explore)
                block.append(Trial(case, name, number, own, prefix + key, limits[name]))
        random.Random(f"{experiment.order_seed} {case.id}").shuffle(block)
        blocks.append(block)
    return blocks


def labels_of(name: str, trial: Trial | None = None) -> dict[str, str]:
    """Returns the labels of runs for lists; a blind grading has only the experiment's name."""
    labels = {"experiment": name}
    if trial is not None:
        labels |= {"case": trial.case.id, "variant": trial.variant, "repeat": str(trial.number)}
    return labels


def generation_of(store: SqliteStore, name: str) -> int:
    """Returns the newest generation of an experiment; 0 if it has no run yet."""
    prefix = key_prefix(name)
    newest = store.list_runs(RunFilter(key=prefix), 1)
    parts = newest[0].key.removeprefix(prefix).split(":") if newest else ["0"]
    return int(parts[0]) if parts[0].isdigit() else 0


def rows_of(store: SqliteStore, name: str, generation: int) -> dict[str, RunRow]:
    """Returns all runs of an experiment by key: trials and gradings."""
    which = RunFilter(key=key_prefix(name, generation))
    return {row.key: row for row in store.list_runs(which, 2**31)}


def runs_by_name(store: SqliteStore) -> dict[str, list[RunRow]]:
    """Returns the runs of all experiments, by the names of these in keys."""
    runs: dict[str, list[RunRow]] = {}
    for row in store.list_runs(RunFilter(key=PREFIX), 2**31):
        runs.setdefault(row.key.removeprefix(PREFIX).partition(":")[0], []).append(row)
    return runs


def is_steered(store: SqliteStore, row: RunRow) -> bool:
    """Returns whether a person has changed the outcome of a trial."""
    return any(True for _ in store.read(row.id, kinds=_STEERED))


def cost_of(rows: Iterable[RunRow]) -> float | None:
    """Returns what runs cost together, or None if no call of theirs had a known price."""
    costs = [(row.cost_usd, row.unpriced_calls) for row in rows]
    return known_cost(sum(paid for paid, _ in costs), sum(unpriced for _, unpriced in costs))


def doubt_usd(store: SqliteStore, row: RunRow) -> float:
    """Returns the charge for a run's calls in doubt: a crash has spent that, not the trial."""
    doubts = store.read(row.id, kinds=frozenset({"task.in_doubt"})) if row.in_doubt else ()
    reserves: list[Any] = [entry.event.body.get("reserve") or {} for entry in doubts]
    return sum(amount_in(reserve.get("cost_usd")) for reserve in reserves)


def is_short(store: SqliteStore, row: RunRow) -> bool:
    """Returns whether its cost budget has stopped a run, or cut an answer so that it failed."""
    if row.budget_usd is None or row.status not in ("paused", "failed"):
        return False
    body: dict[str, Any] = {}
    for entry in store.read(row.id, kinds=_SHORTAGE):
        body = entry.event.body
    if row.status == "failed":
        return is_cut(body.get("error") or {})
    return body.get("scope") == "run" and body.get("limit") == "cost_usd"


def lacks_money(store: SqliteStore, trial: Trial, row: RunRow) -> bool:
    """Returns whether a trial was stopped for lack of money that its files allow it to spend."""
    own_usd = inf if trial.limit_usd is None else trial.limit_usd + doubt_usd(store, row)
    return own_usd > (row.budget_usd or 0.0) + NOTHING and is_short(store, row)


def is_outside_failure(store: SqliteStore, row: RunRow) -> bool:
    """Returns whether a run failed because of a provider or service, in any of its parts."""
    return row.status == "failed" and is_outside(end_of(store, row.id).get("error") or {})


def end_of(store: SqliteStore, run: RunId) -> dict[str, Any]:
    """Returns what the journal says at the last end of a run; {} if it has not ended."""
    ends = [entry.event.body for entry in store.read(run, kinds=_FINISHED)]
    return dict(ends[-1]) if ends else {}


def outcome_of(store: SqliteStore, trial: Trial, row: RunRow | None) -> Outcome:
    if row is None:
        return Outcome(trial)
    outcome = Outcome(trial, row.id, row.status, cost_usd=row.cost_usd, seconds=row.seconds)
    outcome.in_doubt = row.in_doubt
    if row.status not in (*ENDED, "paused"):
        return outcome
    # Costs by loop and iteration; a retried iteration has the sum of its attempts.
    used: dict[str, dict[str, float]] = {}
    extra: dict[str, float] = {}
    for entry in store.read(row.id, kinds=_ENDS):
        body: dict[str, Any] = entry.event.body
        address = entry.event.address
        match entry.event.kind:
            case "run.finished":
                outcome.outputs = body.get("outputs") or {}
                outcome.unpriced = unpriced_in(body)
                error = body.get("error") or {}
                outcome.error, outcome.message = error.get("code", ""), error.get("message", "")
                # If a provider failed, the step, the iteration and the run have the code R100.
                outcome.error = root_of(error)["code"] if is_outside(error) else outcome.error
                outcome.error = STOPPED if is_cut(error) else outcome.error
            case "warning" if row.status == "paused" and body.get("code") == STOPPED:
                # The warning names the call that the budget does not allow.
                outcome.error, outcome.message = STOPPED, str(body.get("message", ""))
            case "iteration.finished":
                loop = address.rpartition("[")[0]
                cost_usd = (body.get("usage") or {}).get("cost_usd") or 0.0
                used.setdefault(loop, {})[address] = cost_usd
                if body.get("score") is not None and "[" not in loop:
                    outcome.scores[body["number"]] = body["score"]
            case "loop.finished" if "[" not in address:
                # Reports show the first outermost loop, by its last end.
                if outcome.loop in ("", address):
                    outcome.loop, outcome.iterations = address, body["iterations"]
                    outcome.exit_reason = body["exit_reason"]
                    outcome.stopped_by = body["stopped_by"] or ""
                    outcome.returned = body["returned_iteration"]
                if "explored" in body:
                    loop_usd = body["usage"].get("cost_usd") or 0
                    extra[address] = max(0.0, sum(used.get(address, {}).values()) - loop_usd)
    outcome.extra_usd = sum(extra.values())
    outcome.cost_usd = max(0.0, outcome.cost_usd - outcome.extra_usd)
    if lacks_money(store, trial, row):
        outcome.is_short, outcome.status = True, "paused"
    return outcome


def unpriced_in(finished: dict[str, Any]) -> int:
    """Returns how many calls of a finished run had no known price."""
    return int((finished.get("usage") or {}).get("unpriced") or 0)


# Graders: they give a result a grade from 0 to 1.

_RENAMED = {"results": "step_results"}
GRADE = "grade"
SOLVED = 0.5
# Replaces the outputs of a run that would have failed.
FAILED: Any = object()
LEFT_OUT = "does not grade runs that fail"


@dataclass(frozen=True, slots=True)
class Grade:
    """The grade of a result. Without a value, it has the reason in `fault`.

    `votes` are those of a judge, in order; `run` is the run that graded. `is_priced`: the cost of
    that run is known.
    """

    value: float | None
    fault: str = ""
    run: str = ""
    votes: tuple[bool | None, ...] = ()
    is_priced: bool = True


def reads_outputs(grader: Grader) -> bool:
    """Returns whether a grader may read the outputs of the run."""
    return "outputs" in json.dumps(grader.fields)


def is_known(grader: Grader, names: dict[str, Any]) -> bool:
    """Returns whether the values that a grader reads are known; outputs may be unknown."""
    return names["outputs"] is not None or not reads_outputs(grader)


def checked(value: Any) -> Grade:
    """Returns the grade for a grader's value; anything but a number from 0 to 1 is a fault."""
    if isinstance(value, int | float) and 0 <= value <= 1:
        return Grade(float(value))
    return Grade(None, f"gave {to_text(value)[:60]!r}: a grade is from 0 to 1")


def grade_free(grader: Grader, names: dict[str, Any]) -> Grade:
    """Returns the grade of an expression, or of a comparison."""
    try:
        if grader.kind == "expression":
            return checked(evaluate(expression_of(grader.fields["test"]), MappingScope(names)))
        wanted, found = (_text(filled(grader.fields[n], names), grader) for n in ("equals", "of"))
    except (LanguageError, KeyError) as fault:
        return Grade(None, f"failed: {fault}")
    return Grade(float(wanted == found))


def _text(value: Any, grader: Grader) -> str:
    text, ignored = to_text(value), grader.fields.get("ignore") or ()
    if "case" in ignored:
        text = text.casefold()
    return " ".join(text.split()) if "space" in ignored else text


def _names_read(grader: Grader) -> list[str]:
    """Returns the names that a grader reads, so that only their values decide if it runs again."""
    read: set[str] = set()

    def look(text: str) -> None:
        with suppress(LanguageError):
            read.update(use.name for use in free_names(expression_of(text)))

    with_templates(grader.fields, look)
    return sorted(read & set(NAMES))


def grading_key(
    experiment: Experiment, grader: Grader, names: dict[str, Any], generation: int
) -> tuple[str, dict[str, Any]]:
    """Returns the key and the input of the run that grades a result."""
    shown = {name: names[name] for name in _names_read(grader)}
    key = digest("grade", *_identity(grader), shown, names["case"])
    given = {_RENAMED.get(name, name): value for name, value in shown.items()}
    return f"{key_prefix(experiment.name, generation)}grade-{key}", given


def grader_digest(grader: Grader) -> str:
    """Returns a digest of a grader, which does not depend on its name."""
    return digest("grader", *_identity(grader))


def _identity(grader: Grader) -> tuple[str, dict[str, Any], str]:
    version = "" if grader.function is None else getattr(grader.function, "__qualname__", "")
    return grader.kind, grader.fields, version


def grading_workflow(project: Project, experiment: Experiment, grader: Grader) -> Workflow:
    """Returns the workflow that grades one result with a paid grader, or by a person."""
    shown = tuple(_RENAMED.get(name, name) for name in _names_read(grader))
    # A grader sees `results`, a name that has another meaning in workflows.
    rename = partial(re.sub, r"\bresults\b", _RENAMED["results"])
    fields, name = with_templates(grader.fields, rename), f"grade-{grader.name}"
    if grader.kind == "judge":
        return _judging(fields, name, shown)
    step: dict[str, Any] = dict(fields)
    output = "{{ grade }}"
    if grader.kind == "ask":
        step.setdefault("returns", {GRADE: "number"})
        output = "{{ grade.grade }}"
    elif grader.kind == "run":
        output = "{{ grade.exit_code == 0 }}"
    elif grader.kind == "person":
        step = {"approve": {"message": fields["person"], "show": fields.get("show")}}
        output = "{{ grade.approved }}"
    document = {"whorl": 1, "name": name, "inputs": dict.fromkeys(shown, "any")}
    document |= {"steps": {GRADE: step}, "outputs": {GRADE: output}}
    try:
        return project.read_text(json.dumps(document), experiment.file).workflow
    except InvalidWorkflow as fault:
        words = f"grader {grader.name!r}: "
        wrong = [Diagnostic(d.code, words + d.message, help=d.help) for d in fault.diagnostics]
        raise InvalidWorkflow(wrong) from None


def _judging(fields: dict[str, Any], name: str, shown: tuple[str, ...]) -> Workflow:
    """Returns a workflow that asks for all votes of a judge, since all are data about it."""
    asked: list[tuple[str | Expression, ir.Value]] = [
        ("question", _value(str(fields["judge"]))),
        ("text", _value(str(fields.get("of", "{{ outputs }}")))),
        ("vote", Expression("template", "{{ vote }}")),
    ]
    if fields.get("model"):
        asked.append(("model", ir.Constant(fields["model"])))
    judge = ir.Task(name="judge", kind="judge", inputs=ir.Fields(tuple(asked)))
    votes = ir.Constant(list(range(1, int(fields.get("votes", 1)) + 1)))
    each = ir.ForEach(name="votes", items=votes, item_name="vote", body=ir.Block((judge,)))
    return ir.Workflow(
        name=name,
        body=ir.Block((each,)),
        inputs=tuple(ir.Port(name=port) for port in shown),
        outputs=((GRADE, Expression("template", "{{ votes }}")),),
    )


def _value(text: str) -> ir.Value:
    return Expression("template", text) if "{{" in text else ir.Constant(text)


def grade_from(store: SqliteStore, grader: Grader, row: RunRow | None) -> Grade | None:
    """Returns the grade that a run gave, or None if it has not ended."""
    if row is None or row.status not in ENDED:
        return None
    body = end_of(store, row.id)
    given = (body.get("outputs") or {}).get(GRADE)
    grade = _voted(given) if grader.kind == "judge" else checked(given)
    if row.status != "succeeded":
        error = body.get("error") or {}
        fault = f"failed: {error.get('message', row.status)}"
        grade = Grade(None, fault)
    return replace(grade, run=row.id, is_priced=not unpriced_in(body))


def _voted(given: Any) -> Grade:
    """Returns the share of yes among all votes, or a fault if all votes are unclear."""
    found = [item.get("judge", item) if isinstance(item, dict) else {} for item in given or []]
    answers = [answer if isinstance(answer, dict) else {} for answer in found]
    verdicts = [answer.get("verdict") for answer in answers]
    votes = tuple({"met": True, "not_met": False}.get(str(each)) for each in verdicts)
    if not votes:
        return Grade(None, "gave no vote")
    if all(vote is None for vote in votes):
        why = [str(a.get("answer")) for a in answers if a.get("verdict") == "inconclusive"]
        return Grade(None, why[0] if why else "answered neither yes nor no", votes=votes)
    return Grade(sum(vote is True for vote in votes) / len(votes), votes=votes)


@dataclass(slots=True)
class Graded:
    """A trial with its grades by grader; `is_solved` is unknown (None) if a grade is missing."""

    outcome: Outcome
    grades: dict[str, Grade | None] = field(default_factory=dict)
    is_solved: bool | None = None

    def value(self, grader: str) -> float | None:
        grade = self.grades.get(grader)
        return None if grade is None else grade.value


class Collection:
    """The runs of one generation of an experiment, and the grades that are read from them."""

    def __init__(
        self,
        store: SqliteStore,
        experiment: Experiment,
        rows: Mapping[str, RunRow],
        generation: int,
    ) -> None:
        self.store, self.experiment = store, experiment
        self._rows, self._generation = rows, generation
        # If a grader reads the steps of an iteration, the journal has to be folded.
        graders = experiment.graders.values()
        self._reads_results = any("results" in json.dumps(grader.fields) for grader in graders)

    def graded(self, trial: Trial) -> Graded:
        outcome = outcome_of(self.store, trial, self._rows.get(trial.key))
        found, graders = Graded(outcome), self.experiment.graders
        if outcome.status == "succeeded":
            names = self.names(outcome)
            found.grades = {name: self.grade(one, names) for name, one in graders.items()}
            found.is_solved = self.is_solved({name: found.value(name) for name in graders})
        elif outcome.is_done and not outcome.is_outside and (grade := self._failed_grade()):
            # A run that failed by itself is a result. A run that a provider failed is left out.
            found.grades, found.is_solved = dict.fromkeys(graders, grade), False
        return found

    def _failed_grade(self) -> Grade | None:
        return Grade(0.0, "the run failed") if self.experiment.on_failure == "zero" else None

    def names(self, outcome: Outcome, results: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns the values that graders see of a trial, or of these results of an iteration."""
        if results is None and self._reads_results and outcome.run and outcome.returned:
            place = numbered(outcome.loop, outcome.returned)
            seen: Any = look_into(self.store, outcome.run, frozenset({place}))
            results = seen.get(place, {}).get("results", {})
        return {
            "case": outcome.trial.case.row,
            "inputs": outcome.trial.inputs,
            "outputs": outcome.outputs,
            "results": results or {},
            "run": {name: getattr(outcome, name) for name in RUN_FACTS},
        }

    def grade(self, grader: Grader, names: dict[str, Any]) -> Grade | None:
        """Returns the grade of a result, or None if it is missing or its subject is unknown."""
        if names["outputs"] is FAILED:
            return self._failed_grade() or Grade(None, LEFT_OUT)
        if not is_known(grader, names):
            return None
        if grader.is_free:
            return grade_free(grader, names)
        key, _ = grading_key(self.experiment, grader, names, self._generation)
        return grade_from(self.store, grader, self._rows.get(key))

    def wanted(self, names: dict[str, Any]) -> Iterator[tuple[Grader, str, dict[str, Any]]]:
        """Yields the results that need a grading run: the grader, the key and the input."""
        for grader in self.experiment.graders.values():
            is_there = names["outputs"] is not FAILED and is_known(grader, names)
            if not grader.is_free and is_there:
                yield grader, *grading_key(self.experiment, grader, names, self._generation)

    def is_solved(self, grades: dict[str, float | None]) -> bool | None:
        main = grades.get(self.experiment.main_grader)
        if not self.experiment.solved:
            return None if main is None else main >= SOLVED
        known: Any = {name: value for name, value in grades.items() if value is not None}
        try:
            return bool(evaluate(Expression("jinja", self.experiment.solved), MappingScope(known)))
        except LanguageError:
            return None
