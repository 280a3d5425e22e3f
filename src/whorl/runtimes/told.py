"""What a run has been told about tools, as its journal holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.runtimes.journal import RunId

if TYPE_CHECKING:
    from whorl.runtimes.journal import Journal


def tools_told(journal: Journal, run: str) -> dict[str, str]:
    """The hash of what each tool said about itself when the run first heard of it, by its name."""
    found: dict[str, str] = {}
    for entry in journal.read(RunId(run)):
        if entry.event.kind != "task.finished":
            continue
        body = entry.event.body
        tools = body.get("tools")
        told = dict(tools) if isinstance(tools, dict) else {}
        if isinstance(name := body.get("tool"), str):
            told[name] = body.get("pin")
        for name, pin in told.items():
            if isinstance(pin, str):
                found.setdefault(name, pin)
    return found
