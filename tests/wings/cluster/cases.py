"""Runs conformance cases on a real server, on a clock that is fast: like `conformance.local`."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cluster.skipping_time import SkippingTime, cut_off, skip, take_time
from conformance.expecting import mistakes
from conformance.person import check_refusal, during, events_for, fork_for
from conformance.reading import workflow_of
from conformance.replies import Script, ScriptedKind, ScriptedWorkers, effect_of
from conformance.running import options_of, requests_of, result_of, run_simulated
from whorl.errors import UsageError
from whorl.ir.values import parse_duration
from whorl.runtimes.start_options import Start
from whorl.wings.cluster.messages import id_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from conformance.literate import Case
    from whorl.language import Json
    from whorl.providers.task import Effect, Emit, Estimate, Reply, Request
    from whorl.runtimes.journal.journal import RunId
    from whorl.wings.cluster.runtime import TemporalRuntime


_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ][\d:.]+")


class _Kind:
    """A kind of task that replies by the script of whichever case asks."""

    def __init__(self, workers: CaseWorkers, name: str) -> None:
        self._workers, self._name = workers, name
        self.effect = effect_of(name)

    def _of(self, request: Request) -> ScriptedKind:
        return ScriptedWorkers(self._workers.scripts[request.run]).kind(self._name)

    def estimate(self, request: Request) -> Estimate:
        return self._of(request).estimate(request)

    async def perform(self, request: Request, emit: Emit) -> Reply:
        try:
            return await self._of(request).perform(request, emit)
        finally:
            await self._workers.asking[request.run](request.address)
            cut_off(request.timeout_s)


class CaseWorkers:
    """Implements `Workers` for many cases at once, by the ids of their runs."""

    def __init__(self) -> None:
        self.scripts: dict[str, Script] = {}
        self.asking: dict[str, Callable[[str], Awaitable[None]]] = {}
        self.skipping = SkippingTime()

    def kind(self, name: str) -> _Kind:
        return _Kind(self, name)

    def effect(self, name: str, inputs: dict[str, Json]) -> Effect:
        return effect_of(name)

    def redacted(self, value: Json) -> Json:
        return value


async def tried(
    case: Case, runtime: TemporalRuntime, workers: CaseWorkers
) -> tuple[RunId, list[str]]:
    """The run of a case, and what is wrong with it: its outcome, or how it differs from others."""
    script = Script(case.blocks.get("replies"))
    wanted = await asyncio.to_thread(run_simulated, case, script)
    script.sleep = take_time
    is_steered = any(e.kind == "run.waiting" and e.body.get("due") for e in wanted.entries)
    for _ in range(case.options.get("runs", 1)):
        script.forget_calls()
        run = await _driven(case, runtime, script, workers, is_steered=is_steered)
    result = result_of(runtime.store, run)
    result.document = _certain(_timeless(result.document))
    status = runtime.store.run(run).status
    found = mistakes(_certain(_timeless(case.blocks["outcome"])), result, script)
    if status != result.document["status"]:
        found.append(f"lists say {status}")
    if any("together" in request for request in case.blocks.get("requests") or ()):
        # What comes too late is refused here, and noted where all of it is delivered.
        result.document["warnings"] = wanted.document["warnings"]
    if result.document != _certain(_timeless(wanted.document)):
        found.append(f"another document: {result.document} instead of {wanted.document}")
    return run, found


async def _driven(
    case: Case, runtime: TemporalRuntime, script: Script, workers: CaseWorkers, *, is_steered: bool
) -> RunId:
    """Starts a run and makes the requests of its case; gives the run that is left at the end."""
    resting, busy = requests_of(case)
    # Calls are made before the start returns: the run is known by its key.
    key = f"{case.id} {len(workers.scripts)}"
    run = id_of(key)
    workers.scripts[run] = script

    async def ask_during(address: str) -> None:
        for request in busy:
            if during(request) == address:
                await _ask(runtime, run, request)

    script.on_perform = lambda address: None
    workers.asking[run] = ask_during
    if is_steered:
        # Time passes when a person says so: nobody could answer before a question is overdue.
        workers.skipping.steered.add(run)
    start = Start(input=dict(case.blocks.get("input") or {}), key=key, **options_of(case))
    await runtime.start(workflow_of(case), start)
    await runtime.drive(run)
    for request in resting:
        if check_refusal(request, runtime.store, run):
            continue
        fork = fork_for(request)
        if fork is not None:
            script.forget_calls()
            key = f"{fork.key} {run}"
            workers.scripts[id_of(key)] = script
            workers.asking[id_of(key)] = ask_during
            run, _ = await runtime.fork(run, replace(fork, key=key))
        elif "wait" in request:
            await skip(runtime, run, parse_duration(request["wait"]))
        else:
            await _ask(runtime, run, request)
        await runtime.drive(run)
    return run


async def _ask(runtime: TemporalRuntime, run: RunId, request: dict[str, Any]) -> None:
    await runtime.refresh(run)
    ignored = (UsageError,) if "together" in request else ()
    for event in events_for(request, runtime.store, run, 0.0):
        with suppress(*ignored):
            await runtime.request(run, event)


def _certain(value: Any) -> Any:
    """A value without what calls in doubt may have used: nobody asks before, without a budget."""
    if isinstance(value, dict):
        doubtful = ("input_tokens", "output_tokens", "cost_usd") if value.get("in_doubt") else ()
        return {name: _certain(part) for name, part in value.items() if name not in doubtful}
    return [_certain(part) for part in value] if isinstance(value, list) else value


def _timeless(value: Any) -> Any:
    """A value without the time of day, which is another one here, and the ids of runs."""
    if isinstance(value, dict):
        return {name: _timeless(part) for name, part in value.items() if name != "run"}
    if isinstance(value, list):
        return [_timeless(part) for part in value]
    return _TIME.sub("TIME", value) if isinstance(value, str) else value
