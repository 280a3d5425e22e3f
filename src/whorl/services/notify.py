"""Telling the operator's address that a run waits for a person, has failed or has ended.

A notification that cannot be delivered is a line in the log; a run never fails over it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Any

from whorl.errors import ProviderError, StoreError, UsageError, safe
from whorl.providers.outbound.addresses import Policy, origin_of
from whorl.providers.outbound.client import Call, Credential, Outbound
from whorl.services.results import open_gates

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.providers.redaction import Secret
    from whorl.providers.settings import NotifySettings
    from whorl.runtimes.journal import Entry, RunId
    from whorl.runtimes.sqlite import SqliteStore

TIMEOUT_S = 10.0
TRIES = 2
TRY_AGAIN_S = 1.0
PENDING_MAX = 100
_MESSAGE_MAX = 2_000

log = logging.getLogger("whorl.notify")


class Notifier:
    """A watcher that sends a POST for what a person wants to know."""

    def __init__(
        self, settings: NotifySettings, store: SqliteStore, secrets: tuple[Secret, ...] = ()
    ) -> None:
        self._settings = settings
        self._store = store
        origin = origin_of(settings.url)
        # The address is the operator's own, so it may be a private one.
        self._outbound = Outbound(Policy(origins=frozenset({origin})), secrets=secrets)
        self._credential = Credential(origin, settings.headers) if settings.headers else None
        self._sending: set[asyncio.Task[None]] = set()

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        """Looks for what is worth telling; of one batch, the last."""
        notice: dict[str, Json] | None = None
        for entry in entries:
            news = _notice(entry.event)
            if news is not None:
                notice = news | {"run": run, "seq": entry.seq, "at": entry.event.at}
        if notice is None or notice["event"] not in self._settings.on:
            return
        if len(self._sending) >= PENDING_MAX:
            log.warning("run %s: not told, too many notifications are under way", run)
            return
        task = asyncio.create_task(self._send(run, notice))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    def text(self, run: RunId, address: str, text: str) -> None:
        """Streamed text is nobody's news."""

    def trouble(self, run: RunId, fault: StoreError) -> None:
        """Whoever drives the run tells of it."""

    async def close(self) -> None:
        """Waits a while for what is under way."""
        if self._sending:
            await asyncio.wait(self._sending, timeout=TIMEOUT_S + TRY_AGAIN_S)
        await self._outbound.close()

    async def _send(self, run: RunId, notice: dict[str, Json]) -> None:
        try:
            notice |= await asyncio.to_thread(self._about, run, notice["event"] == "waiting")
        except (UsageError, StoreError) as fault:
            log.warning("run %s: nobody was told of it: %s", run, safe(str(fault)))
            return
        call = Call(
            method="POST",
            url=self._settings.url,
            headers=(("content-type", "application/json"),),
            body=json.dumps(notice, ensure_ascii=False).encode("utf-8", "replace"),
            credential=self._credential,
            timeout_s=TIMEOUT_S,
            of_operator=True,
        )
        for left in range(TRIES - 1, -1, -1):
            try:
                await self._outbound.request(call, check_status=True)
                return
            except ProviderError as fault:
                if not left or not fault.retryable:
                    log.warning("run %s: nobody was told of it: %s", run, safe(str(fault)))
                    return
                await asyncio.sleep(TRY_AGAIN_S)

    def _about(self, run: RunId, is_waiting: bool) -> dict[str, Json]:
        """What there is to know about the run beside the event."""
        row = self._store.run(run)
        about: dict[str, Json] = {"workflow": row.name, "file": row.file, "cost_usd": row.cost_usd}
        gates = open_gates(self._store, run) if is_waiting else []
        if gates:
            about |= {"address": gates[0].address, "message": gates[0].message[:_MESSAGE_MAX]}
        return about


def _notice(event: Event) -> dict[str, Json] | None:
    body: dict[str, Any] = event.body
    if event.kind == "run.waiting" and body.get("status", "waiting") == "waiting":
        return {"event": "waiting", "status": "waiting", "message": None}
    if event.kind != "run.finished":
        return None
    status = str(body.get("status", "failed"))
    error = body.get("error")
    words = str(error.get("message", ""))[:_MESSAGE_MAX] if isinstance(error, dict) else None
    name = "failed" if status == "failed" else "ended"
    return {"event": name, "status": status, "message": words}
