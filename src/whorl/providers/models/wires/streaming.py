"""Streams of answers in any wire format: gathered, and paid for as far as they came."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from whorl.errors import ProviderError
from whorl.providers.outbound.faults import cut_off, malformed, status_fault
from whorl.providers.texts import NotJson, clean, parse_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from whorl.language import Json
    from whorl.providers.task import Emit

# How long the end of a stream may take once its answer is complete.
REST_S = 0.5
PARTIAL_MAX = 2_000


class Saying:
    """Gathers a streamed text; half of a character that was cut in two waits for its other half."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._parts: list[str] = []
        self._held = ""

    @property
    def text(self) -> str:
        """All of it so far."""
        return "".join(self._parts)

    def add(self, piece: str) -> None:
        """Takes the next piece, and passes on what is whole."""
        if not piece:
            return
        self._parts.append(piece)
        piece, self._held = self._held + piece, ""
        if "\ud800" <= piece[-1] <= "\udbff":
            piece, self._held = piece[:-1], piece[-1]
        if piece:
            self._emit(clean(piece))

    def end(self) -> None:
        """Passes on what was held back."""
        if self._held:
            self._emit(clean(self._held))


@contextmanager
def paid_so_far(said: Saying) -> Iterator[None]:
    """Notes in the error of a stream that broke how much of the answer had come."""
    try:
        yield
    except ProviderError as fault:
        if said.text:
            fault.detail["partial"] = clean(said.text)[-PARTIAL_MAX:]
            fault.detail["characters"] = len(said.text)
        raise


def ended_early(what: str) -> ProviderError:
    """The error for a stream that ends before its answer does."""
    return cut_off(what, "the stream ended before the answer did")


async def read_to_end(lines: AsyncIterator[str]) -> None:
    """Reads what follows the end of the answer, so that the connection can be used again."""
    with suppress(TimeoutError):
        async with asyncio.timeout(REST_S):
            async for _ in lines:
                pass


async def lines_of(text: str) -> AsyncIterator[str]:
    """The lines of a text that was not read as a stream, but is one."""
    for line in text.split("\n"):
        yield line.removesuffix("\r")


def object_of(text: str, what: str) -> dict[str, Json]:
    """The JSON object that a reply, or an event of it, must be."""
    try:
        parsed = parse_json(text, in_part=True)
    except NotJson as cause:
        raise malformed(what, f"the reply is not JSON: {cause}") from None
    if not isinstance(parsed, dict):
        raise malformed(what, "the reply is no JSON object")
    return parsed


def table_of(value: Json) -> dict[str, Json]:
    """The value, if it is an object; else an empty one."""
    return value if isinstance(value, dict) else {}


def tables_of(value: Json) -> list[dict[str, Json]]:
    """The objects in a list, if it is one."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "insufficient_quota": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


def raise_inner(reply: dict[str, Json], what: str) -> None:
    """Raises the failure that some servers put inside of a reply or a stream with status 200."""
    error = reply.get("error")
    if not error:
        return
    fields = error if isinstance(error, dict) else {"message": error}
    code, kind = fields.get("code"), fields.get("type")
    status = code if isinstance(code, int) and 400 <= code <= 599 else 0
    if not status:
        status = _STATUSES.get(str(kind), 0)
    if not status:
        words = f"{kind} {code}".lower()
        status = 429 if "rate" in words else 400 if "invalid" in words else 500
    text = json.dumps({"error": {"message": str(error)} | fields})
    raise status_fault(f"{what} (an error inside a reply)", status, {}, text)
