"""An experiment with the results of its runs so far: reports, sweeps over rules, and their facts.

It only reads: it starts nothing and makes no call.
"""

from __future__ import annotations

import csv
import io
import math
import re
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError, plural
from whorl.interpreter.plan import Plan
from whorl.ir import AllOf, AnyOf, Judge, Loop, from_json
from whorl.ir.expressions import conditions_in
from whorl.runtimes.journal.journal import RunId
from whorl.source.paths import open_file
from whorl.wings.experiments import report as reports
from whorl.wings.experiments import trials, variants
from whorl.wings.experiments.statistics import Judged, JudgeReport, finite, reliability
from whorl.wings.experiments.what_if import loop_facts
from whorl.wings.experiments.what_if import sweep as sweeps
from whorl.wings.experiments.what_if.evaluate import GONE_ON, own_rule
from whorl.wings.experiments.what_if.query import IterationOutputs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whorl.ir import Condition, Workflow
    from whorl.providers.settings import Settings
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project
    from whorl.wings.experiments.document import Experiment
    from whorl.wings.experiments.trials import Grade, Outcome
    from whorl.wings.experiments.variants import Prepared
    from whorl.wings.experiments.what_if.evaluate import Rule
    from whorl.wings.experiments.what_if.loop_facts import IterationFacts, LoopFacts


class Study:
    """One generation of an experiment, as the store has it."""

    def __init__(
        self,
        project: Project,
        store: SqliteStore,
        experiment: Experiment,
        settings: Settings,
        commands: reports.Commands | None = None,
        *,
        generation: int = 1,
    ) -> None:
        """`commands` run the experiment; they are for users who ask before it has run.

        The generation is the newest one, or `generation`, which may have no run yet.
        """
        self.project, self.store, self.experiment = project, store, experiment
        self._settings = settings
        command = f"whorl experiment run {quote(experiment.file.removeprefix(f'{project.root}/'))}"
        self._commands = commands or reports.Commands(command)
        self.prepared = variants.prepare(project, experiment)
        self.generation, self._least = 0, generation
        self.refresh()

    def refresh(self) -> None:
        """Reads the runs again."""
        generation = max(self._least, trials.generation_of(self.store, self.experiment.name))
        if generation != self.generation:
            self.generation = generation
            self.blocks = trials.blocks_of(
                self.experiment, self.prepared, self._settings, generation
            )
        self.rows = trials.rows_of(self.store, self.experiment.name, generation)
        self.collection = trials.Collection(self.store, self.experiment, self.rows, generation)
        self._graded: list[list[trials.Graded]] | None = None

    @property
    def graded(self) -> list[list[trials.Graded]]:
        """All trials with their grades, except those that a person has steered."""
        if self._graded is None:
            graded, known = self.collection.graded, (t.key for block in self.blocks for t in block)
            rows = {key: row for key in known if (row := self.rows.get(key)) is not None}
            out = {key: row.id for key, row in rows.items() if trials.is_steered(self.store, row)}
            self._graded = [[graded(t) for t in block if t.key not in out] for block in self.blocks]
            count = plural(len(out), "trial")
            words = f"{count} changed by a person, and left out: {', '.join(out.values())}"
            self._steered = [words] if out else []
        return self._graded

    @property
    def steered(self) -> list[str]:
        """Notes on the trials that are left out."""
        return self._steered if self.graded else []

    @property
    def commands(self) -> reports.Commands:
        """The commands that continue it, with a larger budget if the current one is too small."""
        return self._commands.with_budget(self.more_usd(), self.experiment.budget)

    def more_usd(self, needs_usd: float = 0.0) -> float | None:
        """Returns the dollars beyond the file's budget that are enough; None: no more is needed.

        It is twice what the next part needs, or as much again as is spent. For a paused run,
        `needs_usd` is the need of that part, in all.
        """
        budget, spent_usd = self.experiment.budget, sum(row.cost_usd for row in self.rows.values())
        limited = (key for key, row in self.rows.items() if row.budget_usd is not None)
        has_own = self.experiment.trial_budget is not None
        is_limited = needs_usd or any(not has_own or trials.is_grading(key) for key in limited)
        needs_usd = max(needs_usd, spent_usd)
        is_enough = not is_limited if budget is None else needs_usd <= budget + trials.EXACT_USD
        if is_enough:
            return None
        wanted_usd = needs_usd + max(spent_usd, needs_usd - spent_usd)
        return math.ceil(100 * (wanted_usd - (budget or 0.0))) / 100

    def _flat(self, variant: str = "") -> list[trials.Graded]:
        """Returns all trials, or those of a variant."""
        flat = (one for block in self.graded for one in block)
        return [one for one in flat if variant in ("", one.outcome.trial.variant)]

    def report(self) -> reports.Report:
        spent, of = sum(row.cost_usd for row in self.rows.values()), self._flat()
        parts = (self.experiment, self.store, of, self.rows)
        words = [*self.steered, *reports.cost_words(*parts)]
        return reports.report_of(self.experiment, self.graded, spent, self.others, words)

    @property
    def others(self) -> int:
        """How many of its runs are of cases, variants or versions that the file no longer has."""
        known = {trial.key for block in self.blocks for trial in block}
        return sum(key not in known and not trials.is_grading(key) for key in self.rows)

    def loop(self, name: str = "", variant: str = "") -> Loop:
        return variants.loop_named(self.experiment, self.prepared, name, variant)

    def workflow(self, variant: str = "") -> Workflow:
        return variants.workflow_named(self.experiment, self.prepared, variant)

    def sweep(
        self, name: str = "", variant: str = "", rules: Sequence[Rule] | None = None
    ) -> sweeps.Sweep:
        """Returns what rules would have given and cost over the recorded runs of a variant."""
        loop = self.loop(name, variant)
        subjects = self.subjects(loop, variant, rules)
        flat = self._flat(variant or self.experiment.baseline)
        if not subjects:
            self.check_ended(variant or self.experiment.baseline)
            words = f"no run of experiment {self.experiment.name!r} has reached loop {loop.name!r}"
            raise UsageError(words, help=self.commands.run, code="X109")
        rules = sweeps.default_rules(loop, subjects) if rules is None else rules
        found = sweeps.sweep_of(loop, subjects, rules, margin=self.experiment.margin)
        reports.tell_of_trials(found, self.store, flat, self.commands)
        found.words += self.steered
        if not found.rules:
            why, longest = found.not_ranked[0].why, max(len(s.facts.iterations) for s in subjects)
            if why == sweeps.NO_GRADE:
                raise reports.no_grade(self.experiment, self.commands, len(subjects))
            words = f"no rule is answered by all {len(subjects)} runs: {why}"
            advice = f"record longer ones: explore: {{{loop.name}: {max(8, longest + 3)}}}"
            advice = advice if why.startswith(GONE_ON) else ""
            raise UsageError(words, help=advice, code="X109" if advice else "X106")
        return found

    def subjects(
        self, loop: Loop, variant: str = "", rules: Sequence[Rule] | None = None
    ) -> list[loop_facts.Subject]:
        """Returns the recorded runs of a variant, with the facts and grades of their iterations."""
        name = variant or self.experiment.baseline
        atoms = loop_facts.atoms_in([loop.until, *(rule.until for rule in rules or ())])
        names = {n: fact for rule in rules or () for n, fact in rule.names}
        options: Any = {"loop": loop.name, "names": names, "keep_results": True}
        is_zero = self.experiment.on_failure == "zero" and variants.fails_with(
            self.workflow(name), loop
        )
        failed = 0.0 if is_zero else None
        main, is_solved = self.experiment.main_grader, self.collection.is_solved
        subjects, plan = [], None
        for outcome in self.ended(name):
            assert outcome.run is not None
            # All trials of a variant have the same workflow.
            plan = plan or Plan(from_json(self.store.workflow(outcome.run)))
            group = outcome.trial.case.group if self.experiment.is_grouped else ""
            for facts in loop_facts.facts_of(self.store, outcome.run, atoms, plan=plan, **options)[
                :1
            ]:
                grades = self._grades(facts, loop, outcome, name)
                solved = frozenset(n for n, grade in grades.items() if is_solved({main: grade}))
                of = (outcome.trial.case.id, group, solved, failed)
                subjects.append(
                    loop_facts.Subject(facts, grades, *of, is_priced=not outcome.unpriced)
                )
        return subjects

    def check_ended(self, variant: str = "") -> None:
        """Raises UsageError if no trial has ended, of any variant or of this one."""
        names = [variant] if variant else [*self.prepared]
        if not any(True for name in names for _ in self.ended(name)):
            outcomes = [one.outcome for one in self._flat()]
            ended = [outcome for outcome in outcomes if outcome.trial.variant in names]
            raise reports.nothing_ended(self.experiment.name, self.commands, ended, self.others)

    def ended(self, variant: str) -> Iterator[Outcome]:
        outcomes = (one.outcome for one in self._flat(variant))
        return (each for each in outcomes if each.is_done and not each.is_outside)

    def _grades(
        self, facts: LoopFacts, loop: Loop, outcome: Outcome, variant: str
    ) -> dict[int, float]:
        grader, grades = self.experiment.graders[self.experiment.main_grader], {}
        workflow = self.workflow(variant)
        for number, names in iteration_names(self.collection, workflow, loop, outcome, facts):
            if not trials.is_known(grader, names):
                words = f"steps after {loop.name!r} decide the outputs, so those of another "
                words += "iteration are not known"
                advice = "grade `results` of the iteration instead of `outputs`"
                raise UsageError(words, help=advice, code="X106")
            grade = self.collection.grade(grader, names)
            if grade is not None and grade.value is not None:
                grades[number] = grade.value
        return grades


def iteration_names(
    collection: trials.Collection,
    workflow: Workflow,
    loop: Loop,
    outcome: Outcome,
    facts: LoopFacts,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields what graders see of each iteration, as if the loop had returned that one.

    Outputs are None if they are unknown, or if no grader reads them. They are FAILED if the run
    would have failed; this is checked for a failed run.
    """
    outputs = IterationOutputs(collection.store, workflow, loop, outcome)
    is_asked = any(map(trials.reads_outputs, collection.experiment.graders.values()))
    for number, results in facts.results.items():
        names = collection.names(outcome, results)
        # A failed run has no outputs, even if its loop returned an iteration.
        has_failed = outcome.status != "succeeded"
        if number != outcome.returned or has_failed:
            names["outputs"] = outputs.of(number, results) if is_asked or has_failed else None
        yield number, names


# How reliable a judge is: its verdicts against labels, its votes against each other.

DISAGREEMENTS_MAX, WORDS_MAX = 100, 500
_FINISHED = frozenset({"task.finished"})
# The addresses of the calls of a loop's first judge, and of a grader's judge.
_ASKED = r"{}\[(?P<iteration>[0-9]+)\](?:#[0-9]+)?/:judge(?:#[0-9]+)?"
_VOTE = r"votes\[[0-9]+\]/judge(?:#[0-9]+)?"


def judge_in(loop: Loop) -> Judge | None:
    return next((part for part in conditions_in(loop.until) if isinstance(part, Judge)), None)


def check_judged(
    experiment: Experiment, prepared: Mapping[str, Prepared], against: str, name: str, variant: str
) -> None:
    """Raises UsageError if there is no such judge; `against` is a grader, or empty."""
    graders = experiment.graders
    if against and against not in graders:
        raise variants.unknown("grader", against, graders)
    judges = [known for known, one in graders.items() if one.kind == "judge"]
    advice = f"name a grader that is one: {', '.join(judges) or 'the file has none'}"
    if name in graders:
        variants.workflow_named(experiment, prepared, variant)
        if graders[name].is_free:
            words = f"grader {name!r} is not a judge: it is an expression"
            raise UsageError(words, help=advice, code="W007")
        if name == against:
            others = ", ".join(other for other in graders if other != name)
            words = f"grader {name!r} cannot be compared with itself"
            known = f"--against another one: {others}" if others else "--against labels.csv"
            raise UsageError(words, help=known)
        return
    loop = variants.loop_named(experiment, prepared, name, variant)
    if judge_in(loop) is None:
        raise UsageError(f"loop {loop.name!r} has no judge", help=advice, code="W007")


def judge_of(
    study: Study,
    against: str,
    name: str = "",
    variant: str = "",
    labels: GradeLabels | FileLabels | None = None,
) -> JudgeReport:
    """Compares the judge of a loop, or of a named grader, with labels or another grader."""
    graders = study.experiment.graders
    grader = against if labels is None else ""
    check_judged(study.experiment, study.prepared, grader, name, variant)
    labels = labels or GradeLabels(study, against)
    study.check_ended(variant)
    loop = None
    if name in graders:
        fields, of, place = graders[name].fields, f"grader {name}", _VOTE
        question, votes = str(fields.get("judge", name)), int(fields.get("votes", 1))
        seen = list(_of_grader(study, name, labels, variant))
    else:
        loop = study.loop(name, variant)
        judge = judge_in(loop)
        assert judge is not None
        of, place = f"loop {loop.name}", _ASKED.format(re.escape(loop.name))
        source = getattr(judge.question, "value", getattr(judge.question, "source", ""))
        question, votes = str(source), judge.votes
        seen = list(_of_loop(study, loop, judge, labels, variant))
    judged = [each for each in seen if each.is_known]
    notes = [] if seen else ["the judge has judged no result"]
    faults = [each.fault for each in seen if each.verdict is None and each.fault]
    without = f"no verdict of grader {name!r}"
    if left := sum(each.verdict is None for each in seen) - len(faults):
        notes.append(f"{_some(left, len(seen))} {without}")
    if faults:
        notes.append(f"{_some(len(faults), len(seen))} {without}: {faults[0]}")
    notes += labels.notes(sum(each.label is None for each in seen), len(seen))
    if not judged:
        words = f"no result has both a verdict and a label: {'; '.join(notes)}"
        advice = study.commands.run if left else "name a grader with --against that has grades"
        raise UsageError(words, help=advice, code="X115")
    found = reliability(question, judged, study.experiment.name, verdict_votes=votes)
    found.notes = [*notes, *study.steered]
    if loop is not None:
        assert judge is not None
        found.loop, found.loop_runs = _effect(study, loop, judge, variant, [1, *found.votes])
    found.disagreements = _disagreements(study, judged, place)
    found.of = of
    return found


def _disagreements(study: Study, judged: Sequence[Judged], address: str) -> list[dict[str, Any]]:
    """Returns the results on which judge and label differ, with words; a wrong yes comes first."""
    wrong = [one for one in judged if one.verdict != one.label]
    place, rows = re.compile(address), []
    for one in sorted(wrong, key=lambda one: not one.verdict)[:DISAGREEMENTS_MAX]:
        # The reasons or answers of the judge, vote by vote.
        words = []
        for entry in study.store.read(RunId(one.asked), kinds=_FINISHED):
            at, value = place.fullmatch(entry.event.address), entry.event.body.get("value")
            number = at.groupdict().get("iteration") if at is not None else None
            is_other = number is not None and int(number) != one.iteration
            if at is not None and not is_other and isinstance(value, dict):
                words.append(str(value.get("reason") or value.get("answer") or "")[:WORDS_MAX])
        row: dict[str, Any] = {"case": one.case, "run": one.run, "iteration": one.iteration}
        row |= {"verdict": one.verdict, "label": one.label, "words": [w for w in words if w]}
        rows.append(row)
    return rows


def _effect(
    study: Study, loop: Loop, judge: Judge, variant: str, votes: list[int]
) -> tuple[dict[str, tuple[float | None, float | None]], int]:
    """Returns the effect of the judge on its loop: with other votes, and if it were always right.

    Also returns the number of runs.
    """
    own = own_rule(loop)
    try:
        subjects = study.subjects(loop, variant)
    except UsageError:
        # The outputs of other iterations are unknown, and so are their grades.
        return {}, 0
    if own is None or not subjects:
        return {}, 0
    changed = {n: _with_judge(own.until, judge, replace(judge, votes=n)) for n in votes}
    rules = {str(n): replace(own, until=until) for n, until in changed.items()} | {"yours": own}
    found = dict(zip(rules, sweeps.results_of(loop, [*rules.values()], subjects), strict=True))
    known = {n: one for n, one in found.items() if not one.unknown}
    made = {n: (finite(one.grade), finite(one.cost_usd)) for n, one in known.items()}
    ideal = sweeps.ideal_rows(loop, subjects, own.at_most)
    grade, usd, _ = ideal.get("the judge is always right", (math.nan,) * 3)
    return made | {"always right": (finite(grade), finite(usd))}, len(subjects)


def _with_judge(until: Condition | None, judge: Judge, other: Judge) -> Condition | None:
    if isinstance(until, AnyOf | AllOf):
        parts = (_with_judge(part, judge, other) for part in until.conditions)
        return type(until)(tuple(part for part in parts if part is not None))
    return other if until == judge else until


def _of_grader(
    study: Study, name: str, labels: GradeLabels | FileLabels, variant: str
) -> Iterator[Judged]:
    """Yields the graded results of trials, or of all iterations of an exploring trial."""
    experiment = study.experiment
    for one in (one for block in study.graded for one in block):
        outcome, of = one.outcome, one.outcome.trial.variant
        if variant not in ("", of) or not outcome.is_done or outcome.is_outside:
            continue
        if experiment.grade_iterations == "returned" or not experiment.explore:
            # The grade of a failed run is not a verdict.
            if outcome.status == "succeeded":
                label = labels.of(one, outcome.returned)
                yield _graded(one, outcome.returned, label, one.grades.get(name))
            continue
        grader, loop = experiment.graders[name], study.loop("", of)
        for number, seen, _ in _iterations(study, loop, outcome):
            label = labels.of(one, number, seen)
            # A judge cannot grade unknown outputs.
            if trials.is_known(grader, seen):
                yield _graded(one, number, label, study.collection.grade(grader, seen))


def _graded(
    one: trials.Graded, number: int | None, label: bool | None, grade: Grade | None
) -> Judged:
    case, place = one.outcome.trial.case.id, (str(one.outcome.run or ""), number)
    if grade is None or grade.value is None:
        return Judged(case, None, label, (), *place, fault="" if grade is None else grade.fault)
    return Judged(case, grade.value > trials.SOLVED, label, grade.votes, *place, grade.run)


def _of_loop(
    study: Study, loop: Loop, judge: Judge, labels: GradeLabels | FileLabels, variant: str
) -> Iterator[Judged]:
    atom = loop_facts.atom_of(judge)
    for one in (one for block in study.graded for one in block):
        outcome = one.outcome
        is_other = outcome.trial.variant != (variant or study.experiment.baseline)
        if is_other or not outcome.is_done:
            continue
        for number, seen, row in _iterations(study, loop, outcome):
            if votes := loop_facts.votes_in(row.calls, atom):
                is_yes, _, _ = loop_facts.count_votes(votes, judge.votes)
                cast = tuple({"met": True, "not_met": False}.get(v) for v, _ in votes)
                label = labels.of(one, number, seen)
                case, run = outcome.trial.case.id, str(outcome.run)
                yield Judged(case, bool(is_yes), label, cast, run, number, run)


def _iterations(
    study: Study, loop: Loop, outcome: Outcome
) -> Iterator[tuple[int, dict[str, Any], IterationFacts]]:
    """Yields what labels see of iterations. Failures behind the loop do not count for a judge."""
    assert outcome.run is not None
    workflow = study.prepared[outcome.trial.variant].workflow
    atoms = loop_facts.atoms_in([loop.until])
    found = loop_facts.facts_of(study.store, outcome.run, atoms, loop=loop.name, keep_results=True)
    for facts in found[:1]:
        rows = {row.number: row for row in facts.iterations}
        for number, names in iteration_names(study.collection, workflow, loop, outcome, facts):
            is_lost = names["outputs"] is trials.FAILED
            yield number, names | {"outputs": None} if is_lost else names, rows[number]


# The labels for a judge: the grades of a grader, or a file that people wrote.

SIZE_MAX = 64 * 1024 * 1024
_WORDS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


class GradeLabels:
    """The grades of another grader as labels: at least 0.5 is a yes.

    Labels say whether results are good. None: the result has no label.
    """

    def __init__(self, study: Study, against: str) -> None:
        self._study, self._grader = study, study.experiment.graders[against]

    def of(self, one: trials.Graded, number: int | None, names: Any = None) -> bool | None:
        """Returns the label of an iteration, or of a trial's result if it gets no `names`."""
        grade = one.grades.get(self._grader.name)
        if names is not None:
            grade = self._study.collection.grade(self._grader, names)
        return None if grade is None or grade.value is None else grade.value >= trials.SOLVED

    def notes(self, unlabelled: int, results: int) -> list[str]:
        """Returns problems with the labels, after all results were read."""
        words = f"{_some(unlabelled, results)} no label of grader {self._grader.name!r}"
        return [words] if unlabelled else []


class FileLabels:
    """A file with the columns `case` and `label`, and `iteration` if there are several results.

    Without an iteration, a label is for the result of the trial. All labels are for the baseline,
    or for the `variant`.
    """

    def __init__(self, file: str, variant: str) -> None:
        self._variant = variant
        self._labels = _read(file)
        self._unused = dict.fromkeys(self._labels)

    def of(self, one: trials.Graded, number: int | None, names: Any = None) -> bool | None:
        trial, returned = one.outcome.trial, one.outcome.returned
        if trial.variant != self._variant:
            return None
        is_returned = names is None or number == returned
        keys = [(trial.case.id, number), *([(trial.case.id, None)] if is_returned else ())]
        for key in keys:
            self._unused.pop(key, None)
        return next((self._labels[key] for key in keys if key in self._labels), None)

    def notes(self, unlabelled: int, results: int) -> list[str]:
        """Returns a note on the labels that are of no result."""
        if not self._unused:
            return []
        count, (case, number) = plural(len(self._unused), "label"), next(iter(self._unused))
        first = f"case {case!r}" + ("" if number is None else f", iteration {number}")
        return [f"{count} of {len(self._labels)} without a result; the first is {first}"]


def _some(count: int, all_of: int) -> str:
    """Returns `1 of 3 results has`, `2 of 3 results have`."""
    return f"{count} of {plural(all_of, 'result')} {'has' if count == 1 else 'have'}"


def _read(file: str) -> dict[tuple[str, int | None], bool]:
    rows = csv.DictReader(io.StringIO(open_file(file, size_max=SIZE_MAX), newline=""))
    missing = [name for name in ("case", "label") if name not in (rows.fieldnames or ())]
    if missing:
        advice = "a file of labels has the columns case, label and, if needed, iteration"
        raise UsageError(f"{file}: there is no column {missing[0]!r}", help=advice, code="W006")
    labels: dict[tuple[str, int | None], bool] = {}
    for line, row in enumerate(rows, 2):
        number, word = ((row.get(name) or "").strip().lower() for name in ("iteration", "label"))
        if number and not number.isdigit():
            raise _wrong(file, line, "iteration", number, "is not the number of an iteration")
        if word not in _WORDS:
            raise _wrong(file, line, "label", word, "is neither yes nor no, 1 nor 0")
        key = (str(row["case"]), int(number) if number else None)
        if key in labels:
            raise _wrong(file, line, "case", key[0], "has a label already")
        labels[key] = _WORDS[word]
    return labels


def _wrong(file: str, line: int, column: str, text: str, words: str) -> UsageError:
    return UsageError(f"{file}, line {line}, column {column!r}: {text!r} {words}", code="X101")
