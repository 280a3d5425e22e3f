"""Workflows in views of Django: plain ones, coroutines, and one that streams."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

import whorl

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

# What it warns of is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore")


@whorl.step
async def count(number: int) -> int:
    whorl.current_call().emit(f"{number} ")
    return number


@whorl.workflow
async def counting(most: int) -> int:
    turns = whorl.loop(int, at_most=10)
    async for turn in turns:
        turn.value = await count(turn.number)
        if turn.value >= most:
            break
    return turns.result


def plain(request: Any) -> Any:
    from django.http import JsonResponse

    result = whorl.run_sync(counting, {"most": int(request.GET["most"])})
    return JsonResponse({"status": result.status, "output": result.output})


async def waiting(request: Any) -> Any:
    from django.http import JsonResponse

    result = await whorl.run(counting, {"most": int(request.GET["most"])})
    return JsonResponse({"status": result.status, "output": result.output})


async def streaming(request: Any) -> Any:
    from django.http import StreamingHttpResponse

    async def lines() -> AsyncIterator[str]:
        async with whorl.Session() as session:
            run = await session.start(counting, {"most": int(request.GET["most"])})
            async for event in run.stream(whorl.Token, whorl.RunFinished):
                yield event.text if isinstance(event, whorl.Token) else event.status

    return StreamingHttpResponse(lines(), content_type="text/plain")


@pytest.fixture(autouse=True)
def views(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    django = pytest.importorskip("django", reason="the packages of peers are not installed")
    from django.conf import settings
    from django.urls import path

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHORL_HOME", raising=False)
    if not settings.configured:
        settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="tests")
        django.setup()
    patterns = [path(f"{view.__name__}/", view) for view in (plain, waiting, streaming)]
    monkeypatch.setattr(sys.modules[__name__], "urlpatterns", patterns, raising=False)


def test_a_plain_view_runs_a_workflow() -> None:
    from django.test import Client

    answer = Client().get("/plain/?most=3")

    assert json.loads(answer.content) == {"status": "succeeded", "output": 3}


def test_a_coroutine_view_runs_many_at_once() -> None:
    from django.test import AsyncClient

    async def main() -> list[Any]:
        asked = (AsyncClient().get(f"/waiting/?most={number}") for number in range(1, 9))
        return [json.loads(answer.content) for answer in await asyncio.gather(*asked)]

    assert [answer["output"] for answer in asyncio.run(main())] == list(range(1, 9))


def test_a_view_streams_while_the_run_continues() -> None:
    from django.test import AsyncClient

    async def main() -> list[str]:
        answer = await AsyncClient().get("/streaming/?most=3")
        return [piece.decode() async for piece in answer.streaming_content]

    pieces = asyncio.run(main())

    assert "".join(pieces) == "1 2 3 succeeded"
    assert len(pieces) > 1
