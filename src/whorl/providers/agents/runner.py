"""What each agent program is to us: a command line to start it, and a reader of what it prints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn, Protocol

from whorl.errors import ProviderError
from whorl.providers.models.answers import instruction_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.language import Json
    from whorl.providers.agents.order import Order
    from whorl.providers.settings.agents import AgentSettings

# Faults of a server that may be gone when the same is tried again.
RETRYABLE = frozenset({408, 425, 429, 500, 502, 503, 504, 529})


@dataclass(slots=True)
class Said:
    """What a program has said so far. `ended` is true once it said that its work is over.

    `error` holds its own words for what went wrong, even where its exit code claims success.
    `cost_usd` is None where the program does not tell.
    """

    text: str = ""
    structured: Json = None
    session: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    error: str = ""
    status: int | None = None
    ended: bool = False
    detail: dict[str, Json] = field(default_factory=dict)


class Reader(Protocol):
    """Reads one run's events, one after the other."""

    said: Said

    def take(self, event: dict[str, Json]) -> str:
        """Takes in an event; gives the text in it that people should see now."""


class Runner(Protocol):
    """One agent program."""

    kind: str
    # How people install it.
    package: str
    # The provider whose key and address the program is given.
    provider: str
    # Whether it takes the schema of an answer in a file.
    takes_schema_file: bool

    def command(self, order: Order, agent: AgentSettings, *, means: Means) -> Command:
        """How it is started; raises ProviderError P113 for a wish that it cannot grant."""

    def environment(self, key: str, base_url: str) -> dict[str, str]:
        """The variables that it needs beside PATH and HOME; both may be empty."""

    def reader(self, order: Order) -> Reader | None:
        """What reads its output; None when the output is the answer."""


@dataclass(frozen=True, slots=True)
class Means:
    """What a run is given.

    `session` is an id that nobody uses yet; `schema_file` holds the schema of the answer;
    `base_url` is the provider's address where that is not the usual one.
    """

    session: str
    schema_file: str = ""
    base_url: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, without any shell; the prompt is always on stdin, so it can be no flag."""

    argv: tuple[str, ...]
    stdin: str


def prompt_of(order: Order, *, system: bool = False, schema: bool = False) -> str:
    """What stands on stdin: the prompt, with what the program has no flag for said in words."""
    texts = [order.system] if system and order.system else []
    texts.append(order.prompt)
    if schema and order.schema is not None:
        texts.append(instruction_for(order.schema))
    return "\n\n".join(texts)


def refuse(order: Order, wish: str, why: str) -> NoReturn:
    """Raises the error for an input that this program cannot follow."""
    raise ProviderError(f"input {wish!r} of task 'agent': {order.agent!r} {why}", code="P113")


def refuse_all(order: Order, wishes: Mapping[str, object], why: str) -> None:
    """Refuses the first of the wishes that is there."""
    for wish, value in wishes.items():
        if value:
            refuse(order, wish, why)


def model_of(order: Order, agent: AgentSettings, prefixes: tuple[str, ...]) -> str:
    """The one model that is wanted, without the name of its provider."""
    if len(order.models) > 1:
        refuse(order, "model", "takes one model, not a list")
    return bare_model(next(iter(order.models), agent.model), prefixes)


def bare_model(model: str, prefixes: tuple[str, ...]) -> str:
    """The model as the program calls it: `anthropic/claude-x` is `claude-x` to claude."""
    provider, slash, name = model.partition("/")
    return name if slash and provider in prefixes else model


def permission_of(order: Order, allowed: tuple[str, ...]) -> str:
    """The mode that the author asks for; modes that skip questions are the operator's to give."""
    mode = order.permission_mode
    if mode and mode not in allowed:
        refuse(
            order,
            "permission_mode",
            f"takes {', '.join(allowed)} here, not {mode!r}; only the operator can give more, with "
            f"skip_permissions or flags in [agents.{order.agent}] of whorl.toml",
        )
    return mode


def text_in(value: Json, *keys: str) -> str:
    """The text at a path of keys, or nothing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def count_in(value: Json, *keys: str) -> int:
    """The whole number at a path of keys; anything that cannot be believed is 0."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    believable = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**50
    return value if believable and isinstance(value, int) else 0
