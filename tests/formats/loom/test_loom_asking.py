"""What other systems are asked for triggers and actions: polls, and windows of time."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from loom_project import Answer, Asked, web

from trusted import TRUSTED
from waiting import PATIENCE_S
from whorl.interfaces.python.session import Session
from whorl.services.project import Catalogue, find_project
from whorl.wings.automation import firing
from whorl.wings.automation.firing import Scheduler
from whorl.wings.automation.table import ScheduleTable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from whorl.wings.automation.table import Firing, Schedule

START = 1_800_000_000.0  # a whole minute
SECRET = "a-key-of-the-other-system"
MINUTE = {"frequency": "Minute", "interval": 1}


@pytest.fixture(autouse=True)
def _files_are_looked_at_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firing, "_FOLLOW_S", 0.0)


def write(folder: Path, trigger: dict[str, Any], **settings: str) -> Path:
    shown = {"type": "Compose", "inputs": "@triggerOutputs()"}
    definition = {"triggers": {"News": trigger}, "actions": {"Show": shown}}
    file = folder / "Watch" / "workflow.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"definition": definition, "kind": "Stateful"}))
    (folder / "host.json").write_text("{}")
    (folder / "whorl.toml").write_text("[allow]\nprivate_network = true\n")
    (folder / "local.settings.json").write_text(json.dumps({"Values": settings}))
    return file


class Server:
    """What a server has of schedules, on a clock of the test's."""

    def __init__(self, session: Session, folder: Path) -> None:
        opened = session.opened
        self.now = START
        self.store = opened.store
        self.store.clock = lambda: self.now
        project = find_project(TRUSTED, folder=folder)
        self.scheduler = Scheduler(project, opened.providers, opened.driving, Catalogue(project))
        self.table = ScheduleTable(self.store)

    async def at(self, seconds: float) -> None:
        """Lets it be so late, and looks until nothing is left to do."""
        self.now = START + seconds
        async with asyncio.timeout(PATIENCE_S):
            await self.scheduler.look()
            await asyncio.gather(*self.scheduler.asking.values())
            while any(row.status == "running" for row in self.store.runs()):
                await asyncio.sleep(0.01)

    @property
    def schedule(self) -> Schedule:
        (schedule,) = self.table.all()
        return schedule

    def firings(self) -> list[Firing]:
        return list(reversed(self.table.newest(self.schedule, 1_000)))

    def outputs(self) -> list[Any]:
        """What the trigger gave to each run."""
        firsts = [next(iter(self.store.read(row.id))) for row in reversed(self.store.runs())]
        return [first.event.body["input"] for first in firsts]


def conduct(folder: Path, work: Callable[[Server], Awaitable[None]]) -> None:
    """Lets a server of the folder do some work."""

    async def serve() -> None:
        async with Session.of_project(find_project(TRUSTED, folder=folder)) as session:
            await work(Server(session, folder))

    asyncio.run(serve())


def test_another_system_is_asked_by_the_clock_and_its_news_start_runs(tmp_path: Path) -> None:
    answers = [
        Answer(202, headers={"location": "/news?since=1"}),
        Answer(200, {"value": [1, 2]}, {"location": "/news?since=2"}),
        Answer(500, {"error": "down"}),
        Answer(200, {"value": []}),
    ]

    async def work(server: Server) -> None:
        for minute in range(5):
            await server.at(60 * minute)
            if minute == 3:
                assert "500" in server.schedule.fault
        firings = server.firings()
        assert [f.state for f in firings] == ["skipped", "started", "failed", "skipped"]
        assert firings[0].reason == "there is nothing new"
        assert server.schedule.fault == ""
        assert [given["body"] for given in server.outputs()] == [1, 2]

    with web(lambda asked: answers.pop(0)) as site:
        trigger = {
            "type": "Http",
            "inputs": {"method": "GET", "uri": f"{site.url}/news", "queries": {"q": "a"},
             "headers": {"x-key": "@appsetting('KEY')"}},
            "recurrence": MINUTE,
            "splitOn": "@triggerBody()?['value']",
        }  # fmt: skip
        write(tmp_path, trigger, KEY="k1")
        conduct(tmp_path, work)

    paths = [asked.path for asked in site.asked]
    assert paths == ["/news?q=a", "/news?since=1", "/news?since=2", "/news?since=2"]
    assert {asked.headers["x-key"] for asked in site.asked} == {"k1"}


def test_a_busy_server_asks_once_for_all_times_that_have_passed(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        await server.at(0)
        await server.at(21)
        assert [given["body"] for given in server.outputs()] == [{"subject": "hi"}]
        reasons = [(f.state, f.reason) for f in server.firings()]
        assert reasons == [("skipped", "a later firing polls instead"), ("started", "")]

    with web(lambda asked: Answer(200, {"subject": "hi"})) as site:
        inputs = {"method": "GET", "uri": f"{site.url}/v2/new"}
        often = {"frequency": "Second", "interval": 10}
        write(tmp_path, {"type": "Http", "inputs": inputs, "recurrence": often})
        conduct(tmp_path, work)

    assert [(asked.method, asked.path) for asked in site.asked] == [("GET", "/v2/new")]


def test_windows_of_time_follow_each_other_and_none_is_left_out(tmp_path: Path) -> None:
    recurrence = {"frequency": "Hour", "interval": 1, "startTime": "2027-01-15T06:00:00Z"}
    write(
        tmp_path, {"type": "SlidingWindow", "recurrence": recurrence, "inputs": {"delay": "PT15M"}}
    )

    async def work(server: Server) -> None:  # at 08:00
        await server.at(0)
        await server.at(15 * 60)
        assert [f.due - START for f in server.firings()] == [15 * 60]
        # Nobody was there for two hours.
        await server.at(2 * 3_600 + 16 * 60)
        bodies = [given["body"] for given in server.outputs()]
        assert bodies == [
            {
                "windowStartTime": f"2027-01-15T{hour:02}:00:00Z",
                "windowEndTime": f"2027-01-15T{hour + 1:02}:00:00Z",
            }
            for hour in (7, 8, 9)
        ]

    conduct(tmp_path, work)


def test_an_action_takes_its_address_back_when_its_run_is_cancelled(tmp_path: Path) -> None:
    def answer(asked: Asked) -> Answer:
        return Answer(201, {"id": "h7"}) if asked.method == "POST" else Answer(204)

    async def work() -> None:
        async with Session.of_project(find_project(TRUSTED, folder=tmp_path)) as session:
            run = await session.start(tmp_path / "ask.json")
            assert (await run.result()).status == "waiting"
            await run.cancel()
            result = await run.result()
            assert (result.status, result.warnings) == ("cancelled", ())
            told = json.dumps([event.body async for event in run.events()])
            assert SECRET not in told

    secret = {"type": "securestring", "defaultValue": SECRET}
    with web(answer) as site:
        inputs = {
            "subscribe": {"method": "POST", "uri": f"{site.url}/hooks",
             "body": "@listCallbackUrl()"},
            "unsubscribe": {"method": "DELETE",
             "uri": f"{site.url}/hooks/@{{action()['outputs']['body']['id']}}",
             "headers": {"x-key": "@parameters('key')"}},
        }  # fmt: skip
        actions = {"Ask": {"type": "HttpWebhook", "inputs": inputs}}
        definition = {"parameters": {"key": secret}, "actions": actions}
        (tmp_path / "ask.json").write_text(json.dumps({"definition": definition}))
        (tmp_path / "whorl.toml").write_text("[allow]\nprivate_network = true\n")
        asyncio.run(work())

    assert [(a.method, a.path) for a in site.asked] == [("POST", "/hooks"), ("DELETE", "/hooks/h7")]
    assert site.asked[1].headers["x-key"] == SECRET
