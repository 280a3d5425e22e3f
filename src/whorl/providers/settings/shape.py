"""The shape of the settings that providers need: frozen, with no reading of files or variables."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from whorl.providers.secrets import LENGTH_SURE, Secret
from whorl.providers.settings.notices import NotifySettings
from whorl.providers.settings.outside import ConnectorSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.language import Json
    from whorl.providers.settings.agents import AgentSettings
    from whorl.providers.settings.outside import KeySettings

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
    """What the operator gives leave for; a tuple names programs, or hosts and networks."""

    commands: bool | tuple[str, ...] = False
    private_network: bool | tuple[str, ...] = False


@dataclass(frozen=True, slots=True)
class ReplyRule:
    """One rule of a scripted provider: what it answers to prompts that match.

    `by` says how a reply is chosen: by counting calls in this process, or by the iteration or the
    attempt that asks, which gives the same reply when a run is resumed in another process.
    """

    match: str
    replies: tuple[Json, ...]
    by: Literal["order", "iteration", "attempt"] = "order"
    exhaust: Literal["repeat", "error"] = "repeat"


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
    headers: tuple[tuple[str, Secret], ...] = ()
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
    env: tuple[tuple[str, str | Secret], ...] = ()
    headers: tuple[tuple[str, Secret], ...] = ()
    tools: tuple[str, ...] | None = None
    timeout_s: float = 60.0


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
        found: list[Secret] = []
        for provider in self.providers.values():
            found += [provider.api_key] if provider.api_key else []
            found += _kept(provider.headers)
        for server in self.mcp.values():
            found += _kept(server.headers)
            found += [text for _, text in server.env if isinstance(text, Secret)]
        for key in self.keys.values():
            found += key.secrets
        for agent in self.agents.values():
            found += agent.secrets()
        found += _kept(self.notify.headers)
        return tuple(dict.fromkeys(found))


def _kept(headers: tuple[tuple[str, Secret], ...]) -> list[Secret]:
    """The headers that hold secrets: a short one does if its name says so."""
    return [
        text
        for name, text in headers
        if len(text.reveal()) >= LENGTH_SURE or _SECRET_NAME.search(name)
    ]
