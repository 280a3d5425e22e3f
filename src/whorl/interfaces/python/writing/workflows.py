"""Workflows as functions: `@whorl.workflow` and `@whorl.step`, loops, branches and lists.

The function of a workflow is read once, with stand-ins for what only a run has; what it calls
becomes the steps of the same IR that a file has. Functions with `@whorl.step` are those that a run
calls.
"""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, update_wrapper
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast, overload

from whorl.errors import UsageError
from whorl.interfaces.python import loading
from whorl.interfaces.python.values import hints_of, schema_of, to_json
from whorl.interfaces.python.writing.flow import (
    Block,
    Flow,
    assigned_name,
    current,
    needed,
    writing,
)
from whorl.interfaces.python.writing.functions import TaskFunction, options_of
from whorl.interfaces.python.writing.references import Ref, expression, kind_of, written
from whorl.providers.functions import Tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Unpack

    from whorl.interfaces.python.values import Workflow
    from whorl.interfaces.python.writing.functions import StepOptions
    from whorl.services.project import Project

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")
_TYPES = ("string", "integer", "number", "boolean")


class Step(Generic[P, R]):
    """A function that runs call. In a workflow, calling it adds a step; elsewhere it runs."""

    def __init__(
        self, function: Callable[P, R], *, pure: bool = False, **options: Unpack[StepOptions]
    ) -> None:
        self._task = TaskFunction(function, options.pop("name", ""), pure=pure)
        self._options = options
        update_wrapper(self, function if inspect.isroutine(function) else self._task.call)

    def __call__(self, *args: P.args, **named: P.kwargs) -> R:
        flow = current()
        if flow is None:
            return cast("R", self._task.function(*args, **named))
        return cast("R", self._add(flow, args, named, self._options))

    def given(self, **options: Unpack[StepOptions]) -> Step[P, R]:
        """The same with other options, for one place: `charge.given(timeout=5)(amount)`."""
        step: Step[P, R] = Step.__new__(Step)
        step.__dict__.update(self.__dict__, _options={**self._options, **options})
        return step

    def _add(
        self, flow: Flow, args: tuple[Any, ...], named: dict[str, Any], options: StepOptions
    ) -> Ref:
        task = self._task
        task.check()
        flow.register(task)
        fields: dict[str, Any] = {"use": task.name, "with": task.arguments(args, named)}
        if task.returns is not Any:
            fields["returns"] = {"schema": schema_of(task.returns, f"what {task.name!r} gives")}
        wish = options.get("name") or task.name
        return flow.add(wish, fields | options_of(options), task.returns)

    @property
    def task(self) -> TaskFunction:
        return self._task


@overload
def step(function: Callable[P, R], /) -> Step[P, R]: ...


@overload
def step(
    *, pure: bool = False, **options: Unpack[StepOptions]
) -> Callable[[Callable[P, R]], Step[P, R]]: ...


def step(function: Any = None, /, *, pure: bool = False, **options: Any) -> Any:
    """Makes a step of a function, which a run calls with real values, and journals what it gives.

    A coroutine function runs in the event loop, a plain one in a thread. `pure`: it has no effect,
    so it may be called again without asking. `retry` is how often it is tried again, or the
    fields of the native format; `timeout` is in seconds; `whorl.current_call()` has the
    idempotency key.
    Agents, runnables and graphs of other packages are steps, too.
    """
    if function is None:
        return lambda inner: Step(inner, pure=pure, **options)
    return Step(function, pure=pure, **options)


class WorkflowFunction(Generic[P, R]):
    """A workflow that is written as a function. In another one, calling it calls the workflow."""

    def __init__(self, function: Callable[P, R], **fields: Any) -> None:
        self._function = function
        self._fields = {key: value for key, value in fields.items() if value is not None}
        self.name = str(self._fields.pop("name", "") or getattr(function, "__name__", ""))
        update_wrapper(self, function)

    def __repr__(self) -> str:
        return f"<whorl workflow {self.name}>"

    def __call__(self, *args: P.args, **named: P.kwargs) -> R:
        flow = current()
        if flow is None:
            advice = f"run it: `whorl.run_sync({self.name}, {{...}})`"
            raise UsageError(f"{self.name!r} is a workflow, not a function", help=advice)
        if self.name not in flow.called:
            fields, inner = self._written()
            flow.called |= inner.called | {self.name: fields}
            flow.places = inner.places | flow.places
            for task in inner.functions.values():
                flow.register(task)
        bound = inspect.signature(self._function).bind(*args, **named).arguments
        called = flow.add(self.name, {"call": self.name, "with": bound})
        return cast("R", called.result if "result" in flow.called[self.name]["outputs"] else called)

    @cached_property
    def workflow(self) -> Workflow:
        """The workflow as the engine knows it. Raises InvalidWorkflow with all its mistakes."""
        return self.build(loading.project_of())

    def build(self, project: Project) -> Workflow:
        """The same, in a project."""
        fields, flow = self._written()
        document = {"whorl": 1, "name": self.name, **fields, "workflows": flow.called or None}
        tasks = Tasks()
        for task in flow.functions.values():
            tasks.add(task.name, task.call, pure=task.pure)
        built = loading.built(project, self.name, document, places=flow.places, tasks=tasks)
        place = f"{self._function.__module__}:{self._function.__qualname__}"
        # A program that resumes its runs finds the functions by this; a nested one has none.
        return replace(built, file="" if "." in self._function.__qualname__ else place)

    def _written(self) -> tuple[dict[str, Any], Flow]:
        """The fields of the native format, and what was found out on the way."""
        flow = Flow()
        with writing(flow):
            inputs = self._inputs(flow)
            arguments = {name: flow.value_of(name, flow.block, kind) for name, kind in inputs}
            outputs = _outputs(cast("Any", self._function)(**arguments))
        fields = {"inputs": {name: self._input(name, kind) for name, kind in inputs}}
        return self._fields | fields | {"steps": flow.block.steps, "outputs": outputs}, flow

    def _inputs(self, flow: Flow) -> list[tuple[str, object]]:
        if inspect.iscoroutinefunction(self._function):
            raise _no_coroutine(self.name)
        hints = hints_of(self._function)
        names = list(inspect.signature(self._function).parameters)
        flow.names.update(names)
        return [(name, hints.get(name, Any)) for name in names]

    def _input(self, name: str, kind: object) -> dict[str, object]:
        schema = schema_of(kind, f"the input {name!r}")
        default = inspect.signature(self._function).parameters[name].default
        word = str(schema.get("type"))
        word = "list" if word == "array" else word if word in _TYPES else "json"
        declared: dict[str, object] = {"type": word}
        if default is not inspect.Parameter.empty:
            declared |= {"default": to_json(default), "required": False}
        return declared


def _no_coroutine(name: str) -> UsageError:
    return UsageError(
        f"the function of workflow {name!r} is a coroutine function, but values that it could "
        "await exist only in a run",
        help="write `def`, and put what waits into functions with @whorl.step",
    )


def _outputs(given: Any) -> dict[str, Any]:
    if given is None:
        return {}
    named = written(given)
    return named if isinstance(named, dict) else {"result": named}


@overload
def workflow(function: Callable[P, R], /) -> WorkflowFunction[P, R]: ...


@overload
def workflow(
    *,
    name: str | None = None,
    model: str | Sequence[str] | None = None,
    system: str | None = None,
    budget: float | Mapping[str, object] | None = None,
    description: str | None = None,
) -> Callable[[Callable[P, R]], WorkflowFunction[P, R]]: ...


def workflow(function: Any = None, /, **fields: Any) -> Any:
    """Makes a workflow of a function: its parameters are the inputs, what it returns the outputs.

        @whorl.workflow(budget=0.50)
        def essay(topic: str) -> str:
            with whorl.loop(at_most=5) as polish:
                draft = whorl.ask(f"Write about {topic}")
                polish.until(is_good(draft))
            return draft

    The function is read once, when the workflow is first used, and never called by a run.
    """
    if function is None:
        return lambda inner: WorkflowFunction(inner, **fields)
    return WorkflowFunction(function, **fields)


def each(
    function: Callable[[T], R],
    items: Sequence[T],
    *,
    at_once: int = 1,
    name: str = "",
    **options: Any,
) -> list[R]:
    """The results of the function for all items, in order; `at_once` items run at the same time.

    The function is a step, or any function that calls steps.
    """
    flow = needed("each")
    given = name or assigned_name(getattr(function, "__name__", "each").strip("<>"))
    block = flow.block
    value = flow.add(given, {"each": None})
    own, item = expression(value), flow.unused("item")
    kinds = getattr(kind_of(items), "__args__", None) or (Any,)
    with flow.inside("item", own) as inside:
        result = function(cast("T", Ref(lambda: item, kinds[0])))
        if not isinstance(result, Ref) or expression(result) not in inside.steps:
            result = cast("R", flow.add("result", {"value": result}, kind_of(result)))
        last = expression(result)
    fields = {"each": written(items), "as": item, "at_once": at_once, "steps": inside.steps}
    block.steps[own] = fields | options
    kind = GenericAlias(list, (kind_of(result),))
    listed = Ref(lambda: f"({expression(value)} | map(attribute='{last}') | list)", kind)
    return cast("list[R]", listed)


@contextmanager
def when(condition: object) -> Iterator[None]:
    """The steps if a condition is true; `with whorl.otherwise():` right after it, if not."""
    flow = needed("when")
    block = flow.block
    name = expression(flow.add("when", {"if": None}))
    with flow.inside("open") as inside:
        yield
    test = expression(condition) if isinstance(condition, Ref) else condition
    block.steps[name] = block.branch = {"if": test, "then": inside.steps}


@contextmanager
def otherwise() -> Iterator[None]:
    """The steps if the condition of the `whorl.when` right before it is false."""
    flow = needed("otherwise")
    block: Block = flow.block
    if block.branch is None:
        raise UsageError("whorl.otherwise() must come right after a `with whorl.when(...)`")
    branch = block.branch
    with flow.inside("open") as inside:
        yield
    branch["else"], block.branch = inside.steps, None


@contextmanager
def together() -> Iterator[None]:
    """Steps that run at the same time."""
    flow = needed("together")
    block = flow.block
    name = expression(flow.add("together", {"together": None}))
    with flow.inside("open") as inside:
        yield
    block.steps[name] = {"together": inside.steps}
