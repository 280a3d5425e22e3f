"""The fields of entries, as what they should be.

One that is missing or has an odd type counts as not there: no entry is refused because of what a
list shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whorl.interpreter.events import split_iteration
from whorl.runtimes.journal.journal import Record, RunId

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.runtimes.journal.journal import Journal

_NUMBER_MAX: Final = 2**63
_MARKS: Final = ("limit", "budget")


def iteration_of(event: Event) -> tuple[str, int]:
    loop, number = split_iteration(event.address)
    return loop, number if number is not None else count_of(event.body.get("number"))


def iterations_in(limits: Json) -> int:
    return count_of(limits.get("iterations")) if isinstance(limits, dict) else 0


def text_of(value: Json) -> str:
    return value if isinstance(value, str) else ""


def mark_of(value: Json) -> str:
    """What a loop ended at although its condition could have been met: `limit` or `budget`."""
    return str(value) if value in _MARKS else ""


def number_of(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < _NUMBER_MAX else None


def amount_of(value: Json) -> float | None:
    if type(value) is float and 0.0 <= value < _NUMBER_MAX:
        return value
    number = number_of(value)
    return number if number is not None and number >= 0 else None


def count_of(value: Json) -> int:
    if type(value) is int and 0 <= value < 2**53:
        # What nearly every usage is made of.
        return value
    return min(int(amount_of(value) or 0), 2**53)


def records_in(events: Iterable[Event]) -> list[Record]:
    bodies = [event.body for event in events if event.kind == "iteration.finished"]
    notes = [note for body in bodies if isinstance(note := body.get("remember"), dict)]
    return [Record(str(note["key"]), note["record"], int(str(note["keep"]))) for note in notes]


def tool_pins(journal: Journal, run: str) -> dict[str, str]:
    """The hash of what each tool said about itself when the run first heard of it, by its name."""
    pins: dict[str, str] = {}
    for entry in journal.read(RunId(run), kinds=frozenset({"task.finished"})):
        pins = pins_in(entry.event.body) | pins
    return pins


def pins_in(reply: dict[str, Json]) -> dict[str, str]:
    """The hash of what each tool said about itself, as one reply has it."""
    tools = reply.get("tools")
    heard = dict(tools) if isinstance(tools, dict) else {}
    if isinstance(name := reply.get("tool"), str):
        heard[name] = reply.get("pin")
    return {name: pin for name, pin in heard.items() if isinstance(pin, str)}
