"""Canned replies instead of a model: for tests, demonstrations and dry runs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.errors import ProviderError
from whorl.providers.models.conversation import Answer, Limit, tool_calls
from whorl.providers.outbound.errors import status_fault

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.models.conversation import Candidate, Conversation
    from whorl.providers.outbound import Outbound
    from whorl.providers.settings import ProviderSettings, ReplyRule
    from whorl.providers.task import Emit

_ITERATION = re.compile(r"\[(\d+)\]")


class ScriptedWire:
    """Answers by the rules of the provider; counts words as tokens and says that it is scripted."""

    def __init__(self, outbound: Outbound | None = None) -> None:
        self._counts: dict[tuple[str, int], int] = {}

    async def converse(
        self, candidate: Candidate, conversation: Conversation, *, timeout_s: float, emit: Emit
    ) -> Answer:
        """Gives the next reply of the first rule that matches the conversation."""
        prompt = "\n".join(message.text for message in conversation.messages)
        name = candidate.provider.name
        for at, rule in enumerate(candidate.provider.rules):
            if re.search(rule.match, prompt, re.DOTALL):
                number = self._number((name, at), rule, conversation)
                answer = _answer(_pick(rule, number, name), prompt, name)
                answer = _limited(answer, conversation.cap)
                emit(answer.text)
                return answer
        raise ProviderError(
            f"no rule of the scripted provider {name!r} matches {prompt[:200]!r}; add one",
            code="P112",
        )

    async def check(self, provider: ProviderSettings) -> str:
        """What to tell of the provider, which is always there."""
        return f"{len(provider.rules)} rules"

    def _number(self, key: tuple[str, int], rule: ReplyRule, conversation: Conversation) -> int:
        """Which reply it is, from 1."""
        if rule.by == "attempt":
            return conversation.attempt
        if rule.by == "iteration":
            numbers = _ITERATION.findall(conversation.address)
            return int(numbers[-1]) if numbers else 1
        self._counts[key] = self._counts.get(key, 0) + 1
        return self._counts[key]


def _pick(rule: ReplyRule, number: int, name: str) -> Json:
    if number > len(rule.replies) and rule.exhaust == "error":
        raise ProviderError(
            f"the {len(rule.replies)} replies of rule {rule.match!r} of the scripted provider "
            f"{name!r} are used up; add one, or set exhaust = 'repeat'",
            code="P112",
        )
    return rule.replies[min(number, len(rule.replies)) - 1]


def _limited(answer: Answer, cap: int | None) -> Answer:
    """The answer as a model gives it that is held to so many words by a budget."""
    words = answer.text.split()
    if cap is None or len(words) <= cap:
        return answer
    limit = Limit("max_tokens", cap)
    text = " ".join(words[:cap])
    return replace(answer, text=text, finish="length", output_tokens=cap, limit=limit)


def _answer(reply: Json, prompt: str, name: str) -> Answer:
    fields = reply if isinstance(reply, dict) else {"text": reply}
    status = fields.get("status")
    if isinstance(status, int) and status >= 400:
        headers = {"retry-after": str(fields.get("retry_after", ""))}
        fault = str(fields.get("text", "scripted fault"))
        raise status_fault(f"scripted provider {name!r}", status, headers, fault)
    value = fields["json"] if "json" in fields else fields.get("text", "")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    calls = tool_calls(fields.get("calls"))
    return Answer(
        text,
        str(fields.get("finish", "tool_calls" if calls else "stop")),
        len(prompt.split()),
        len(text.split()),
        {"scripted": True},
        calls,
    )
