"""The schedules of a project: people add, list and steer them here."""

from __future__ import annotations

import asyncio
import math
import os
import re
import secrets
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from whorl.errors import UsageError, WhorlError
from whorl.plugins import needed
from whorl.providers.redaction import redact
from whorl.runtimes.sqlite.faults import strange
from whorl.runtimes.start_options import Start
from whorl.services.files.preflight import check_given
from whorl.services.serving.triggers import checked_start
from whorl.services.steering import with_steps
from whorl.wings.automation.rules import CODE, POLLED, rule_of, written_rule
from whorl.wings.automation.table import Firing, Overlap, Schedule, ScheduleTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.providers.registry import Providers
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Listed as ListedFile
    from whorl.services.project import Project

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_NOT_LET: Final = "this trigger comes from a workflow file and is not enabled; enable it with"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSchedule:
    """A schedule that a person adds, by cron or by an interval."""

    file: str
    named: str = ""
    name: str = ""
    cron: str | None = None
    every: str | None = None
    zone: str | None = None
    overlap: Overlap = "skip"
    backfill: bool = False
    inputs: Mapping[str, Json] = field(default_factory=dict)
    budget_usd: float | None = None
    steps: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Listed:
    """A schedule as lists show it; `trouble` says why it cannot start a run."""

    schedule: Schedule
    words: str
    next: float | None
    trouble: str
    firings: tuple[Firing, ...]


@dataclass(frozen=True, slots=True)
class Schedules:
    """The schedules of a store, for one project."""

    project: Project
    store: SqliteStore

    @property
    def table(self) -> ScheduleTable:
        if self.store.is_mirror:
            made: ScheduleTable = needed("cluster_schedules")(self.project, self.store)
            return made
        return ScheduleTable(self.store)

    async def add(self, new: NewSchedule) -> Schedule:
        """Adds a schedule. Raises UsageError or InvalidWorkflow if it could never start."""
        schedule = await asyncio.to_thread(self._made, new)
        await self.table.add(schedule)
        return schedule

    async def resume(self, name: str) -> None:
        """Resumes a schedule from now on, without the times that were due meanwhile."""
        known = self.table.named(name)
        await self.table.pause(name, paused=False)
        if known.fault == not_let(name):
            await self.table.note_fault(known, "")

    def _made(self, new: NewSchedule) -> Schedule:
        now = self.store.clock()
        rule = written_rule(cron=new.cron, every=new.every, zone=new.zone, now=now)
        file = self.project.locate(new.file)
        workflow = with_steps(self.project.read(file, new.named).workflow, new.steps)
        inputs = {**new.inputs}
        self._check_inputs(workflow, inputs, new.steps)
        name = new.name or _NOT_IN_NAMES.sub("-", workflow.name).strip("-.")[:100] or "schedule"
        if _NAME.fullmatch(name) is None:
            advice = "use 1 to 100 letters, digits, '_', '.' and '-'"
            raise UsageError(f"{name[:80]!r} cannot be the name of a schedule", help=advice)
        return Schedule(
            name=name,
            id=secrets.token_hex(4),
            root=str(self.project.root),
            file=os.path.abspath(file),
            named=new.named,
            rule=rule,
            # With backfill, no firing may be skipped.
            overlap="queue" if new.backfill and new.overlap == "skip" else new.overlap,
            backfill=new.backfill,
            inputs=inputs,
            limits={} if new.budget_usd is None else {"cost_usd": new.budget_usd},
            created_at=now,
            cursor=now,
            steps=new.steps,
        )

    def _check_inputs(
        self, workflow: Workflow, inputs: dict[str, Json], steps: dict[str, dict[str, str]]
    ) -> None:
        check_given(workflow, inputs, advice="see `inputs` of the workflow")
        secret = [port.name for port in workflow.inputs if port.secret and port.name in inputs]
        given: Any = [inputs, steps]
        if secret or redact(given, self.project.secrets()) != given:
            what = f"the input {secret[0]!r} is secret" if secret else "an input holds a secret"
            advice = "keep it in whorl.toml, as the api_key of a provider or in [keys.NAME] for "
            advice += "`http` steps, and take the input out of the workflow"
            words = f"{what}, but the inputs of a schedule are stored unencrypted"
            raise UsageError(words, help=advice, code=CODE)

    def listed(self) -> list[Listed]:
        return [self.show(schedule) for schedule in self.table.all()]

    def show(self, schedule: Schedule) -> Listed:
        words, due, trouble = str(schedule.rule), None, self.trouble(schedule)
        try:
            rule = rule_of(schedule.rule)
            due = next(rule.times(max(schedule.cursor, self.store.clock())), None)
            words = rule.words
        except UsageError as fault:
            trouble = trouble or str(fault)
        if self.store.is_strange:
            why = strange(self.store.path)
            trouble = f"{why}; {why.help}"
        if schedule.paused or self.store.is_strange:
            due = None
        return Listed(schedule, words, due, trouble, tuple(self.table.newest(schedule, 5)))

    def trouble(self, schedule: Schedule) -> str:
        """Returns why a schedule cannot start, or "" if it can or belongs to another project."""
        if schedule.root != str(self.project.root):
            return ""
        try:
            workflow = self.project.read(schedule.file, schedule.named).workflow
            check_given(with_steps(workflow, schedule.steps), schedule.inputs, advice="")
        except WhorlError as fault:
            return f"{schedule.file}: {fault}"
        return schedule.fault


def of_triggers(
    project: Project, listed: Sequence[ListedFile], known: Sequence[Schedule], now: float
) -> tuple[list[Schedule], list[Schedule]]:
    """Returns the new or changed schedules of a project's files, and those to remove.

    A file that was not read, or cannot be, keeps its schedules. In an untrusted folder, new
    schedules are paused.
    """
    followed = {schedule.name: schedule for schedule in known if schedule.trigger}
    wanted: list[Schedule] = []
    names: set[str] = set()
    for each in listed:
        workflow = each.workflow
        rule = None if workflow is None else _rule_of_trigger(workflow, now)
        if workflow is None or workflow.trigger is None or rule is None:
            continue
        trigger = workflow.trigger
        name = _NOT_IN_NAMES.sub("-", f"{workflow.name}.{trigger.name}").strip("-.")[:100]
        before = followed.get(name)
        parts = ("recurrence", POLLED)
        is_same = before is not None and all(before.rule.get(n) == rule.get(n) for n in parts)
        is_new = name not in names and not is_same
        names.add(name)
        if not is_new:
            continue
        is_wanted = lets_triggers(project)
        schedule = Schedule(
            name=name,
            id=secrets.token_hex(4),
            root=str(project.root),
            file=str(project.root / each.file),
            named=each.named,
            rule=rule,
            overlap="parallel",
            # Windows follow each other without a gap.
            backfill=isinstance(trigger.recurrence, dict) and "window" in trigger.recurrence,
            trigger=trigger.name,
            created_at=now,
            cursor=now,
            paused=not is_wanted,
            fault="" if is_wanted else not_let(name),
        )
        wanted.append(schedule)
    read = {str(project.root / each.file) for each in listed if each.workflow is not None}
    others = [schedule for schedule in followed.values() if schedule.name not in names]
    return wanted, [s for s in others if s.file in read or not os.path.exists(s.file)]


def lets_triggers(project: Project) -> bool:
    """Whether the folder is trusted, so that its files may start runs by themselves."""
    if project.trusts or project.is_own_word or project.table is not None:
        return True
    judged = project.configuration().judged
    return judged is not None and judged.standing == "trusted"


def not_let(name: str) -> str:
    return f"{_NOT_LET} `whorl server schedule resume {name}`"


def _rule_of_trigger(workflow: Workflow, now: float) -> dict[str, Json] | None:
    """Returns the rule of a trigger, or None if the clock does not start it."""
    trigger = workflow.trigger
    if trigger is None or trigger.recurrence is None:
        return None
    rule: dict[str, Json] = {"recurrence": trigger.recurrence, "start": float(math.floor(now))}
    return rule if trigger.poll is None else rule | {POLLED: True}


def prepared(
    project: Project, providers: Providers, schedule: Schedule, key: str = ""
) -> tuple[Workflow, Start]:
    """Returns the workflow and start of a schedule, by its file as it is now. Raises WhorlError."""
    reading = project.read(schedule.file, schedule.named)
    reading = replace(reading, workflow=with_steps(reading.workflow, schedule.steps))
    given, steps, limits = schedule.inputs, schedule.steps, schedule.limits
    start = Start(given, steps=steps, limits=limits, key=key, file=schedule.file)
    start, _ = checked_start(reading, providers, start)
    return reading.workflow, start
