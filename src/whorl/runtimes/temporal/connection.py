"""The connection to a server of Temporal."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

from temporalio.client import Client
from temporalio.service import RPCError

from whorl.errors import StoreError
from whorl.runtimes.temporal.values.payloads import converter
from whorl.runtimes.temporal.values.places import place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.providers.settings import TemporalSettings


CONNECT_S = 10.0


async def connect(settings: TemporalSettings) -> Client:
    """A client of the server. Raises StoreError R922 where it does not answer."""
    place = place_of(settings)
    key = settings.encrypt_with.reveal() if settings.encrypt_with is not None else ""
    try:
        async with asyncio.timeout(CONNECT_S):
            return await Client.connect(
                settings.address,
                namespace=settings.namespace,
                tls=settings.tls,
                api_key=None if settings.api_key is None else settings.api_key.reveal(),
                data_converter=converter(place, key),
            )
    except (RuntimeError, TimeoutError) as fault:
        words = f"Temporal does not answer at {settings.address!r}: {fault or 'no answer in time'}"
        advice = "check [runtime.temporal] address; `temporal server start-dev` starts one to try"
        raise StoreError(words, code="R922", help=advice) from fault


@contextmanager
def answering(settings: TemporalSettings) -> Iterator[None]:
    """Gives what goes wrong with the server the code that says so."""
    try:
        yield
    except RPCError as fault:
        words = f"Temporal at {settings.address!r} has refused: {fault}"
        advice = "check [runtime.temporal]; a `whorl worker` sets up what the namespace lacks"
        raise StoreError(words, code="R922", help=advice) from fault
