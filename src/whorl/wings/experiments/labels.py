"""Labels that a judge is held to: the grades of a grader, or what people wrote into a file."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from whorl.errors import UsageError, did_you_mean
from whorl.source.paths import open_file
from whorl.wings.experiments.graders import SOLVED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.wings.experiments.graders import Graded
    from whorl.wings.experiments.results import Study

SIZE_MAX = 64 * 1024 * 1024
# What is wrong, and the command that mends it, or nothing.
Note: TypeAlias = "tuple[str, str]"
_NAMED = 5
_COLUMNS = ("case", "iteration", "label")
_WORDS = {"yes": True, "true": True, "no": False, "false": False}


class Labels(Protocol):
    """Whether a result is good; None: nobody says."""

    def of_trial(self, one: Graded) -> bool | None: ...

    def of_iteration(self, one: Graded, number: int, names: dict[str, Any]) -> bool | None: ...

    def notes(self, unlabelled: int, results: int) -> Iterator[Note]:
        """What is wrong with labels once all results were asked for, so many without one."""


class GradeLabels:
    """The grades of another grader: at least 0.5 is a yes."""

    def __init__(self, study: Study, against: str) -> None:
        self._study, self._grader = study, study.experiment.graders[against]

    def of_trial(self, one: Graded) -> bool | None:
        label = one.value(self._grader.name)
        return None if label is None else label >= SOLVED

    def of_iteration(self, one: Graded, number: int, names: dict[str, Any]) -> bool | None:
        grade = self._study.collection.grade(self._grader, names)
        return None if grade is None or grade.value is None else grade.value >= SOLVED

    def notes(self, unlabelled: int, results: int) -> Iterator[Note]:
        if unlabelled:
            command = "" if self._grader.is_free else self._study.commands.run
            words = (
                f"{some(unlabelled, results, 'result')} no label of grader {self._grader.name!r}"
            )
            yield words, command


class FileLabels:
    """A file with the columns `case`, `label` and, where there are several results, `iteration`.

    Without an iteration, a label is that of what the trial returned; it is one of the baseline, or
    of the `variant`.
    """

    def __init__(self, file: str, variant: str) -> None:
        self._variant = variant
        self._labels = _read(file)
        self._unused = dict.fromkeys(self._labels)

    def of_trial(self, one: Graded) -> bool | None:
        returned = one.outcome.returned
        return self._label(one, returned if returned is not None else 0, is_returned=True)

    def of_iteration(self, one: Graded, number: int, names: dict[str, Any]) -> bool | None:
        return self._label(one, number, is_returned=number == one.outcome.returned)

    def _label(self, one: Graded, number: int, *, is_returned: bool) -> bool | None:
        trial = one.outcome.trial
        if trial.variant != self._variant:
            return None
        own = self._find(trial.case.id, number)
        returned = self._find(trial.case.id, None) if is_returned else None
        return returned if own is None else own

    def _find(self, case: str, number: int | None) -> bool | None:
        self._unused.pop((case, number), None)
        return self._labels.get((case, number))

    def notes(self, unlabelled: int, results: int) -> Iterator[Note]:
        if self._unused:
            count, all_of = len(self._unused), len(self._labels)
            named = [
                f"case {case!r}" + ("" if number is None else f" iteration {number}")
                for case, number in list(self._unused)[:_NAMED]
            ]
            rest = f" and {count - _NAMED} more" if count > _NAMED else ""
            match = "matches" if count == 1 else "match"
            labels = f"{count} of {all_of} {'label' if all_of == 1 else 'labels'} {match} no result"
            yield f"{labels}: {', '.join(named)}{rest}", ""


def some(count: int, all_of: int, noun: str) -> str:
    """`1 of 3 results has`, `2 of 3 results have`."""
    nouns = noun if all_of == 1 else f"{noun}s"
    return f"{count} of {all_of} {nouns} {'has' if count == 1 else 'have'}"


def _read(file: str) -> dict[tuple[str, int | None], bool]:
    rows = csv.DictReader(io.StringIO(open_file(file, size_max=SIZE_MAX), newline=""))
    missing = [name for name in ("case", "label") if name not in (rows.fieldnames or ())]
    if missing:
        advice = "a file of labels has the columns case, label and, if needed, iteration"
        raise UsageError(f"{file}: there is no column {missing[0]!r}", help=advice, code="X100")
    for column in rows.fieldnames or ():
        if column not in _COLUMNS and (advice := did_you_mean(column, _COLUMNS)):
            raise UsageError(f"{file}: no column is {column!r}", help=advice, code="X100")
    labels: dict[tuple[str, int | None], bool] = {}
    for line, row in enumerate(rows, 2):
        key = (str(row["case"]), _number(file, line, row.get("iteration")))
        if key in labels:
            raise _wrong(file, line, "case", key[0], "has a label already")
        labels[key] = _yes(file, line, row["label"])
    return labels


def _number(file: str, line: int, text: str | None) -> int | None:
    if not text or not text.strip():
        return None
    if not text.strip().isdigit():
        raise _wrong(file, line, "iteration", text, "is not the number of an iteration")
    return int(text)


def _yes(file: str, line: int, text: str | None) -> bool:
    word = (text or "").strip().lower()
    if word in _WORDS:
        return _WORDS[word]
    try:
        if 0 <= (number := float(word)) <= 1:
            return number >= SOLVED
    except ValueError:
        pass
    raise _wrong(file, line, "label", text or "", "is neither yes, no nor a number from 0 to 1")


def _wrong(file: str, line: int, column: str, text: str, words: str) -> UsageError:
    return UsageError(f"{file}, line {line}, column {column!r}: {text!r} {words}", code="X101")
