"""The scheduler of a server: it notes due times, polls other systems and starts runs.

It first notes a due time in the store, then starts the run under a key made of the schedule and the
time, and then notes the start. So each run starts once, even if several servers share a store or
one of them is killed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin

from whorl.errors import StoreError, UsageError, WhorlError, safe
from whorl.providers.json_values import table_of
from whorl.providers.task import Request
from whorl.services.serving.triggers import TriggerCall, computed, inputs_of, scope_of, starts_of
from whorl.wings.automation import rules
from whorl.wings.automation.registry import Schedules, lets_triggers, not_let, of_triggers, prepared
from whorl.wings.automation.table import Firing, Schedule, ScheduleTable

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from whorl.interfaces.http.state import ServerState
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.providers.registry import Providers
    from whorl.runtimes.journal.keys import Seals
    from whorl.runtimes.start_options import Start
    from whorl.services.project import Catalogue, Project
    from whorl.services.run_driver import Driving
    from whorl.services.serving.triggers import Starts
    from whorl.wings.automation.rules import Rule


LOOK_S: Final = 1.0
# So many firings of a schedule wait for their turn at most.
WAITING_MAX: Final = 100
_CHECK_S: Final = 30.0
# How often the files of the project are looked through for triggers of the clock's.
_FOLLOW_S: Final = 10.0

log = logging.getLogger("whorl")


@dataclass(eq=False)
class Scheduler:
    """Fires the schedules of a project in a store that other servers may share."""

    project: Project
    providers: Providers
    driving: Driving
    catalogue: Catalogue
    awake: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        # Of each schedule for which another system is being asked: who does that.
        self.asking: dict[str, asyncio.Task[None]] = {}
        self._store = self.driving.runtime.store
        self.schedules = Schedules(self.project, self._store)
        self._table = ScheduleTable(self._store)
        # Of each schedule: its cursor and rule, and the next time that is due by them.
        self._next: dict[str, tuple[tuple[float, Rule], float | None]] = {}
        self.troubles: dict[str, str] = {}
        self._checked = self._followed = -_CHECK_S
        self._has_waiting = False

    def health(self) -> dict[str, float]:
        return {"schedules_in_trouble": len(self.troubles)}

    async def close(self) -> None:
        """Does nothing: its tasks end with `work`."""

    def run_left(self) -> None:
        """Wakes the scheduler when a run is left, if a firing waits for one."""
        if self._has_waiting:
            self.awake.set()

    async def work(self) -> None:
        """Looks for due schedules until it is cancelled."""
        try:
            while True:
                try:
                    await self.look()
                except WhorlError as fault:
                    log.warning("schedules wait: %s", safe(str(fault)))
                self.awake.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_S):
                        await self.awake.wait()
        finally:
            for task in self.asking.values():
                task.cancel()

    async def look(self) -> None:
        """Notes all due times, and starts the runs that may start."""
        if self.driving.is_closing:
            return
        own = await self._own()
        known = {schedule.id: schedule for schedule in own}
        self._next = {id_: entry for id_, entry in self._next.items() if id_ in known}
        for schedule in own:
            if not schedule.paused:
                await self._plan(schedule)
        waiting: dict[str, list[Firing]] = {}
        for firing in await asyncio.to_thread(self._table.waiting, rules.OPEN_MAX) if own else ():
            waiting.setdefault(firing.schedule, []).append(firing)
        self._has_waiting = bool(waiting)
        for id_, firings in waiting.items():
            if id_ not in known:
                continue
            if rules.POLLED in known[id_].rule:
                # Others may take their time to answer.
                self._aside(id_, self._start_newest(known[id_], firings))
            else:
                await self._start_all(known[id_], firings)
        if own and time.monotonic() - self._checked >= _CHECK_S:
            self._checked = time.monotonic()
            found = {s.name: await asyncio.to_thread(self.schedules.trouble, s) for s in own}
            self.troubles = {name: words for name, words in found.items() if words}

    async def _own(self) -> list[Schedule]:
        """Returns the schedules of the project, after following changes of its files."""
        own = await asyncio.to_thread(self._known)
        if time.monotonic() - self._followed < _FOLLOW_S:
            return own
        self._followed = time.monotonic()
        listed = await asyncio.to_thread(self.catalogue.listed)
        held = [schedule for schedule in own if schedule.fault == not_let(schedule.name)]
        if held and lets_triggers(self.project):
            for schedule in held:
                await self.schedules.resume(schedule.name)
            own = await asyncio.to_thread(self._known)
        wanted, gone = of_triggers(self.project, listed, own, self._store.clock())
        if not wanted and not gone:
            return own
        await self._table.follow(wanted, gone)
        for schedule in wanted:
            if schedule.paused:
                log.warning("%s starts nothing: %s", schedule.name, safe(schedule.fault))
        return await asyncio.to_thread(self._known)

    def _known(self) -> list[Schedule]:
        """Returns the schedules that this server fires; on a cluster, only those of files."""
        root, is_mirror = str(self.project.root), self._store.is_mirror
        return [s for s in self._table.all() if s.root == root and (s.trigger or not is_mirror)]

    async def _plan(self, schedule: Schedule) -> None:
        try:
            rule = rules.rule_of(schedule.rule)
        except UsageError as fault:
            await self._table.note_fault(schedule, str(fault))
            return
        now, place = self._store.clock(), (schedule.cursor, rule)
        if schedule.id not in self._next or self._next[schedule.id][0] != place:
            due = await asyncio.to_thread(next, rule.times(schedule.cursor), None)
            self._next[schedule.id] = (place, due)
        due = self._next[schedule.id][1]
        is_set_back = schedule.cursor > now + rules.GRACE_S
        if is_set_back or (due is not None and due <= now):
            cursor, firings = await asyncio.to_thread(rules.due_until, rule, schedule, now)
            if await self._table.plan(schedule, cursor, firings):
                del self._next[schedule.id]
                self.awake.set()

    async def _start_all(self, schedule: Schedule, firings: list[Firing]) -> None:
        waiting = 0
        for firing in firings:
            if schedule.paused and firing.state != "asked":
                continue
            active = "" if schedule.overlap == "parallel" else self._table.active_run(schedule)
            words = f"run {active} has not ended"
            if not active:
                await self._start(schedule, firing)
            elif schedule.overlap == "queue" and waiting < WAITING_MAX:
                waiting += 1
            else:
                if schedule.overlap == "queue":
                    words = f"{WAITING_MAX} firings wait already for run {active} to end"
                await self._table.settle(firing, "skipped", reason=words)

    def _aside(self, id_: str, work: Coroutine[object, object, None]) -> None:
        """Polls another system in a separate task, at most one for each schedule."""
        if id_ in self.asking:
            work.close()
            return

        async def asked() -> None:
            try:
                await work
            except WhorlError as fault:
                log.warning("schedules wait: %s", safe(str(fault)))
            finally:
                del self.asking[id_]
                self.awake.set()

        self.asking[id_] = asyncio.create_task(asked())

    async def _start_newest(self, schedule: Schedule, firings: list[Firing]) -> None:
        """Polls once for all due times of a schedule."""
        for firing in firings[:-1]:
            await self._table.settle(firing, "skipped", reason="a later firing polls instead")
        await self._start_all(schedule, firings[-1:])

    async def _start(self, schedule: Schedule, firing: Firing) -> None:
        try:
            workflow, start = await asyncio.to_thread(
                prepared, self.project, self.providers, schedule, rules.key_of(schedule, firing.due)
            )
            starts = await self._starts(workflow, schedule, firing, start)
        except StoreError:
            raise
        except WhorlError as fault:
            log.warning("schedule %s started nothing: %s", schedule.name, safe(str(fault)))
            await self._table.settle(firing, "failed", reason=str(fault))
            await self._table.note_fault(schedule, str(fault))
            return
        await self._table.note_fault(schedule, "")
        if starts is None or not starts.each:
            reason = "there is nothing new" if starts is None else starts.reason
            await self._table.settle(firing, "skipped", reason=reason)
            return
        made = [await self.driving.runtime.start(workflow, each) for each in starts.each]
        await self._table.settle(firing, "started", run=made[0][0], reason=firing.reason)
        # An existing run was started by another server, or before a crash: the driver of runs
        # resumes it.
        fresh = [run for run, is_new in made if is_new]
        for run in fresh[: self.providers.settings.server.max_concurrent]:
            self.driving.drive(run)

    async def _starts(
        self, workflow: Workflow, schedule: Schedule, firing: Firing, start: Start
    ) -> Starts | None:
        """Returns the runs that a firing starts, or None if the polled system has no news."""
        given: Start | None = windowed(workflow, schedule, start, firing.due)
        if rules.POLLED in schedule.rule and workflow.trigger and workflow.trigger.poll:
            seals = self._store.seals
            given, rule = await polled(self.providers, seals, workflow, schedule, start)
            if rule != schedule.rule:
                await self._table.note_rule(schedule, rule)
        if given is None:
            return None
        return await asyncio.to_thread(starts_of, workflow, given, self._store.clock())


def scheduler_of(state: ServerState) -> Scheduler:
    return Scheduler(state.project, state.providers, state.driving, state.catalogue)


# Polling: a server asks other systems for news of a trigger.

# The key of the next address to poll, as a reply gives it, sealed.
_NEXT: Final = "next"


def windowed(workflow: Workflow, schedule: Schedule, start: Start, due: float) -> Start:
    """Adds the window that is due to a start, if its trigger has windows."""
    rule = rules.rule_of(schedule.rule)
    if not isinstance(rule, rules.Windows):
        return start
    begin, end = rule.span(due)
    window: dict[str, Json] = {"windowStartTime": rules.iso(begin), "windowEndTime": rules.iso(end)}
    return replace(start, input=start.input | {workflow.main_input: window})


async def polled(
    providers: Providers, seals: Seals, workflow: Workflow, schedule: Schedule, start: Start
) -> tuple[Start | None, dict[str, Json]]:
    """Polls another system; returns the start, or None without news, and the new rule.

    Raises ProviderError if it does not answer, or not with success.
    """
    trigger = workflow.trigger
    assert trigger is not None
    assert trigger.poll is not None
    task: Any = computed(trigger, trigger.poll, scope_of(workflow, start.input, 0.0))
    place = schedule.rule.get(_NEXT)
    asked = task["inputs"].get("call") if task["kind"] == "connector" else task["inputs"]
    if isinstance(place, str) and isinstance(asked, dict):
        # The other side keeps what we have seen in the address that it gives.
        url = seals.open(place, schedule.id)
        asked |= {"url": url, "sent_to": str(asked.get("url")), "query": None}
    request = Request("", trigger.name, task["kind"], task["inputs"], key=start.key)
    given = await providers.kind(request.kind).perform(request, lambda text: None)
    reply = table_of(given.value)
    headers = table_of(reply.get("headers"))
    rule = {name: value for name, value in schedule.rule.items() if name != _NEXT}
    location = [str(value) for name, value in headers.items() if name.lower() == "location"]
    if location and isinstance(asked, dict):
        base = str(asked.get("sent_to") or asked.get("url"))
        rule[_NEXT] = seals.seal(urljoin(base, location[0]), schedule.id)
    if reply.get("status") == 202:  # there is no news
        return None, rule
    call = TriggerCall("POST", trigger.path, headers=headers, body=_body(reply))
    return replace(start, input=start.input | inputs_of(trigger, call)), rule


def _body(reply: dict[str, Json]) -> Json:
    """Returns the body of a reply; binary content is returned with its type."""
    body = reply.get("body")
    if reply.get("encoding") != "base64":
        return body
    kind = str(table_of(reply.get("headers")).get("content-type", "application/octet-stream"))
    return {"$content-type": kind, "$content": body}
