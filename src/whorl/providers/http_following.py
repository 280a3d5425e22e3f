"""Replies that are not the end: work that goes on at the other side, and lists in pages."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from whorl.errors import ProviderError
from whorl.providers.outbound import origin_of
from whorl.providers.outbound.faults import retry_after

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from whorl.language import Json
    from whorl.providers.inputs import Inputs
    from whorl.providers.outbound import Received

# How long to wait for the other side where it does not say.
LATER_S = 20.0
LATER_MAX_S = 3_600.0
PAGES_MAX = 1_000
ITEMS_MAX = 100_000
BYTES_MAX = 25_000_000
_NEXT = ("nextLink", "@odata.nextLink", "odata.nextLink")


def later(inputs: Inputs, received: Received) -> dict[str, Json] | None:
    """When to ask again and with which inputs, where the work is accepted and not done."""
    place = received.headers.get("location", "").strip()
    if not inputs.flag("poll", default=False) or received.status != 202 or not place:
        return None
    sent_to = inputs.text("sent_to") or inputs.needed("url")
    asked: dict[str, Json] = {
        "method": "GET",
        "url": urljoin(received.url, place),
        "query": None,
        "body": None,
        "json": None,
        "sent_to": sent_to,
    }
    after_s = retry_after(received.headers.get("retry-after", ""), time.time(), LATER_MAX_S)
    return {"after_s": LATER_S if after_s is None else after_s, "inputs": asked}


def is_elsewhere(inputs: Inputs) -> bool:
    """Whether a reply sent us to another host, which is not given what the first one was given."""
    sent_to = inputs.text("sent_to")
    return bool(sent_to) and origin_of(sent_to) != origin_of(inputs.needed("url"))


async def all_pages(
    value: dict[str, Json],
    size: int,
    wanted: int,
    fetch: Callable[[str], Awaitable[tuple[dict[str, Json], int]]],
) -> dict[str, Json]:
    """A reply of `size` bytes with the items of the pages after it, until there are enough."""
    body = value.get("body")
    if not isinstance(body, dict) or not isinstance(body.get("value"), list):
        return value
    items: list[Json] = [*_items(body)]
    for _ in range(PAGES_MAX):
        place = next((body[name] for name in _NEXT if isinstance(body.get(name), str)), None)
        if place is None or len(items) >= wanted:
            break
        page, length = await fetch(str(place))
        size += length
        if size > BYTES_MAX:
            raise ProviderError(f"the list has more than {BYTES_MAX:,} bytes", code="P106")
        body = page.get("body")
        if not isinstance(body, dict):
            raise ProviderError("a page of the list is no JSON object", code="P111")
        items += _items(body)
        if len(items) > ITEMS_MAX:
            raise ProviderError(f"the list has more than {ITEMS_MAX} items", code="P106")
    first = value["body"]
    assert isinstance(first, dict)
    rest = {name: body[name] for name in _NEXT if name in body}
    kept = {name: part for name, part in first.items() if name not in _NEXT}
    return value | {"body": kept | {"value": items} | rest}


def _items(body: dict[str, Json]) -> list[Json]:
    items = body.get("value")
    return items if isinstance(items, list) else []
