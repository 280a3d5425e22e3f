"""Schedules over HTTP: each call is one command."""

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path
from pydantic import Field, model_validator
from pydantic import StringConstraints as Text

from whorl.errors import UsageError
from whorl.interfaces.http.problems import Refusal
from whorl.interfaces.http.schemas.shared import Closed, Dollars, FileName, JsonValue, WorkflowName
from whorl.interfaces.http.state import ServerState, State, no_query
from whorl.wings.automation.firing import Scheduler
from whorl.wings.automation.registry import Listed, NewSchedule

router = APIRouter(prefix="/api/schedules", tags=["schedules"], dependencies=[Depends(no_query)])

Name = Annotated[str, Text(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$")]
Rule = Annotated[str, Text(max_length=200)]
KnownName = Annotated[str, Path(max_length=200)]


class NewScheduleItem(Closed):
    """A schedule to be made: by `cron` in the time zone `zone`, or by the interval `every`."""

    workflow: FileName
    named: WorkflowName = ""
    name: Name | None = None
    cron: Rule | None = None
    every: Rule | None = None
    zone: Rule | None = None
    overlap: Literal["skip", "queue", "parallel"] = "skip"
    backfill: bool = False
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    budget_usd: Dollars | None = Field(default=None, description="of each run")

    @model_validator(mode="after")
    def _is_one(self) -> "NewScheduleItem":
        if (self.cron is None) == (self.every is None):
            raise ValueError("give either cron or every")
        return self


class FiringItem(Closed):
    """A time at which a schedule was due, and what happened then."""

    due: float
    state: Literal["asked", "waiting", "started", "skipped", "failed"]
    run: str
    reason: str


class ScheduleItem(Closed):
    """A schedule; `trouble` says why it cannot start anything."""

    name: str
    file: str
    named: str
    when: str
    next: float | None
    overlap: str
    backfill: bool
    inputs: dict[str, JsonValue]
    budget_usd: float | None
    paused: bool
    trouble: str
    firings: list[FiringItem] = Field(description="the newest first")


class ScheduleList(Closed):
    """All schedules of the store."""

    schedules: list[ScheduleItem]


class Nothing(Closed):
    """An object without fields."""


@router.get("")
def list_schedules(state: State) -> ScheduleList:
    """The schedules, when each is due, and what happened the last times."""
    listed = state.job(Scheduler).schedules.listed()
    return ScheduleList(schedules=[_item(state, each) for each in listed])


@router.post("", status_code=201)
async def add_schedule(state: State, new: NewScheduleItem) -> ScheduleItem:
    """Lets the clock start a workflow file of the project. 409: there is one of that name."""
    path = str(await asyncio.to_thread(state.file, new.workflow))
    asked = NewSchedule(
        file=path,
        named=new.named,
        name=new.name or "",
        cron=new.cron,
        every=new.every,
        zone=new.zone,
        overlap=new.overlap,
        backfill=new.backfill,
        inputs=new.inputs,
        budget_usd=new.budget_usd,
    )
    schedules = state.job(Scheduler).schedules
    try:
        made = await schedules.add(asked)
    except UsageError as fault:
        taken = "schedule" in str(fault) and "already" in str(fault)
        if taken:
            raise Refusal(409, fault.code, str(fault), fault.help) from fault
        raise
    return await _changed(state, made.name)


@router.post("/{schedule}/pause")
async def pause_schedule(state: State, schedule: KnownName, _: Nothing) -> ScheduleItem:
    """Pauses it: it starts nothing until it is resumed."""
    await state.job(Scheduler).schedules.table.pause(schedule, paused=True)
    return await _changed(state, schedule)


@router.post("/{schedule}/resume")
async def resume_schedule(state: State, schedule: KnownName, _: Nothing) -> ScheduleItem:
    """Resumes it from now on; what was due in the pause is left out."""
    await state.job(Scheduler).schedules.resume(schedule)
    return await _changed(state, schedule)


@router.post("/{schedule}/run", status_code=202)
async def run_schedule(state: State, schedule: KnownName, _: Nothing) -> ScheduleItem:
    """Starts its workflow now, also if it is paused; its `overlap` counts."""
    await state.job(Scheduler).schedules.ask(schedule)
    return await _changed(state, schedule)


@router.delete("/{schedule}")
async def remove_schedule(state: State, schedule: KnownName) -> Nothing:
    """Deletes it; its runs stay."""
    await state.job(Scheduler).schedules.table.remove(schedule)
    return Nothing()


async def _changed(state: ServerState, name: str) -> ScheduleItem:
    state.job(Scheduler).awake.set()
    schedules = state.job(Scheduler).schedules
    shown = await asyncio.to_thread(lambda: schedules.show(schedules.table.named(name)))
    return _item(state, shown)


def _item(state: ServerState, each: Listed) -> ScheduleItem:
    known = each.schedule
    budget = known.limits.get("cost_usd")
    return ScheduleItem(
        name=known.name,
        file=state.shown_file(known.file),
        named=known.named,
        when=each.words,
        next=each.next,
        overlap=known.overlap,
        backfill=known.backfill,
        inputs=known.inputs,
        budget_usd=float(str(budget)) if budget is not None else None,
        paused=known.paused,
        trouble=each.trouble,
        firings=[
            FiringItem(due=firing.due, state=firing.state, run=firing.run, reason=firing.reason)
            for firing in each.firings
        ],
    )
