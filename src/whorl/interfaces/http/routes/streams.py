"""Server-sent events: the journal of a run as it grows, and the list of runs as it changes.

The number of an entry is the id of its event, so a reader that comes back says where it was.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import Field

from whorl.errors import UsageError
from whorl.interfaces.http.faults import Refusal
from whorl.interfaces.http.run_schemas import EventPage
from whorl.interfaces.http.run_views import journal_event, run_item
from whorl.interfaces.http.schemas import Closed
from whorl.interfaces.http.state import KnownRun, ServerState, State, no_query
from whorl.interfaces.http.watcher import Delta, Listener
from whorl.interfaces.progress import name_of
from whorl.interfaces.translation import Translator
from whorl.runtimes.journal import Entry, RunId
from whorl.services.results import hidden_names, workflow_of

HEARTBEAT_S = 15.0
PAGE = 500
ENDED = frozenset({"succeeded", "failed", "cancelled"})
_STREAM = "text/event-stream"
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_SSE = {"description": "an event stream", "content": {_STREAM: {"schema": {"type": "string"}}}}

router = APIRouter(prefix="/api", tags=["streams"])


class EventsQuery(Closed):
    """Which entries, and in whose words."""

    after: int = Field(default=0, ge=0, le=2**53)
    limit: int = Field(default=1_000, ge=1, le=5_000)
    words: Literal["journal", "dialect"] = Field(default="journal", alias="as")


@router.get(
    "/runs/{run}/events",
    response_model=EventPage,
    responses={200: {"content": {_STREAM: {"schema": {"type": "string"}}}}},
)
async def events(
    request: Request,
    state: State,
    run: KnownRun,
    query: Annotated[EventsQuery, Query()],
    last_event_id: Annotated[str | None, Header(pattern=r"^[0-9]{1,15}$")] = None,
) -> Any:
    """The journal of a run: a page of it, or (`Accept: text/event-stream`) all that comes.

    Events of the stream: an entry (its seq is the id), `delta` with streamed text (what is new, or
    with `whole` all of it so far, for those who come late), `status` when the run's status
    changes, `end` when it has ended. It goes on, in case the run does.
    """
    after = max(query.after, int(last_event_id or 0))
    translator = await asyncio.to_thread(_translator, state, run, query.words, after)
    if _STREAM in request.headers.get("accept", ""):
        return _streamed(state, run, _Journal(state, run, after, translator).messages)
    return await asyncio.to_thread(_page, state, run, (after, query.limit), translator)


@router.get("/changes", dependencies=[Depends(no_query)], responses={200: _SSE},
            response_class=StreamingResponse)  # fmt: skip
async def changes(state: State) -> Response:
    """`run` with a RunItem whenever a run of any process has changed."""
    return _streamed(state, None, lambda listener: _changed(state, listener))


def _streamed(state: ServerState, run: RunId | None, messages: Any) -> StreamingResponse:
    if state.watcher.is_full:
        raise Refusal(429, "W904", "too many streams are open", "close other pages")

    async def stream() -> AsyncIterator[str]:
        with state.watcher.listening(run) as listener:
            yield ": hello\n\n"
            async for message in messages(listener):
                yield message

    return StreamingResponse(stream(), media_type=_STREAM, headers=_HEADERS)


class _Journal:
    """The stream of one run."""

    def __init__(
        self, state: ServerState, run: RunId, after: int, translator: Translator | None
    ) -> None:
        self._state = state
        self._run = run
        self._after = after
        self._translator = translator
        self._status = ""
        self._hidden: frozenset[str] | None = None

    async def messages(self, listener: Listener) -> AsyncIterator[str]:
        """What is sent, until the server stops."""
        quiet_since = _now()
        while not listener.is_over:
            deltas = listener.take_deltas()
            entries, status = await asyncio.to_thread(self._news)
            sent = self._entries(entries)
            if len(entries) < PAGE:
                sent += [*self._deltas(deltas), *self._status_change(status)]
            else:
                # The beginning of their tasks may be among the entries that are yet to come.
                listener.hold(deltas)
            if sent:
                quiet_since = _now()
                yield "".join(sent)
            if len(entries) == PAGE:
                continue
            await listener.wait(max(0.01, quiet_since + HEARTBEAT_S - _now()))
            if _now() - quiet_since >= HEARTBEAT_S:
                quiet_since = _now()
                yield ": still here\n\n"

    def _news(self) -> tuple[list[Entry], str]:
        if self._hidden is None:
            self._hidden = hidden_names(workflow_of(self._state.store, self._run))
        # The status is read first: an end is told after all that led to it.
        status = self._state.store.run(self._run).status
        entries = list(self._state.store.read(self._run, after=self._after, limit=PAGE))
        return entries, status

    def _entries(self, entries: list[Entry]) -> list[str]:
        sent = []
        for entry in entries:
            self._after = entry.seq
            if self._translator is None:
                texts = [journal_event(self._run, entry).model_dump_json()]
            else:
                texts = [_json(text) for text in self._translator.take(entry)]
            for position, text in enumerate(texts, start=1):
                sent.append(_event(text, seq=entry.seq if position == len(texts) else None))
        return sent

    def _deltas(self, deltas: dict[str, Delta]) -> list[str]:
        hidden = self._hidden or ()
        deltas = {at: delta for at, delta in deltas.items() if name_of(at) not in hidden}
        if self._translator is None:
            parts: list[dict[str, str | bool]] = [
                {"address": address, "text": delta.text, "whole": delta.is_whole}
                for address, delta in deltas.items()
            ]
            return [_event(_json(part), "delta") for part in parts]
        streamed = [self._translator.streamed(at, delta.text) for at, delta in deltas.items()]
        return [_event(_json(part)) for events in streamed for part in events]

    def _status_change(self, status: str) -> list[str]:
        if status == self._status:
            return []
        self._status = status
        text = _json({"status": status, "last_seq": self._after})
        ended = [_event(text, "end")] if status in ENDED else []
        return [_event(text, "status"), *ended]


async def _changed(state: ServerState, listener: Listener) -> AsyncIterator[str]:
    quiet_since = _now()
    while not listener.is_over:
        touched = listener.take_touched()
        if touched:
            yield await asyncio.to_thread(_items, state, touched)
            quiet_since = _now()
            # What happens meanwhile is told together; the more runs, the longer this is.
            await asyncio.sleep(min(1.0, 0.05 + 0.005 * len(touched)))
            continue
        await listener.wait(max(0.01, quiet_since + HEARTBEAT_S - _now()))
        if _now() - quiet_since >= HEARTBEAT_S:
            quiet_since = _now()
            yield ": still here\n\n"


def _items(state: ServerState, runs: set[RunId]) -> str:
    sent = []
    for run in sorted(runs):
        try:
            row = state.store.run(run)
        except UsageError:
            # It was pruned.
            continue
        sent.append(_event(state.item_text(row, lambda row: run_item(state, row)), "run"))
    return "".join(sent)


def _page(
    state: ServerState, run: RunId, part: tuple[int, int], translator: Translator | None
) -> EventPage:
    after, limit = part
    entries = list(state.store.read(run, after=after, limit=limit + 1))
    shown = entries[:limit]
    events: Any = [journal_event(run, entry) for entry in shown]
    if translator is not None:
        events = [event for entry in shown for event in translator.take(entry)]
    last = shown[-1].seq if shown else after
    return EventPage(events=events, last_seq=last, more=len(entries) > limit)


def _translator(state: ServerState, run: RunId, words: str, after: int) -> Translator | None:
    """The dialect's words, having heard all that came before."""
    if words == "journal":
        return None
    workflow = workflow_of(state.store, run)
    translator = Translator(run, workflow)
    if not translator.has_words:
        raise UsageError(f"the dialect {workflow.dialect!r} has no event names of its own")
    for entry in state.store.read(run, limit=after):
        translator.take(entry)
    return translator


def _event(data: str, name: str = "", *, seq: int | None = None) -> str:
    head = f"id: {seq}\n" if seq is not None else ""
    named = f"event: {name}\n" if name else ""
    return f"{head}{named}data: {data}\n\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _now() -> float:
    return asyncio.get_running_loop().time()
