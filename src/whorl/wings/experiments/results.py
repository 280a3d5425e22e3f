"""An experiment with the results of its runs so far: reports, sweeps over rules, and their facts.

It only reads: it starts nothing and makes no call.
"""

from __future__ import annotations

import math
from shlex import quote
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError
from whorl.ir import Loop
from whorl.ir.walk import walk
from whorl.wings.experiments.graders import Collection, Graded, is_known, reads_outputs
from whorl.wings.experiments.report import (
    Commands,
    Report,
    cost_words,
    no_grade,
    nothing_ended,
    report_of,
    steered_words,
    tell_of_costs,
    tell_of_trials,
)
from whorl.wings.experiments.trials import (
    EXACT_USD,
    blocks_of,
    generation_of,
    is_steered,
    is_trial,
    rows_of,
)
from whorl.wings.experiments.variants import fails_with, loop_named, prepare, workflow_named
from whorl.wings.experiments.what_if.evaluate import GONE_ON
from whorl.wings.experiments.what_if.loop_facts import Subject, atoms_in, facts_of
from whorl.wings.experiments.what_if.query import IterationOutputs
from whorl.wings.experiments.what_if.sweep import NO_GRADE, Sweep, default_rules, sweep_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whorl.ir import Workflow
    from whorl.providers.settings import Settings
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project
    from whorl.wings.experiments.document import Experiment
    from whorl.wings.experiments.trials import Outcome
    from whorl.wings.experiments.what_if.evaluate import Rule
    from whorl.wings.experiments.what_if.loop_facts import LoopFacts


class Study:
    """One generation of an experiment, as the store has it."""

    def __init__(
        self,
        project: Project,
        store: SqliteStore,
        experiment: Experiment,
        settings: Settings,
        commands: Commands | None = None,
        *,
        generation: int = 1,
    ) -> None:
        """`commands` run the experiment; they are for users who ask before it has run.

        The generation is the newest one, or `generation`, which may have no run yet.
        """
        self.project, self.store, self.experiment = project, store, experiment
        self._settings = settings
        command = f"whorl experiment run {quote(experiment.file.removeprefix(f'{project.root}/'))}"
        self._commands = commands or Commands(command, f"{command} --fresh")
        self.prepared = prepare(project, experiment)
        self.generation, self._least = 0, generation
        self.refresh()

    def refresh(self) -> None:
        """Reads the runs again."""
        generation = max(self._least, generation_of(self.store, self.experiment.name))
        if generation != self.generation:
            self.generation = generation
            self.blocks = blocks_of(self.experiment, self.prepared, self._settings, generation)
        self.rows = rows_of(self.store, self.experiment.name, generation)
        self.collection = Collection(self.store, self.experiment, self.rows, generation)
        self._graded: list[list[Graded]] | None = None

    @property
    def graded(self) -> list[list[Graded]]:
        """All trials with their grades, except those that a person has steered."""
        if self._graded is None:
            graded, known = self.collection.graded, (t.key for block in self.blocks for t in block)
            rows = {key: row for key in known if (row := self.rows.get(key)) is not None}
            out = {key: row.id for key, row in rows.items() if is_steered(self.store, row)}
            self._graded = [[graded(t) for t in block if t.key not in out] for block in self.blocks]
            self._steered = steered_words([*out.values()])
        return self._graded

    @property
    def steered(self) -> list[str]:
        """Notes on the trials that are left out."""
        return self._steered if self.graded else []

    @property
    def commands(self) -> Commands:
        """The commands that continue it, with a larger budget if the current one is too small."""
        return self._commands.with_budget(self.more_usd(), self.experiment.budget)

    def more_usd(self, needs_usd: float = 0.0) -> float | None:
        """Returns the dollars beyond the file's budget that are enough; None: no more is needed.

        It is twice what the next part needs, or as much again as is spent. For a paused run,
        `needs_usd` is the need of that part, in all.
        """
        experiment, spent_usd = self.experiment, sum(row.cost_usd for row in self.rows.values())
        limited = (k for k, row in self.rows.items() if row.budget_usd is not None)
        has_own = experiment.trial_budget is not None
        if (
            experiment.budget is None
            and not needs_usd
            and all(has_own and is_trial(k) for k in limited)
        ):
            return None
        needs_usd = max(needs_usd, spent_usd)
        if experiment.budget is not None and needs_usd <= experiment.budget + EXACT_USD:
            return None
        wanted_usd = needs_usd + max(spent_usd, needs_usd - spent_usd)
        return math.ceil(100 * (wanted_usd - (experiment.budget or 0.0))) / 100

    def _flat(self, variant: str = "") -> list[Graded]:
        """Returns all trials, or those of a variant."""
        flat = (one for block in self.graded for one in block)
        return [one for one in flat if variant in ("", one.outcome.trial.variant)]

    def report(self) -> Report:
        spent, of = sum(row.cost_usd for row in self.rows.values()), self._flat()
        parts = (self.experiment, self.store, of, self.rows)
        words = [*self.steered, *cost_words(*parts)]
        return report_of(self.experiment, self.graded, spent, self.others, words)

    @property
    def others(self) -> int:
        """How many of its runs are of cases, variants or versions that the file no longer has."""
        known = {trial.key for block in self.blocks for trial in block}
        return sum(key not in known and is_trial(key) for key in self.rows)

    def loop(self, name: str = "", variant: str = "") -> Loop:
        return loop_named(self.experiment, self.prepared, name, variant)

    def loops(self) -> list[str]:
        """Returns the loops of the baseline; the explored ones come first."""
        names = [node.name for _, node in walk(self.workflow().body) if isinstance(node, Loop)]
        return list(dict.fromkeys([*self.experiment.explore, *names]))

    def workflow(self, variant: str = "") -> Workflow:
        return workflow_named(self.experiment, self.prepared, variant)

    def sweep(
        self, name: str = "", variant: str = "", rules: Sequence[Rule] | None = None
    ) -> Sweep:
        """Returns what rules would have given and cost over the recorded runs of a variant."""
        loop = self.loop(name, variant)
        subjects = self.subjects(loop, variant, rules)
        flat = self._flat(variant or self.experiment.baseline)
        outcomes, margin = [one.outcome for one in flat], self.experiment.margin
        if not subjects:
            self.check_ended(variant or self.experiment.baseline)
            words = f"no run of experiment {self.experiment.name!r} has reached loop {loop.name!r}"
            raise UsageError(words, help=self.commands.run, code="X109")
        rules = default_rules(loop, subjects) if rules is None else rules
        found = sweep_of(loop, subjects, rules, margin=margin)
        tell_of_trials(found, outcomes, self.commands)
        tell_of_costs(found, self.store, flat)
        found.words += self.steered
        if not found.rules:
            why, longest = found.not_ranked[0].why, max(len(s.facts.iterations) for s in subjects)
            if why == NO_GRADE:
                raise no_grade(self.experiment, self.commands, len(subjects))
            words = f"no rule is answered by all {len(subjects)} runs: {why}"
            advice = f"record longer ones: explore: {{{loop.name}: {max(8, longest + 3)}}}"
            advice = advice if why.startswith(GONE_ON) else ""
            raise UsageError(words, help=advice, code="X109" if advice else "X106")
        return found

    def subjects(
        self, loop: Loop, variant: str = "", rules: Sequence[Rule] | None = None
    ) -> list[Subject]:
        """Returns the recorded runs of a variant, with the facts and grades of their iterations."""
        name = variant or self.experiment.baseline
        atoms = atoms_in([loop.until, *(rule.until for rule in rules or ())])
        names = {n: fact for rule in rules or () for n, fact in rule.names}
        options: Any = {"loop": loop.name, "names": names, "keep_results": True}
        is_zero = self.experiment.on_failure == "zero" and fails_with(self.workflow(name), loop)
        failed = 0.0 if is_zero else None
        main, is_solved = self.experiment.main_grader, self.collection.is_solved
        subjects = []
        for outcome in self.ended(name):
            assert outcome.run is not None
            group = outcome.trial.case.group if self.experiment.is_grouped else ""
            for facts in facts_of(self.store, outcome.run, atoms, **options)[:1]:
                grades = self._grades(facts, loop, outcome, name)
                solved = frozenset(n for n, grade in grades.items() if is_solved({main: grade}))
                of = (outcome.trial.case.id, group, solved, failed)
                subjects.append(Subject(facts, grades, *of, is_priced=not outcome.unpriced))
        return subjects

    def check_ended(self, variant: str = "") -> None:
        """Raises UsageError if no trial has ended, of any variant or of this one."""
        names = [variant] if variant else [*self.prepared]
        if not any(True for name in names for _ in self.ended(name)):
            outcomes = [one.outcome for one in self._flat()]
            ended = [outcome for outcome in outcomes if outcome.trial.variant in names]
            raise nothing_ended(self.experiment.name, self.commands, ended, self.others)

    def ended(self, variant: str) -> Iterator[Outcome]:
        outcomes = (one.outcome for one in self._flat(variant))
        return (each for each in outcomes if each.is_done and not each.is_outside)

    def _grades(
        self, facts: LoopFacts, loop: Loop, outcome: Outcome, variant: str
    ) -> dict[int, float]:
        grader, grades = self.experiment.graders[self.experiment.main_grader], {}
        workflow = self.workflow(variant)
        for number, names in iteration_names(self.collection, workflow, loop, outcome, facts):
            if not is_known(grader, names):
                words = f"steps after {loop.name!r} decide the outputs, so those of another "
                words += "iteration are not known"
                advice = "grade `results` of the iteration instead of `outputs`"
                raise UsageError(words, help=advice, code="X106")
            grade = self.collection.grade(grader, names)
            if grade is not None and grade.value is not None:
                grades[number] = grade.value
        return grades


def iteration_names(
    collection: Collection, workflow: Workflow, loop: Loop, outcome: Outcome, facts: LoopFacts
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields what graders see of each iteration, as if the loop had returned that one.

    Outputs are None if they are unknown, or if no grader reads them. They are FAILED if the run
    would have failed; this is checked for a failed run.
    """
    usual = collection.names(outcome)
    outputs = IterationOutputs(collection.store, workflow, loop, outcome)
    is_asked = any(map(reads_outputs, collection.experiment.graders.values()))
    for number, results in facts.results.items():
        names = dict(usual) | {"results": results}
        # A failed run has no outputs, even if its loop returned an iteration.
        has_failed = outcome.status != "succeeded"
        if number != outcome.returned or has_failed:
            names["outputs"] = outputs.of(number, results) if is_asked or has_failed else None
        yield number, names
