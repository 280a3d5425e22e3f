"""Text of steps for other processes: pipes beside the store, and what else may lie there."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from waiting import PATIENCE_S
from whorl.runtimes.journal.journal import RunId
from whorl.services.inspecting.live_text import TEXT_MAX, LiveText, listening

if TYPE_CHECKING:
    from pathlib import Path

RUN = RunId("r1")


async def _hear(heard: list[tuple[str, str]], length: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while sum(len(text) for _, text in heard) < length:
            await asyncio.sleep(0.001)


def test_a_listener_hears_what_came_before_and_what_comes(tmp_path: Path) -> None:
    async def main() -> list[tuple[str, str]]:
        heard: list[tuple[str, str]] = []
        live = LiveText(tmp_path / "live")
        live.text(RUN, "a", "one ")
        live.text(RunId("r2"), "a", "another run")
        with listening(tmp_path / "live", RUN, lambda *text: heard.append(text)):
            for _ in range(200):
                # Where it listens is looked for from time to time.
                live.text(RUN, "b[1]/ü", "\0🌀")
                await asyncio.sleep(0.001)
            await _hear(heard, len("one ") + 400)
        live.text(RUN, "a", "after it has gone")
        live.close()
        return heard

    heard = asyncio.run(main())

    assert "".join(text for address, text in heard if address == "a") == "one "
    assert "".join(text for address, text in heard if address == "b[1]/ü") == "\0🌀" * 200
    assert os.listdir(tmp_path / "live") == []


def test_text_waits_for_a_listener_that_is_slow(tmp_path: Path) -> None:
    """More than a pipe holds; of each step, the end is kept."""

    async def main() -> tuple[int, str]:
        heard: list[tuple[str, str]] = []
        live = LiveText(tmp_path / "live")
        with listening(tmp_path / "live", RUN, lambda *text: heard.append(text)):
            for number in range(30):
                live.text(RUN, f"step{number}", "\0" * TEXT_MAX + "end")
            await _hear(heard, 30 * TEXT_MAX)
        live.close()
        return sum(len(text) for _, text in heard), heard[-1][1]

    length, last = asyncio.run(main())

    assert length == 30 * TEXT_MAX
    assert last.endswith("end")


def test_what_is_no_pipe_of_a_listener_is_left_alone_or_removed(tmp_path: Path) -> None:
    folder = tmp_path / "live"
    folder.mkdir()
    (folder / "r1.file").write_text("mine")
    (tmp_path / "other").write_text("yours")
    (folder / "r1.link").symlink_to(tmp_path / "other")
    os.mkfifo(folder / "r1.left")
    live = LiveText(folder)
    live.text(RUN, "a", "text")
    live.close()

    assert sorted(os.listdir(folder)) == ["r1.file", "r1.link"]
    assert ((folder / "r1.file").read_text(), (tmp_path / "other").read_text()) == ("mine", "yours")


def test_a_pipe_of_another_user_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> list[tuple[str, str]]:
        heard: list[tuple[str, str]] = []
        live = LiveText(tmp_path / "live")
        with listening(tmp_path / "live", RUN, lambda *text: heard.append(text)) as fetch:
            monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
            live.text(RUN, "a", "text")
            fetch()
        live.close()
        return heard

    assert asyncio.run(main()) == []


@pytest.mark.parametrize("kind", ["link", "file"])
def test_without_a_folder_of_its_own_nobody_listens(tmp_path: Path, kind: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    if kind == "link":
        (tmp_path / "live").symlink_to(tmp_path / "elsewhere")
    else:
        (tmp_path / "live").write_text("")

    async def main() -> None:
        with listening(tmp_path / "live", RUN, lambda *text: None) as fetch:
            fetch()

    asyncio.run(main())

    assert os.listdir(tmp_path / "elsewhere") == []
