"""What a writer has not said: fields of the IR that are not at their default.

A writer names the fields that it writes; every other field that says anything is a loss. So a new
field of the IR can be forgotten by a writer, but not lost in silence.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from whorl.dialects.writing.losses import Ledger, Spot

Unsaid: TypeAlias = "tuple[str, object]"

# For people, for tools and for messages; a run goes the same way without them.
WORDS_ONLY = frozenset(
    (
        "place",
        "limit_fields",
        "limit_words",
        "tells",
        "warns",
        "described",
        "vocabulary",
        "dialect",
        "format",
        "recorder",
    )
)

# What people call a part of the IR, where its own name would not tell them.
_CALLED = {
    "AllOf": "all of several conditions",
    "AnyOf": "any of several conditions",
    "BranchTaken": "the branch that was taken",
    "ForEach": "a for-each",
    "IterationFailure": "the failure of an iteration",
    "LoopLimits": "the limits of a loop",
    "Port": "an input",
    "RunLimits": "the limits of the run",
    "When": "an expression",
}
# What authors write for a field, where the IR has another name for it.
_WRITTEN = {
    "aliases": "other names",
    "cost_usd": "cost",
    "delay": "wait",
    "iteration_time_s": "each_time",
    "on_iteration_failure": "on_failure",
    "time_s": "time",
    "timeout_s": "timeout",
    "total_timeout_s": "timeout for all attempts together",
    "when": "if",
}
_WRITTEN_IN_LOOPS = {"returns": "return", "ask": "ask_person"}


def _written(item: object, name: str) -> str:
    words = _WRITTEN | (_WRITTEN_IN_LOOPS if type(item).__name__ == "Loop" else {})
    return words.get(name, name)


def words_for(item: object) -> str:
    """What a part of the IR is called in messages."""
    name = type(item).__name__
    return _CALLED.get(name) or f"a {name.lower()}"


def unsaid_fields(item: Any, said: Collection[str]) -> Iterator[Unsaid]:
    """The fields of a part of the IR that say something and are not among `said`."""
    for field in fields(item):
        if field.name in said or field.name in WORDS_ONLY:
            continue
        value = getattr(item, field.name)
        default = field.default
        if field.default_factory is not MISSING:
            default = field.default_factory()
        if value != default:
            yield field.name, value


def lose_unsaid(
    ledger: Ledger, spot: Spot, item: Any, said: Collection[str], *, target: str
) -> None:
    """Lists as losses all that a part of the IR says beside what was written."""
    for name, value in unsaid_fields(item, said):
        shown = f" ({value})" if isinstance(value, str | int | float) else ""
        what = f"{_written(item, name)!r} of {words_for(item)}{shown}"
        ledger.lose(spot, what, f"{target} has no field for it")
