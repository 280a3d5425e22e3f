"""An experiment with what its runs gave so far: reports, sweeps over rules, the facts for both.

It only looks: nothing is started here, and no call is made.
"""

from __future__ import annotations

import math
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Any

from whorl.errors import InvalidWorkflow, UsageError
from whorl.ir import Loop
from whorl.ir.walk import walk
from whorl.providers.registry import Providers
from whorl.wings.experiments import notes
from whorl.wings.experiments.costs import NOTHING, Bounds
from whorl.wings.experiments.graders import (
    Collection,
    Graded,
    grading_workflow,
    is_known,
    reads_outputs,
)
from whorl.wings.experiments.lookup import loop_named, outputs_unknown, workflow_named
from whorl.wings.experiments.notes import Commands, no_answer, tell_of_trials
from whorl.wings.experiments.report import Report, report_of
from whorl.wings.experiments.trials import (
    blocks_of,
    digest,
    generation_of,
    is_grading,
    is_short,
    is_steered,
    is_trial,
    rows_of,
)
from whorl.wings.experiments.variants import fails_with, prepare
from whorl.wings.experiments.what_if.evaluate import GONE_ON
from whorl.wings.experiments.what_if.loop_facts import (
    FOLDER,
    VERSION,
    FactsCache,
    Subject,
    atoms_in,
    facts_of,
)
from whorl.wings.experiments.what_if.query import IterationOutputs
from whorl.wings.experiments.what_if.sweep import NO_GRADE, Sweep, default_rules, sweep_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whorl.ir import Condition, Workflow
    from whorl.ir.nodes import Fact
    from whorl.providers.settings import Settings
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project
    from whorl.wings.experiments.document import Experiment
    from whorl.wings.experiments.graders import Grade
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
        """`commands` run the experiment, for those who ask before it has run.

        It is that of the newest generation, or of this one, which may have no run yet.
        """
        self.project, self.store, self.experiment = project, store, experiment
        self._settings = settings
        command = f"whorl experiment run {quote(experiment.file.removeprefix(f'{project.root}/'))}"
        self._commands = commands or Commands(command, f"{command} --fresh")
        self.prepared = prepare(project, experiment)
        self.generation, self._least = 0, generation
        self.refresh()

    def refresh(self) -> None:
        """Looks at the runs again."""
        generation = max(self._least, generation_of(self.store, self.experiment.name))
        if generation != self.generation:
            self.generation = generation
            self.blocks = blocks_of(self.experiment, self.prepared, self._settings, generation)
        self.rows = rows_of(self.store, self.experiment.name, generation)
        self.collection = Collection(self.store, self.experiment, self.rows, generation)
        self._graded: list[list[Graded]] | None = None

    @property
    def graded(self) -> list[list[Graded]]:
        """All trials with their grades, but those that a person has steered."""
        if self._graded is None:
            graded, known = self.collection.graded, (t.key for block in self.blocks for t in block)
            rows = {key: row for key in known if (row := self.rows.get(key)) is not None}
            out = {key: row.id for key, row in rows.items() if is_steered(self.store, row)}
            self._graded = [[graded(t) for t in block if t.key not in out] for block in self.blocks]
            self._steered = notes.steered([*out.values()])
        return self._graded

    @property
    def steered(self) -> list[str]:
        """Says which trials are left out."""
        return self._steered if self.graded else []

    @property
    def commands(self) -> Commands:
        """What goes on with it, with a larger budget where the one that it has is too small."""
        return self._commands.with_budget(self.more_usd(), self.experiment.budget)

    def more_usd(self, needs_usd: float = 0.0) -> float | None:
        """So many dollars more than the file gives are enough; None: what it gives is enough.

        It is twice what the next part takes, or as much again as is spent. A run that was paused
        says what that part `needs_usd`, in all.
        """
        budget_usd, spent_usd = self.experiment.budget, sum(r.cost_usd for r in self.rows.values())
        if budget_usd is None and not needs_usd and not self._is_limited():
            return None
        needs_usd = max(needs_usd, spent_usd + self._least_usd())
        if budget_usd is not None and needs_usd <= budget_usd + NOTHING:
            return None
        wanted_usd = needs_usd + max(spent_usd, needs_usd - spent_usd)
        return math.ceil(100 * (wanted_usd - (budget_usd or 0.0))) / 100

    def _is_limited(self) -> bool:
        """Whether runs may spend less than the files let them: a budget was given for them."""
        trials = {one.outcome.trial.key: one.outcome.trial for one in self._flat()}
        return any(
            trials[key].may_have_more(row) if key in trials else row.budget_usd is not None
            for key, row in self.rows.items()
            if key in trials or is_grading(key)
        )

    def _least_usd(self) -> float:
        """What has to be left so that any part that is missing can begin, or go on."""
        graders = {
            name: grading_workflow(self.project, self.experiment, grader)
            for name, grader in self.experiment.graders.items()
            if not grader.is_free and grader.function is None
        }
        bounds = Bounds(self.experiment, self.prepared, graders, Providers(self._settings))
        needs = [
            bounds.trial(self.store, one.outcome, self.rows.get(one.outcome.trial.key))
            for one in self._flat()
            if not one.outcome.is_done
        ]
        # Of an iteration that nobody has graded yet, it is not looked up which one that is.
        needs += bounds.gradings.values()
        for key, row in self.rows.items():
            grader = row.name.removeprefix("grade-")
            if is_grading(key) and grader in graders and is_short(self.store, row):
                needs.append(bounds.grading(self.store, grader, row))
        return max((each.cost_usd for each in needs), default=0.0)

    def _flat(self, variant: str = "") -> list[Graded]:
        """All trials, or those of a variant."""
        flat = (one for block in self.graded for one in block)
        return [one for one in flat if variant in ("", one.outcome.trial.variant)]

    def report(self) -> Report:
        spent, of = sum(row.cost_usd for row in self.rows.values()), self._flat()
        parts = (self.experiment, self.store, of, self.rows)
        words = [*notes.failed_gradings(of, self.commands), *notes.cost_words(*parts)]
        words = [*self.steered, *words]
        return report_of(self.experiment, self.graded, spent, self.others, words)

    def is_answered(self) -> bool:
        """Whether what-if has answers: there is a loop, and its iterations can be graded."""
        name = self.experiment.baseline
        try:
            loop = self.loop()
            ended = self.ended(name)
            found = (
                self._grades(f, loop, one, name) for one in ended for f in self._facts(one, loop)
            )
            return bool(next(found, None))
        except (InvalidWorkflow, UsageError):
            return False

    @property
    def others(self) -> int:
        """How many of its runs are of cases, variants or versions that the file has no more."""
        known = {trial.key for block in self.blocks for trial in block}
        return sum(key not in known and is_trial(key) for key in self.rows)

    def loop(self, name: str = "", variant: str = "") -> Loop:
        return loop_named(self.experiment, self.prepared, name, variant)

    def loops(self) -> list[str]:
        """The loops of the baseline, those that are explored first."""
        names = [node.name for _, node in walk(self.workflow().body) if isinstance(node, Loop)]
        return list(dict.fromkeys([*self.experiment.explore, *names]))

    def workflow(self, variant: str = "") -> Workflow:
        return workflow_named(self.experiment, self.prepared, variant)

    def sweep(
        self, name: str = "", variant: str = "", rules: Sequence[Rule] | None = None
    ) -> Sweep:
        """What rules would have given and cost over the recorded runs of a variant."""
        loop = self.loop(name, variant)
        subjects = self.subjects(loop, variant, rules)
        flat = self._flat(variant or self.experiment.baseline)
        outcomes, margin = [one.outcome for one in flat], self.experiment.margin
        of = (self.experiment, self.store, outcomes, self.commands)
        if not subjects:
            self.check_ended(variant or self.experiment.baseline)
            words = f"no run of experiment {self.experiment.name!r} has reached loop {loop.name!r}"
            raise no_answer(words, *of)
        rules = default_rules(loop, subjects) if rules is None else rules
        found = sweep_of(loop, subjects, rules, margin=margin)
        tell_of_trials(found, *of[1:], margin)
        notes.tell_of_costs(found, self.store, flat)
        found.words += self.steered
        if not found.rules:
            why, longest = found.not_ranked[0].why, max(len(s.facts.iterations) for s in subjects)
            if why == NO_GRADE:
                raise self._ungraded(loop, variant or self.experiment.baseline, len(subjects))
            words = f"no rule is answered by all {len(subjects)} runs: {why}"
            advice = f"record longer ones: explore: {{{loop.name}: {max(8, longest + 3)}}}"
            raise no_answer(words, *of, advice=advice if why.startswith(GONE_ON) else "")
        return found

    def _ungraded(self, loop: Loop, variant: str, runs: int) -> UsageError:
        """Which iteration has no grade, why, and what to do about it."""
        lacking = (
            (f"iteration {number} of case {outcome.trial.case.id!r}", grade)
            for outcome in self.ended(variant)
            for facts in self._facts(outcome, loop)
            for number, grade in self._graded_iterations(facts, loop, outcome, variant)
            if grade is None or grade.value is None
        )
        where, grade = next(lacking, ("an iteration", None))
        return notes.no_grade(self.experiment, self.commands, runs, where, grade)

    def _facts(
        self,
        outcome: Outcome,
        loop: Loop,
        atoms: dict[str, Condition] | None = None,
        names: dict[str, Fact] | None = None,
    ) -> Sequence[LoopFacts]:
        """What is known of the iterations of a loop in a run, if the run has reached it."""
        assert outcome.run is not None
        options: Any = {"loop": loop.name, "names": names, "keep_results": True}
        return facts_of(self.store, outcome.run, atoms or {}, **options)[:1]

    def subjects(
        self, loop: Loop, variant: str = "", rules: Sequence[Rule] | None = None
    ) -> list[Subject]:
        """The recorded runs of a variant, with the facts and grades of their iterations."""
        name = variant or self.experiment.baseline
        atoms = atoms_in([loop.until, *(rule.until for rule in rules or ())])
        names = {n: fact for rule in rules or () for n, fact in rule.names}
        folder = self.project.store.parent / FOLDER
        cache = FactsCache(folder, digest(VERSION, sorted(atoms), loop.name))
        is_zero = self.experiment.on_failure == "zero" and fails_with(self.workflow(name), loop)
        failed = 0.0 if is_zero else None
        main, is_solved = self.experiment.main_grader, self.collection.is_solved
        graded = (self.experiment.graders[main].fields, self.experiment.on_failure, self._stamp())
        subjects = []
        for outcome in self.ended(name):
            assert outcome.run is not None
            row = self.rows[outcome.trial.key]
            key = digest(row.last_seq, outcome.trial.case.row, graded)
            kept = cache.get(outcome.run, key)
            if kept is None:
                found = self._facts(outcome, loop, atoms=atoms, names=names)
                if not found:
                    continue
                kept = found[0], self._grades(found[0], loop, outcome, name)
                cache.put(outcome.run, key, *kept)
            facts, grades = kept
            solved = frozenset(n for n, grade in grades.items() if is_solved({main: grade}))
            case = outcome.trial.case
            group = case.group if self.experiment.is_grouped else ""
            made = Subject(facts, grades, case.id, group, solved, name, failed)
            subjects.append(replace(made, is_priced=not outcome.unpriced))
        cache.write()
        return subjects

    def check_ended(self, variant: str = "") -> None:
        """Raises UsageError where no trial has ended, of any variant or of this one."""
        names = [variant] if variant else [*self.prepared]
        if not any(True for name in names for _ in self.ended(name)):
            outcomes = [one.outcome for one in self._flat()]
            ended = [outcome for outcome in outcomes if outcome.trial.variant in names]
            raise notes.nothing_ended(self.experiment.name, self.commands, ended, self.others)

    def _stamp(self) -> int:
        """What changes when a grading ends, where grades come from runs."""
        main = self.experiment.graders[self.experiment.main_grader]
        if main.is_free:
            return 0
        return sum(row.status == "succeeded" for key, row in self.rows.items() if "grade-" in key)

    def ended(self, variant: str) -> Iterator[Outcome]:
        outcomes = (one.outcome for one in self._flat(variant))
        return (each for each in outcomes if each.is_done and not each.is_outside)

    def _grades(
        self, facts: LoopFacts, loop: Loop, outcome: Outcome, variant: str
    ) -> dict[int, float]:
        found = self._graded_iterations(facts, loop, outcome, variant)
        return {n: grade.value for n, grade in found if grade and grade.value is not None}

    def _graded_iterations(
        self, facts: LoopFacts, loop: Loop, outcome: Outcome, variant: str
    ) -> Iterator[tuple[int, Grade | None]]:
        grader = self.experiment.graders[self.experiment.main_grader]
        workflow = self.workflow(variant)
        for number, names in iteration_names(self.collection, workflow, loop, outcome, facts):
            if not is_known(grader, names):
                raise outputs_unknown(loop)
            yield number, self.collection.grade(grader, names)


def iteration_names(
    collection: Collection, workflow: Workflow, loop: Loop, outcome: Outcome, facts: LoopFacts
) -> Iterator[tuple[int, dict[str, Any]]]:
    """What graders see of each iteration, as if the loop had returned that one.

    Its outputs are None where nobody knows them; nobody asks where no grader reads them. They are
    FAILED where the run would have failed, which is asked of a run that has.
    """
    usual = collection.names(outcome)
    outputs = IterationOutputs(collection.store, workflow, loop, outcome)
    is_asked = any(map(reads_outputs, collection.experiment.graders.values()))
    for number, results in facts.results.items():
        names = dict(usual) | {"results": results}
        # A run that has failed gave no outputs, whatever its loop returned.
        has_failed = outcome.status != "succeeded"
        if number != outcome.returned or has_failed:
            names["outputs"] = outputs.of(number, results) if is_asked or has_failed else None
        yield number, names
