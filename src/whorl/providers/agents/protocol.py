"""What is asked of an agent program: its work, its command line, and how its output is read."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, NoReturn

from whorl.errors import ProviderError
from whorl.lazily import dataclass
from whorl.providers.json_values import table_of
from whorl.providers.models.conversation import counted
from whorl.providers.models.typed_answers import instruction_for

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.settings import AgentSettings

SCHEMA_BYTES_MAX = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One piece of work for an agent. Nothing in it but `prompt` and `system` can begin with `-`.

    `session` is a conversation to go on with; `wants_session` says that the next step will ask for
    one. `models` are tried in order. `schema` is what the answer must fit (`strict`: with no field
    more), and `schema_file` holds it for a program that takes one. `settings` are the operator's;
    `base_url` is the provider's address where that is not the usual one.
    """

    agent: str
    settings: AgentSettings
    prompt: str
    system: str = ""
    models: tuple[str, ...] = ()
    folder: str = ""
    session: str = ""
    wants_session: bool = False
    max_turns: int | None = None
    max_cost_usd: float | None = None
    permission_mode: str = ""
    tools: tuple[str, ...] = ()
    schema: Json = None
    strict: bool = False
    whole: bool = False
    schema_file: str = ""
    base_url: str = ""

    def refuse(self, name: str, why: str) -> NoReturn:
        raise ProviderError(f"input {name!r} of task 'agent': {self.agent!r} {why}", code="P113")

    def stdin(self, *, system: bool = False, schema: bool = False) -> str:
        """The prompt, with what the program has no flag for said in words."""
        texts = [self.system] if system and self.system else []
        texts.append(self.prompt)
        if schema and self.schema is not None:
            texts.append(instruction_for(self.schema))
        return "\n\n".join(texts)


@dataclass(slots=True)
class AgentOutput:
    """What a program has said so far. `ended` is true once it said that its work is over.

    `error` holds its own words for what went wrong, even where its exit code claims success.
    `cost_usd` is None where the program does not tell. What `is_plain` is whatever it printed.
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
    is_plain: bool = False

    def take(self, event: dict[str, Json]) -> str:
        """Takes in an event that the program printed; gives the text for people to see now."""
        raise NotImplementedError


class AgentProgram:
    """One agent program: how it is started, and how its output is read.

    `package` is how people install it, `provider` the one whose key and address it is given in
    `variables`, `takes_schema_file` whether it takes the schema of an answer in a file. `modes`
    are the permission modes in which it still asks, or refuses, before it runs commands;
    `prefixes` are the providers whose names its models may be written with. `lacks` are the inputs
    for which it has no flag, and `no_sessions` says why it cannot go on with a conversation.
    """

    package = ""
    provider = ""
    takes_schema_file = False
    modes: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ("max_turns", "max_cost_usd", "tools")
    lacks_because = "has no flag for it; leave it out"
    no_sessions = ""
    output_kind: type[AgentOutput] | None = None

    def command_line(self, invocation: Invocation) -> tuple[list[str], str]:
        """The command line, and stdin, which has the prompt so that it is no flag. Raises P113."""
        raise NotImplementedError

    def variables(self, key: str, base_url: str) -> dict[str, str]:
        """What it needs beside PATH and HOME; empty ones are not set."""
        return {}

    def output(self, invocation: Invocation) -> AgentOutput | None:
        """What reads the events that it prints; None where all that it prints is the answer."""
        return None if self.output_kind is None else self.output_kind()

    def check(self, invocation: Invocation) -> None:
        if self.no_sessions and invocation.wants_session:
            invocation.refuse("session", self.no_sessions)
        for name in self.lacks:
            if getattr(invocation, "models" if name == "model" else name):
                invocation.refuse(name, self.lacks_because)

    def models(self, invocation: Invocation) -> list[str]:
        usual = invocation.settings.model
        names = invocation.models or ((usual,) if usual else ())
        bare = [bare_model(name, self.prefixes) for name in names]
        if flags := [name for name in bare if not name or name.startswith("-")]:
            invocation.refuse("model", f"takes the name of a model, not {flags[0]!r:.80}")
        return bare

    def model_flags(self, invocation: Invocation) -> list[str]:
        if len(invocation.models) > 1:
            invocation.refuse("model", "takes one model, not a list")
        return [word for model in self.models(invocation) for word in ("--model", model)]

    def permission_mode(self, invocation: Invocation) -> str:
        """The mode that the author asks for; modes that skip questions are the operator's."""
        mode = invocation.permission_mode
        if mode and mode not in self.modes:
            more = f"skip_permissions or flags in [agents.{invocation.agent}] of whorl.toml"
            why = f"takes {', '.join(self.modes)} here, not {mode!r}"
            invocation.refuse(
                "permission_mode", f"{why}; only the operator can give more, with {more}"
            )
        return mode


def bare_model(model: str, prefixes: tuple[str, ...]) -> str:
    """The model as the program calls it: `anthropic/claude-x` is `claude-x` to claude."""
    provider, slash, name = model.partition("/")
    return name if slash and provider in prefixes else model


def text_in(value: Json, *keys: str) -> str:
    for key in keys:
        value = table_of(value).get(key)
    return value if isinstance(value, str) else ""


def count_in(value: Json, key: str) -> int:
    """The whole number at a key; anything that cannot be believed is 0."""
    return counted(table_of(value).get(key)) or 0
