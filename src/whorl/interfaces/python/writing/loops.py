"""Loops of a workflow: `async for turn in whorl.loop(...)`, and what came of them."""

from __future__ import annotations

import dis
import math
import sys
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast, overload

from whorl.errors import UsageError
from whorl.interfaces.python.values import count, from_json, plain_value
from whorl.interfaces.python.writing.names import name_of_call
from whorl.interfaces.python.writing.requests import Duration, Limits, place_of, seconds_of
from whorl.interpreter.frames import error_at

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator
    from typing import Self

    from whorl.language import Json
    from whorl.runtimes.host import Asked, Place

T = TypeVar("T")
S = TypeVar("S")
Keep = Literal["best", "last", "first"]
# What Python does when `break` or `return` leaves a loop; an exception leaves it otherwise.
_LEAVING = frozenset({"POP_TOP", "POP_ITER", "END_FOR", "SWAP"})


class _Missing:
    def __repr__(self) -> str:
        return "..."


_MISSING: Any = _Missing()
_RANGE = (0.0, 1.0)


class Turn(Generic[T]):
    """One iteration: what it gives, how good it is, and whether it is the last one.

    `previous` and `best` are the values of the iteration before it, and of the best one so far.
    """

    def __init__(self, loop: Loop[T], number: int, body: dict[str, Any]) -> None:
        self.number = number
        self._loop, self._value = loop, _MISSING
        self._given: dict[str, Any] = {"stop": False, "score": None}
        self._at_least: float | None = None
        self.previous: T | None = loop._value_of(number - 1, body.get("previous"))
        self.best: T | None = loop._value_of(loop._best, body.get("best"))
        self.state: Any = loop._state
        if "state" in body and number > 1:
            self.state = from_json(type(loop._state), body["state"])

    @property
    def value(self) -> T:
        """What the iteration gives; `loop.result` is that of the iteration that is kept."""
        if self._value is _MISSING:
            raise AttributeError(f"`turn.value` of iteration {self.number} is not set yet")
        return cast("T", self._value)

    @value.setter
    def value(self, value: T) -> None:
        self._value = value

    def score(self, value: float, *, at_least: float | None = None) -> None:
        """Says how good it is; the loop ends with the first one that reaches `at_least`."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UsageError(f"the score is {value!r:.80}, which is not a number")
        self._given["score"], self._at_least = float(value), at_least

    def stop(self, reason: str = "") -> None:
        """Makes this iteration the last one; the rest of its code still runs."""
        self._given |= {"stop": True, "reason": reason}

    def _end(self) -> dict[str, Any]:
        value = dict(self._given)
        if self._value is not _MISSING:
            self._loop._values[self.number] = self._value
            value["value"] = plain_value(self._value, "turn.value")
        end: dict[str, Any] = {"value": value}
        if self._at_least is not None:
            end["at_least"] = self._at_least
        if self._loop._state is not _MISSING:
            end["state"] = plain_value(self.state, "turn.state")
        return end


class Loop(Generic[T]):
    """A loop: `async for turn in loop` makes its iterations; after it, what came of them."""

    def __init__(
        self, gives: Any, wish: str, node: dict[str, Any], rule: dict[str, Any], state: Any
    ) -> None:
        self._gives, self._wish, self._node = gives, wish, node
        self._rule, self._state, self._is_left = rule, state, False
        self._values: dict[int, T] = {}
        self._scores: dict[int, float] = {}
        self._best = 0
        self._facts: dict[str, Any] = {}
        self._final: Any = _MISSING
        self._result: Any = _MISSING

    def __aiter__(self) -> AsyncIterator[Turn[T]]:
        return _Turns(self)

    @property
    def result(self) -> T:
        """What the loop gives: the value of its best iteration, of its last or of its first one."""
        if self._result is _MISSING:
            own = self._values.get(self._facts.get("returned_iteration", 0), _MISSING)
            is_known = own is not _MISSING
            is_own = is_known and self._final in (_MISSING, plain_value(own, "turn.value"))
            if not is_own and self._final in (_MISSING, None):
                raise UsageError(f"no iteration of {self._wish!r} that counts has set `turn.value`")
            self._result = own if is_own else from_json(self._gives, self._final)
        return cast("T", self._result)

    @property
    def iterations(self) -> int:
        """How many iterations there were."""
        return int(self._facts.get("iterations", 0))

    @property
    def exit_reason(self) -> str:
        """Why the loop ended, such as `condition_met` or `max_iterations`."""
        return str(self._facts.get("exit_reason", ""))

    @property
    def score(self) -> float | None:
        """The score of the iteration that is kept."""
        return cast("float | None", self._facts.get("score"))

    def _value_of(self, number: int, given: Any) -> T | None:
        if number in self._values:
            return self._values[number]
        return None if given is None else cast("T", from_json(self._gives, given))

    def _take(self, turn: Turn[T]) -> None:
        """Keeps the score of an iteration, if it counts."""
        score, (low, high) = turn._given["score"], self._rule["range"]
        inside = score is not None and (low is None or score >= low)
        if inside and (high is None or score <= high):
            self._scores[turn.number] = score
            if score > self._scores.get(self._best, -math.inf):
                self._best = turn.number

    def _heard(self, body: dict[str, Any]) -> None:
        """Learns how it has ended."""
        if body.get("loop"):
            self._facts, self._final = body["loop"], body.get("value")
            # One that was left with `break` has given its result already.
            self._result = self._result if self._is_left else _MISSING

    def _broken(self, number: int) -> None:
        """Says how it has ended with a `break`, which the run learns only afterwards."""
        returned = {"best": self._best or number, "last": number, "first": 1}
        kept, self._is_left = returned[self._node["returns"]], True
        self._facts = {"iterations": number, "exit_reason": "condition_met", "score": None}
        self._facts |= {"returned_iteration": kept, "score": self._scores.get(kept)}


class _Turns(Generic[T]):
    def __init__(self, loop: Loop[T]) -> None:
        self._loop = loop
        self._outer = place_of("loop")
        self._asked: Asked | None = None
        self._turn: Turn[T] | None = None
        self._place: Place | None = None
        self._is_over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Turn[T]:
        from whorl.runtimes.host import current

        host = self._outer.host
        future: asyncio.Future[Any]
        if self._asked is None:
            extra = dict(self._loop._rule)
            if self._loop._state is not _MISSING:
                extra["state"] = plain_value(self._loop._state, "state")
            asked = self._asked = host.ask(self._outer, self._loop._wish, self._loop._node, extra)
            host.listen(asked, self._loop._heard)
            future = asked.future
        else:
            self._end_turn()
            current.set(self._outer)
            future = host.expect(self._asked)
        try:
            body = await future
        except BaseException:
            self._is_over = True
            current.set(self._outer)
            raise
        if "turn" not in body:
            self._is_over = True
            current.set(self._outer)
            raise StopAsyncIteration
        self._turn = Turn(self._loop, body["turn"], body)
        self._place = host.enter(self._outer, self._asked.name, body["at"])
        current.set(self._place)
        return self._turn

    def _end_turn(self, **more: Any) -> None:
        turn, place = self._turn, self._place
        self._turn = None
        if turn is not None and place is not None and not place.is_over:
            end = turn._end()
            self._loop._take(turn)
            place.host.end(place, end | more)

    def __del__(self) -> None:
        """Ends the loop that `break`, `return` or an exception leaves; only this call tells it."""
        if self._is_over or self._turn is None or not self._outer.host.is_active:
            return
        from whorl.runtimes.host import current

        place, host, number = self._place, self._outer.host, self._turn.number
        assert place is not None
        assert self._asked is not None
        current.set(self._outer)
        frame = sys._getframe(1)
        opname = dis.opname[frame.f_code.co_code[frame.f_lasti]]
        if opname in _LEAVING:
            self._end_turn(breaks=True)
            self._loop._broken(number)
        elif place.is_cut and not place.is_over:
            place.is_over = True
            host.cancel(self._asked)
        elif not place.is_over:
            error = dict(place.fault or _left(place.address))
            if place.fault is None:
                host.left.append(error)
            host.end(place, {"error": error})


def _left(address: str) -> dict[str, Any]:
    return error_at(address, "R140", "an exception left the iteration")


@overload
def loop(
    gives: type[T],
    /,
    name: str = "",
    *,
    at_most: int = 10,
    keep: Keep = "last",
    at_least: float | None = None,
    plateau: int | None = None,
    stable: bool = False,
    budget: float | Limits | None = None,
    time: Duration | None = None,
    turn_time: Duration | None = None,
    range: tuple[float | None, float | None] = _RANGE,
    session: Literal["fresh", "continue"] = "fresh",
    state: object = ...,
) -> Loop[T]: ...


@overload
def loop(
    name: str = "",
    /,
    *,
    at_most: int = 10,
    keep: Keep = "last",
    at_least: float | None = None,
    plateau: int | None = None,
    stable: bool = False,
    budget: float | Limits | None = None,
    time: Duration | None = None,
    turn_time: Duration | None = None,
    range: tuple[float | None, float | None] = _RANGE,
    session: Literal["fresh", "continue"] = "fresh",
    state: object = ...,
) -> Loop[Any]: ...


def loop(
    gives: Any = "",
    /,
    name: str = "",
    *,
    at_most: int = 10,
    keep: Keep = "last",
    at_least: float | None = None,
    plateau: int | None = None,
    stable: bool = False,
    budget: float | Limits | None = None,
    time: Duration | None = None,
    turn_time: Duration | None = None,
    range: tuple[float | None, float | None] = _RANGE,  # noqa: A002
    session: Literal["fresh", "continue"] = "fresh",
    state: object = _MISSING,
) -> Any:
    """Repeats until an iteration says so: `async for turn in whorl.loop(Draft, at_most=5)`.

    `gives` is the type of `turn.value`, and of `loop.result` after it: that of the best, the last
    or the first iteration, as `keep` says. It ends when a score reaches `at_least`, when no score
    was better for `plateau` iterations, when two values in a row are alike (`stable`), with
    `turn.stop()` or `break`, or at a limit. With `state`, what an iteration leaves to the next is
    `turn.state` alone, and a run of any length resumes at once.
    """
    if isinstance(gives, str):
        gives, name = Any, name or gives
    amounts = budget if isinstance(budget, Limits) else Limits(cost_usd=budget)
    limits: dict[str, Json] = {"is": "LoopLimits", "iterations": count(at_most, "at_most") or 10}
    given = {"time_s": seconds_of(time, "time"), "cost_usd": amounts.cost_usd}
    given |= {"iteration_time_s": seconds_of(turn_time, "turn_time")}
    given |= {"tokens": amounts.tokens, "calls": amounts.calls}
    limits |= {name: limit for name, limit in given.items() if limit is not None}
    node: dict[str, Any] = {"is": "Loop", "returns": keep, "limits": limits}
    node["body"] = {"is": "Block", "nodes": [{"is": "Program", "name": "turn"}]}
    if session != "fresh":
        node["session"] = session
    if conditions := _conditions(keep, at_least, plateau, range, stable=stable):
        node["until"] = {"is": "AnyOf", "conditions": conditions}
    rule: dict[str, Any] = {"range": list(range)}
    options = {"at_least": at_least, "plateau": plateau, "stable": stable or None}
    rule |= {name: option for name, option in options.items() if option is not None}
    return Loop(gives, name or name_of_call("loop"), node, rule, state)


def _conditions(
    keep: Keep,
    at_least: float | None,
    plateau: int | None,
    limits: tuple[float | None, float | None],
    *,
    stable: bool,
) -> list[dict[str, Any]]:
    """Returns the conditions that are known before the first iteration."""
    made: list[dict[str, Any]] = []
    expression = {"is": "Expression", "syntax": "jinja"}
    if at_least is not None or plateau is not None or keep == "best":
        score = {"is": "Score", "source": expression | {"source": "turn.score"}}
        made.append(score | {"at_least": at_least, "low": limits[0], "high": limits[1]})
        if plateau is not None:
            made.append({"is": "Plateau", "patience": plateau})
    if stable:
        made.append({"is": "Stable", "subject": expression | {"source": "turn.value"}})
    return made
