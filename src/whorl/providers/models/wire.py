"""What every wire format is given and gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.settings import ProviderSettings
    from whorl.providers.task import Emit

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """A tool that a model may ask for; `schema` describes its arguments."""

    name: str
    description: str
    schema: dict[str, Json]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model asks for a tool. `fault` says why its arguments cannot be read."""

    id: str
    name: str
    arguments: dict[str, Json]
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    A model's own message may hold `calls`; one of role `tool` answers the call of that id.
    """

    role: Role
    text: str
    calls: tuple[ToolCall, ...] = ()
    call: str = ""
    tool: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What a model is asked, in no wire format. `schema` is what its answer must fit.

    `key` is the same when this very call is sent again. `cap` limits the answer where the file does
    not (`max_tokens`). `choices` are the only words that count as
    an answer, for wires that can hold a model to them. With `must_answer` the tools are there only
    because earlier messages speak of them: the model may ask for no more.
    """

    messages: tuple[Message, ...]
    temperature: float | None = None
    max_tokens: int | None = None
    cap: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    schema: Json = None
    choices: tuple[str, ...] = ()
    tools: tuple[ToolOffer, ...] = ()
    must_answer: bool = False
    key: str = ""
    address: str = ""
    attempt: int = 1

    @property
    def limit(self) -> int | None:
        """The most output tokens that the answer may have: by the file, or else by the budget."""
        return self.cap if self.max_tokens is None else self.max_tokens


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
class Limit:
    """The limit of an answer as it was sent: the name of its field, and the tokens."""

    field: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said. Token counts are None where the server gave none that can be believed.

    `finish` is `stop`, `length` (cut at its limit), `context` (cut where the model can read no
    more), `tool_calls`, or the server's own word. Tokens of a prompt cache are part of
    `input_tokens`, and told for their price. `refusal` is what a model says instead of an answer.
    `limit` is what was sent, if anything was.
    """

    text: str
    finish: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    detail: dict[str, Json] = field(default_factory=dict)
    calls: tuple[ToolCall, ...] = ()
    cache_read_tokens: int = 0
    cache_written_tokens: int = 0
    refusal: str = ""
    limit: Limit | None = None


class Wire(Protocol):
    """A wire format: turns a conversation into requests and replies into an answer."""

    async def converse(
        self, candidate: Candidate, conversation: Conversation, *, timeout_s: float, emit: Emit
    ) -> Answer:
        """Asks once. Raises ProviderError."""
