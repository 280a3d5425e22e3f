"""Speaking to a model's server over HTTP: what all wire formats do the same way."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from whorl.errors import ProviderError
from whorl.providers.outbound import Call
from whorl.providers.outbound.reading import BYTES_HARD_MAX

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from whorl.language import Json
    from whorl.providers.models.wire import Answer, Candidate, Conversation, Limit
    from whorl.providers.outbound import Credential, Outbound
    from whorl.providers.settings import ProviderSettings
    from whorl.providers.task import Emit

    Body = dict[str, Json]
    Left = tuple[str, ...]

# Below this no limit is tried: what a server refuses then is something else.
CAP_LEAST = 1_024
_OF_LIMIT = re.compile(
    r"max(?:imum)?[_ ](?:completion[_ ]|output[_ ])?tokens|(?:output|completion) tokens|"
    r"context (?:length|window|size)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.-])\d{1,3}(?:,\d{3})+|(?<![\w.-])\d{1,9}(?![\w.-]*\w)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A wire format: where and what is sent, and how an answer is read, streamed or not.

    `dispensable` are fields that some servers or models refuse, and without which an answer is
    still an answer. `adapt` changes what is left of a body without them, and `refused` finds what
    a refusal means that does not name its field. `limit` finds the limit of the answer in a body;
    a format that wants one for every answer has `answer_tokens`.
    """

    stream_types: tuple[str, ...]
    url: Callable[[str], str]
    credential: Callable[[ProviderSettings], Credential | None]
    body: Callable[[Candidate, Conversation], Body]
    streamed: Callable[[AsyncIterator[str], str, Emit], Awaitable[Answer]]
    plain: Callable[[str, str, Emit], Awaitable[Answer]]
    dispensable: tuple[str, ...]
    limit: Callable[[Candidate, Body], Limit | None]
    answer_tokens: int | None = None
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
        self._most: dict[tuple[str, str], int] = {}

    async def converse(
        self, candidate: Candidate, conversation: Conversation, *, timeout_s: float, emit: Emit
    ) -> Answer:
        """Asks once; where the server refuses a field that can be spared, asks without it.

        A limit of the answer that the file did not set is lowered where the model gives less.
        """
        model = (candidate.provider.base_url, candidate.model)
        left_out = self._refused.get(model, ())
        conversation = self._limited(model, conversation)
        while True:
            body = self._without(self._form.body(candidate, conversation), left_out)
            key = self._key(conversation, left_out)
            call = self._call(candidate.provider, body, key=key, timeout_s=timeout_s)
            try:
                answer = await self._ask(call, emit)
            except ProviderError as fault:
                field, lower = self._refused_field(body, fault), lower_cap(conversation, fault)
                if field is not None and field not in left_out:
                    left_out = (*left_out, field)
                elif lower is not None:
                    conversation = replace(conversation, cap=lower)
                    if "context" not in str(fault.detail.get("body")):
                        self._most[model] = lower
                else:
                    raise
            else:
                # A field that is spared in vain was not what the server refused.
                if left_out:
                    self._refused[model] = left_out
                    answer.detail["left_out"] = list(left_out)
                return replace(answer, limit=self._form.limit(candidate, body))

    def _limited(self, model: tuple[str, str], conversation: Conversation) -> Conversation:
        """The conversation with a limit that the model is known to accept."""
        cap = conversation.cap or self._form.answer_tokens
        if conversation.max_tokens is not None or cap is None:
            return conversation
        return replace(conversation, cap=min(cap, self._most.get(model, cap)))

    def _key(self, conversation: Conversation, left_out: Left) -> str:
        """The key of a request: another body is another one, and not to be taken for the first."""
        if not conversation.key:
            return ""
        key = conversation.key + (f"-{len(left_out)}" if left_out else "")
        if conversation.max_tokens is None and conversation.cap != self._form.answer_tokens:
            key += f"-{conversation.cap}"
        return key

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


def lower_cap(conversation: Conversation, fault: ProviderError) -> int | None:
    """The next limit to try for a model that gives no answers as long as was asked for.

    Servers name the number that they accept in many ways, some only that of their whole context:
    the largest that is named, but at least half.
    """
    cap = conversation.cap
    if cap is None or conversation.max_tokens is not None:
        return None
    said = str(fault.detail.get("body", ""))
    if fault.detail.get("status") not in (400, 422) or not _OF_LIMIT.search(said):
        return None
    named = (int(found.replace(",", "")) for found in _NUMBER.findall(said))
    lower = max([cap // 2, *(number for number in named if number < cap)])
    return lower if lower >= CAP_LEAST else None


def _names(said: str, field: str) -> bool:
    """Whether a text names a field: an upstream server is no `stream`, but streaming is."""
    return re.search(rf"\b{field}", said) is not None
