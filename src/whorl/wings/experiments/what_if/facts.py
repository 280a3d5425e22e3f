"""Facts: what the conditions of a loop saw after each iteration, folded from the journal of a run.

An atom is a simple condition without its threshold. The fold evaluates the atoms of all rules in
question in the live scope of each iteration, with the functions that the engine itself uses.
"""

from __future__ import annotations

import json
import os
import zlib
from contextlib import suppress
from dataclasses import asdict, field, replace
from typing import TYPE_CHECKING, Any

from whorl.ir import AllOf, AnyOf, BranchTaken, Judge, Plateau, Score, Stable, When
from whorl.ir.expressions import conditions_in
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from whorl.ir import Condition
    from whorl.language import Json

VERSION = 7
# What must be computed before a rule is checked ahead of an iteration; a fault, or nothing.
HANDED_OVER = "carry"
# An atom that could not be evaluated: a rule that reads it would have failed there.
FAULT = "?"
# One that reads what the iterations of the recorded loop did not have.
HIDDEN = "!"
USAGE = ("calls", "input_tokens", "output_tokens", "cost_usd")
_VERDICTS = ("met", "not_met")
FOLDER = "facts"
# So many files of facts are kept, one for each loop and what its rules read.
FILES_MAX = 20


@dataclass(slots=True)
class Call:
    """A call in the order of the journal: what it reserved and used, and which judge it asked.

    `is_capped`: how long its answer may be follows from the budget that is left. `began` and
    `ended` are seconds since the loop began.
    """

    judge: str = ""
    reserve: dict[str, float] = field(default_factory=dict)
    usage: dict[str, float] = field(default_factory=dict)
    is_capped: bool = False
    verdict: str = ""
    began: float = 0.0
    ended: float = 0.0
    is_in_doubt: bool = False


@dataclass(slots=True)
class IterationFacts:
    """What is known of one iteration; `is_judged`: it went through, and its rule was checked.

    A rule that is checked before iterations has atoms from ahead of the next one. `began` is when
    the iteration did, in seconds since the loop; `ended` is when its steps had.
    """

    number: int
    status: str
    by: str = ""
    is_judged: bool = False
    is_approved: bool = False
    attempts: int = 1
    atoms: dict[str, Any] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    has_overlap: bool = False
    # Whether a call waited until others had left it enough of a budget.
    has_waited: bool = False
    is_counted: bool = True
    began: float = 0.0
    ended: float = 0.0
    score: float | None = None


@dataclass(slots=True)
class LoopFacts:
    """A loop of a run: its iterations, how it ended, and what the rest of the run used."""

    run: str
    address: str
    path: str
    iterations: list[IterationFacts] = field(default_factory=list)
    # What a rule sees that is checked before the first iteration.
    ahead: IterationFacts | None = None
    exit_reason: str = ""
    stopped_by: str = ""
    returned: int | None = None
    made: int = 0
    usage: dict[str, float] = field(default_factory=dict)
    outside: dict[str, float] = field(default_factory=dict)
    steered: str = ""
    # Whether its clock stood still, or was set anew.
    has_paused: bool = False
    results: dict[int, dict[str, Json]] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """As JSON, without the results."""
        return asdict(replace(self, results={}))


def from_document(document: dict[str, Any]) -> LoopFacts:
    rows, ahead = [_row(row) for row in document["iterations"]], document["ahead"]
    made: dict[str, Any] = {"iterations": rows, "ahead": ahead and _row(ahead), "results": {}}
    return LoopFacts(**(document | made))


def _row(document: dict[str, Any]) -> IterationFacts:
    return IterationFacts(**(document | {"calls": [Call(**c) for c in document["calls"]]}))


def atom_of(condition: Condition) -> str:
    """What a simple condition reads, without the threshold; alike where it reads the same."""
    match condition:
        case When():
            return f"when {condition.test!r}"
        case Score():
            return f"score {condition.source!r} {condition.pattern!r}"
        case Stable():
            return f"stable {condition.subject!r} {condition.whole}"
        case BranchTaken():
            return f"branch {condition.node!r}"
        case Judge():
            return f"judge {replace(condition, votes=1)!r}"
        case Plateau():
            return "plateau"
    raise AssertionError("what is made of several conditions has no atom of its own")


def atoms_in(conditions: Iterable[Condition | None]) -> dict[str, Condition]:
    """All atoms of rules, each with a condition that reads it."""
    leaves = (part for condition in conditions for part in conditions_in(condition))
    return {atom_of(leaf): leaf for leaf in leaves if not isinstance(leaf, AnyOf | AllOf | Plateau)}


def votes_in(calls: Iterable[Call], judge: str) -> list[tuple[str, int]]:
    """The votes of a judge in order, each with the calls that it took.

    An answer that is unclear is asked for once more.
    """
    votes: list[tuple[str, int]] = []
    took, is_again = 0, False
    for call in calls:
        if call.judge != judge:
            continue
        took += 1
        if not call.verdict:
            # It has failed, and what it would have said nobody knows.
            break
        is_known = call.verdict in (*_VERDICTS, "inconclusive")
        if not is_known and not is_again:
            is_again = True
            continue
        votes.append((call.verdict if is_known else "ambiguous", took))
        took, is_again = 0, False
    return votes


def count_votes(votes: list[tuple[str, int]], wanted: int) -> tuple[bool | None, int, bool]:
    """What a majority of so many votes says, the calls that took, and whether they decide."""
    yes = no = calls = 0
    for number, (vote, took) in enumerate(votes, 1):
        calls += took
        yes += vote == "met"
        no += vote == "not_met"
        if vote == "inconclusive":
            return None, calls, True
        if yes * 2 > wanted:
            return True, calls, True
        if no * 2 >= wanted or number >= wanted:
            return (False if no else None), calls, True
    return None, calls, False


@dataclass(slots=True)
class Subject:
    """A recorded run: its facts, and the grade of each iteration.

    `failed_grade` is that of a run that fails with its loop; None: it has none, or is not known.
    What a run cost that is not `is_priced` nobody knows: a model of it has no price.
    """

    facts: LoopFacts
    grades: dict[int, float]
    case: str = ""
    group: str = ""
    solved: frozenset[int] = frozenset()
    variant: str = ""
    failed_grade: float | None = None
    is_priced: bool = True


class FactsCache:
    """Facts and grades of runs beside the store; it may be deleted at any time."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path, self._is_new = folder / f"{name}.z", False
        self._kept: dict[str, Any] = {}
        with suppress(OSError, ValueError, zlib.error):
            self._kept = json.loads(zlib.decompress(self._path.read_bytes()))

    def get(self, run: str, key: str) -> tuple[LoopFacts, dict[int, float]] | None:
        kept = self._kept.get(run)
        if kept is None or kept[0] != key:
            return None
        return from_document(kept[1]), {int(n): grade for n, grade in kept[2].items()}

    def put(self, run: str, key: str, facts: LoopFacts, grades: dict[int, float]) -> None:
        self._kept[run] = [key, facts.document(), grades]
        self._is_new = True

    def write(self) -> None:
        if self._is_new:
            with suppress(OSError):
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
                with open(os.open(self._path, flags, 0o600), "wb") as file:
                    file.write(zlib.compress(json.dumps(self._kept).encode(), 1))
                clear_facts(self._path.parent, FILES_MAX)


def clear_facts(folder: Path, keep: int = 0) -> None:
    """Deletes facts beside a store, all but the newest files; they are made again when asked."""
    with suppress(OSError):
        files = sorted(folder.glob("*.z"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in files[keep:]:
            path.unlink(missing_ok=True)
