"""Schedules in process, with a clock that the test sets: each time that is due is made once."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from trusted import TRUSTED
from waiting import PATIENCE_S
from whorl.errors import StoreError, UsageError
from whorl.interfaces.python.session import Session
from whorl.services.project import Catalogue, find_project
from whorl.wings.automation import firing
from whorl.wings.automation.firing import Scheduler
from whorl.wings.automation.registry import NewSchedule
from whorl.wings.automation.rules import BACKFILL_MAX, MISSED
from whorl.wings.automation.table import ScheduleTable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from whorl.wings.automation.table import Firing, Schedule

START = 1_800_000_000.0  # a whole minute
PLAIN = """
whorl: 1
name: plain
inputs: {word: {type: string, default: a}}
steps:
  a: {value: "{{ word }}"}
"""
ASKING = "whorl: 1\nname: asking\nsteps:\n  a: {ask: Hello}\n  b: {ask: Hello}\n"
GATED = 'whorl: 1\nname: gated\nsteps:\n  a: {approve: {message: "Now?"}}\n'


class Server:
    """What a server has of schedules, on a clock of the test's."""

    def __init__(self, session: Session, folder: Path, now: list[float]) -> None:
        self.now = now
        self.opened = session.opened
        self.store = self.opened.store
        self.store.clock = lambda: now[0]
        project = find_project(TRUSTED, folder=folder)
        self.scheduler = Scheduler(
            project, self.opened.providers, self.opened.driving, Catalogue(project)
        )
        self.table = ScheduleTable(self.store)

    async def add(self, file: str = "plain.yaml", **options: Any) -> Schedule:
        new = NewSchedule(file=file, **({"every": "60s"} | options))
        return await self.scheduler.schedules.add(new)

    async def at(self, seconds: float) -> None:
        """Lets it be so late, and looks until nothing is left to do."""
        self.now[0] = START + seconds
        await self.scheduler.look()
        async with asyncio.timeout(PATIENCE_S):
            while any(row.status == "running" for row in self.store.runs()):
                await asyncio.sleep(0.01)

    def firings(self) -> list[Firing]:
        schedule = self.table.all()[0]
        return list(reversed(self.table.newest(schedule, 1_000)))

    def states(self) -> list[tuple[float, str]]:
        return [(firing.due - START, firing.state) for firing in self.firings()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("plain", PLAIN), ("gated", GATED), ("asking", ASKING)):
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


@asynccontextmanager
async def serving(folder: Path, now: list[float] | None = None) -> AsyncIterator[Server]:
    async with Session.of_project(find_project(TRUSTED, folder=folder)) as session:
        yield Server(session, folder, now or [START])


async def test_a_schedule_has_its_own_models(folder: Path) -> None:
    """Also in a store whose table was made before schedules had them."""
    provider = 'kind = "scripted"\nmodel = "usual"\nreplies = [{match = "Hello", replies = ["Hi"]}]'
    (folder / "whorl.toml").write_text(f"[providers.demo]\n{provider}\n")
    async with serving(folder) as server:
        await server.add()
        await server.table.remove("plain")
        drop = "ALTER TABLE schedules DROP COLUMN steps"
        await server.store.change(lambda connection: connection.execute(drop).fetchall())
        assert server.table.all() == []
        old = (
            "old",
            "o1",
            "elsewhere",
            "plain.yaml",
            "",
            "{}",
            "skip",
            0,
            "{}",
            "{}",
            "",
            0,
            0,
            0,
            "",
        )
        insert = f"INSERT INTO schedules VALUES({', '.join('?' * 15)})"
        await server.store.change(lambda connection: connection.execute(insert, old).fetchall())
        assert [(known.name, known.steps) for known in server.table.all()] == [("old", {})]

        steps = {"b": {"model": "demo/other"}}
        with pytest.raises(UsageError, match="'c' does not name one step"):
            await server.add("asking.yaml", steps={"c": {"model": "x"}})
        await server.add("asking.yaml", steps=steps)
        assert [known.steps for known in server.table.all()] == [steps, {}]
        await server.table.mirror([server.table.named("asking")], [])
        assert server.table.named("asking").steps == steps
        await server.at(61)
        (run,) = server.store.runs()
        first = next(iter(server.store.read(run.id))).event
        assert first.body["steps"] == steps
        assert "demo/other" in str(server.store.workflow(run.id))


async def test_two_servers_start_each_time_once(folder: Path) -> None:
    now = [START]
    async with serving(folder, now) as one, serving(folder, now) as other:
        await one.add(overlap="parallel")
        for minute in range(1, 6):
            now[0] = START + 60 * minute
            await asyncio.gather(one.scheduler.look(), other.scheduler.look())
            await asyncio.gather(one.scheduler.look(), other.scheduler.look())
        await one.at(300)
        assert [state for _, state in one.states()] == ["started"] * 5
        assert len(one.store.runs()) == 5


@pytest.mark.parametrize("broken", ["plan", "settle"])
async def test_a_server_that_dies_in_between_leaves_nothing_out_and_nothing_twice(
    folder: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    whole = getattr(ScheduleTable, broken)

    async def dying(self: ScheduleTable, *args: Any, **options: Any) -> Any:
        if broken == "plan":
            await whole(self, *args, **options)
        raise StoreError("the power went")

    now = [START]
    async with serving(folder, now) as server:
        await server.add()
        monkeypatch.setattr(ScheduleTable, broken, dying)
        with pytest.raises(StoreError, match="the power went"):
            await server.at(60)
        monkeypatch.undo()
    async with serving(folder, now) as server:
        for row in server.store.runs():
            await server.opened.driving.drive(row.id)
        await server.at(61)
        assert server.states() == [(60, "started")]
        assert [row.status for row in server.store.runs()] == ["succeeded"]


async def test_what_was_missed_is_left_out_and_said(folder: Path) -> None:
    async with serving(folder) as server:
        await server.add()
        await server.at(100_000)
        assert server.states() == [(99_900, "skipped"), (99_960, "started")]
        assert server.firings()[0].reason == MISSED
        await server.at(100_020)
        assert server.states()[-1] == (100_020, "started")


@pytest.mark.slow
async def test_what_was_missed_is_made_up_for_in_order_and_within_a_bound(folder: Path) -> None:
    async with serving(folder) as server:
        await server.add(backfill=True)
        for _ in range(4):
            await server.at(180 + 70)
        assert server.states() == [(due, "started") for due in (60, 120, 180, 240)]
        await server.add(name="cron", cron="* * * * *", every=None, backfill=True)
        await server.table.remove("plain")
        server.now[0] = START + 400 * 86_400
        schedule = server.table.named("cron")
        await server.scheduler._plan(schedule)
        waiting = server.table.waiting(1_000)
        assert len(waiting) == BACKFILL_MAX + 1
        assert waiting[-1].due == server.now[0]
        assert waiting[0].due == server.now[0] - 60 * BACKFILL_MAX


@pytest.mark.parametrize(
    ("overlap", "expected"),
    [
        ("skip", ["started", "skipped", "skipped", "started"]),
        ("queue", ["started", "started", "waiting", "waiting"]),
        ("parallel", ["started", "started", "started", "started"]),
    ],
)
async def test_what_overlaps(folder: Path, overlap: str, expected: list[str]) -> None:
    async with serving(folder) as server:
        await server.add("gated.yaml", overlap=overlap)
        for minute in (1, 2, 3):
            await server.at(60 * minute)
        first = server.firings()[0]
        assert all(
            firing.reason == f"run {first.run} has not ended"
            for firing in server.firings()
            if firing.state == "skipped"
        )
        await whorl_run(server, first.run)
        await server.at(240)
        assert [state for _, state in server.states()] == expected


async def whorl_run(server: Server, run: str) -> None:
    """Says yes to what a run asks, and waits for its end."""
    from whorl.runtimes.journal.journal import RunId
    from whorl.services.steering import decided

    known = RunId(run)
    make = lambda: decided(server.store, known, "", approved=True, feedback="")  # noqa: E731
    await server.opened.driving.ask(known, make)
    await server.opened.driving.settled(known)


@pytest.mark.slow
@pytest.mark.parametrize("back", [30, 3_600, 86_400 * 365])
async def test_a_clock_that_is_set_back_makes_nothing_twice(folder: Path, back: int) -> None:
    async with serving(folder) as server:
        await server.add(cron="* * * * *", every=None)
        await server.at(60)
        await server.at(120)
        await server.at(120 - back)
        await server.at(120)
        await server.at(180)
        dues = [due for due, state in server.states() if state == "started"]
        assert dues == [60, 120, 180]
        assert len(server.store.runs()) == 3
        # One that was wrong for a while stops no schedule.
        await server.at(10 * 365 * 86_400)
        await server.at(210)
        await server.at(240)
        assert (240, "started") in server.states()


async def test_a_file_that_is_gone_or_wrong_is_said_until_it_is_right(folder: Path) -> None:
    async with serving(folder) as server:
        await server.add()
        (folder / "plain.yaml").unlink()
        await server.at(60)
        (firing,) = server.firings()
        assert firing.state == "failed"
        (listed,) = server.scheduler.schedules.listed()
        assert "plain.yaml" in listed.trouble
        assert list(server.scheduler.troubles) == ["plain"]
        (folder / "plain.yaml").write_text(PLAIN.replace("value", "valeu"))
        assert server.scheduler.schedules.listed()[0].trouble
        (folder / "plain.yaml").write_text(PLAIN)
        await server.at(120)
        assert server.states()[-1] == (120, "started")
        assert server.scheduler.schedules.listed()[0].trouble == ""


def definition(interval: int) -> str:
    every = {"frequency": "Minute", "interval": interval}
    triggers = {"Every": {"type": "Recurrence", "recurrence": every}}
    actions = {"Name": {"type": "Compose", "inputs": "@trigger()['name']"}}
    return json.dumps({"definition": {"triggers": triggers, "actions": actions}})


async def test_a_trigger_of_the_clock_is_a_schedule_of_its_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(firing, "_FOLLOW_S", 0.0)
    file = folder / "Report" / "workflow.json"
    file.parent.mkdir()
    file.write_text(definition(1))

    async with serving(folder) as server:
        await server.at(0)
        (schedule,) = server.table.all()
        assert (schedule.name, schedule.trigger) == ("Report.Every", "Every")
        await server.at(60)
        assert server.states() == [(60, "started")]
        (row,) = server.store.runs()
        assert (row.name, row.status) == ("Report", "succeeded")
        with pytest.raises(UsageError, match="is the trigger of"):
            await server.table.remove("Report.Every")
        file.write_text(definition(5) + "\n")
        await server.at(120)
        await server.at(360)
        await server.at(420)
        assert [due for due, _ in server.states()] == [60, 420]
        await server.table.pause("Report.Every", paused=True)
        await server.at(800)
        assert len(server.states()) == 2
        file.write_text("{")
        await server.at(801)
        assert "workflow.json" in server.scheduler.schedules.listed()[0].trouble
        file.unlink()
        await server.at(802)
        assert server.table.all() == []


async def test_a_paused_schedule_starts_nothing_unless_it_is_asked(folder: Path) -> None:
    async with serving(folder) as server:
        await server.add()
        await server.table.pause("plain", paused=True)
        await server.at(200)
        assert server.states() == []
        await server.table.ask("plain")
        await server.at(201)
        assert server.states() == [(200, "started")]
        await server.table.pause("plain", paused=False)
        await server.at(239)
        assert len(server.states()) == 1
        await server.at(240)
        assert server.states()[1:] == [(240, "started")]


async def test_only_servers_of_its_project_start_a_schedule(folder: Path) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "whorl.toml").write_text("")
    async with serving(folder) as server:
        await server.add()
        server.now[0] = START + 60
        other = find_project(TRUSTED, folder=folder / "other")
        opened = server.opened
        await Scheduler(other, opened.providers, opened.driving, Catalogue(other)).look()
        assert server.states() == []
