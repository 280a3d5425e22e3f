"""Server-sent events: the journal of a run as it grows, and the list of runs as it changes.

The number of an entry is the id of its event, so a reader that comes back says where it was.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, TypeAlias

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import Field

from whorl.errors import UsageError
from whorl.interfaces.http.journal import JournalEvent, Listener, event_text, journal_event
from whorl.interfaces.http.models import Closed
from whorl.interfaces.http.problems import Refusal
from whorl.interfaces.http.runs import run_item
from whorl.interfaces.http.state import KnownRun, ServerState, State, check_query
from whorl.interfaces.progress import name_of
from whorl.interfaces.status_words import ENDED
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.sqlite.listing import UNLISTED
from whorl.services.inspecting.results import hidden_names, workflow_of

HEARTBEAT_S = 15.0
_STREAM = "text/event-stream"
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_CONTENT = {"content": {_STREAM: {"schema": {"type": "string"}}}}
SSE = {"description": "an event stream", **_CONTENT}

# What is to be sent to a listener, and after how long there may be more; None: when it is woken.
News: TypeAlias = Callable[[Listener], Awaitable[tuple[str, float | None]]]

router = APIRouter(prefix="/api", tags=["streams"], dependencies=[Depends(check_query)])


class EventPage(Closed):
    """A part of a journal."""

    events: list[JournalEvent]
    last_seq: int = Field(description="the last entry that this page covers; give it as `after`")
    more: bool


@router.get("/runs/{run}/events", response_model=EventPage, responses={200: _CONTENT})
async def events(
    request: Request,
    state: State,
    run: KnownRun,
    *,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    limit: Annotated[int, Query(ge=1, le=5_000)] = 1_000,
    last_event_id: Annotated[str | None, Header(pattern=r"^[0-9]{1,15}$")] = None,
) -> Any:
    """The journal of a run: a page of it, or (`Accept: text/event-stream`) all that comes.

    Events of the stream: an entry (its seq is the id), `delta` with streamed text, `status` when
    the run's status changes, `end` when it has ended. A `delta` has what is new, or with `whole`
    all of it so far. When a call has ended, its entry has the answer, and no more text follows.
    The stream stays open: the run may be continued. Many watchers get events less often.
    """
    after = max(after, int(last_event_id or 0))
    if _STREAM in request.headers.get("accept", ""):
        return streamed(state, run, _Journal(state, run, after).news)
    return await asyncio.to_thread(_page, state, run, after, limit)


@router.get("/changes", responses={200: SSE},
            response_class=StreamingResponse)  # fmt: skip
async def changes(state: State) -> Response:
    """`run` with a RunItem whenever a run of any process has changed, as lists show them."""
    return streamed(state, None, partial(_changed, state))


def streamed(state: ServerState, run: RunId | None, news: News) -> StreamingResponse:
    if state.watcher.is_full:
        raise Refusal(429, "W900", "too many streams are open", "close other pages")
    now = asyncio.get_running_loop().time

    async def stream() -> AsyncIterator[str]:
        with state.watcher.listening(run) as listener:
            yield ": hello\n\n"
            quiet_since = now()
            while not listener.is_over:
                sent, pause_s = await news(listener)
                if sent:
                    yield sent
                    quiet_since = now()
                if pause_s is not None:
                    await asyncio.sleep(pause_s)
                    continue
                await listener.wait(max(0.01, quiet_since + HEARTBEAT_S - now()))
                if now() - quiet_since >= HEARTBEAT_S:
                    quiet_since = now()
                    yield ": still here\n\n"

    return StreamingResponse(stream(), media_type=_STREAM, headers=_HEADERS)


@dataclass(slots=True)
class _Journal:
    """The stream of one run: its place, and the status that it sent last."""

    state: ServerState
    run: RunId
    after: int
    status: str = ""
    # It has ended since that was told last: it may have gone on, and be over again.
    has_ended: bool = False
    hidden: frozenset[str] | None = None
    # How much text of running tasks was sent, by address.
    sent: dict[str, int] = field(default_factory=dict)

    async def news(self, listener: Listener) -> tuple[str, float | None]:
        watcher = self.state.watcher
        # The beginnings of the tasks are among the entries, which are read later.
        streamed = watcher.streamed(self.run)
        tail = watcher.tail(self.run, self.state.store)
        batch = await tail.read(self.after)
        status = tail.status
        for address in batch.ended:
            streamed.pop(address, None)
            self.sent.pop(address, None)
        self.after = batch.last
        self.has_ended |= batch.is_over
        if not batch.is_all:
            return batch.text, 0.0
        if streamed and self.hidden is None:
            workflow = await asyncio.to_thread(workflow_of, self.state.store, self.run)
            self.hidden = hidden_names(workflow)
        sent = [batch.text, *self._deltas(streamed)]
        if status != self.status or (self.has_ended and status in ENDED):
            self.status, self.has_ended = status, False
            text = json.dumps({"status": status, "last_seq": self.after})
            sent += [event_text(text, "status")] + [event_text(text, "end")] * (status in ENDED)
        text = "".join(sent)
        return text, watcher.pause_s(len(text))

    def _deltas(self, streamed: dict[str, tuple[str, int]]) -> Iterator[str]:
        for address, (text, length) in streamed.items():
            new = length - self.sent.get(address, 0)
            if new > 0 and name_of(address) not in (self.hidden or ()):
                is_whole = address not in self.sent or new > len(text)
                part = {"address": address, "text": text[-new:], "whole": is_whole}
                yield event_text(json.dumps(part, ensure_ascii=False), "delta")
                self.sent[address] = length


async def _changed(state: ServerState, listener: Listener) -> tuple[str, float | None]:
    touched, listener.touched = listener.touched, set()
    if not touched:
        return "", None
    # Changes within the pause are sent together; the more runs, the longer it is.
    pause_s = min(1.0, 0.05 + 0.005 * len(touched))
    return await asyncio.to_thread(_items, state, touched), pause_s


def _items(state: ServerState, runs: set[RunId]) -> str:
    sent = []
    for run in sorted(runs):
        with suppress(UsageError):  # it was pruned
            row = state.store.run(run)
            if not row.key.startswith(UNLISTED):
                sent.append(event_text(run_item(state, row).model_dump_json(), "run"))
    return "".join(sent)


def _page(state: ServerState, run: RunId, after: int, limit: int) -> EventPage:
    entries = list(state.store.read(run, after=after, limit=limit + 1))
    shown = entries[:limit]
    last = shown[-1].seq if shown else after
    events = [journal_event(run, entry) for entry in shown]
    return EventPage(events=events, last_seq=last, more=len(entries) > limit)
