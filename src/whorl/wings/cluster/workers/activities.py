"""The activities of a worker: intents of tasks, performing one of them, firing schedules."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from temporalio import activity

from whorl.interpreter.events import Event, Perform
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.journal.sealed_secrets import finished_body, redaction_of
from whorl.runtimes.performing import Performing
from whorl.wings.cluster import messages
from whorl.wings.cluster.messages import Beginning

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whorl.language import Json
    from whorl.runtimes.performing import Workers
    from whorl.wings.cluster.memory import ClusterMemories


# So much of what a task has streamed is shown to those who look on.
SHOWN_MAX = 4_000
STREAM_S = 0.3
BEAT_S = 1.0
# What the run whose task is performed has been told about tools.
_PINS: ContextVar[Mapping[str, str]] = ContextVar("pins")


def tool_pins(run: str) -> Mapping[str, str]:
    return _PINS.get({})


class Activities:
    """`fired` makes of a schedule and a time what is to be started."""

    def __init__(
        self,
        workers: Workers,
        fired: Callable[[dict[str, Any], float], dict[str, Any]],
        memories: ClusterMemories,
    ) -> None:
        self._workers = workers
        self._fired = fired
        self._memories = memories

    @activity.defn(name=messages.FIRE)
    async def fire(self, schedule: dict[str, Any], due: float) -> dict[str, Any]:
        """The runs that a schedule starts at a time, as its file is now."""
        made = await asyncio.to_thread(self._fired, schedule, due)
        begun = [Beginning.from_json(each) for each in made.get("runs", ())]
        return made | {"runs": [(await self._memories.begun(each)).to_json() for each in begun]}

    @activity.defn(name=messages.PREPARE)
    async def prepare(
        self, run: str, performs: list[dict[str, Any]], secrets: list[Any], now: float
    ) -> list[dict[str, Any]]:
        """What is journaled of tasks before they are sent; what has no effect is done at once.

        All times are those of the run: it is `now` when the activity begins.
        """
        performing, begun = self._performing(run, secrets, []), time.monotonic()
        prepared = []
        for each in performs:
            event = await self._prepared(performing, Perform(**each))
            event.at = now + time.monotonic() - begun
            prepared.append(messages.event_to_json(event))
        return prepared

    async def _prepared(self, performing: Performing, perform: Perform) -> Event:
        try:
            if not performing.has_effects(perform):
                return await self._performed(performing, perform, None, {})
            body = performing.intent(perform)
        except Exception as fault:  # noqa: BLE001 - whatever a task does must not end the run
            body = performing.failed(perform, fault, {})
            return Event("task.failed", perform.address, 0.0, body)
        return Event("task.started", perform.address, 0.0, body)

    @activity.defn(name=messages.PERFORM)
    async def perform(self, call: dict[str, Any]) -> dict[str, Any]:
        """Makes one call. Faults of providers are results: the machine decides about them."""
        texts: list[str] = []
        performing = self._performing(call["run"], call.get("secrets", ()), texts)
        _PINS.set(call.get("pins", {}))
        perform, held = Perform(**call["perform"]), call.get("held", {})
        beating = asyncio.create_task(_beat(texts))
        try:
            event = await self._performed(performing, perform, call.get("cap"), held)
        finally:
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating
        return {"kind": event.kind, "body": event.body}

    async def _performed(
        self, performing: Performing, perform: Perform, cap: int | None, held: dict[str, Json]
    ) -> Event:
        try:
            reply = await performing.answer(perform, cap)
            body = finished_body(perform, reply, self._workers.redacted)
            return Event("task.finished", perform.address, 0.0, body)
        except Exception as fault:  # noqa: BLE001 - whatever a task does must not end the worker
            body = performing.failed(perform, fault, _estimated(performing, perform, held))
            return Event("task.failed", perform.address, 0.0, body)

    def _performing(self, run: str, secrets: list[Any], texts: list[str]) -> Performing:
        redaction = redaction_of(secrets)

        def show(perform: Perform, text: str) -> None:
            if text and not perform.secure_outputs:
                texts.append(text)

        return Performing(RunId(run), self._workers, lambda: redaction, lambda *_: None, show)


def _estimated(performing: Performing, perform: Perform, held: dict[str, Json]) -> dict[str, Json]:
    """What is held for a call; without a budget nobody has asked yet what it may use."""
    if held.keys() - {"calls"}:
        return held
    reserve: Any = {}
    with suppress(Exception):  # what is wrong with the task is told already
        reserve = performing.intent(perform).get("reserve", {})
    return reserve


async def _beat(texts: list[str]) -> None:
    """Shows that the call is under way, and the end of what it has streamed."""
    shown, text, is_new = 0, "", True
    while True:
        # A call that is answered at once costs no message.
        await asyncio.sleep(STREAM_S if is_new else BEAT_S)
        is_new = len(texts) > shown
        text = (text + "".join(texts[shown:]))[-SHOWN_MAX:]
        shown = len(texts)
        activity.heartbeat(text)
