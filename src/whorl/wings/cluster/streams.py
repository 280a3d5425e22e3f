"""What tasks have streamed so far: their heartbeats carry the end of it, and cost no history."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError

from whorl.wings.cluster.values.payloads import bound_to

if TYPE_CHECKING:
    from collections.abc import Callable

    from temporalio.client import Client, WorkflowExecutionDescription

    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.runtime import Watcher

STREAM_S = 0.2


async def stream(
    client: Client, run: RunId, watcher: Watcher | None, is_watched: Callable[[RunId], bool]
) -> None:
    """Tells the watcher what tasks of a run stream, as long as it goes on."""
    if watcher is None:
        return
    shown: dict[str, str] = {}
    while True:
        await asyncio.sleep(STREAM_S)
        if not is_watched(run):
            continue
        with suppress(RPCError):
            about = await client.get_workflow_handle(run).describe()
            if about.status != WorkflowExecutionStatus.RUNNING:
                return
            texts = await _shown_text(about, client)
            for address, text in texts.items():
                new = _new_part(shown.get(address, ""), text)
                if new:
                    watcher.text(run, address, new)
            shown = texts


async def _shown_text(about: WorkflowExecutionDescription, client: Client) -> dict[str, str]:
    """The texts of the calls that are under way, by their addresses."""
    texts = {}
    for pending in about.raw_description.pending_activities:
        if pending.heartbeat_details.payloads:
            place = (client.namespace, about.id, pending.activity_id)
            reader = bound_to(client.data_converter, *place)
            details = await reader.decode(pending.heartbeat_details.payloads)
            if details and isinstance(details[0], str) and details[0]:
                texts[pending.activity_id] = details[0]
    return texts


def _new_part(before: str, text: str) -> str:
    """What has been streamed since; only the end of it is known."""
    if text.startswith(before):
        return text[len(before) :]
    size = next((n for n in range(len(text), 0, -1) if before.endswith(text[:n])), 0)
    return text[size:]
