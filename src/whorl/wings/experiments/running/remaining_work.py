"""What remains to be done for an experiment: which trials and gradings are missing, by its runs.

It counts what is there, and what each case has cost.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from whorl.lazily import dataclass
from whorl.services.files.preflight import find_loop
from whorl.wings.experiments.results import iteration_names
from whorl.wings.experiments.running.cost_bounds import Bound
from whorl.wings.experiments.trials import (
    ENDED,
    RESUMES_MAX,
    is_outside_failure,
    is_short,
    outcome_of,
)
from whorl.wings.experiments.what_if.loop_facts import facts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whorl.runtimes.journal.journal import RunRow
    from whorl.wings.experiments.document import Grader
    from whorl.wings.experiments.graders import Collection
    from whorl.wings.experiments.running.cost_bounds import Bounds
    from whorl.wings.experiments.trials import Outcome, Trial
    from whorl.wings.experiments.variants import Prepared


@dataclass(frozen=True, slots=True)
class Work:
    """What is still to do for a trial: it is run, or so many of its gradings are missing.

    `own_usd` is what its run, which was begun, may still spend by the limit that it has.
    `spent_usd` is what it has spent; `is_short`: that was not enough. `graders` are those of the
    gradings.
    """

    bound: Bound
    is_run: bool = False
    gradings: int = 0
    own_usd: float | None = None
    spent_usd: float = 0.0
    is_short: bool = False
    graders: tuple[str, ...] = ()


class Remaining:
    """Looks at the runs of one generation of an experiment, and counts those that end."""

    def __init__(
        self,
        collection: Collection,
        prepared: Mapping[str, Prepared],
        bounds: Bounds,
        rows: Mapping[str, RunRow],
        blocks: list[list[Trial]],
    ) -> None:
        """`rows` are the runs by key; who conducts the experiment adds to them."""
        self._collection, self._store = collection, collection.store
        self._experiment, self._prepared = collection.experiment, prepared
        self._bounds, self._rows = bounds, rows
        self._open_trials = {block[0].case.id: len(block) for block in blocks}
        self._case_usd = dict.fromkeys(self._open_trials, 0.0)
        self._charged: dict[str, float] = {}
        self._claimed: set[str] = set()
        self._counted: set[str] = set()
        # How often gradings that the outside failed were tried again.
        self.tries: dict[str, int] = {}
        variants = dict.fromkeys(prepared, 0)
        self.progress = Progress(self._experiment.trials, len(blocks), variants=variants)
        self.progress.spent_usd = sum(row.cost_usd for row in rows.values())
        # Trials of variants that are alike have one run.
        self._alike: dict[str, list[Trial]] = {}
        for trial in (trial for block in blocks for trial in block):
            self._alike.setdefault(trial.key, []).append(trial)
        self.trials = [alike[0] for alike in self._alike.values()]
        self.work = {trial.key: work for trial in self.trials if (work := self._look(trial))}
        self.progress.others_usd = self.progress.spent_usd - sum(self._case_usd.values())
        self.progress.before = self.progress.done

    def forecast(self) -> Forecast:
        work = self.work.values()
        all_ = sum((one.bound for one in work), Bound())
        missing = (trial for trial in self.trials if trial.key in self.work)
        about_usd = sum(self._about_usd(trial, self.work[trial.key]) for trial in missing)
        return Forecast(
            self._experiment.trials,
            sum(one.is_run for one in work),
            sum(one.gradings for one in work),
            all_.calls,
            about_usd or None,
            all_.is_limit,
            tuple(self._bounds.unpriced),
        )

    def _about_usd(self, trial: Trial, work: Work) -> float:
        """What is still to come of a trial: what was paid already says more than an estimate."""
        if work.is_run:
            spent_usd, is_short = work.spent_usd, work.is_short
            return self._bounds.about_usd(trial.variant, spent_usd, is_short=is_short)
        if work.bound.is_limit:
            return work.bound.cost_usd
        return max(work.bound.cost_usd, sum(map(self._bounds.grading_usd, work.graders)))

    def _look(self, trial: Trial) -> Work | None:
        """What is still to do for a trial; one that needs nothing more is counted."""
        row = self._rows.get(trial.key)
        if row is None:
            return Work(self._bounds.whole(trial.variant), is_run=True)
        self.charge(trial, trial.key)
        outcome = outcome_of(self._store, trial, row)
        if not outcome.is_done or self.is_tried_again(outcome):
            bound = self._bounds.trials[trial.variant].without(row.cost_usd)
            own_usd = None
            if row.budget_usd is not None and not outcome.is_short:
                own_usd = max(0.0, row.budget_usd - row.cost_usd)
            whole = bound + self._bounds.graded(trial.variant)
            work = Work(whole, is_run=True, own_usd=own_usd)
            return replace(work, spent_usd=row.cost_usd, is_short=outcome.is_short)
        missing: dict[str, Grader] = {}
        for grader, key, _ in self._wanted(outcome):
            self.charge(trial, key)
            missing |= {} if self.is_graded(key) else {key: grader}
        if not missing:
            self.count(trial)
            self.complete(trial)
            return None
        # Equal results of a case share a grading.
        new = {
            key: self._bounds.gradings[missing[key].name] for key in missing.keys() - self._claimed
        }
        self._claimed |= new.keys()
        left = (self._left_of(key, bound) for key, bound in new.items())
        graders = tuple(missing[key].name for key in new)
        return Work(sum(left, Bound()), gradings=len(new), graders=graders)

    def _left_of(self, key: str, bound: Bound) -> Bound:
        """What a grading may still cost: one that was begun, as much as its limit leaves."""
        row, left = self._rows.get(key), bound.without(self.cost(key))
        if row is None or row.budget_usd is None or is_short(self._store, row):
            return left
        return replace(left, cost_usd=max(left.cost_usd, row.budget_usd - row.cost_usd))

    def cost(self, key: str) -> float:
        return self._rows[key].cost_usd if key in self._rows else 0.0

    def charge(self, trial: Trial, key: str) -> None:
        """Counts what a run has cost so far as a cost of its case, once."""
        if key in self._rows:
            self._case_usd[trial.case.id] += self.cost(key) - self._charged.get(key, 0.0)
            self._charged[key] = self.cost(key)

    def is_tried_again(self, outcome: Outcome) -> bool:
        """Whether the outside has failed a trial that may be tried again."""
        if not outcome.is_outside or outcome.run is None:
            return False
        resumed = self._store.read(outcome.run, kinds=frozenset({"run.resumed"}))
        return sum(1 for _ in resumed) < RESUMES_MAX

    def missing(self, trial: Trial) -> list[tuple[Grader, str, dict[str, Any]]]:
        """The gradings that a trial lacks: of those who are paid for it, and of people."""
        self.charge(trial, trial.key)
        if not self._bounds.gradings:
            return []
        outcome = outcome_of(self._store, trial, self._rows[trial.key])
        wanted = {key: (grader, key, shown) for grader, key, shown in self._wanted(outcome)}
        return [one for key, one in wanted.items() if not self.is_graded(key)]

    def _wanted(self, outcome: Outcome) -> Iterator[tuple[Grader, str, dict[str, Any]]]:
        """All gradings of a trial that have, or should have, a run: grader, key and input."""
        if self._bounds.gradings and outcome.status == "succeeded":
            for names in self._subjects(outcome):
                yield from self._collection.wanted(names)

    def _subjects(self, outcome: Outcome) -> Iterator[dict[str, Any]]:
        """What is graded of a trial: what it returned, and of an exploring one every iteration."""
        yield self._collection.names(outcome)
        loops = self._experiment.explore
        if not loops or self._experiment.grade_iterations == "returned":
            return
        workflow = self._prepared[outcome.trial.variant].workflow
        for name in loops:
            loop = find_loop(workflow, name)
            assert outcome.run is not None
            found = facts_of(self._store, outcome.run, {}, loop=name, keep_results=True)
            for facts in found[:1]:
                each = iteration_names(self._collection, workflow, loop, outcome, facts)
                yield from (names for number, names in each if number != outcome.returned)

    def is_graded(self, key: str) -> bool:
        """Whether a grading has ended, or waits for a person; it is counted then."""
        row = self._rows.get(key)
        if row is None or row.status not in (*ENDED, "waiting") or self.goes_on(row):
            return False
        if key not in self._counted:
            self._counted.add(key)
            self.progress.graded += row.status == "succeeded"
            self.progress.people += row.status == "waiting"
            self._bounds.see_grading(row)
        return True

    def goes_on(self, row: RunRow) -> bool:
        """Whether a grading that has failed lacks money, or is tried again."""
        return row.status == "failed" and (is_short(self._store, row) or self.is_failed(row))

    def is_failed(self, row: RunRow) -> bool:
        """Whether the outside has failed a grading that may be tried again by this command."""
        is_left = self.tries.get(row.key, 0) < RESUMES_MAX
        return is_left and is_outside_failure(self._store, row)

    def count(self, trial: Trial) -> None:
        """A trial has ended, and those of other variants that are alike."""
        cost_usd, costs = self.cost(trial.key), self.progress.costs
        for each in self._alike[trial.key]:
            self.progress.done += 1
            self.progress.variants[each.variant] += 1
            costs[each.variant] = costs.get(each.variant, 0.0) + cost_usd
            self._bounds.seen_trials[each.variant].add(cost_usd)

    def complete(self, trial: Trial) -> None:
        """A trial has ended, and all that it gave is graded."""
        self._open_trials[trial.case.id] -= len(self._alike[trial.key])
        if not self._open_trials[trial.case.id]:
            self.progress.whole += 1
            self.progress.whole_usd += self._case_usd[trial.case.id]


# How far an experiment is, and what is still to come: both are told while it runs.


@dataclass(slots=True)
class Progress:
    """How far an experiment is; what ended trials of a variant cost, and how many are running."""

    trials: int
    cases: int
    done: int = 0
    variants: dict[str, int] = field(default_factory=dict)
    costs: dict[str, float] = field(default_factory=dict)
    under_way: dict[str, int] = field(default_factory=dict)
    running: int = 0
    spent_usd: float = 0.0
    budget_usd: float | None = None
    graded: int = 0
    people: int = 0
    # Cases whose trials have all ended and been graded, and what those cost.
    whole: int = 0
    whole_usd: float = 0.0
    # What was spent on runs that are of no case any more.
    others_usd: float = 0.0
    # So many trials were there before it was asked for.
    before: int = 0
    is_paused: bool = False
    # The budget that the trial or grading needs which did not fit.
    needs_usd: float = 0.0

    @property
    def expected_usd(self) -> float | None:
        """What all of it will cost if all cases cost what whole ones did; None without one."""
        if not self.whole or self.whole == self.cases:
            return None
        return self.others_usd + self.whole_usd / self.whole * self.cases


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is still to come of an experiment, told before it starts.

    `left` trials are run, `gradings` grade results that are there. None: nothing bounds the calls;
    nothing is paid for. `is_limit`: it cannot cost more; else it is an estimate of the most.
    `unpriced` models have no known price: what they cost is not in it.
    """

    trials: int
    left: int
    gradings: int
    calls: int | None
    cost_usd: float | None
    is_limit: bool
    unpriced: tuple[str, ...] = ()
