"""Server-sent events: the payloads of their data lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

DONE = "[DONE]"


async def payloads(lines: AsyncIterator[str]) -> AsyncIterator[str]:
    """The data of each event, in order; comments and other fields are left out."""
    gathered: list[str] = []
    async for line in lines:
        if line.startswith("data:"):
            gathered.append(line[5:].removeprefix(" "))
        elif not line and gathered:
            yield "\n".join(gathered)
            gathered = []
    if gathered:
        yield "\n".join(gathered)
