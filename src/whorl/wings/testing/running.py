"""A run with mocks, in virtual time: it performs tasks and answers calls that have no mock."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from copy import deepcopy
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from whorl.dialects.mocking import mock_words
from whorl.errors import CodeChanged, ProviderError, UsageError
from whorl.interfaces.advice import with_help
from whorl.interpreter.events import join, split_iteration
from whorl.lazily import dataclass
from whorl.providers.asking import judged_value
from whorl.providers.functions import Function, Tasks
from whorl.providers.json_values import NotJson, as_json, as_text
from whorl.providers.registry import KINDS, Providers
from whorl.providers.settings.sections import settings_from
from whorl.providers.task import Effect, Emit, Estimate, Reply, Request, Usage
from whorl.runtimes.host import Host
from whorl.runtimes.journal.folding import end_of, fold
from whorl.runtimes.journal.journal import IterationRow
from whorl.runtimes.program_log import reading
from whorl.runtimes.simulated import EPOCH, SimulatedRuntime
from whorl.services.files.preflight import check_given
from whorl.services.inspecting.results import status_words
from whorl.services.records import document, records_of
from whorl.services.replay import OneKind, simulate
from whorl.wings.testing.mocks import Answer, Mock, Mocks, decision

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator, Mapping, Sequence

    from whorl import ir
    from whorl.interpreter.machine import Machine
    from whorl.language import Json
    from whorl.providers.redaction import Secret
    from whorl.providers.settings import Settings
    from whorl.providers.task import TaskKind
    from whorl.runtimes.journal.journal import LoopRow, RunId
    from whorl.runtimes.simulated import MemoryJournal

RECORDS_MAX = 100_000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StepCall:
    """A call that a step made: what it was given, by its dialect's words."""

    address: str
    kind: str
    inputs: Json
    attempt: int


@dataclass(slots=True)
class Outcome:
    """The outcome of a run: the result document, the calls in order, the problems of the test."""

    workflow: ir.Workflow
    mocks: Mocks
    result: dict[str, Any]
    calls: list[StepCall]
    problems: list[str]
    journal: MemoryJournal
    run: RunId

    def records(self) -> list[dict[str, Any]]:
        """Returns the records of all steps, items and iterations, on all levels."""
        found = records_of(self.journal, self.run, depth=None, limit=RECORDS_MAX)
        return [*map(document, found.records)]

    @property
    def seconds(self) -> float:
        """The virtual duration of the run."""
        return self.machine().now - EPOCH

    def machine(self) -> Machine:
        return fold(self.journal, self.run).machine

    def iterations(self, loop: LoopRow) -> list[IterationRow]:
        rows = []
        for entry in self.journal.read(self.run, kinds=frozenset({"iteration.finished"})):
            address, number = split_iteration(entry.event.address)
            if address == loop.address:
                note: dict[str, Any] = entry.event.body
                facts = (note["status"], note.get("score"), entry.seq, entry.event.at, note)
                rows.append(IterationRow(address, number or 0, *facts))
        return rows

    def why(self) -> Iterator[str]:
        """Yields the lines of `whorl why`: the loops of the run, its failure, what it waits for."""
        from whorl.interfaces.cli.summary import error_lines, loop_lines

        result, machine = with_help(self.result, is_kept=False), self.machine()
        yield f"the run of {self.workflow.name} {status_words(str(result['status']))}"
        for row in self.journal.loops(self.run):
            rows = self.iterations(row)
            yield from loop_lines(row, rows, workflow=self.workflow, machine=machine)
        if result["error"]:
            yield from error_lines(result["error"])


def run_test(mocks: Mocks, setup: Setup) -> Outcome:
    """Runs a workflow with its mocks. Raises UsageError if it cannot begin."""
    workflow = mocks.workflow
    given = mocks.given | setup.inputs
    check_given(workflow, given, advice="see `inputs` of the test")
    options: dict[str, Any] = {"iterations": setup.max_iterations}
    options["limits"] = None if setup.budget is None else {"cost_usd": setup.budget}
    chosen = {name: option for name, option in options.items() if option is not None}
    changed = mocks.mocked(keeps_retries=setup.retries)
    with closing(UnmockedCalls(setup)) as others:
        kind = _Performing(mocks, others, retries=setup.retries or not mocks.is_program)
        runtime = SimulatedRuntime(OneKind(kind, setup.tasks if mocks.is_program else None))
        run = runtime.start(changed, given, run="test", **chosen)
        result = simulate(runtime, run, kind.decision)
        if mocks.is_program:
            _check_program(mocks, runtime, run, setup)
    return Outcome(workflow, mocks, result, kind.calls, kind.problems, runtime.journal, run)


def _check_program(mocks: Mocks, runtime: SimulatedRuntime, run: RunId, setup: Setup) -> None:
    """Raises UsageError for a mock that means nothing, AssertionError if the code is not the same.

    The code is run again with the same answers, and must request the same.
    """
    steps = runtime.journal.read(run, kinds=frozenset({"program.stepped"}))
    requests: list[Any] = [r for step in steps for r in step.event.body["requests"]]  # type: ignore[union-attr]
    requested = [join(r["at"], r["name"]) for r in requests if "node" in r]
    if (mistake := mocks.unmeant(requested)) is not None:
        raise UsageError(f"mocks: {mistake.message}", help=mistake.help, code=mistake.code)
    machine = fold(runtime.journal, run, to_drive=True).machine
    host = Host(machine, lambda: machine.now, functions=setup.tasks)
    try:
        log = end_of(reading(runtime.journal, run, machine, runtime.journal.seals))
        end_of(host.begin_again(log))
    except CodeChanged as fault:
        words = "the workflow did something else when it ran again with the same answers: it "
        words += f"requested {fault.was}, and then {fault.now}; what differs from time to time "
        raise AssertionError(f"{words}belongs into a step, `whorl.value` or `whorl.now`") from None
    finally:
        host.close()


class MockedProviders(Providers):
    """Answers each task of a stored run from the mocks, at once and without cost.

    `secrets` are those of the operator. They are also redacted in such a run.
    """

    is_mocked = True
    secrets: tuple[Secret, ...] = ()

    def __init__(self, mocks: Mocks, setup: Setup, secrets: tuple[Secret, ...]) -> None:
        super().__init__(_scripted(setup.models), setup.tasks)
        self.secrets = secrets
        for mock in mocks.mocks:
            mock.answers = tuple(
                replace(answer, delay_s=0.0, usage=Usage(calls=answer.usage.calls))
                for answer in mock.answers
            )
        self._calls = UnmockedCalls(setup)
        self._performing = _Performing(mocks, self._calls)
        self.decide = self._performing.decision

    def kind(self, name: str) -> TaskKind:
        return self._performing

    def effect(self, name: str, inputs: Mapping[str, Json] | None = None) -> Effect:
        return "outside"

    async def close(self) -> None:
        self._calls.close()
        await super().close()


class _Performing:
    """The only kind of task in a test."""

    effect: Effect = "outside"

    def __init__(self, mocks: Mocks, others: UnmockedCalls, *, retries: bool = True) -> None:
        self._mocks, self._others, self._retries = mocks, others, retries
        self.calls: list[StepCall] = []
        self.problems: list[str] = []

    def estimate(self, request: Request) -> Estimate:
        """Returns the usage of the next answer, so that a budget can refuse the call."""
        mock = self._mocks.find(request.address, request.inputs.get("task"))
        answer = None if mock is None else mock.upcoming()
        if answer is None:
            return Estimate()
        used = answer.usage
        tokens = used.input_tokens + used.output_tokens
        return Estimate(used.calls, tokens, used.cost_usd, input_tokens=used.input_tokens)

    async def perform(self, request: Request, emit: Emit) -> Reply:
        mock = self._mocks.find(request.address, request.inputs.get("task"))
        inputs: Json = deepcopy(request.inputs)
        step = self._mocks.at(request.address)
        if step is not None and step.node is not None:
            inputs = mock_words(step.owner.dialect).given(step.node, inputs)
        self.calls.append(StepCall(request.address, request.kind, inputs, request.attempt))
        try:
            if mock is not None:
                return await self._mocked(mock, request, inputs)
            return await self._others.perform(request, emit)
        except Unanswered as left:
            self.problems.append(str(left))
            raise ProviderError(str(left), code="P112") from None

    async def _mocked(self, mock: Mock, request: Request, inputs: Json) -> Reply:
        answer = mock.take()
        if answer is None:
            raise _used_up(mock, request.address)
        if answer.delay_s:
            await asyncio.sleep(answer.delay_s)
        outputs = deepcopy(answer.outputs)
        if answer.function is not None:
            outputs = self._computed(answer, request, inputs)
        if answer.status in ("failed", "timed_out"):
            detail: dict[str, Any] = {"value": outputs, "usage": answer.usage.as_json()}
            if answer.http_status is not None:
                detail["status"] = answer.http_status
            raise ProviderError(
                answer.message,
                code=answer.code,
                retryable=answer.retryable and self._retries,
                detail=detail,
            )
        if request.kind == "judge" and not isinstance(outputs, dict):
            words = ("YES" if outputs else "NO") if isinstance(outputs, bool) else str(outputs)
            outputs = judged_value(request.inputs, words)
        return Reply(outputs, answer.usage, {"mocked": True})

    def _computed(self, answer: Answer, request: Request, inputs: Json) -> Json:
        assert answer.function is not None
        try:
            return as_json(answer.function(inputs if isinstance(inputs, dict) else {}))
        except ProviderError:
            raise
        except NotJson as fault:
            why = f"the mock of {request.address!r} gave a value that is not JSON: {fault}"
            raise Unanswered(why) from None
        # An assertion in a mock fails the test; any other exception fails the step.
        except AssertionError as fault:
            raise Unanswered(
                f"the mock of {request.address!r}: {fault or 'an assertion'}"
            ) from fault
        except Exception as fault:
            kind = type(fault).__name__
            why = f"the mock raised {kind}: {fault}"
            raise ProviderError(why, retryable=True, detail={"type": kind}) from fault

    def decision(self, address: str) -> dict[str, Json] | None:
        """Returns the decision that the test gives for a person, or None if it gives none."""
        mock = self._mocks.find(address)
        if mock is None:
            return None
        answer = mock.take()
        if answer is None:
            self.problems.append(str(_used_up(mock, address)))
            return None
        return decision(answer.outputs)


def _used_up(mock: Mock, address: str) -> Unanswered:
    why = f"all answers of the mock {mock.key.text!r} ({len(mock.answers)}) are used up at"
    return Unanswered(f"{why} {address!r}; add one, or say what comes `then: repeat`")


_MODELS = ("ask", "judge")
# The inputs that choose a model; a test has only one model.
_CHOOSING = ("model", "provider", "model_url", "tools")
_SCRIPTED = "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a test gives to a run, beside its mocks."""

    inputs: dict[str, Json] = field(default_factory=dict)
    models: Sequence[Json] = ()
    tasks: Tasks = field(default_factory=Tasks)
    retries: bool = False
    max_iterations: int | None = None
    budget: float | None = None


class PureTasks(Tasks):
    """The functions that a test really calls: those that it gives, and pure ones of a program."""

    def keep(self, name: str, function: Function, *, pure: bool = False) -> None:
        if pure:
            super().keep(name, function, pure=True)


class Unanswered(Exception):
    """A call without a mock or another answer: the test is incomplete."""


class UnmockedCalls:
    """Answers calls that have no mock: with rules for models, and with pure functions.

    They run in an event loop of their own, since the time of the run's loop only jumps.
    """

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._providers = Providers(_scripted(setup.models), setup.tasks)
        self._pool, self._runner = ThreadPoolExecutor(1), asyncio.Runner()

    async def perform(self, request: Request, emit: Emit) -> Reply:
        kind = self._providers.kind(request.kind)
        if self._is_own(request):
            return self._aside(kind.perform(request, emit))
        if not self._setup.models or request.kind not in _MODELS:
            raise Unanswered(f"nothing is called in a test: {_words(request)} has no mock")
        own = {name: value for name, value in request.inputs.items() if name not in _CHOOSING}
        named = request.inputs.get("tools")
        # Only the tools that the test defines exist.
        tools = [t for t in (named if isinstance(named, list) else ()) if self._function(str(t))]
        own |= {"tools": tools} if tools else {}
        try:
            return self._aside(kind.perform(replace(request, inputs=own), emit))
        except ProviderError as fault:
            raise Unanswered(str(fault)) if fault.code == "P112" else fault from None

    def _function(self, name: str) -> bool:
        return self._setup.tasks.get(name) is not None

    def _is_own(self, request: Request) -> bool:
        """Returns whether a call is a function of the test, or a task without cost or effect."""
        inputs = request.inputs
        name = {"use": f"{inputs.get('task')}", "connector": f"connector:{inputs.get('action')}"}
        if self._function(name.get(request.kind, "")):
            return True
        return request.kind in KINDS and self._providers.effect(request.kind, inputs) == "none"

    def _aside(self, work: Coroutine[Any, Any, T]) -> T:
        return self._pool.submit(self._runner.run, work).result()

    def close(self) -> None:
        self._aside(self._providers.close())
        self._pool.submit(self._runner.close).result()
        self._pool.shutdown()


def _words(request: Request) -> str:
    inputs = request.inputs
    names = ("url", "task", "argv", "prompt", "question")
    text = as_text(next(filter(None, map(inputs.get, names)), ""))
    shown = f" {text[:60]!r}" if text else ""
    return f"the step {request.address!r} ({request.kind}{shown})"


def _scripted(rules: Sequence[Json]) -> Settings:
    """Returns the settings of a test: one provider, which answers by rules."""
    provider = {"kind": "scripted", "model": "scripted", "replies": list(rules)}
    try:
        return settings_from({"providers": {_SCRIPTED: provider}}, {})
    except UsageError as fault:
        words = str(fault).replace(f"[providers.{_SCRIPTED}] replies", "models")
        raise UsageError(words, help=fault.help, code="W007") from None
