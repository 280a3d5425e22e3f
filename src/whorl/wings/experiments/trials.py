"""Trials: the runs of an experiment, their order, and the outcome of each.

A trial is an ordinary run with a key over all that it depends on. So it is started at most once,
an unchanged trial is not run again, and results are read from the runs by their keys.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import field
from typing import TYPE_CHECKING, Any

from whorl.interpreter.budget import NOTHING
from whorl.interpreter.events import amount_in
from whorl.interpreter.frames import OUTSIDE, REFUSED, is_cut, is_outside, root_of
from whorl.ir import content_hash, to_json
from whorl.lazily import dataclass
from whorl.runtimes.sqlite.listing import EXPERIMENT, RunFilter
from whorl.services.files.forecasting import models_of
from whorl.wings.experiments.document import inputs_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whorl.providers.settings import Settings
    from whorl.runtimes.journal.journal import RunId, RunRow
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.wings.experiments.document import Case, Experiment
    from whorl.wings.experiments.variants import Prepared

PREFIX = EXPERIMENT
ENDED = ("succeeded", "failed", "cancelled")
# How often a run that a provider failed is resumed.
RESUMES_MAX = 3
# Sums of dollars are exact to this.
EXACT_USD = 1e-9
# A budget does not allow a call.
STOPPED = "R103"
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

    def may_have_more(self, row: RunRow, doubt_usd: float = 0.0) -> bool:
        """Returns whether the files allow more than the run's budget, beside calls in doubt."""
        if row.budget_usd is None:
            return False
        return self.limit_usd is None or self.limit_usd + doubt_usd > row.budget_usd + NOTHING


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


def is_trial(key: str) -> bool:
    """Returns whether the run of this key is a trial; keys of gradings name their kind."""
    return "-" not in key.rpartition(":")[2]


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
    limits = {
        name: least(experiment.trial_budget, one.workflow.limits.cost_usd)
        for name, one in prepared.items()
    }
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


def least(*limits: float | None) -> float | None:
    """Returns the smallest of some limits, or None without limits."""
    return min((limit for limit in limits if limit is not None), default=None)


def alike(trials: Iterable[Trial]) -> list[list[str]]:
    """Returns groups of variants that are the same runs in all cases."""
    keys: dict[str, list[str]] = {}
    for trial in trials:
        keys.setdefault(trial.variant, []).append(trial.key)
    names: dict[tuple[str, ...], list[str]] = {}
    for name, own in keys.items():
        names.setdefault(tuple(sorted(own)), []).append(name)
    return [sorted(each) for each in names.values() if len(each) > 1]


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


def is_steered(store: SqliteStore, row: RunRow) -> bool:
    """Returns whether a person has changed the outcome of a trial."""
    return any(True for _ in store.read(row.id, kinds=_STEERED))


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
    return trial.may_have_more(row, doubt_usd(store, row)) and is_short(store, row)


def is_outside_failure(store: SqliteStore, row: RunRow) -> bool:
    """Returns whether a run failed because of a provider or service, in any of its parts."""
    if row.status != "failed":
        return False
    ends = [entry.event.body for entry in store.read(row.id, kinds=frozenset({"run.finished"}))]
    error: Any = ends[-1].get("error") if ends else None
    return is_outside(error or {})


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
                _take_loop(outcome, body, address)
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


def _take_loop(outcome: Outcome, body: dict[str, Any], address: str) -> None:
    """Takes the end of the first outermost loop, which reports show; its last end counts."""
    if outcome.loop not in ("", address):
        return
    outcome.loop, outcome.iterations = address, body["iterations"]
    outcome.exit_reason, outcome.stopped_by = body["exit_reason"], body["stopped_by"] or ""
    outcome.returned = body["returned_iteration"]
