"""What the operator configured, as frozen data; `sections` reads it from whorl.toml."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from whorl.providers.redaction import LENGTH_SURE, Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.language import Json

Headers: TypeAlias = "tuple[tuple[str, Secret], ...]"
By: TypeAlias = Literal["order", "iteration", "attempt"]
Exhaust: TypeAlias = Literal["repeat", "error"]
NotifyOn: TypeAlias = Literal["waiting", "failed", "ended"]

AGENT_TIMEOUT_S = 3600.0
_SECRET_NAME = re.compile(
    r"auth|key|token|secret|password|cookie|credential|session", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens."""

    input: float
    output: float


@dataclass(frozen=True, slots=True)
class Allow:
    """What the operator permits; a tuple names programs, or hosts and networks."""

    commands: bool | tuple[str, ...] = False
    private_network: bool | tuple[str, ...] = False

    def permits_command(self, program: str) -> bool:
        """Whether a program may be started."""
        return self.commands is True or (
            isinstance(self.commands, tuple) and program in self.commands
        )


@dataclass(frozen=True, slots=True)
class ReplyRule:
    """One rule of a scripted provider: what it answers to prompts that match.

    `by` says how a reply is chosen: by counting calls in this process, or by the iteration or the
    attempt that asks, which gives the same reply when a run is resumed in another process.
    """

    match: str
    replies: tuple[Json, ...]
    by: By = "order"
    exhaust: Exhaust = "repeat"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSettings:
    """One `[providers.NAME]`. Its key and headers belong to the host of `base_url`, and go there.

    `key_variable` is the variable that should have held the key. `answer_tokens` is reserved for
    an answer whose `max_tokens` is unset. `structured` says whether the server is asked for
    answers by schema, `max_tokens_field` how it calls the limit of an answer, `keeps_max_tokens`
    that it is known to keep to it. `threads` is for the embedded model.
    """

    name: str
    kind: str = "openai"
    base_url: str = ""
    api_key: Secret | None = None
    key_variable: str = ""
    model: str = ""
    max_concurrent: int | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    timeout_s: float = 600.0
    answer_tokens: int = 1024
    headers: Headers = ()
    structured: bool = True
    stream: bool = True
    max_tokens_field: str = ""
    keeps_max_tokens: bool = False
    threads: int | None = None
    rules: tuple[ReplyRule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolServer:
    """One `[mcp.NAME]`: a program that is started, or an address; `tools` are those allowed."""

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str | Secret] = field(default_factory=dict)
    headers: Headers = ()
    tools: tuple[str, ...] | None = None
    timeout_s: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """One agent. `kind` is the format that `program` speaks; only this program sees `env`."""

    name: str
    kind: str
    program: str
    model: str = ""
    flags: tuple[str, ...] = ()
    skip_permissions: bool = False
    env: Mapping[str, str | Secret] = field(default_factory=dict)
    timeout_s: float = AGENT_TIMEOUT_S


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySettings:
    """One `[keys.NAME]`: headers that go to the host of `url` and nowhere else.

    There are none where the variables that should hold the key are not set.
    """

    name: str
    url: str
    headers: Headers
    secrets: tuple[Secret, ...]


@dataclass(frozen=True, slots=True)
class ConnectorSettings:
    """`[connectors]`: the address that answers for all of them, and replies by name or address."""

    url: str = ""
    replies: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NotifySettings:
    """`[notify]`: an address that is sent a POST, with secret headers, when one of these happens
    to a run.
    """

    url: str = ""
    headers: Headers = ()
    on: tuple[NotifyOn, ...] = get_args(NotifyOn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that providers are told by the operator.

    `environment` holds the few variables that commands may see. `retention` (`older_than`) and
    `workflows` (`folders`) are for other parts, and are checked here with the rest.
    """

    default_provider: str = ""
    default_model: str = ""
    judge_model: str = ""
    providers: Mapping[str, ProviderSettings] = field(default_factory=dict)
    prices: Mapping[str, Price] = field(default_factory=dict)
    allow: Allow = Allow()
    tasks: Mapping[str, str] = field(default_factory=dict)
    agents: Mapping[str, AgentSettings] = field(default_factory=dict)
    mcp: Mapping[str, ToolServer] = field(default_factory=dict)
    retention: Mapping[str, str] = field(default_factory=dict)
    notify: NotifySettings = NotifySettings()
    limits: Mapping[str, float] = field(default_factory=dict)
    keys: Mapping[str, KeySettings] = field(default_factory=dict)
    connectors: ConnectorSettings = ConnectorSettings()
    workflows: Mapping[str, object] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    project_root: str = "."

    def secrets(self) -> tuple[Secret, ...]:
        """Every secret, for redaction."""
        providers, servers = self.providers.values(), self.mcp.values()
        secrets = [provider.api_key for provider in providers if provider.api_key]
        headers = [*(owner.headers for owner in providers), *(owner.headers for owner in servers)]
        for each in (*headers, self.notify.headers):
            secrets += _secret_headers(each)
        for variables in [s.env for s in servers] + [agent.env for agent in self.agents.values()]:
            secrets += [text for text in variables.values() if isinstance(text, Secret)]
        for key in self.keys.values():
            secrets += key.secrets
        return tuple(dict.fromkeys(secrets))


def _secret_headers(headers: Headers) -> list[Secret]:
    """The headers that hold secrets: a short one does if its name says so."""
    return [
        text
        for name, text in headers
        if len(text.reveal()) >= LENGTH_SURE or _SECRET_NAME.search(name)
    ]


def revealed(variables: Mapping[str, str | Secret]) -> dict[str, str]:
    """The variables as a program is given them."""
    return {k: v.reveal() if isinstance(v, Secret) else v for k, v in variables.items()}
