"""How many tokens a conversation has, before anybody counted them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whorl.providers.models.wire import Conversation

CHARACTERS_PER_TOKEN = 4
TOKENS_PER_MESSAGE = 3


def text_tokens(text: str) -> int:
    """About how many tokens a text has, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def input_tokens(conversation: Conversation) -> int:
    """About how many tokens the model reads."""
    return sum(text_tokens(m.text) + TOKENS_PER_MESSAGE for m in conversation.messages)


def counted(value: object) -> int | None:
    """A server's count of tokens, if it can be believed; a wrong one never lowers spending."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        return None
    return int(value)
