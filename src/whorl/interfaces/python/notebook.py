"""A run in the cell of a notebook: its iterations, the text that comes, its questions, its end."""

from __future__ import annotations

import time
from dataclasses import field
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError
from whorl.interfaces import formatting
from whorl.interfaces.python import events
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

# The cell is drawn anew so often at most.
_DRAW_S = 0.1
_TEXT_MAX = 2_000
_ROWS_MAX = 50
_HEADS = ("iteration", "score", "met", "cost", "time")


@dataclass(slots=True)
class View:
    """What a cell shows of a run."""

    run: str
    status: str = "running"
    notes: list[str] = field(default_factory=list)
    rows: list[tuple[str, ...]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)

    def take(self, event: events.StreamEvent) -> None:
        match event:
            case events.Token(address, text):
                self.texts[address] = (self.texts.get(address, "") + text)[-_TEXT_MAX:]
            case events.StepFinished() | events.StepFailed():
                self.texts.pop(event.address, None)
            case events.IterationFinished():
                self.rows.append(_row(event))
            case events.LoopFinished():
                self.notes.append(f"{event.address}: {event.exit_reason}")
            case events.GateOpened():
                self.notes.append(f"{event.address} asks: {event.message}")
            case events.Warned():
                self.notes.append(f"warning: {event.message}")
            case events.RunWaiting():
                self.status = "waiting"
            case events.RunFinished():
                self.status = event.status
                self.notes += [str(event.error["message"])] if event.error else []

    def html(self) -> str:
        """All of it; whatever comes from outside is escaped."""
        heads = "".join(
            f"<th>{name}</th>" for name in ("iteration", "score", "met", "cost", "time")
        )
        rows = (
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self.rows[-_ROWS_MAX:]
        )
        parts = [f"<b>{escape(self.run)}</b> {escape(self.status)}"]
        parts += [f"<table><tr>{heads}</tr>{''.join(rows)}</table>"] if self.rows else []
        parts += [f"<div>{escape(note)}</div>" for note in self.notes]
        parts += [
            f"<div>{escape(address)}</div><pre>{escape(text)}</pre>"
            for address, text in self.texts.items()
        ]
        return f"<div>{''.join(parts)}</div>"


def _row(turn: events.IterationFinished) -> tuple[str, ...]:
    cost = turn.usage.cost_usd
    return (
        turn.address,
        "" if turn.score is None else formatting.score(turn.score),
        (turn.by or "") if turn.met else "",
        "" if cost is None else formatting.dollars(cost),
        formatting.seconds(turn.seconds) if turn.seconds > 0 else "",
    )


async def show(run: str, happening: AsyncIterator[events.StreamEvent]) -> None:
    """Shows what happens in a run, until that ends."""
    try:
        shown: Any = import_module("IPython.display")
        shell = import_module("IPython").get_ipython()
    except ImportError:
        shell = None
    if shell is None:
        advice = "elsewhere, `async for event in run.stream()` tells the same"
        raise UsageError("a view of a run needs a notebook: IPython", help=advice)
    view = View(run)
    handle = shown.display(shown.HTML(view.html()), display_id=True)
    drawn = time.monotonic()
    async for event in happening:
        view.take(event)
        if time.monotonic() - drawn >= _DRAW_S:
            handle.update(shown.HTML(view.html()))
            drawn = time.monotonic()
    handle.update(shown.HTML(view.html()))
