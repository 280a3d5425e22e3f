"""Graders: they give a result a grade from 0 to 1.

Expressions are computed on request. A grader that costs money or asks a person runs as a workflow.
The key of that run covers the grader and its input. So the run is durable and paid once, and equal
results share it. No grader sees the variant of a result.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.errors import Diagnostic, InvalidWorkflow
from whorl.interpreter.events import numbered
from whorl.language import Expression, LanguageError, MappingScope, evaluate, free_names, to_text
from whorl.lazily import dataclass
from whorl.runtimes.journal.forking import look_into
from whorl.wings.experiments.document import NAMES, RUN_FACTS, expression_of, filled
from whorl.wings.experiments.trials import ENDED, digest, key_prefix, outcome_of, unpriced_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whorl.ir import Workflow
    from whorl.runtimes.journal.journal import RunRow
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project
    from whorl.wings.experiments.document import Experiment, Grader
    from whorl.wings.experiments.trials import Outcome, Trial

_RENAMED = {"results": "step_results"}
GRADE = "grade"
SOLVED = 0.5
# Replaces the outputs of a run that would have failed.
FAILED: Any = object()
LEFT_OUT = "gives none to a run that fails"


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
    for text in _templates(grader.fields):
        with suppress(LanguageError):
            read |= {use.name for use in free_names(expression_of(text))}
    return sorted(read & set(NAMES))


def _templates(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _templates(part)
    elif isinstance(value, str) and "{{" in value:
        yield value


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
    fields, name = _renamed(grader.fields), f"grade-{grader.name}"
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


def _renamed(value: Any) -> Any:
    """Returns the fields of a grader, without a name that has another meaning in workflows."""
    if isinstance(value, dict):
        return {key: _renamed(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_renamed(part) for part in value]
    if not isinstance(value, str) or "{{" not in value:
        return value
    return re.sub(r"\bresults\b", _RENAMED["results"], value)


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
    ends = [e.event.body for e in store.read(row.id, kinds=frozenset({"run.finished"}))]
    body: dict[str, Any] = ends[-1] if ends else {}
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

    def names(self, outcome: Outcome) -> dict[str, Any]:
        """Returns the values that graders see of a trial."""
        results: dict[str, Any] = {}
        if self._reads_results and outcome.run is not None and outcome.returned is not None:
            place = numbered(outcome.loop, outcome.returned)
            seen: Any = look_into(self.store, outcome.run, frozenset({place}))
            results = seen.get(place, {}).get("results", {})
        return {
            "case": outcome.trial.case.row,
            "inputs": outcome.trial.inputs,
            "outputs": outcome.outputs,
            "results": results,
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
