"""Lists in pages: all of them together have a limit."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from whorl.errors import ProviderError
from whorl.providers.http import BYTES_MAX, all_pages

FIRST: dict[str, Any] = {"status": 200, "body": {"value": [1], "nextLink": "/2"}}


def _read(sizes: list[int]) -> Any:
    waiting = list(enumerate(sizes, start=2))

    async def fetch(place: str) -> tuple[dict[str, Any], int]:
        number, size = waiting.pop(0)
        rest = {"nextLink": f"/{number + 1}"} if waiting else {}
        assert place == f"/{number}"
        return {"status": 200, "body": {"value": [number], **rest}}, size

    return asyncio.run(all_pages(FIRST, 10, 100, fetch))


def test_pages_that_are_too_large_together_are_refused() -> None:
    with pytest.raises(ProviderError, match="25,000,000 bytes") as refused:
        _read([BYTES_MAX // 2] * 4)

    assert refused.value.code == "P106"
