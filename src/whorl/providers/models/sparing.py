"""Fields that a server or model refuses: asked again without them, and remembered for later."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias

from whorl.errors import ProviderError
from whorl.providers.outbound import Call
from whorl.providers.outbound.reading import BYTES_HARD_MAX

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from whorl.language import Json
    from whorl.providers.models.wire import Answer
    from whorl.providers.outbound import Credential

    Body: TypeAlias = dict[str, Json]

# Makes the body without some fields; sends a body under a key; names what an error refuses.
Without: TypeAlias = "Callable[[tuple[str, ...]], Body]"
Send: TypeAlias = "Callable[[Body, str], Awaitable[Answer]]"
Refused: TypeAlias = "Callable[[Body, ProviderError], str | None]"


class Sparing:
    """What each model does not accept, as far as it was found out."""

    def __init__(self) -> None:
        self._refused: dict[str, tuple[str, ...]] = {}

    async def ask(
        self, name: str, key: str, *, without: Without, send: Send, refused: Refused
    ) -> Answer:
        """Asks once; where the server refuses a field that can be spared, asks without it."""
        left_out = self._refused.get(name, ())
        while True:
            body = without(left_out)
            try:
                # Another body is another request, and must not be taken for the first one.
                answer = await send(body, f"{key}-{len(left_out)}" if key and left_out else key)
            except ProviderError as fault:
                field = refused(body, fault)
                if field is None or field in left_out:
                    raise
                left_out = (*left_out, field)
                self._refused[name] = left_out
            else:
                if left_out:
                    answer.detail["left_out"] = list(left_out)
                return answer


def refused_field(body: Body, fault: ProviderError, dispensable: tuple[str, ...]) -> str | None:
    """The field that a server said it does not know."""
    if fault.detail.get("status") not in (400, 422):
        return None
    said = str(fault.detail.get("body", ""))
    return next((name for name in dispensable if name in body and name in said), None)


def post(
    url: str,
    body: Body,
    *,
    key: str,
    accept: str,
    credential: Credential | None,
    timeout_s: float,
    headers: tuple[tuple[str, str], ...] = (),
) -> Call:
    """The call that sends a conversation."""
    usual = [("content-type", "application/json"), ("accept", f"{accept}, application/json")]
    if key:
        usual.append(("idempotency-key", key))
    return Call(
        method="POST",
        url=url,
        headers=(*usual, *headers),
        body=json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"),
        credential=credential,
        timeout_s=timeout_s,
        # Each token of a stream comes in an envelope of some hundred bytes.
        bytes_max=BYTES_HARD_MAX,
    )
