"""What changed between iterations: two of them side by side, and all of them in a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interfaces.figures import written
from whorl.interfaces.history import carried_into
from whorl.interfaces.http.schemas.runs import (
    Cell,
    Comparison,
    Matrix,
    MatrixRow,
    NodeChange,
    Side,
)
from whorl.interfaces.http.views.rows import verdicts
from whorl.interfaces.inspection import results_of, sides
from whorl.interfaces.progress import usage_of
from whorl.interpreter.judging import similarity

if TYPE_CHECKING:
    from whorl.interfaces.inspection import Side as Found
    from whorl.language import Json
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore

MATRIX_MAX = 200
SMALL = 0.9
# Comparing takes time with the product of the lengths.
_COMPARED_MAX = 4_000


def comparison(store: SqliteStore, run: RunId, loop: str, numbers: tuple[int, int]) -> Comparison:
    """Two iterations with what their steps gave, and how much that differs."""
    one, other = sides(store, run, loop, numbers)
    names = list(dict.fromkeys([*one.results, *other.results]))
    return Comparison(
        loop=loop,
        one=_side(one),
        other=_side(other),
        nodes=[_change(name, one, other) for name in names],
        feedback=carried_into(store, run, loop, max(numbers)),
    )


def matrix(store: SqliteStore, run: RunId, loop: str, node: str | None) -> Matrix:
    """For each iteration and step: whether its result is new, nearly the same, or the same."""
    rows = store.newest_iterations(run, loop, MATRIX_MAX)
    numbers = sorted({row.number for row in rows if row.status == "succeeded"})
    found = results_of(store, run, loop, numbers)
    results = {number: found.get(number, {}) for number in numbers}
    names = list(dict.fromkeys(name for one in results.values() for name in one))
    shown = [name for name in names if node in (None, name)]
    told, before = [], None
    for number in numbers:
        cells = {name: _cell(results[number], before, name) for name in shown}
        told.append(MatrixRow(number=number, cells=cells))
        before = results[number]
    return Matrix(loop=loop, nodes=shown, iterations=told)


def _side(found: Found) -> Side:
    _, tokens, cost_usd = usage_of(found.row.note)
    note: dict[str, Any] = found.row.note
    return Side(
        number=found.row.number,
        score=found.row.score,
        cost_usd=cost_usd,
        tokens=tokens,
        seconds=float(note.get("seconds") or 0.0),
        results=found.results,
        verdicts=verdicts(note),
    )


def _change(name: str, one: Found, other: Found) -> NodeChange:
    first, second = one.results.get(name), other.results.get(name)
    same = first == second
    return NodeChange(name=name, similarity=1.0 if same else _alike(first, second), same=same)


def _alike(one: Json, other: Json) -> float:
    alike = similarity(written(one)[:_COMPARED_MAX], written(other)[:_COMPARED_MAX])
    # Beyond what was compared they differ, or they would be the same.
    return min(round(alike, 4), 0.9999)


def _cell(now: dict[str, Json], before: dict[str, Json] | None, name: str) -> Cell:
    if now.get(name) is None:
        return "none"
    if before is None or before.get(name) is None:
        return "new"
    if now[name] == before[name]:
        return "same"
    return "small" if _alike(now[name], before[name]) >= SMALL else "new"
