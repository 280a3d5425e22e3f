"""Workflows as coroutine functions: `@whorl.workflow`, `@whorl.step`, lists, and parts of others.

The function of a workflow is run by a run, and again from its beginning when the run is resumed.
Functions with `@whorl.step` do what may not be repeated; the run keeps what they give.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, update_wrapper
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast, overload

from whorl.errors import RequestFailed, UsageError
from whorl.interfaces.python import loading
from whorl.interfaces.python.values import (
    Workflow,
    from_json,
    hints_of,
    is_secret,
    plain_value,
    schema_of,
)
from whorl.interfaces.python.writing.checking import check_code, keeps_state, names_in, tree_of
from whorl.interfaces.python.writing.functions import TaskFunction
from whorl.interfaces.python.writing.names import name_of_call
from whorl.interfaces.python.writing.requests import (
    Delivery,
    Duration,
    Limits,
    Retry,
    place_of,
    request,
    task_node,
)
from whorl.ir import Block, Constant, Expression, Fields, Port, Program, RunLimits
from whorl.ir import Workflow as IrWorkflow
from whorl.providers.functions import Tasks
from whorl.runtimes.host import PROGRAMS, current, error_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence
    from typing import Literal

    from whorl.runtimes.host import Asked, Place
    from whorl.services.project import Project

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
_TYPES = ("string", "integer", "number", "boolean")
_PART: dict[str, Any] = {"is": "Group"}
_PART["body"] = {"is": "Block", "nodes": [{"is": "Program", "name": "part"}]}


class Step(Generic[P, R]):
    """A function that runs call. In a workflow, `await` it; elsewhere, too: it just runs."""

    def __init__(
        self, function: Callable[P, Any], *, pure: bool = False, name: str = "", **options: Any
    ) -> None:
        self.task = TaskFunction(function, name, pure=pure)
        self._name, self._options = "", options
        update_wrapper(self, function if inspect.isroutine(function) else self.task.call)

    def __call__(self, *args: P.args, **named: P.kwargs) -> Coroutine[None, None, R]:
        place = current.get(None)
        if place is None:
            return self._alone(args, named)
        task = self.task
        task.check()
        place.host.register(task.name, task.call, pure=task.pure)
        extra = {"task": task.name, "with": task.arguments(args, dict(named))}
        wish = self._name or name_of_call(task.name)
        return request(place, wish, self._node, extra, task.returns)

    def given(
        self,
        *,
        retry: int | Retry | None = None,
        timeout: Duration | None = None,
        delivery: Delivery | None = None,
        name: str = "",
    ) -> Step[P, R]:
        """The same with other options, for one place: `charge.given(timeout=5)(amount)`."""
        step: Step[P, R] = Step.__new__(Step)
        changed = {"retry": retry, "timeout": timeout, "delivery": delivery}
        options = {name: option for name, option in changed.items() if option is not None}
        step.__dict__.update(self.__dict__)
        step.__dict__.pop("_node", None)
        step._name, step._options = name or self._name, {**self._options, **options}
        return step

    @cached_property
    def _node(self) -> dict[str, Any]:
        return task_node(
            "use", None if self.task.returns is Any else self.task.returns, **self._options
        )

    async def _alone(self, args: Any, named: Any) -> R:
        given = self.task.function(*args, **named)
        return cast("R", await given if inspect.isawaitable(given) else given)


class StepMaker:
    """What `@whorl.step(...)` with options gives."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Step[P, R]: ...

    @overload
    def __call__(self, function: Callable[P, R], /) -> Step[P, R]: ...

    def __call__(self, function: Any, /) -> Any:
        return Step(function, **self._options)


@overload
def step(function: Callable[P, Coroutine[Any, Any, R]], /) -> Step[P, R]: ...


@overload
def step(function: Callable[P, R], /) -> Step[P, R]: ...


@overload
def step(
    *,
    pure: bool = False,
    name: str = "",
    retry: int | Retry | None = None,
    timeout: Duration | None = None,
    delivery: Delivery = "at_least_once",
) -> StepMaker: ...


def step(function: Any = None, /, **options: Any) -> Any:
    """Makes a step of a function, which a run calls, and whose result it keeps.

    A coroutine function runs in the event loop, a plain one in a thread. `pure`: it has no effect,
    so it may be called again without asking. `whorl.current_call()` has the idempotency key.
    Agents, runnables and graphs of other packages are steps, too.
    """
    return StepMaker(options) if function is None else Step(function, **options)


class WorkflowFunction(Generic[P, R]):
    """A workflow that is written as a coroutine function; in another one, it is a part of it."""

    def __init__(
        self,
        function: Callable[P, Coroutine[Any, Any, R]],
        *,
        name: str = "",
        budget: float | Limits | None = None,
        model: str | Sequence[str] | None = None,
        system: str | None = None,
        description: str = "",
        on_budget: Literal["pause", "raise"] = "pause",
    ) -> None:
        self._function = function
        self.name = name or str(getattr(function, "__name__", ""))
        if not inspect.iscoroutinefunction(function):
            raise _no_coroutine(self.name)
        self._limits = budget if isinstance(budget, Limits) else Limits(cost_usd=budget)
        self._defaults = {"model": model, "system": system}
        self.description, self.pauses = description, on_budget == "pause"
        self.keeps = keeps_state(function)
        self.place = f"{function.__module__}:{function.__qualname__}"
        PROGRAMS[self.place] = self._begin
        update_wrapper(self, function)

    def __repr__(self) -> str:
        return f"<whorl workflow {self.name}>"

    def __call__(self, *args: P.args, **named: P.kwargs) -> Coroutine[None, None, R]:
        """Calls it as a part of the workflow around."""
        if current.get(None) is None:
            advice = f"run it: `await {self.name}.run(...)`, or `{self.name}.run_sync(...)`"
            raise UsageError(
                f"{self.name!r} is a workflow, and is called outside of one", help=advice
            )
        return self._as_part(place_of(self.name), name_of_call(self.name), args, named)

    async def run(self, *args: P.args, **named: P.kwargs) -> R:
        """Runs it in a run of its own; returns its value, or raises RunFailed."""
        from whorl.interfaces.python.session import run

        result = await run(self, self._inputs(args, named))
        return cast("R", result.raise_for_status().value)

    def run_sync(self, *args: P.args, **named: P.kwargs) -> R:
        """The same as `run`, for programs without an event loop."""
        from whorl.interfaces.python.session import run_sync

        return cast("R", run_sync(self, self._inputs(args, named)).raise_for_status().value)

    @cached_property
    def workflow(self) -> Workflow:
        """The workflow as the engine knows it."""
        return self.build(loading.project_of())

    @cached_property
    def code(self) -> str:
        """The hash of its source without comments; a run warns if that has changed."""
        tree = tree_of(self._function)
        source = self._function.__code__.co_code if tree is None else ast.unparse(tree).encode()
        return sha256(source).hexdigest()[:16]

    @property
    def namespace(self) -> dict[str, Any]:
        """The names of the module of its function."""
        return self._function.__globals__

    def mentions(self) -> frozenset[str]:
        """Returns the names in its module that requests may have; a test looks for mistakes."""
        return names_in(self._function)

    @property
    def returns(self) -> Any:
        """The type of the result."""
        return self._hints.get("return", Any)

    def build(self, project: Project) -> Workflow:
        """The same, in a project."""
        check_code(self._function)
        PROGRAMS[self.place] = self._begin
        parameters = inspect.signature(self._function).parameters.values()
        ports = tuple(map(self._port, parameters))
        defaults = [(name, value) for name, value in self._defaults.items() if value]
        asked = Fields(tuple((name, Constant(plain_value(v, name))) for name, v in defaults))
        node = Program(name="program", function=self.place, code=self.code, keeps=self.keeps)
        limits = RunLimits(self._limits.cost_usd, self._limits.tokens, self._limits.calls)
        built = IrWorkflow(
            name=self.name,
            description=self.description,
            body=Block((node,)),
            inputs=ports,
            main_input=ports[0].name if ports else "",
            outputs=(("result", Expression("jinja", "program")),),
            limits=limits,
            defaults=(("ask", asked),) if defaults else (),
        )
        tasks = _steps_of(self._function)
        tasks.add_program(self.place, self._begin)
        about = {"pauses": self.pauses, "returns": self.returns}
        return Workflow(self.name, built, self.place, {}, (), tasks, **about)

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return hints_of(self._function)

    def _port(self, parameter: inspect.Parameter) -> Port:
        place = f"the input {parameter.name!r}"
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            words = f"workflow {self.name!r} takes {parameter}, but inputs have names"
            raise UsageError(words, help="name the parameters, or take one list or dict")
        word = str(schema_of(self._hints.get(parameter.name, Any), place).get("type"))
        word = "list" if word == "array" else word if word in _TYPES else "json"
        is_hidden = is_secret(hints_of(self._function, is_whole=True).get(parameter.name))
        port = Port(parameter.name, cast("Any", word), secret=is_hidden)
        if parameter.default is parameter.empty:
            return port
        return replace(port, required=False, default=plain_value(parameter.default, place))

    def _inputs(self, args: Any, named: Any) -> dict[str, Any]:
        try:
            return dict(inspect.signature(self._function).bind(*args, **named).arguments)
        except TypeError as fault:
            raise UsageError(f"the call of workflow {self.name!r} does not fit: {fault}") from None

    async def _begin(self, given: dict[str, Any]) -> Any:
        typed = {name: from_json(self._hints.get(name), value) for name, value in given.items()}
        return plain_value(await cast("Any", self._function)(**typed), f"the result of {self.name}")

    async def _as_part(self, outer: Place, wish: str, args: Any, named: Any) -> R:
        host = outer.host
        asked = host.ask(outer, wish, _PART)
        begun = await asked.future
        inside = host.enter(outer, asked.name, begun["at"])
        ended = host.expect(asked)
        current.set(inside)
        try:
            result = await self._function(*args, **named)
            host.end(inside, {"value": plain_value(result, f"the result of {self.name}")})
        except asyncio.CancelledError:
            inside.is_over = True
            ended.cancel()
            raise
        except Exception as fault:
            if not inside.is_over:
                host.end(inside, {"error": error_of(fault, inside.address)})
                with suppress(RequestFailed):
                    await ended
            raise
        finally:
            current.set(outer)
        await ended
        return result


def _steps_of(function: Callable[..., Any]) -> Tasks:
    """Returns the steps that a function can see: runs of earlier versions call them by name."""
    tasks = Tasks()
    cells = inspect.getclosurevars(function).nonlocals if function.__closure__ else {}
    for thing in (*cells.values(), *function.__globals__.values()):
        if isinstance(thing, Step) and tasks.get(thing.task.name) is None:
            tasks.add(thing.task.name, thing.task.call, pure=thing.task.pure)
    return tasks


def _no_coroutine(name: str) -> UsageError:
    return UsageError(
        f"the workflow {name!r} is a plain function, but a run waits for what it requests",
        help=f"write `async def {name}(...)`, `await` what it requests, and `async for turn in "
        "whorl.loop(...)` for a loop; `if` and `for` are those of Python",
    )


@overload
def workflow(function: Callable[P, Coroutine[Any, Any, R]], /) -> WorkflowFunction[P, R]: ...


@overload
def workflow(
    *,
    name: str = "",
    budget: float | Limits | None = None,
    model: str | Sequence[str] | None = None,
    system: str | None = None,
    description: str = "",
    on_budget: Literal["pause", "raise"] = "pause",
) -> Callable[[Callable[P, Coroutine[Any, Any, R]]], WorkflowFunction[P, R]]: ...


def workflow(function: Any = None, /, **fields: Any) -> Any:
    """Makes a workflow of a coroutine function: its parameters are the inputs.

        @whorl.workflow(budget=0.50)
        async def essay(topic: str) -> str:
            polish = whorl.loop(str, at_most=5, at_least=0.9)
            async for turn in polish:
                turn.value = await whorl.ask(f"Write about {topic}")
                turn.score(await grade(turn.value))
            return polish.result

    A run that is resumed runs the function again with the answers that it has had. If its budget
    is used up, it pauses; with `on_budget="raise"`, a loop ends instead.
    """
    if function is None:
        return lambda inner: WorkflowFunction(inner, **fields)
    return WorkflowFunction(function, **fields)


def each(
    function: Callable[[T], Awaitable[R]], items: Sequence[T], *, at_once: int = 1, name: str = ""
) -> Coroutine[None, None, list[R]]:
    """Gives the results of the function for all items, in order; `at_once` run at the same time.

    Its requests are at `each[7]/summary`. After a failure no further item begins.
    """
    place = place_of("each")
    return _Each(place, function, list(items)).run(name or name_of_call("each"), at_once)


class _Each(Generic[T, R]):
    """The items of one `whorl.each`."""

    def __init__(self, place: Place, function: Callable[[T], Awaitable[R]], items: list[T]) -> None:
        self._place, self._function, self._items = place, function, items
        self._results: dict[int, R] = {}
        self._fault: Exception | None = None

    async def run(self, wish: str, at_once: int) -> list[R]:
        host = self._place.host
        node = {"is": "ForEach", "concurrency": at_once, "on_item_failure": "halt"}
        node["items"] = {"is": "Expression", "syntax": "jinja", "source": "items"}
        node["body"] = {"is": "Block", "nodes": [{"is": "Program", "name": "item"}]}
        shown = {"items": plain_value(self._items, wish)}
        asked = host.ask(self._place, wish, node, shown)  # type: ignore[arg-type]
        future, tasks = asked.future, list[asyncio.Task[None]]()
        try:
            while "item" in (body := await future):
                tasks.append(asyncio.create_task(self._do(asked, body)))
                future = host.expect(asked)
        except RequestFailed:
            if self._fault is not None:
                raise self._fault from None
            raise
        finally:
            for task in tasks:
                task.cancel()
        return [self._results[index] for index in range(len(self._items))]

    async def _do(self, asked: Asked, body: dict[str, Any]) -> None:
        host, index = self._place.host, body["item"]
        place = host.enter(self._place, asked.name, body["at"])
        current.set(place)
        try:
            result = self._results[index] = await self._function(self._items[index])
            host.end(place, {"value": plain_value(result, place.address)})
        except asyncio.CancelledError:
            place.is_over = True
        except Exception as fault:  # noqa: BLE001 - whatever the item raises fails it
            self._fault = self._fault or fault
            if not place.is_over:
                host.end(place, {"error": error_of(fault, place.address)})
