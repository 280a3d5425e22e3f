"""Waits: durable pauses, which a restart does not begin anew."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from whorl.interpreter.address import inner
from whorl.interpreter.evaluation import value_of
from whorl.interpreter.outcomes import error, failed, language_failure, succeeded
from whorl.ir import Wait
from whorl.ir.durations import parse_duration, parse_time
from whorl.language import LanguageError

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import WaitFrame
    from whorl.interpreter.state import State
    from whorl.language import Json, Scope

WAIT_MAX_S = 366 * 86_400.0
# Far enough away, as seconds since the epoch, for no sum of it to be too large.
MOMENT_MAX = 1e15


class WaitBehaviour:
    """The behaviour of wait frames."""

    def enter(self, machine: State, key: str) -> None:
        """Computes when the wait is over."""
        frame = cast("WaitFrame", machine.frames[key])
        node = machine.node(frame)
        assert isinstance(node, Wait)
        try:
            due = _due(node, machine.scope(frame), machine.now)
        except LanguageError as fault:
            machine.finish(key, failed(language_failure(fault, frame["address"])))
            return
        except ValueError as fault:
            machine.finish(key, failed(error("R104", str(fault), frame["address"])))
            return
        frame["due"] = due
        if due <= machine.now:
            machine.finish(key, succeeded())
        else:
            machine.expect(inner(frame["address"], "wait"), key, "timer", due=due)

    def child_left(self, machine: State, key: str, child: str, outcome: dict[str, Any]) -> None:
        """A wait has no frames below it."""

    def receive(self, machine: State, key: str, event: Event) -> None:
        """The time has come."""
        machine.settle(event.address)
        machine.finish(key, succeeded())

    def ask_again(self, machine: State, key: str, address: str) -> None:
        """A wait sends nothing."""

    def revive(self, machine: State, key: str) -> None:
        """A wait that failed leaves no frame."""


def _due(node: Wait, scope: Scope, now: float) -> float:
    if node.until is not None:
        due = _moment(value_of(node.until, scope))
    else:
        assert node.duration is not None
        due = _due_after(value_of(node.duration, scope), now)
    # What is no number at all is not smaller either.
    if not due - now <= WAIT_MAX_S:
        raise ValueError(
            f"a wait of {due - now:g} s is longer than a year, the most that it can be"
        )
    return due


def _due_after(value: Json, now: float) -> float:
    """When a computed wait is over; whether it is a duration or a time, only its value tells."""
    try:
        return now + max(0.0, seconds_of(value))
    except ValueError:
        if isinstance(value, str):
            with suppress(ValueError):
                return parse_time(value)
        raise


def seconds_of(value: Json) -> float:
    """The seconds of a duration: a number, or a text such as 5s or PT5S."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"a duration such as '5s' is needed, not {shown(value)}")
    try:
        return parse_duration(value)
    except OverflowError:
        raise ValueError("a duration is at most 10 years long") from None


def shown(value: Json) -> str:
    """A value in the words of a message, which it must not fill."""
    # Numbers of too many digits cannot even be written.
    words = "a huge number" if isinstance(value, int) and abs(value) > 10**100 else repr(value)
    return words if len(words) <= 60 else f"{words[:59]}…"


def _moment(value: Json) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(max(min(value, MOMENT_MAX), -MOMENT_MAX))
    try:
        moment = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        raise ValueError(
            f"a time such as '2026-01-31T12:00:00Z' is needed, not {shown(value)}"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()
