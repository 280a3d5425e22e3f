"""Schedules on Temporal: its server fires them, and workers start their runs.

A firing is a short workflow. A worker reads the file, and the firing starts the run under a key
made of the schedule and the time. It stays open until the run has ended, so that the server detects
overlaps. The tables of a store mirror the schedules for people to read.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from temporalio import workflow
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleHandle,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
)
from temporalio.common import RetryPolicy, SearchAttributeKey, WorkflowIDReusePolicy
from temporalio.exceptions import ActivityError, ChildWorkflowError, WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

with workflow.unsafe.imports_passed_through():
    from whorl.wings.automation.rules import CronRule, Interval, rule_of
    from whorl.wings.automation.table import Firing, NameTaken, ScheduleTable
    from whorl.wings.automation.table import Schedule as ScheduleRow
    from whorl.wings.cluster import messages
    from whorl.wings.cluster.connection import connect
    from whorl.wings.cluster.messages import Beginning
    from whorl.wings.cluster.workflow import how_to_begin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whorl.language import Json
    from whorl.providers.settings import TemporalSettings
    from whorl.runtimes.sqlite import SqliteStore


PREFIX = "whorl/"
FIRE_S = 60.0
# A server that was away makes up for so much.
LATE_S = 60.0
BACKFILL_S = 366 * 86_400.0
FIRINGS_MAX = 200
_DUE = SearchAttributeKey.for_datetime("TemporalScheduledStartTime")
_OVERLAPS = {
    "skip": ScheduleOverlapPolicy.SKIP,
    "queue": ScheduleOverlapPolicy.BUFFER_ALL,
    "parallel": ScheduleOverlapPolicy.ALLOW_ALL,
}


def _spec(rule: Mapping[str, Json]) -> ScheduleSpec:
    """Returns when a schedule is due, as Temporal's specification; cron may match either day."""
    known = rule_of(rule)
    if isinstance(known, Interval):
        every = timedelta(seconds=known.pace_s)
        offset = timedelta(seconds=known.start % known.pace_s)
        return ScheduleSpec(intervals=[ScheduleIntervalSpec(every, offset)])
    assert isinstance(known, CronRule)
    cron = known.cron
    days, weekdays = _listed(cron.days), _listed(cron.weekdays)
    dates = [(days, "*"), ("*", weekdays)] if cron.is_either else [(days, weekdays)]
    times = f"{_listed(cron.minutes)} {_listed(cron.hours)}"
    rules = [f"{times} {day} {_listed(cron.months)} {weekday}" for day, weekday in dates]
    return ScheduleSpec(cron_expressions=rules, time_zone_name=known.zone_name)


def _listed(values: Iterable[int]) -> str:
    return ",".join(map(str, sorted(values)))


@workflow.defn(name=messages.FIRING)
class Fire:
    """The workflow that the server starts when a schedule is due; its memo has the outcome."""

    @workflow.run
    async def run(self, schedule: dict[str, Any], queue: str) -> None:
        due = workflow.info().typed_search_attributes.get(_DUE)
        at = workflow.time() if due is None else due.timestamp()
        fired: dict[str, Any] = {"schedule": schedule["id"], "due": at, "run": ""}
        try:
            made = await workflow.execute_activity(
                messages.FIRE,
                activity_id=messages.FIRE,
                args=[schedule, at],
                task_queue=queue,
                start_to_close_timeout=timedelta(seconds=FIRE_S),
                retry_policy=RetryPolicy(maximum_attempts=3),
            )
        except ActivityError as fault:
            made = {"state": "failed", "reason": str(fault.cause), "runs": []}
        begun = [await self._begin(Beginning.from_json(each)) for each in made.pop("runs")]
        fired |= {**made, "at": workflow.time(), "run": begun[0][0] if begun else ""}
        workflow.upsert_memo(fired)
        for _, run in begun:
            if run is not None:
                with suppress(ChildWorkflowError):
                    await run

    async def _begin(
        self, beginning: Beginning
    ) -> tuple[str, workflow.ChildWorkflowHandle[Any, Any] | None]:
        try:
            run = await workflow.start_child_workflow(
                messages.RUN,
                beginning.to_json(),
                id=beginning.run,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                parent_close_policy=workflow.ParentClosePolicy.ABANDON,
                **how_to_begin(beginning),
            )
        except WorkflowAlreadyStartedError:
            return beginning.run, None
        return beginning.run, run


@dataclass(frozen=True, slots=True)
class ClusterSchedules(ScheduleTable):
    """The schedules of a namespace, mirrored in a store; the store's own are those of triggers."""

    settings: TemporalSettings

    async def add(self, schedule: ScheduleRow) -> None:
        """Adds a schedule. Raises UsageError if the name is taken."""
        late_s = BACKFILL_S if schedule.backfill else LATE_S
        action = ScheduleActionStartWorkflow(
            messages.FIRING,
            args=[asdict(schedule), self.settings.queue],
            id=f"{PREFIX}{schedule.name}",
            task_queue=self.settings.queue,
        )
        policy = SchedulePolicy(_OVERLAPS[schedule.overlap], timedelta(seconds=late_s))
        made = Schedule(action, _spec(schedule.rule), policy)
        client, memo = await connect(self.settings), {"schedule": asdict(schedule)}
        try:
            await client.create_schedule(f"{PREFIX}{schedule.name}", made, memo=memo)
        except ScheduleAlreadyRunningError:
            raise NameTaken(schedule.name) from None
        await bring_schedules(client, self.store, schedule.name)

    async def remove(self, name: str) -> None:
        if self.named(name).trigger:
            await ScheduleTable.remove(self, name)
            return
        client = await connect(self.settings)
        await _handle(client, name).delete()
        await bring_schedules(client, self.store)

    async def pause(self, name: str, *, paused: bool) -> None:
        if self.named(name).trigger:
            await ScheduleTable.pause(self, name, paused=paused)
            return
        client = await connect(self.settings)
        handle = _handle(client, name)
        await (handle.pause() if paused else handle.unpause())
        await bring_schedules(client, self.store)

    async def ask(self, name: str) -> float:
        if self.named(name).trigger:
            return await ScheduleTable.ask(self, name)
        await _handle(await connect(self.settings), name).trigger()
        return self.store.clock()


async def bring_schedules(client: Client, store: SqliteStore, *names: str) -> None:
    """Mirrors the server's schedules and the outcomes of their last times.

    The server's lists lag a little, so it also asks for the schedules that are known otherwise.
    """
    table = ScheduleTable(store)
    listed = [each.id async for each in await client.list_schedules()]
    ours = [name.removeprefix(PREFIX) for name in listed if name.startswith(PREFIX)]
    ours += [*names, *(known.name for known in table.all() if not known.trigger)]
    described = [await _described(client, name) for name in dict.fromkeys(ours)]
    if not ours:
        return
    query = f"WorkflowType = '{messages.FIRING}'"
    memos = [await each.memo() async for each in client.list_workflows(query, limit=FIRINGS_MAX)]
    firings = [Firing(**memo) for memo in memos if "state" in memo]
    last = {each.schedule: each for each in sorted(firings, key=lambda each: each.due)}
    failed = {name: each.reason for name, each in last.items() if each.state == "failed"}
    schedules = [replace(each, fault=failed.get(each.id, each.fault)) for each in described if each]
    await table.mirror(schedules, firings)


async def _described(client: Client, name: str) -> ScheduleRow | None:
    try:
        about = await _handle(client, name).describe()
    except RPCError as fault:
        if fault.status != RPCStatusCode.NOT_FOUND:
            raise
        return None
    return replace(
        ScheduleRow(**await about.memo_value("schedule")), paused=about.schedule.state.paused
    )


def _handle(client: Client, name: str) -> ScheduleHandle:
    return client.get_schedule_handle(f"{PREFIX}{name}")
