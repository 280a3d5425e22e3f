"""What tasks have streamed so far: their heartbeats carry the end of it, and cost no history."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from temporalio.client import WorkflowExecutionDescription
    from temporalio.converter import DataConverter


async def shown_text(
    about: WorkflowExecutionDescription, converter: DataConverter
) -> dict[str, str]:
    """The texts of the calls that are under way, by their addresses."""
    texts = {}
    for pending in about.raw_description.pending_activities:
        if pending.heartbeat_details.payloads:
            details = await converter.decode(pending.heartbeat_details.payloads)
            if details and isinstance(details[0], str) and details[0]:
                texts[pending.activity_id] = details[0]
    return texts
