"""Speaking to a model's server over HTTP: what all wire formats do the same way."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.errors import ProviderError
from whorl.providers.outbound import Call
from whorl.providers.outbound.reading import BYTES_HARD_MAX

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from whorl.language import Json
    from whorl.providers.models.wire import Answer, Candidate, Conversation
    from whorl.providers.outbound import Credential, Outbound
    from whorl.providers.settings import ProviderSettings
    from whorl.providers.task import Emit

    Body = dict[str, Json]
    Left = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A wire format: where and what is sent, and how an answer is read, streamed or not.

    `dispensable` are fields that some servers or models refuse, and without which an answer is
    still an answer. `adapt` changes what is left of a body without them, and `refused` finds what
    a refusal means that does not name its field.
    """

    stream_types: tuple[str, ...]
    url: Callable[[str], str]
    credential: Callable[[ProviderSettings], Credential | None]
    body: Callable[[Candidate, Conversation], Body]
    streamed: Callable[[AsyncIterator[str], str, Emit], Awaitable[Answer]]
    plain: Callable[[str, str, Emit], Awaitable[Answer]]
    dispensable: tuple[str, ...]
    adapt: Callable[[Body, Body, Left], Body] | None = None
    refused: Callable[[Body, str], str | None] | None = None
    headers: tuple[tuple[str, str], ...] = ()


class HttpWire:
    """Asks servers of one format; learns what a model does not accept."""

    def __init__(self, outbound: Outbound, form: Form) -> None:
        self._outbound = outbound
        self._form = form
        # By address and model: another server with the same name speaks for itself.
        self._refused: dict[tuple[str, str], Left] = {}

    async def converse(
        self, candidate: Candidate, conversation: Conversation, *, timeout_s: float, emit: Emit
    ) -> Answer:
        """Asks once; where the server refuses a field that can be spared, asks without it."""
        model = (candidate.provider.base_url, candidate.model)
        left_out = self._refused.get(model, ())
        whole = self._form.body(candidate, conversation)
        while True:
            body = self._without(whole, left_out)
            # Another body is another request, and must not be taken for the first one.
            key = conversation.key and conversation.key + (f"-{len(left_out)}" if left_out else "")
            call = self._call(candidate.provider, body, key=key, timeout_s=timeout_s)
            try:
                answer = await self._ask(call, emit)
            except ProviderError as fault:
                field = self._refused_field(body, fault)
                if field is None or field in left_out:
                    raise
                left_out = (*left_out, field)
            else:
                # A field that is spared in vain was not what the server refused.
                if left_out:
                    self._refused[model] = left_out
                    answer.detail["left_out"] = list(left_out)
                return answer

    async def _ask(self, call: Call, emit: Emit) -> Answer:
        async with self._outbound.stream(call) as incoming:
            if not 200 <= incoming.status < 300:
                raise self._outbound.fault(incoming, await incoming.read())
            if incoming.content_type in self._form.stream_types:
                return await self._form.streamed(incoming.lines(), incoming.what, emit)
            text = (await incoming.read()).decode("utf-8", "replace")
            return await self._form.plain(text, incoming.what, emit)

    def _call(self, provider: ProviderSettings, body: Body, *, key: str, timeout_s: float) -> Call:
        accept = ", ".join((*self._form.stream_types, "application/json"))
        headers = (("content-type", "application/json"), ("accept", accept), *self._form.headers)
        return Call(
            method="POST",
            url=self._form.url(provider.base_url),
            headers=(*headers, ("idempotency-key", key)) if key else headers,
            body=json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"),
            credential=self._form.credential(provider),
            timeout_s=timeout_s,
            # Each token of a stream comes in an envelope of some hundred bytes.
            bytes_max=BYTES_HARD_MAX,
            of_operator=True,
        )

    def _without(self, whole: Body, left_out: Left) -> Body:
        kept = {name: value for name, value in whole.items() if name not in left_out}
        return kept if self._form.adapt is None else self._form.adapt(kept, whole, left_out)

    def _refused_field(self, body: Body, fault: ProviderError) -> str | None:
        """The field that a server said it does not know."""
        if fault.detail.get("status") not in (400, 422):
            return None
        said = str(fault.detail.get("body", ""))
        if self._form.refused is not None and (found := self._form.refused(body, said)):
            return found
        return next((n for n in self._form.dispensable if n in body and _names(said, n)), None)


def _names(said: str, field: str) -> bool:
    """Whether a text names a field: an upstream server is no `stream`, but streaming is."""
    return re.search(rf"\b{field}", said) is not None
