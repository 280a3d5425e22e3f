"""A run as a Temporal workflow: the pilot, with signals, timers and activities around it.

The events of one activation are collected and fed when no other work is left, in the order in which
their work began. A reader of the history can repeat this order.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import (
    RetryPolicy,
    SearchAttributeKey,
    SearchAttributePair,
    TypedSearchAttributes,
)
from temporalio.exceptions import ActivityError, CancelledError

with workflow.unsafe.imports_passed_through():
    from whorl.errors import UsageError
    from whorl.interpreter.events import Cancel, Event, Give, Perform, SetTimer
    from whorl.runtimes.host import Host, refused
    from whorl.runtimes.program_log import Log, kept_log
    from whorl.runtimes.replay_core import Arrival, ReadyCall
    from whorl.wings.cluster import messages
    from whorl.wings.cluster.decoder import lost
    from whorl.wings.cluster.memory import Remembering
    from whorl.wings.cluster.messages import Beginning

STATUS = SearchAttributeKey.for_keyword("WhorlStatus")
WORKFLOW = SearchAttributeKey.for_keyword("WhorlWorkflow")
PARENT = SearchAttributeKey.for_keyword("WhorlParent")
# Retries are the machine's: one activity is one call.
ONCE = RetryPolicy(maximum_attempts=1)
PREPARE_S = 30.0
# How long a worker may take for what one or several events lead to.
TASK_S = 20.0
LEAVE_S = 0.001
# A kind of task keeps to its own time limit; the server's comes after it.
LATE_S = 15.0
CALL_MAX_S = 7 * 86_400.0


@workflow.defn(name=messages.RUN)
class Run:
    @workflow.init
    def __init__(self, beginning: dict[str, Any]) -> None:
        self._beginning = Beginning.from_json(beginning)
        self._pilot = self._beginning.pilot()
        self._machine = self._pilot.machine
        self._status = ""
        self._awake = True
        self._is_leaving = False
        # Requests from before the run began: the SDK delivers these first.
        self._early: list[dict[str, Any]] | None = []
        self._arrived: list[Arrival] = []
        self._begun = 0
        self._preparing = self._prepared = 0
        self._calls: dict[str, asyncio.Task[None]] = {}
        self._timers: dict[str, asyncio.Task[None]] = {}
        # Tasks whose intents are put off until the worker's task has ended.
        self._held: list[Perform] = []
        self._is_resting = self._is_rested = False
        # Runs the code of a program. The answers that it has seen: restarts, and the last number.
        self._host: Host | None = None
        self._seen: tuple[int, int] | None = None
        self._fault: Exception | None = None
        if self._machine.plan.has_program:
            made: Any = workflow.extern_functions().get(messages.CODE, Host)
            self._host = made(self._machine, self._now)
            code = self._machine.state["program"]
            self._seen = None if "restart" in code else (self._machine.restarts, code["taken"])
        self._remembering = Remembering(self._beginning)

    @workflow.signal(name=messages.ASK)
    def ask(self, event: dict[str, Any]) -> None:
        if self._early is not None:
            self._early.append(event)
            return
        self._pilot.arrive(messages.event_from_json(event | {"at": 0.0}, self._now()))
        # At once, in whichever order the SDK delivers the other events: results of what a request
        # ends are dropped.
        self._carry_out()
        self._show_status()
        if (self._machine.done or self._is_full()) and not self._is_leaving:
            self._is_leaving = True
            asyncio.create_task(self._leave_later())  # noqa: RUF006 - the SDK keeps it

    async def _leave_later(self) -> None:
        """Checks for the end of the run after all other events of a request have arrived."""
        await workflow.sleep(LEAVE_S)
        self._awake, self._is_leaving = True, False

    @workflow.run
    async def run(self, beginning: dict[str, Any]) -> dict[str, Any]:
        try:
            return await self._run()
        finally:
            if self._host is not None:
                self._host.close()

    async def _run(self) -> dict[str, Any]:
        now = self._now()
        for event in self._beginning.first:
            self._arrive(messages.event_from_json(event, now))
        self._pilot.take_over(now)
        early, self._early = self._early or [], None
        for event in early:
            self.ask(event)
        while True:
            await workflow.wait_condition(lambda: self._awake or bool(self._arrived))
            if self._fault is not None:
                # The task of the worker fails, not the run: another one may do it.
                raise self._fault
            self._awake, arrived, self._arrived = False, self._arrived, []
            self._pilot.arrive_together(arrived)
            self._carry_out()
            if self._is_rested:
                self._go_on()
            self._show_status()
            self._remember()
            if self._machine.done and not self._calls and not self._remembering.is_busy:
                return self._result()
            if self._is_full() and not self._is_under_way():
                after = self._beginning.go_on(self._pilot)
                workflow.continue_as_new(after.to_json(), task_queue=after.run_queue)

    def _result(self) -> dict[str, Any]:
        pilot = self._pilot
        return {"status": self._status, "seq": pilot.seq, "hash": pilot.digest}

    def _now(self) -> float:
        return self._beginning.time(workflow.time())

    def _is_full(self) -> bool:
        info = workflow.info()
        is_long = info.get_current_history_length() > self._beginning.events_max
        return is_long or info.is_continue_as_new_suggested()

    def _is_under_way(self) -> bool:
        """Whether work is open that a restored machine would not request again."""
        machine = self._machine
        is_busy = self._calls or self._preparing or self._remembering.is_busy
        return bool(is_busy or machine.done or machine.in_flight())

    def _arrive(self, event: Event) -> None:
        self._pilot.arrive(event)
        self._awake = True

    def _show_status(self) -> None:
        if self._machine.status != self._status:
            self._status = self._machine.status
            workflow.upsert_search_attributes([STATUS.value_set(self._status)])

    def _remember(self) -> None:
        """Sends records of loops to the memories across runs."""
        entries, was_busy = self._pilot.take_entries(), self._remembering.is_busy
        before = self._pilot.seq - len(entries)
        for number, event in enumerate(entries, start=before + 1):
            if "remember" in event.body:
                self._remembering.add(number, event, self._secrets())
        if self._remembering.is_busy and not was_busy:
            asyncio.create_task(self._tell_memories())  # noqa: RUF006 - the SDK keeps it

    async def _tell_memories(self) -> None:
        await self._remembering.tell()
        self._awake = True

    def _carry_out(self, at: float | None = None) -> None:
        """Carries out the machine's commands; intents made at once get the time `at`, or now."""
        self._remember()
        now = self._now() if at is None else at
        wanted, others = self._pilot.commands(now, is_full=self._is_full())
        for command in others:
            self._begun += 1
            match command:
                case ReadyCall(perform, cap):
                    calling = self._call(perform, cap, self._begun)
                    self._calls[perform.address] = asyncio.create_task(calling)
                case Give():
                    # One that begins again finds it in the state.
                    if self._host is not None and not self._host.is_outdated:
                        self._host.give(command)
                case SetTimer(address):
                    self._drop(self._timers, address)
                    firing = self._fire(command, self._begun)
                    self._timers[address] = asyncio.create_task(firing)
                case Cancel(address):
                    self._drop(self._timers, address)
                    self._drop(self._calls, address)
        if not wanted and not self._has_news() and not (self._host and self._held):
            return
        self._prepared += 1
        self._held += wanted
        most = self._beginning.intents_max
        if self._is_resting or (self._host and self._preparing):
            # With code, one follows the other: they have the same order in a replay.
            return
        if most and not self._prepared % most:
            self._is_resting = True
            asyncio.create_task(self._rest())  # noqa: RUF006 - the SDK keeps it
        else:
            self._go_on()

    def _has_news(self) -> bool:
        """Whether the code has answers that it has not seen; a full execution leaves them."""
        machine = self._machine
        if self._host is None or machine.done or machine.status == "paused" or self._is_full():
            return False
        return self._seen != (machine.restarts, machine.state["program"]["given"])

    async def _rest(self) -> None:
        """Ends the worker's task, so that the history has its results."""
        await workflow.sleep(LEAVE_S)
        self._awake = self._is_rested = True

    def _go_on(self) -> None:
        """Prepares the intents that are still wanted, and runs the code."""
        held, self._held, self._is_resting, self._is_rested = self._held, [], False, False
        wanted = [perform for perform in held if self._pilot.is_asked(perform)]
        if (wanted or self._has_news()) and not self._machine.done:
            self._preparing += 1
            self._begun += 1
            asyncio.create_task(self._prepare(wanted))  # noqa: RUF006 - the SDK keeps it

    def _drop(self, tasks: dict[str, asyncio.Task[None]], address: str) -> None:
        task = tasks.pop(address, None)
        if task is not None:
            task.cancel()

    async def _prepare(self, wanted: list[Perform]) -> None:
        """Has a worker make the intents: tasks and costs depend on the worker's settings."""
        try:
            code = [] if self._host is None else [self._stepped(self._host)]
            performs = [self._sent(perform) for perform in wanted]
            events = await workflow.execute_local_activity(
                messages.PREPARE,
                args=[self._beginning.run, performs, self._secrets(), self._now(), *code],
                start_to_close_timeout=timedelta(seconds=PREPARE_S),
            )
        except UsageError as fault:
            self._fault, events = fault, []
        finally:
            self._preparing -= 1
            self._awake = True
        messages.take_prepared(self._pilot, events, self._now())
        for event in events:
            if "restarts" in event:
                given = event["body"].get("given")
                self._seen = None if given is None else (event["restarts"], given)
        if self._beginning.effects and self._fault is None:
            # At once: the SDK delivers several such answers one by one, or together in a replay.
            self._carry_out(events[-1]["at"] if events else None)

    def _stepped(self, host: Host) -> list[dict[str, Any]]:
        """Runs the code; returns what it requests. In a replay, the history has that already."""
        machine = self._machine
        self._seen = (machine.restarts, machine.state["program"]["given"])
        if workflow.unsafe.is_replaying():
            return []
        try:
            if host.is_outdated:
                for _ in host.begin_again(kept_log(machine) or Log()):
                    pass
            event = host.step()
        except UsageError as fault:
            if fault.code == "P114":
                raise
            host.close()
            event = refused(fault, self._now())
        if event is None:
            return []
        return [messages.event_to_json(event) | {"restarts": machine.restarts}]

    def _sent(self, perform: Perform) -> dict[str, Any]:
        """Returns a task for a worker, with the operator's secrets that code has given it."""
        if self._host is not None:
            perform = replace(perform, inputs=self._host.real_inputs(perform))
        return messages.unusual(perform)

    async def _call(self, perform: Perform, cap: int | None, number: int) -> None:
        address, beginning = perform.address, self._beginning
        limit_s = CALL_MAX_S if perform.timeout_s is None else perform.timeout_s + LATE_S
        call = {
            "run": beginning.run,
            "perform": self._sent(perform),
            "cap": cap,
            "held": self._machine.held_for(address),
            "pins": self._pilot.pins,
            # What code requests is known too late to refuse it before the run.
            "is_refused": perform.kind not in beginning.queues
            and messages.works_in_folder(perform.kind, perform.inputs),
            "secrets": self._secrets(),
        }
        try:
            reply = await workflow.execute_activity(
                messages.PERFORM,
                {name: value for name, value in call.items() if value},
                activity_id=address,
                task_queue=beginning.queues.get(perform.kind, beginning.run_queue),
                start_to_close_timeout=timedelta(seconds=limit_s),
                heartbeat_timeout=timedelta(seconds=beginning.heartbeat_s),
                retry_policy=ONCE,
                cancellation_type=workflow.ActivityCancellationType.TRY_CANCEL,
            )
            event = Event(reply["kind"], address, self._now(), reply["body"])
        except ActivityError as fault:
            event = lost(address, self._now(), fault.cause)
        except (asyncio.CancelledError, CancelledError):
            return
        if self._calls.get(address) is asyncio.current_task():
            del self._calls[address]
            self._arrived.append(Arrival(number, event))

    async def _fire(self, timer: SetTimer, number: int) -> None:
        seconds = max(0.0, timer.due - self._now()) / self._beginning.rate
        name = messages.timer_name(timer.address, timer.due)
        await workflow.sleep(seconds, summary=name)
        if self._timers.get(timer.address) is asyncio.current_task():
            del self._timers[timer.address]
            fired = Event("timer.fired", timer.address, max(timer.due, self._now()))
            self._arrived.append(Arrival(number, fired, timer.due))

    def _secrets(self) -> list[Any]:
        return list(self._machine.state.get("secrets", ()))


def how_to_begin(beginning: Beginning) -> dict[str, Any]:
    """Returns the queue and search attributes for starting an execution of a run."""
    attributes = [(WORKFLOW, beginning.name), (STATUS, "running")]
    attributes += [(PARENT, beginning.parent)] if beginning.parent else []
    pairs = [SearchAttributePair(key, text) for key, text in attributes]
    return {
        "task_queue": beginning.run_queue,
        "search_attributes": TypedSearchAttributes(pairs),
        "task_timeout": timedelta(seconds=TASK_S),
    }
