"""A run with mocks, in virtual time: whoever performs tasks for it, and what came of it."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from whorl.dialects.mocking import mock_words
from whorl.errors import ProviderError
from whorl.interpreter.events import split_iteration
from whorl.lazily import dataclass
from whorl.providers.asking import judged_value
from whorl.providers.json_values import NotJson, as_json
from whorl.providers.task import Effect, Emit, Estimate, Reply, Request
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.journal.journal import IterationRow
from whorl.runtimes.simulated import EPOCH, SimulatedRuntime
from whorl.services.files.preflight import check_given
from whorl.services.records import document, records_of
from whorl.services.replay import OneKind, simulate
from whorl.wings.testing.mocks import Answer, Mock, Mocks, decision
from whorl.wings.testing.unmocked import Unanswered, open_others

if TYPE_CHECKING:
    from whorl import ir
    from whorl.interpreter.machine import Machine
    from whorl.language import Json
    from whorl.runtimes.journal.journal import LoopRow, RunId
    from whorl.runtimes.simulated import MemoryJournal
    from whorl.wings.testing.unmocked import Setup, UnmockedCalls

RECORDS_MAX = 100_000


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a step made: what it was given, by its dialect's words."""

    address: str
    kind: str
    inputs: Json
    attempt: int


@dataclass(slots=True)
class Outcome:
    """What came of a run: the result document, the calls in order, what the test lacks."""

    workflow: ir.Workflow
    mocks: Mocks
    result: dict[str, Any]
    calls: list[Call]
    problems: list[str]
    journal: MemoryJournal
    run: RunId

    def records(self) -> list[dict[str, Any]]:
        """What became of each step, item and iteration, in all levels."""
        found = records_of(self.journal, self.run, depth=None, limit=RECORDS_MAX)
        return [*map(document, found.records)]

    @property
    def seconds(self) -> float:
        """How long the run took in its own time."""
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


def run_test(mocks: Mocks, setup: Setup) -> Outcome:
    """Runs a workflow with its mocks. Raises UsageError where it cannot even begin."""
    workflow = mocks.workflow
    given = mocks.given | setup.inputs
    check_given(workflow, given, advice="see `inputs` of the test")
    options: dict[str, Any] = {"iterations": setup.max_iterations}
    options["limits"] = None if setup.budget is None else {"cost_usd": setup.budget}
    with open_others(mocks, setup) as others:
        kind = _Performing(mocks, others)
        runtime = SimulatedRuntime(OneKind(kind))
        chosen = {name: option for name, option in options.items() if option is not None}
        changed = mocks.mocked(keeps_retries=setup.retries)
        run = runtime.start(changed, given, run="test", **chosen)
        result = simulate(runtime, run, kind.decision)
    return Outcome(workflow, mocks, result, kind.calls, kind.problems, runtime.journal, run)


class _Performing:
    """The one kind of task of a test."""

    effect: Effect = "outside"

    def __init__(self, mocks: Mocks, others: UnmockedCalls) -> None:
        self._mocks, self._others = mocks, others
        self.calls: list[Call] = []
        self.problems: list[str] = []

    def estimate(self, request: Request) -> Estimate:
        """What the next answer uses, so that a budget refuses what it would refuse."""
        mock = self._mocks.find(request.address)
        if mock is None:
            return self._others.estimate(request)
        answer = mock.upcoming() or Answer()
        used = answer.usage
        tokens = used.input_tokens + used.output_tokens
        return Estimate(used.calls, tokens, used.cost_usd, input_tokens=used.input_tokens)

    async def perform(self, request: Request, emit: Emit) -> Reply:
        mock = self._mocks.find(request.address)
        inputs: Json = deepcopy(request.inputs)
        step = self._mocks.at(request.address)
        if step is not None and step.node is not None:
            inputs = mock_words(step.owner.dialect).given(step.node, inputs)
        self.calls.append(Call(request.address, request.kind, inputs, request.attempt))
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
                answer.message, code=answer.code, retryable=answer.retryable, detail=detail
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
        # What a test asserts inside of a mock is a failure of the test; all else, of the step.
        except AssertionError as fault:
            raise Unanswered(
                f"the mock of {request.address!r}: {fault or 'an assertion'}"
            ) from fault
        except Exception as fault:
            kind = type(fault).__name__
            why = f"the mock raised {kind}: {fault}"
            raise ProviderError(why, retryable=True, detail={"type": kind}) from fault

    def decision(self, address: str) -> dict[str, Json] | None:
        """What the person of the test decides; None: nobody does."""
        mock = self._mocks.find(address)
        if mock is None:
            return self._others.decision(address)
        answer = mock.take()
        if answer is None:
            self.problems.append(str(_used_up(mock, address)))
            return None
        return decision(answer.outputs)


def _used_up(mock: Mock, address: str) -> Unanswered:
    count = len(mock.answers)
    answers = "the only answer" if count == 1 else f"the {count} answers"
    return Unanswered(
        f"{answers} of the mock {mock.key.text!r} {'is' if count == 1 else 'are'} used up at "
        f"{address!r}; add one, or say what comes `then: repeat`"
    )
