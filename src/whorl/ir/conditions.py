"""When a loop stops: an algebra whose verdict is met, not met or inconclusive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from whorl.ir.values import Constant

if TYPE_CHECKING:
    from whorl.ir.values import Expression, Value


@dataclass(frozen=True, slots=True)
class When:
    """Met when the expression is true; `described` says it in words where its source does not."""

    test: Expression
    described: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """Measures the iteration; met when the score reaches `at_least` (None: it only measures).

    The number is the value of `source`; with `pattern` it is the first group of the first match
    in its text. A score that is not finite, or outside `low` to `high`, never meets anything.
    `described` says how the number is looked for, in the warning that there is none.
    """

    source: Value
    pattern: str | None = None
    at_least: float | None = None
    low: float | None = None
    high: float | None = None
    described: str = ""


@dataclass(frozen=True, slots=True)
class Judge:
    """Asks a model; met when it answers yes, by majority of `votes`."""

    question: Value
    subject: Value
    model: tuple[str, ...] = ()
    votes: int = 1
    inputs: Value = Constant(None)


@dataclass(frozen=True, slots=True)
class BranchTaken:
    """Met when the branch node took the branch of that name."""

    node: str
    name: str


@dataclass(frozen=True, slots=True)
class Stable:
    """Met when two results in a row are at least this much alike.

    Long texts are cut before they are compared; with `whole` any difference counts behind the cut.
    """

    subject: Value
    threshold: float = 0.95
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Plateau:
    """Met when the score has not grown by more than `min_delta` for `patience` iterations."""

    patience: int
    min_delta: float = 0.0


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Met when one of the conditions is."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    """Met when all of the conditions are."""

    conditions: tuple[Condition, ...]


Condition: TypeAlias = When | Score | Judge | BranchTaken | Stable | Plateau | AnyOf | AllOf
