"""The task `memory` on a real store: by namespace, by words, and never twice."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest

from whorl.errors import ProviderError
from whorl.providers.memory import KEPT_MAX, Memory
from whorl.providers.registry import Providers
from whorl.providers.settings.sections import settings_from
from whorl.providers.task import Request
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.language import Json


def request(key: str = "run:one", **inputs: Json) -> Request:
    return Request("run", "one", "memory", {"namespace": "facts", **inputs}, key=key)


def perform(store: SqliteStore | None, *requests: Request) -> list[Any]:
    async def all_of_them() -> list[Any]:
        providers = Providers(settings_from({}, {}))
        providers.memories = store
        kind = providers.kind("memory")
        assert isinstance(kind, Memory)
        return [(await kind.perform(one, lambda text: None)).value for one in requests]

    return asyncio.run(all_of_them())


@pytest.fixture
def store(tmp_path: Path) -> Any:
    opened = SqliteStore(tmp_path / "store.db")
    yield opened
    opened.close()


def test_repeated_write_adds_nothing(store: SqliteStore) -> None:
    perform(store, *(request(key, operation="write", content="P") for key in ("a", "a", "b")))
    some, one = perform(
        store, *(request(operation="read", query="P", **m) for m in ({}, {"limit": 1}))
    )

    assert len(store.memory("memory/facts")) == some["num_results"] == 2
    assert one["num_results"] == 1


def test_only_the_newest_records_are_kept(store: SqliteStore) -> None:
    async def fill() -> None:
        for number in map(str, range(5)):
            await store.remember("memory/facts", {"id": number}, once=number, keep=3)

    asyncio.run(fill())

    assert [cast("Any", record)["id"] for record in store.memory("memory/facts")] == ["2", "3", "4"]
    assert KEPT_MAX > 100


@pytest.mark.parametrize(
    "inputs",
    [
        {"operation": "burn"},
        {},
        {"operation": "write", "content": "x" * 100_001},
        {"operation": "amend", "library": "orka", "change": "burn"},
        {"operation": "amend", "library": "nobody", "change": "learn"},
    ],
)
def test_wrong_inputs_are_named(store: SqliteStore, inputs: dict[str, Json]) -> None:
    with pytest.raises(ProviderError) as caught:
        perform(store, request(**inputs))

    assert caught.value.code == "P113"


def test_without_a_store_nothing_is_remembered() -> None:
    with pytest.raises(ProviderError, match="no store"):
        perform(None, request(operation="read", query="x"))
