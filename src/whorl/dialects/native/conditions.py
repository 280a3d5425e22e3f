"""When a loop stops: every form of `until`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.native.scalars import number_of, text_of, texts_of, whole_of
from whorl.dialects.native.subjects import read_subject
from whorl.dialects.native.values import read_computed, read_expression, read_value
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.native.draft import Draft
    from whorl.source import Entry, Value


def read_condition(draft: Draft, value: Value | None, body: ir.Block) -> ir.Condition | None:
    """Reads a condition; a list is met when any one of it is."""
    match value:
        case Scalar():
            test = read_expression(draft, value)
            return None if test is None else ir.When(test)
        case Sequence():
            parts = _parts(draft, value, body)
            return parts[0] if len(parts) == 1 else ir.AnyOf(parts) if parts else None
        case Mapping():
            entry = next((entry for entry in value if entry.name in _READERS), None)
            if entry is None:
                return None
            condition = _READERS[entry.name](draft, entry, body)
            if condition is not None and draft.places.part(condition) is None:
                draft.places.remember_part(condition, entry.key.span)
            return condition
        case None:
            return None


def _parts(draft: Draft, value: Value, body: ir.Block) -> tuple[ir.Condition, ...]:
    items = value.items if isinstance(value, Sequence) else (value,)
    read = (read_condition(draft, item, body) for item in items)
    return tuple(condition for condition in read if condition is not None)


def _read_when(draft: Draft, entry: Entry, body: ir.Block) -> ir.Condition | None:
    del body
    test = read_expression(draft, entry.value)
    return None if test is None else ir.When(test)


def _read_score(draft: Draft, entry: Entry, body: ir.Block) -> ir.Condition | None:
    score = entry.value
    if not isinstance(score, Mapping):
        return None
    source, pattern = score.get("from"), score.get("pattern")
    if source is None and pattern is None:
        draft.report(
            "W006",
            "'score' does not say where the number comes from",
            entry.key.span,
            label="no 'from' and no 'pattern'",
            help="add from: \"{{ review.score }}\", or pattern: 'SCORE: ([0-9.]+)'",
        )
    if source is not None:
        measured = read_computed(draft, source)
    else:
        measured = read_subject(draft, score.get("of"), body)
    at_least, low, high = (_float(score.get(name)) for name in ("at_least", "low", "high"))
    if at_least is not None and 0 < at_least <= 1 and low is None and high is None:
        # A threshold from 0 to 1 means that scale; a model that answers 20 has not answered.
        low, high = 0.0, 1.0
    condition = ir.Score(measured, pattern=text_of(pattern), at_least=at_least, low=low, high=high)
    if isinstance(pattern, Scalar):
        draft.places.remember(condition, pattern)
    return condition


def _read_judge(draft: Draft, entry: Entry, body: ir.Block) -> ir.Condition | None:
    judge = entry.value
    if not isinstance(judge, Mapping):
        return ir.Judge(read_value(draft, judge), read_subject(draft, None, body))
    return ir.Judge(
        read_value(draft, judge.get("question")),
        read_subject(draft, judge.get("of"), body),
        model=texts_of(judge.get("model")),
        votes=max(1, whole_of(judge.get("votes")) or 1),
    )


def _read_stable(draft: Draft, entry: Entry, body: ir.Block) -> ir.Condition | None:
    stable = entry.value
    long = stable if isinstance(stable, Mapping) else None
    threshold = _float(long.get("threshold") if long else stable)
    subject = read_subject(draft, long.get("of") if long else None, body)
    return ir.Stable(subject, 0.95 if threshold is None else threshold)


def _read_plateau(draft: Draft, entry: Entry, body: ir.Block) -> ir.Condition | None:
    del draft, body
    plateau = entry.value
    if not isinstance(plateau, Mapping):
        return ir.Plateau(whole_of(plateau) or 1)
    return ir.Plateau(
        whole_of(plateau.get("patience")) or 1, _float(plateau.get("min_delta")) or 0.0
    )


def _read_branch(draft: Draft, entry: Entry, body: ir.Block) -> ir.Condition | None:
    del body
    taken = entry.value
    if not isinstance(taken, Mapping):
        return None
    conditions: list[ir.Condition] = []
    for branch in taken:
        if isinstance(branch.value, Scalar):
            conditions.append(ir.BranchTaken(branch.name, branch.value.text))
            draft.places.remember_part(conditions[-1], branch.key.span)
    return conditions[0] if len(conditions) == 1 else ir.AnyOf(tuple(conditions))


def _read_any(draft: Draft, entry: Entry, body: ir.Block) -> ir.Condition | None:
    return ir.AnyOf(_parts(draft, entry.value, body))


def _read_all(draft: Draft, entry: Entry, body: ir.Block) -> ir.Condition | None:
    return ir.AllOf(_parts(draft, entry.value, body))


def _float(value: Value | None) -> float | None:
    number = number_of(value)
    return None if number is None else float(number)


_READERS = {
    "when": _read_when,
    "score": _read_score,
    "judge": _read_judge,
    "stable": _read_stable,
    "plateau": _read_plateau,
    "branch": _read_branch,
    "any": _read_any,
    "all": _read_all,
}
