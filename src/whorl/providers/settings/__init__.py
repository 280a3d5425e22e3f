"""The operator's configuration, as frozen data; `sections` reads it from whorl.toml.

Advice names whole lines of that file, including existing permissions.
"""

from __future__ import annotations

import json
import re
from dataclasses import field
from itertools import chain
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from whorl.lazily import dataclass, regex
from whorl.providers.redaction import LENGTH_SURE, Secret

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whorl.errors import UsageError
    from whorl.language import Json


# Lines of whorl.toml that advice names: whole, with what is permitted already.
#
# A table and a key may stand only once in a file, so a line takes the place of the one that is
# there.


def line_below(section: str, line: str) -> str:
    """Returns a line with its place in whorl.toml."""
    return f"`{line}` below [{section}] in whorl.toml"


def permit_command(allow: Allow, program: str) -> str:
    """Returns the line that adds permission for a program, or for all if the program is unknown."""
    line = f"commands = {with_entry(allow.commands, program)}" if program else "commands = true"
    return line_below("allow", line) + ("; `commands = true` permits all" if program else "")


def permit_file(allow: Allow, verb: str, glob: str) -> str:
    """Returns the line that adds permission to `read` or `write` the files of a pattern."""
    lists = {"read": [*(allow.read or ())], "write": [*allow.write]}
    if verb == "read" and allow.read is None:
        # What may be read without any permission, which a list takes the place of.
        lists[verb].append("**")
    lists[verb].append(glob)
    inner = ", ".join(f"{name} = {_as_list(globs)}" for name, globs in lists.items() if globs)
    return line_below("allow", f"files = {{{inner}}}")


def with_entry(known: bool | Sequence[str] | None, entry: str) -> str:
    """Returns a TOML list with the known entries and one more."""
    return _as_list([*([] if isinstance(known, bool) or known is None else known), entry])


def _as_list(entries: Sequence[str]) -> str:
    return json.dumps(list(entries), ensure_ascii=False)


Headers: TypeAlias = "tuple[tuple[str, Secret], ...]"
By: TypeAlias = Literal["order", "iteration"]
Exhaust: TypeAlias = Literal["repeat", "error"]
NotifyOn: TypeAlias = Literal["waiting", "failed", "ended"]

AGENT_TIMEOUT_S = 3600.0
DRAIN_S = 20.0
# How a variable is named that a folder brings itself: `env:.env:NAME`. None of an environment can
# have such a name.
BROUGHT = ".env:"
# A key of what is only shown: the variables of the person's environment that are used in an entry.
YOURS = "yours"
SECRET_NAME = regex(r"auth|key|token|secret|password|cookie|credential|session", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens."""

    input: float = 0.0
    output: float = 0.0


@dataclass(frozen=True, slots=True)
class Allow:
    """The operator's permissions; a tuple names programs, or hosts and networks.

    `read` and `write` are globs of files in the project; without `read`, all files that are not
    hidden are readable. `hosts` are the public ones that workflows may call; without it, all are.
    `closed` are files of the configuration, which no pattern opens.
    """

    commands: bool | tuple[str, ...] = False
    private_network: bool | tuple[str, ...] = False
    read: tuple[str, ...] | None = None
    write: tuple[str, ...] = ()
    hosts: tuple[str, ...] | None = None
    closed: frozenset[str] = frozenset()

    def permits_command(self, program: str) -> bool:
        return self.commands if isinstance(self.commands, bool) else program in self.commands


@dataclass(frozen=True, slots=True)
class ReplyRule:
    """One rule of a scripted provider: its answer to prompts that match.

    `by` selects a reply by the count of calls in this process, or by the iteration. That is the
    same if another process resumes the run.
    """

    match: str
    replies: tuple[Json, ...]
    by: By = "order"
    exhaust: Exhaust = "repeat"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSettings:
    """One `[providers.NAME]`. Its key and headers are sent only to the host of `base_url`.

    `key_variable` is the variable that should have the key. `answer_tokens` is reserved for an
    answer without `max_tokens`. `structured` says whether to request answers by schema.
    `keeps_max_tokens` says that the server is known to keep to the limit of an answer. `threads` is
    for the embedded model.
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
    keeps_max_tokens: bool = False
    threads: int | None = None
    rules: tuple[ReplyRule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolServer:
    """One `[mcp.NAME]`: a program to start, or an address; `tools` are the allowed ones."""

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
    """One `[keys.NAME]`: headers for the host of `url`; none if its variables are not set."""

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
    """`[notify]`: the address that gets a POST with secret headers at these events of a run."""

    url: str = ""
    headers: Headers = ()
    on: tuple[NotifyOn, ...] = get_args(NotifyOn)


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """`[server]`: how long calls may take to end when it stops, and how many runs it resumes.

    Runs that people start do not wait: `max_concurrent` limits those that the server starts itself.
    """

    drain_s: float = DRAIN_S
    max_concurrent: int = 200
    # Where others reach it; empty: at the address that it listens at.
    url: str = ""
    # How many calls of one webhook it takes.
    hooks_per_minute: int = 600


@dataclass(frozen=True, slots=True)
class TemporalSettings:
    """`[runtime.temporal]`: the server, and the settings that its clients and workers share.

    `queues` has the kinds of tasks that need a certain machine. `values` is the folder, or the
    bucket with its `s3_` keys, for large values. `encrypt_with` is the key for all that is sent.
    `grace_s` is how long a stopping worker waits for its calls. `refused` says why the folder's
    cluster is not the one here; then no client connects.
    """

    address: str = "127.0.0.1:7233"
    namespace: str = "default"
    queue: str = "whorl"
    tls: bool = False
    api_key: Secret | None = None
    values: str = ""
    encrypt_with: Secret | None = None
    heartbeat_s: float = 10.0
    calls_at_once: int = 100
    grace_s: float = 300.0
    queues: Mapping[str, str] = field(default_factory=dict)
    s3_endpoint: str = ""
    s3_region: str = ""
    s3_key: Secret | None = None
    s3_secret: Secret | None = None
    refused: UsageError | None = None

    @property
    def secrets(self) -> list[Secret]:
        given = (self.api_key, self.encrypt_with, self.s3_key, self.s3_secret)
        return [secret for secret in given if secret]


@dataclass(frozen=True, slots=True)
class RuntimeSettings:
    """`[runtime]`: which runtime drives runs."""

    kind: Literal["local", "temporal"] = "local"
    temporal: TemporalSettings = TemporalSettings()


@dataclass(frozen=True, slots=True)
class Retention:
    """`[retention]`: how many ended runs are kept, and for how long; the time of the audit.

    None means unlimited.
    """

    older_than_s: float | None = None
    max_runs: int | None = None
    max_bytes: int | None = None
    audit_s: float | None = None

    def __bool__(self) -> bool:
        return self != Retention(audit_s=self.audit_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings that the operator gives to providers.

    `environment` holds the few variables that commands may see. `retention`, `workflows`
    (`folders`), `server` and `drain_s` are for other parts, and are checked here with the rest.
    `drain_s` (of `[run]`) is how long calls may take when a command stops. `untrusted` says why the
    rights of the folder's whorl.toml are left out, if they are.
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
    retention: Retention = Retention()
    notify: NotifySettings = NotifySettings()
    server: ServerSettings = ServerSettings()
    runtime: RuntimeSettings = RuntimeSettings()
    drain_s: float = DRAIN_S
    limits: Mapping[str, float] = field(default_factory=dict)
    # How many runs of a workflow run at once, by its name; `*` is for all others.
    queue: Mapping[str, int] = field(default_factory=dict)
    keys: Mapping[str, KeySettings] = field(default_factory=dict)
    connectors: ConnectorSettings = ConnectorSettings()
    workflows: Mapping[str, object] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    project_root: str = "."
    untrusted: UsageError | None = None

    @property
    def programs(self) -> tuple[str, ...]:
        """The importable workflows that are written in Python: `module:name`."""
        listed = self.workflows.get("python")
        return tuple(map(str, listed)) if isinstance(listed, list) else ()

    def secrets(self) -> tuple[Secret, ...]:
        """Returns every secret, for redaction; a short header is one if its name says so."""
        providers, servers = self.providers.values(), self.mcp.values()
        secrets = [provider.api_key for provider in providers if provider.api_key]
        owned = [*(each.headers for each in providers), *(each.headers for each in servers)]
        for name, text in chain(*owned, self.notify.headers):
            if len(text.reveal()) >= LENGTH_SURE or SECRET_NAME.search(name):
                secrets.append(text)
        for env in [*(each.env for each in servers), *(each.env for each in self.agents.values())]:
            secrets += [text for text in env.values() if isinstance(text, Secret)]
        for key in self.keys.values():
            secrets += key.secrets
        secrets += self.runtime.temporal.secrets
        return tuple(dict.fromkeys(secrets))


def revealed(variables: Mapping[str, str | Secret]) -> dict[str, str]:
    return {k: v.reveal() if isinstance(v, Secret) else v for k, v in variables.items()}
