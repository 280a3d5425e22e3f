"""What a workflow writes down: values, inputs, retries, durations, conditions that end a loop.

Conditions are an algebra whose verdict is met, not met or inconclusive.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from whorl.language import Expression, Json
from whorl.lazily import dataclass, regex

__all__ = ["Constant", "Expression", "Fields", "Items", "Port", "PortType", "Retry", "Value"]

DURATION_MAX_S = 10 * 366 * 86_400.0
COUNT_MAX = 10**15
WORK_FOLDER = ".whorl/work"

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_WORDS = {
    **dict.fromkeys(("msec", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), "m"),
    **dict.fromkeys(("hour", "hours"), "h"),
    **dict.fromkeys(("day", "days"), "d"),
    **dict.fromkeys(("week", "weeks"), "w"),
}
_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,9})?"
_PART = regex(rf"({_NUMBER})\s*([a-z]*)\s*")
_ISO = regex(
    rf"P(?:({_NUMBER})W)?(?:({_NUMBER})D)?"
    rf"(?:T(?=[0-9])(?:({_NUMBER})H)?(?:({_NUMBER})M)?(?:({_NUMBER})S)?)?",
    re.IGNORECASE,
)
_COUNT = regex(rf"({_NUMBER})\s*([kmKM]?)")
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000}


@dataclass(frozen=True, slots=True)
class Constant:
    """A JSON value that is used as it is."""

    value: Json


@dataclass(frozen=True, slots=True)
class Items:
    """A list whose items may hold expressions."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Fields:
    """An object whose values (and, in some dialects, keys) may hold expressions."""

    entries: tuple[tuple[str | Expression, Value], ...] = ()


Value: TypeAlias = Constant | Expression | Items | Fields

PortType = Literal["string", "number", "integer", "boolean", "json", "list", "file", "files", "any"]


@dataclass(frozen=True, slots=True)
class Port:
    """A typed input of a workflow.

    `aliases` are other names that it may be given under; `*` is any name, if one value is given. A
    `secret` input is hidden from all viewers, and stored only encrypted.
    """

    name: str
    type: PortType = "any"
    required: bool = True
    default: Json = None
    description: str = ""
    aliases: tuple[str, ...] = ()
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Retry:
    """How often, how long apart and after which faults a task is tried again.

    `on` holds error codes, HTTP statuses as text, or words such as `timeout`; empty means every
    fault that the provider calls retryable, and `("*",)` means every fault. A wait that is `drawn`
    lies anywhere between the one before it (nothing, at first) and its own length.
    """

    times: int
    wait_s: float = 1.0
    backoff: float = 2.0
    wait_max_s: float = 60.0
    wait_min_s: float = 0.0
    jitter: float = 0.0
    on: tuple[str, ...] = ()
    drawn: bool = False


@dataclass(frozen=True, slots=True)
class When:
    """Met when the expression is true; `described` says it in words if its source does not."""

    test: Expression
    described: str = ""

    @property
    def by(self) -> str:
        """What ends the loop: an expression, or code with its reason, such as `stop: approved`."""
        is_code = self.test.source == "turn.stop" and self.described.startswith("stop")
        return self.described if is_code else "expression"


@dataclass(frozen=True, slots=True)
class Score:
    """Measures the iteration; met when the score reaches `at_least` (None: it only measures).

    The number is the value of `source`; with `pattern` it is the first group of the first match
    in its text. A score that is not finite, or outside `low` to `high`, never meets anything.
    `described` says how the number is searched, in the warning that it is missing.
    """

    source: Value
    pattern: str | None = None
    at_least: float | None = None
    low: float | None = None
    high: float | None = None
    described: str = ""


@dataclass(frozen=True, slots=True)
class Judge:
    """Asks a model; met when it answers yes, by majority of `votes`.

    It is asked for its `reason` (None: as the operator says), and for the words of the text that
    are its `evidence`.
    """

    question: Value
    subject: Value
    model: tuple[str, ...] = ()
    votes: int = 1
    inputs: Value = Constant(None)
    reason: bool | None = None
    evidence: bool = False


@dataclass(frozen=True, slots=True)
class BranchTaken:
    """Met when the branch node took the branch of that name."""

    node: str
    name: str


@dataclass(frozen=True, slots=True)
class Stable:
    """Met when two results in a row are at least this much alike, or with `exceeds` more."""

    subject: Value
    threshold: float = 0.95
    exceeds: bool = False

    def is_met(self, alike: float) -> bool:
        return alike > self.threshold if self.exceeds else alike >= self.threshold


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


def workspace_of(run: str) -> str:
    """Returns the folder for a run's own files, relative to that of its project."""
    return f"{WORK_FOLDER}/{run}"


def parse_duration(written: str | float) -> float:
    """Returns seconds; a bare number is seconds. Raises ValueError for anything else."""
    if isinstance(written, bool):
        raise ValueError(f"{written!r} is not a duration")
    seconds = _parse_text(written.strip()) if isinstance(written, str) else float(written)
    if not 0 <= seconds <= DURATION_MAX_S:
        raise ValueError(f"duration {written!r} is not between 0 and 10 years")
    return seconds


def parse_count(written: str | float) -> int:
    """Returns a whole number; k stands for thousands, m for millions. Raises ValueError."""
    if isinstance(written, bool):
        raise ValueError(f"{written!r} is not a count")
    if isinstance(written, str):
        match = _COUNT.fullmatch(written.strip().replace(",", "").replace("_", ""))
        if match is None:
            raise ValueError(f"{written!r} is not a count")
        count = float(match[1]) * _TIMES[match[2].lower()]
    else:
        count = float(written)
    if not 0 <= count <= COUNT_MAX or count != int(count):
        raise ValueError(f"{written!r} is not a whole number from 0 to {COUNT_MAX:,}")
    return int(count)


def parse_time(written: str) -> float:
    """Returns seconds since the epoch of an ISO 8601 time; without a zone it is UTC."""
    if "T" not in written.upper() and ":" not in written:
        raise ValueError(f"{written!r} is not a time")
    moment = datetime.fromisoformat(written.strip().upper())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        return moment.timestamp()
    except OverflowError:
        raise ValueError(f"{written!r} is not a time") from None


def _parse_text(text: str) -> float:
    match = _ISO.fullmatch(text)
    if match is not None and any(match.groups()):
        parts = zip(match.groups(), "wdhms", strict=True)
        return sum(float(number) * _UNITS_S[unit] for number, unit in parts if number)
    lowered = text.lower()
    position, seconds, count = 0, 0.0, 0
    while position < len(lowered):
        part = _PART.match(lowered, position)
        unit = part and _WORDS.get(part[2], part[2])
        if part is None or unit not in _UNITS_S or (count and not part[2]):
            raise ValueError(f"{text!r} is not a duration")
        seconds += float(part[1]) * _UNITS_S[unit]
        position, count = part.end(), count + 1
    if not count:
        raise ValueError("a duration is empty")
    return seconds
