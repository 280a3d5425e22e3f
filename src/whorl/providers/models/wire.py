"""What every wire format is given and gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.settings import ProviderSettings
    from whorl.providers.task import Emit

Role: TypeAlias = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What a model is asked, in no wire format. `schema` is what its answer must fit.

    `key` is the same when this very call is sent again.
    """

    messages: tuple[Message, ...]
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    schema: Json = None
    key: str = ""
    address: str = ""
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model of a provider."""

    provider: ProviderSettings
    model: str

    @property
    def name(self) -> str:
        """The name as people write it."""
        return f"{self.provider.name}/{self.model}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said. Token counts are None where the server gave none that can be believed."""

    text: str
    finish: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    detail: dict[str, Json] = field(default_factory=dict)


class Wire(Protocol):
    """A wire format: turns a conversation into requests and replies into an answer."""

    async def converse(
        self, candidate: Candidate, conversation: Conversation, *, timeout_s: float, emit: Emit
    ) -> Answer:
        """Asks once. Raises ProviderError."""
