"""Loops of a workflow that is written in Python: their state, and when they stop."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, Literal, TypedDict, TypeVar, cast, overload

from whorl.interfaces.python.values import fields_of
from whorl.interfaces.python.writing.flow import Flow, assigned_name, needed
from whorl.interfaces.python.writing.references import Ref, expression, kind_of, template, written
from whorl.interfaces.python.writing.workflows import Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

S = TypeVar("S")
T = TypeVar("T")


class LoopOptions(TypedDict, total=False):
    """What a loop takes beside its state.

    `at_most` is how many iterations, or `{iterations, time, each_time, cost, tokens}`; `best` gives
    the iteration with the highest score instead of the last; the others have the meanings that they
    have in the native format.
    """

    name: str
    at_most: int | Mapping[str, object]
    best: bool
    on_limit: Literal["finish", "fail", "pause"]
    on_failure: str | Mapping[str, object]
    ask_person: Literal["never", "each", "at_limit"]
    wait: str
    collect: Mapping[str, object]
    memory: Mapping[str, object]
    session: Literal["fresh", "continue"]


class State:
    """The state of a loop: what an iteration sets, the next one reads."""

    __slots__ = ("_carried", "_first", "_flow", "_set")

    def __init__(self, flow: Flow, first: object, carried: Ref) -> None:
        for name, value in (("flow", flow), ("first", first), ("carried", carried), ("set", {})):
            object.__setattr__(self, f"_{name}", value)

    def __getattr__(self, name: str) -> Any:
        return self._set[name] if name in self._set else getattr(self._carried, name)

    __getitem__ = __getattr__

    def __setattr__(self, name: str, value: object) -> None:
        # An unknown field is refused where it is written.
        kind = kind_of(getattr(self._carried, name))
        if not isinstance(value, Ref):
            value = self._flow.add(name, {"value": value}, kind)
        self._set[name] = value

    __setitem__ = __setattr__

    def values_now(self) -> dict[str, Any]:
        """All fields, each as it was set last."""
        names = fields_of(type(self._first)) or cast("dict[str, Any]", self._first)
        return {name: getattr(self, name) for name in names}

    def carry(self) -> dict[str, Any]:
        return {"first": written(self._first), "then": written(self.values_now())}


class Loop(Generic[S]):
    """A loop in the making: its state, and when it stops.

    Of several conditions any one stops it; `a & b` is one condition.
    """

    def __init__(self, flow: Flow, name: str, first: S) -> None:
        self._flow = flow
        self._conditions: list[object] = []
        self.name = name
        block = flow.block
        fields = fields_of(type(first))
        carried = Ref(
            lambda: block.name_of(f"{name}_state", flow.block), type(first) if fields else Any
        )
        self._state = State(flow, first, carried)
        self.iteration = cast("int", Ref(lambda: "iteration", int))

    @property
    def state(self) -> S:
        """The state: what this iteration has set, or else what the one before has left."""
        return cast("S", self._state)

    @property
    def facts(self) -> Any:
        """What is known of the loop once it has ended: `exit_reason`, `iterations`, `score`."""
        return self._flow.value_of(self.name, self._flow.block).loop

    def until(self, condition: object) -> None:
        """Stops when it is true: an expression, a text of the expression language, or a function.

        A function is a step of the iteration; it receives the state if it has a parameter.
        """
        if callable(condition) and not isinstance(condition, Ref):
            tested: Any = condition if isinstance(condition, Step) else Step(condition, pure=True)
            tested.task.assume(type(self._state._first))
            has_parameter = bool(tested.task.parameters)
            condition = tested(self._state.values_now()) if has_parameter else tested()
        self._conditions.append(expression(condition) if isinstance(condition, Ref) else condition)

    def score(
        self,
        score: object,
        *,
        at_least: float | None = None,
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        """Measures each iteration, for `best`; stops at `at_least`.

        `low` and `high` are the range of the score.
        """
        given = template(cast("Ref", score))
        fields = {"from": given, "at_least": at_least, "low": low, "high": high}
        self._conditions.append({"score": _without_none(fields)})

    def judge(
        self,
        question: str,
        *,
        of: object = None,
        model: str | None = None,
        votes: int | None = None,
    ) -> None:
        """Stops when a model says yes."""
        given = None if of is None else written(of)
        fields = {"question": question, "of": given, "model": model, "votes": votes}
        self._conditions.append({"judge": _without_none(fields)})

    def plateau(self, patience: int, *, min_delta: float | None = None) -> None:
        """Stops when the score has not grown for this many iterations."""
        self._conditions.append(
            {"plateau": _without_none({"patience": patience, "min_delta": min_delta})}
        )

    def stable(self, of: object, *, threshold: float | None = None) -> None:
        """Stops when two iterations in a row give much the same."""
        self._conditions.append(
            {"stable": _without_none({"of": written(of), "threshold": threshold})}
        )

    def end(self) -> None:
        """Ends the loop at this place; the iteration counts. Use it in a `whorl.when`."""
        self._flow.add("end", {"break": self.name})

    def fields(self) -> dict[str, Any]:
        found: dict[str, Any] = {"until": self._conditions} if self._conditions else {}
        if self._state._first is not None:
            found["carry"] = {f"{self.name}_state": self._state.carry()}
        return found


def _without_none(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


class _Writing(Generic[T]):
    """A `with` statement whose name is that of the step."""

    def __init__(self, make: Callable[[str], Any], otherwise: str) -> None:
        self._make, self._otherwise = make, otherwise

    def __enter__(self) -> T:
        self._inner = self._make(assigned_name(self._otherwise))
        return cast("T", self._inner.__enter__())

    def __exit__(self, *exception: Any) -> None:
        self._inner.__exit__(*exception)


@overload
def loop(
    *, at_most: int | Mapping[str, object] = ..., best: bool = ..., **options: Any
) -> _Writing[Loop[None]]: ...


@overload
def loop(
    state: S, /, *, at_most: int | Mapping[str, object] = ..., best: bool = ..., **options: Any
) -> _Writing[Loop[S]]: ...


def loop(state: Any = None, /, **options: Any) -> Any:
    """A loop: `with whorl.loop(State(), at_most=5, best=True) as polish:`.

    `state` is what the first iteration starts with: a dataclass, a model or a dict.
    """
    flow = needed("loop")
    name, returns = options.pop("name", ""), "best" if options.pop("best", False) else None

    @contextmanager
    def made(wish: str) -> Iterator[Loop[Any]]:
        block = flow.block
        own = expression(flow.add(name or wish, {"repeat": None}))
        with flow.inside("loop", own) as inside:
            made_loop = Loop(flow, own, state)
            yield made_loop
            fields = {"return": returns, **options, **made_loop.fields(), "steps": inside.steps}
        block.steps[own] = {"repeat": _without_none(fields)}

    return _Writing[Any](made, "loop")
