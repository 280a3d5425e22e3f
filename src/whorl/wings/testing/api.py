"""`whorl.testing`: runs of workflows with mocks, in virtual time, for tests in Python."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from whorl.errors import UsageError
from whorl.interfaces.advice import with_help
from whorl.interfaces.python import loading, values
from whorl.interfaces.python.values import LoopResult, Record, Result, Workflow
from whorl.lazily import dataclass
from whorl.wings.testing.mocks import Mocks
from whorl.wings.testing.running import PureTasks, Setup, run_test

if TYPE_CHECKING:
    from whorl.interfaces.python.values import Config, JsonLike, Runnable
    from whorl.providers.functions import Tasks
    from whorl.wings.testing import running
    from whorl.wings.testing.mocks import Key
    from whorl.wings.testing.running import StepCall

T = TypeVar("T")


@dataclass(frozen=True)
class Outcome(Result[Any]):
    """The result of a run with mocks, and what its steps did.

    A key is the name of a step, or the end of an address: `review`, `polish[2]/review`.
    """

    _tested: running.Outcome = field(kw_only=True, repr=False, compare=False)

    @property
    def seconds(self) -> float:
        """How long the run took in virtual time."""
        return self._tested.seconds

    def calls(self, key: str = "") -> tuple[StepCall, ...]:
        """The calls that steps made, in order, each with what the step was given."""
        if not key:
            return tuple(self._tested.calls)
        wanted = self._key(key)
        return tuple(call for call in self._tested.calls if wanted.fits(call.address))

    def steps(self, key: str = "") -> tuple[Record, ...]:
        """The records of steps, also of those that were skipped."""
        records = map(values.record_from, self._tested.records())
        steps = [record for record in records if record.kind not in ("iteration", "item")]
        if not key:
            return tuple(steps)
        wanted = self._key(key)
        return tuple(record for record in steps if wanted.fits(record.address))

    def step(self, key: str) -> Record:
        """The record of the one step that is meant; of one in a loop, name the iteration."""
        found = self.steps(key)
        if len(found) == 1:
            return found[0]
        places = ", ".join(record.address for record in found[:8])
        raise UsageError(f"{key!r} means {len(found)} steps", help=f"they are {places}")

    def loop(self, key: str = "") -> LoopResult:
        """How a loop ended; without a key, the only one."""
        found = [loop for loop in self.loops if not key or self._key(key).fits(loop.path)]
        if len(found) == 1:
            return found[0]
        places = ", ".join(loop.path for loop in found or self.loops)
        words = f"{key!r} means {len(found)} loops" if key else f"there are {len(found)} loops"
        raise UsageError(words, help=f"loops: {places or 'none has begun'}")

    def why(self) -> str:
        """Why the loops ended, with the conditions and their values in each iteration."""
        return "\n".join(self._tested.why())

    def _key(self, text: str) -> Key:
        mocks = self._tested.mocks
        seen = len(mocks.mistakes)
        key = mocks.key(text, ())
        if key is None:
            mistake = mocks.mistakes.pop(seen)
            raise UsageError(mistake.message, help=mistake.help, code=mistake.code)
        return key


def run(
    workflow: Runnable,
    inputs: Mapping[str, JsonLike] | None = None,
    *,
    mocks: Mapping[str, object] | None = None,
    models: Sequence[Mapping[str, object]] = (),
    tasks: Tasks | None = None,
    retries: bool = False,
    max_iterations: int | None = None,
    budget: float | None = None,
    config: Config | None = None,
) -> Outcome:
    """Runs a workflow with mocks: nothing is called, and no time passes.

    `mocks` are by the names or addresses of steps, as in a test file; a function is given what the
    step was given. `models` are rules for models: `{"match": ..., "replies": [...]}`. `tasks` are
    functions that are really called. Steps are tried again only with `retries`.

    Raises UsageError if a mock names no step or does not fit it, and AssertionError if a step would
    have called a service, or a sequence is used up.
    """
    project = loading.project_of(config)
    mentions = getattr(workflow, "mentions", frozenset)
    if not isinstance(workflow, Workflow):
        workflow = loading.workflow_from(project, workflow)
    bound = Mocks(workflow.ir, mentioned=mentions())
    for name, value in (mocks or {}).items():
        bound.add(name, _plain(value, name), (name,))
    if bound.mistakes:
        first, *more = bound.mistakes
        words = first.message + (f" (and {len(more)} more mistakes)" if more else "")
        raise UsageError(f"mocks: {words}", help=first.help, code=first.code)
    setup = Setup(
        inputs=values.plain_table(inputs, "inputs"),
        models=[values.plain_table(rule, "models") for rule in models],
        tasks=_called(tasks, workflow.tasks),
        retries=retries,
        max_iterations=values.count(max_iterations, "max_iterations"),
        budget=values.dollars(budget),
    )
    tested = _without_loop(lambda: run_test(bound, setup))
    if tested.problems:
        raise Failed(tested)
    return _outcome(tested, workflow.returns)


def _called(tasks: Tasks | None, own: Tasks | None) -> Tasks:
    """Returns the functions that are really called: those of the test, and pure ones."""
    called = PureTasks()
    called.include(tasks)
    called.include_programs(own)
    for name in own.names() if own is not None else ():
        registered = own.get(name) if own is not None else None
        if registered is not None and registered.pure and called.get(name) is None:
            called.add(name, registered.function, pure=True)
    return called


def _outcome(tested: running.Outcome, returns: object = Any) -> Outcome:
    result = values.result_from(with_help(tested.result, is_kept=False))
    known = {each.name: getattr(result, each.name) for each in fields(Result)}
    return Outcome(**known | {"_returns": returns}, _tested=tested)


class Failed(AssertionError):
    """A test lacks something: a step would have made a call, or a sequence is used up."""

    def __init__(self, tested: running.Outcome) -> None:
        super().__init__("\n".join(dict.fromkeys(tested.problems)))
        self.outcome = _outcome(tested)


def _plain(value: object, name: str) -> object:
    """Returns a mock as plain JSON, and keeps the functions in it."""
    if callable(value):
        return value
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [item if callable(item) else values.plain_value(item, name) for item in value]
    if isinstance(value, Mapping) and "sequence" in value:
        rest = {key: item for key, item in value.items() if key != "sequence"}
        plain = values.plain_table(rest, name)
        return {**plain, "sequence": _plain(value["sequence"], name)}
    return values.plain_value(value, name)


def _without_loop(work: Callable[[], T]) -> T:
    """Runs `work` in a thread if an event loop is running here, since a test has its own time."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


@dataclass(eq=False)
class Whorl:
    """The fixture `whorl`: mocks that are kept for all runs of a test, and their outcomes.

    Files are looked for beside the test first.
    """

    folder: Path | None = None
    mocks: dict[str, object] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)

    def mock(self, key: str, answer: object = None, /, **words: object) -> None:
        """Keeps a mock: `mock("review", "good")`, `mock("fetch", error="it is down")`."""
        if words and answer is not None:
            raise UsageError("give an answer, or words such as outputs=..., not both")
        self.mocks[key] = words if words else answer

    def run(
        self,
        workflow: Runnable,
        inputs: Mapping[str, JsonLike] | None = None,
        *,
        mocks: Mapping[str, object] | None = None,
        models: Sequence[Mapping[str, object]] = (),
        tasks: Tasks | None = None,
        retries: bool = False,
        max_iterations: int | None = None,
        budget: float | None = None,
        config: Config | None = None,
    ) -> Outcome:
        """The same as `whorl.testing.run`, with the mocks that are kept."""
        if isinstance(workflow, str | os.PathLike):
            beside = (self.folder or Path()) / os.fsdecode(workflow)
            workflow = beside if beside.exists() else workflow
        try:
            outcome = run(
                workflow,
                inputs,
                mocks={**self.mocks, **(mocks or {})},
                models=models,
                tasks=tasks,
                retries=retries,
                max_iterations=max_iterations,
                budget=budget,
                config=config,
            )
        except Failed as failed:
            self.outcomes.append(failed.outcome)
            raise
        self.outcomes.append(outcome)
        return outcome

    def why(self) -> str:
        """Why the loops of all runs ended."""
        return "\n\n".join(outcome.why() for outcome in self.outcomes)
