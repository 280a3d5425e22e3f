"""`[notify]`: a real server is told when runs of any interface wait, fail or end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from served import CONFIG, connected, make_project

from answers import Answering, answering
from trusted import TRUSTED
from waiting import PATIENCE_S, wait_until
from whorl.errors import UsageError
from whorl.services.project import find_project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from served import Spawn


@dataclass
class Listening:
    """What a server was told, and the statuses that it answers first."""

    url: str = ""
    told: list[tuple[dict[str, Any], dict[str, str]]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)

    def events(self) -> list[str]:
        return [body["event"] for body, _ in self.told]


@pytest.fixture
def hook() -> Iterator[Listening]:
    listening = Listening()

    class Answer(Answering):
        def do_POST(self) -> None:  # noqa: N802 - its own name
            headers = {name.lower(): value for name, value in self.headers.items()}
            listening.told.append((self.asked(), headers))
            self.send_response(listening.statuses.pop(0) if listening.statuses else 204)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with answering(Answer) as url:
        listening.url = f"{url}/hook"
        yield listening


@pytest.fixture
def project(tmp_path: Path, hook: Listening) -> Path:
    notify = f'\n[notify]\nurl = "{hook.url}"\nheaders = {{Authorization = "Bearer s3cret-hook"}}\n'
    return make_project(tmp_path, CONFIG + notify)


def test_the_server_reports_waiting_ending_and_failing(project: Path, hook: Listening) -> None:
    with connected(project) as client:
        run = client.start("gated.yaml")
        wait_until(lambda: hook.events() == ["waiting"])
        client.post(f"/runs/{run}/approve", {"at": "check"})
        wait_until(lambda: hook.events() == ["waiting", "ended"])
        failed = client.start("failing.yaml")
        wait_until(lambda: len(hook.told) == 3)

    waiting, headers = hook.told[0]
    assert waiting["message"] == "Publish it?"
    assert (waiting["run"], waiting["workflow"], waiting["address"]) == (run, "gated", "check")
    assert headers["authorization"] == "Bearer s3cret-hook"
    assert hook.told[1][0]["status"] == "succeeded"
    assert (hook.told[2][0]["event"], hook.told[2][0]["run"]) == ("failed", failed)
    assert "no such model" in hook.told[2][0]["message"]


@pytest.mark.parametrize(
    ("statuses", "times", "told"),
    [([], 1, False), ([503], 2, False), ([404, 404], 1, True)],
    ids=["at once", "tried again once", "a line and no failed run"],
)
def test_a_command_tells_before_it_ends(
    hook: Listening, spawn: Spawn, statuses: list[int], times: int, *, told: bool
) -> None:
    hook.statuses.extend(statuses)
    process = spawn("run", "polish.yaml", "x")
    out, err = process.communicate(timeout=PATIENCE_S)

    assert (process.returncode, out) == (0, "text:\nthe report\n\ndraft:\ndraft three\n")
    assert [body["status"] for body, _ in hook.told] == ["succeeded"] * times
    assert ("the notification failed" in err) == told
    assert "s3cret-hook" not in err


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ('url = "ftp://x"', "web address"),
        ("url = 1", "must be a text"),
        ('on = ["ended"]', "needs a url"),
        ('url = "https://x.example"\non = ["never"]', "list of"),
        ('uri = "https://x.example"', "has no 'uri'"),
    ],
)
def test_mistakes_of_the_section_are_reported(tmp_path: Path, written: str, words: str) -> None:
    (tmp_path / "whorl.toml").write_text(f"[notify]\n{written}\n")

    with pytest.raises(UsageError, match=words):
        find_project(TRUSTED, folder=tmp_path).settings()
