"""How many tokens a conversation has, before anybody counted them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whorl.providers.models.wire import Answer, Conversation, Message

CHARACTERS_PER_TOKEN = 4
TOKENS_PER_MESSAGE = 3


def text_tokens(text: str) -> int:
    """About how many tokens a text has, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def input_tokens(conversation: Conversation) -> int:
    """About how many tokens the model reads: the messages, and the tools that it is offered."""
    offered = sum(
        text_tokens(tool.name + tool.description + json.dumps(tool.schema))
        for tool in conversation.tools
    )
    return offered + sum(_message_tokens(message) for message in conversation.messages)


def output_tokens(answer: Answer) -> int:
    """About how many tokens the model wrote."""
    called = sum(text_tokens(call.name + json.dumps(call.arguments)) for call in answer.calls)
    return text_tokens(answer.text) + called


def counted(value: object) -> int | None:
    """A server's count of tokens, if it can be believed; a wrong one never lowers spending."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        return None
    return int(value)


def _message_tokens(message: Message) -> int:
    called = sum(text_tokens(call.name + json.dumps(call.arguments)) for call in message.calls)
    return text_tokens(message.text) + called + TOKENS_PER_MESSAGE
