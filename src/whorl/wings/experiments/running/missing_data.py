"""What the recorded runs of an experiment lack for rules: iterations, votes of judges, grades."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl.ir import Judge
from whorl.ir.expressions import conditions_in
from whorl.wings.experiments.graders import grading_workflow
from whorl.wings.experiments.results import iteration_names
from whorl.wings.experiments.running.budget import CostHistory
from whorl.wings.experiments.trials import (
    ENDED,
    extension_of,
    is_grading,
    is_outside_failure,
    is_short,
)
from whorl.wings.experiments.what_if.evaluate import answer
from whorl.wings.experiments.what_if.facts import atom_of, atoms_in
from whorl.wings.experiments.what_if.loop_facts import facts_of
from whorl.wings.experiments.what_if.truncated_runs import (
    Missing,
    check_reopened,
    reached,
    too_short,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whorl.ir import Loop
    from whorl.wings.experiments.results import Study
    from whorl.wings.experiments.trials import Outcome
    from whorl.wings.experiments.what_if.facts import LoopFacts
    from whorl.wings.experiments.what_if.rules import Rule
    from whorl.wings.experiments.what_if.truncated_runs import TruncatedRun


class MissingData:
    """Looks at the runs of a variant as they are whenever it is asked; None: at no other rule."""

    def __init__(
        self, study: Study, loop: Loop, variant: str, rules: Sequence[Rule] | None
    ) -> None:
        self._study, self._loop, self._rules = study, loop, rules
        self._variant = variant or study.experiment.baseline
        experiment = study.experiment
        self._grader = experiment.graders[experiment.main_grader]

    @property
    def is_graded_by_runs(self) -> bool:
        """Whether the grades that rules are ranked by are paid for, or given by people."""
        return not self._grader.is_free

    def iterations(self) -> list[TruncatedRun]:
        """The runs that would have gone on under one of the rules.

        Raises UsageError where loops of them cannot.
        """
        if not self._rules:
            return []
        store, rows, workflow = (
            self._study.store,
            self._study.rows,
            self._study.workflow(self._variant),
        )
        recorded = [
            (outcome.trial.key, self._voted(facts), self._asked(outcome, facts))
            for outcome, facts in self._recorded()
        ]
        found = list(too_short(store, workflow, self._loop, self._rules, recorded))
        if found:
            whys = [why for one in found if (why := one.obstacle(rows[one.key])) is not None]
            check_reopened(workflow, self._loop, self._rules, whys, len(recorded))
        return found

    @property
    def count(self) -> int:
        """How many runs there are to answer."""
        return sum(1 for _ in self._recorded())

    def unanswered(self) -> list[str]:
        """Why runs do not answer the rules, for each that does not."""
        if not self._rules:
            return []
        rules, found = self._rules, []
        for _, facts in self._recorded():
            answers = (answer(self._voted(facts), self._loop, rule) for rule in rules)
            found += [each.why for each in answers if not each.exact][:1]
        return found

    def _asked(self, outcome: Outcome, facts: LoopFacts) -> int:
        """To how many iterations a loop goes on exploring that was stopped; 0: to none."""
        store, row = self._study.store, self._study.rows[outcome.trial.key]
        if (request := extension_of(store, row)) is None:
            return 0
        before = reached(store, row.id, facts.address, request.seq)
        return before + int(str(request.event.body["iterations"]))

    def votes(self, count: int = 0) -> list[Missing]:
        """The votes that rules need and results lack, or those up to a number."""
        rules = self._rules
        untils = [self._loop.until] if rules is None else [rule.until for rule in rules]
        wanted = [part for until in untils for part in conditions_in(until)]
        judges = {atom_of(part): part for part in wanted if isinstance(part, Judge)}
        if not judges:
            return []
        votes = self._study.later_votes
        found = (votes.missing(facts, judges, count) for _, facts in self._recorded())
        return [self._of_experiment(one) for each in found for one in each]

    def gradings(self) -> list[Missing]:
        """The gradings that the iterations lack which the rules return.

        Of a run that lacks iterations or votes nobody knows yet which one that is.
        """
        if not self._rules or self._grader.is_free:
            return []
        longer, voted = {one.key for one in self.iterations()}, {one.of for one in self.votes()}
        workflow = grading_workflow(self._study.project, self._study.experiment, self._grader)
        one = self._of_experiment(Missing("", workflow, 1, self._grading_usd()))
        found: dict[str, Missing] = {}
        for outcome, facts in self._recorded():
            is_open = outcome.trial.key in longer or facts.run in voted
            for rule in self._rules:
                made = answer(self._voted(facts), self._loop, rule)
                if made.exact and made.exit_reason != "failed":
                    for key, shown in self._wanted(outcome, facts, made.returned):
                        found[key] = replace(one, key=key, input=shown, of=facts.run)
                elif is_open and not made.exact:
                    key = f"{outcome.trial.key}-graded"
                    found[key] = replace(one, key=key, of=facts.run, is_due=False)
        return [each for key, each in found.items() if not self._is_graded(key)]

    def _wanted(
        self, outcome: Outcome, facts: LoopFacts, number: int | None
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """The key and the input of the run that grades an iteration."""
        study, results = self._study, {n: r for n, r in facts.results.items() if n == number}
        workflow, one = study.workflow(self._variant), replace(facts, results=results)
        for _, names in iteration_names(study.collection, workflow, self._loop, outcome, one):
            for grader, key, shown in study.collection.wanted(names):
                if grader.name == self._grader.name:
                    yield key, shown

    def _is_graded(self, key: str) -> bool:
        """Whether a grading has ended, or waits for a person."""
        store, row = self._study.store, self._study.rows.get(key)
        if row is None or row.status not in (*ENDED, "waiting"):
            return False
        return row.status != "failed" or not (
            is_short(store, row) or is_outside_failure(store, row)
        )

    def _grading_usd(self) -> float:
        """What gradings have cost on average."""
        seen, name = CostHistory(), f"grade-{self._grader.name}"
        for key, row in self._study.rows.items():
            if is_grading(key) and row.name == name and row.status == "succeeded":
                seen.add(row.cost_usd)
        return seen.mean_usd()

    def _of_experiment(self, one: Missing) -> Missing:
        experiment = self._study.experiment
        return replace(one, file=experiment.file, experiment=experiment.name)

    def _recorded(self) -> Iterator[tuple[Outcome, LoopFacts]]:
        """The runs that have ended, with their facts but the votes that were asked for later."""
        study, rules = self._study, self._rules or ()
        atoms = atoms_in([self._loop.until, *(rule.until for rule in rules)])
        names = {n: fact for rule in rules for n, fact in rule.names}
        options: dict[str, Any] = {"loop": self._loop.name, "names": names, "keep_results": True}
        for outcome in study.ended(self._variant):
            assert outcome.run is not None
            for facts in facts_of(study.store, outcome.run, atoms, **options)[:1]:
                yield outcome, facts

    def _voted(self, facts: LoopFacts) -> LoopFacts:
        return self._study.later_votes.added_to(facts)
