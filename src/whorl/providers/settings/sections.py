"""Checks a parsed whorl.toml and makes settings of it; unknown keys are errors, never ignored.

Only the operator's file is read here, so only the operator can give an agent flags, variables, or
the permission to skip its questions.
"""

from __future__ import annotations

import base64
import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeVar, get_args
from urllib.parse import urlsplit

from whorl.errors import UsageError, did_you_mean
from whorl.lazily import dataclass, regex
from whorl.providers import settings
from whorl.providers.json_values import NotJson, as_json
from whorl.providers.redaction import Secret
from whorl.providers.settings import RuntimeSettings, TemporalSettings
from whorl.providers.settings.tables import (
    WEB_ADDRESS,
    Table,
    is_web_address,
    refuse,
    resolve,
    shown_url,
    type_name,
    variable_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whorl.providers.settings.tables import Environment

T = TypeVar("T")
ITERATIONS_MAX = 1_000

# What a command may see of our own environment (security rule R8).
COMMAND_VARIABLES = ("PATH", "HOME", "LANG", "TERM", "TMPDIR")

# The programs that need no configuration, by the name that workflows use.
AGENT_PROGRAMS = {"claude-code": "claude", "codex": "codex", "gemini": "gemini"}
AGENT_ALIASES = {"claude": "claude-code"}
TEXT_AGENT = "text"
AGENT_KINDS = (*AGENT_PROGRAMS, TEXT_AGENT)

# Overrides the runtime of the file for one call.
VARIABLE = "WHORL_RUNTIME"

_VARIABLE = regex(r"[A-Za-z_][A-Za-z0-9_]*")
_CREDENTIAL = regex("KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|AUTH", re.IGNORECASE)


def settings_from(
    table: Mapping[str, object], environment: Environment, *, project_root: str = "."
) -> settings.Settings:
    """Returns the settings of a whorl.toml and the well-known variables. Raises UsageError."""
    whole = Table(table, "whorl.toml", "")

    def section(name: str) -> Table:
        return Table(whole.values.get(name, {}), f"[{name}]", name, environment)

    def named(name: str, make: Callable[[str, object, Environment], T]) -> dict[str, T]:
        return {key: make(key, value, environment) for key, value in section(name).values.items()}

    defaults, folders, queue = section("defaults").read(), section("workflows"), section("queue")
    folders.read()
    served = section("server").read()
    drain_s, url = served.pop("drain", settings.DRAIN_S), served.pop("url", "").rstrip("/")
    providers = providers_from(section("providers").values, environment)
    return settings.Settings(
        default_provider=defaults.get("provider") or next(iter(providers), ""),
        default_model=defaults.get("model", ""),
        judge_model=defaults.get("judge_model", ""),
        providers=providers,
        prices=named("prices", _price),
        allow=_allow(section("allow")),
        tasks=named("tasks", _task),
        agents=agents_from(section("agents").values, environment),
        notify=_notify(section("notify")),
        mcp=named("mcp", _server),
        keys=named("keys", _key),
        connectors=_connectors(section("connectors")),
        limits=_limits(section("limits")),
        queue={name: queue.one(name) for name in queue.values},
        environment={k: environment[k] for k in COMMAND_VARIABLES if k in environment},
        project_root=project_root,
        retention=_retention(section("retention")),
        server=settings.ServerSettings(drain_s=drain_s, url=url, **served),
        drain_s=section("run").read().get("drain", settings.DRAIN_S),
        runtime=runtime_from(section("runtime")),
        workflows=dict(folders.values),
    )


def _price(model: str, value: object, environment: Environment) -> settings.Price:
    return settings.Price(**Table(value, f"[prices.{model}]", "prices.NAME").read())


def _allow(table: Table) -> settings.Allow:
    given = table.read()
    files = Table(given.pop("files", {}), "[allow] files", "allow.files").read()
    for glob in (glob for globs in files.values() for glob in globs):
        if not glob or glob.startswith(("/", "~")) or "\\" in glob or ".." in glob.split("/"):
            refuse(f"[allow] files names {glob!r}, which is not a pattern for files in the project")
    return settings.Allow(**given, **files)


def _task(name: str, task: object, environment: Environment) -> str:
    if not isinstance(task, str) or not task.startswith(("python:", "https://", "http://")):
        shown = shown_url(task) if isinstance(task, str) else type_name(task)
        refuse(f"[tasks] {name!r} must be 'python:module:function' or a URL, not {shown}")
    return task


def _server(name: str, value: object, environment: Environment) -> settings.ToolServer:
    table = Table(value, f"[mcp.{name}]", "mcp.NAME", environment)
    given = table.read()
    if bool(given.get("command")) == bool(given.get("url")):
        refuse(f'{table.place} needs either command = ["program", ...] or url = "https://..."')
    return settings.ToolServer(name=name, **given | {"env": _variables(table)})


def agents_from(
    tables: Mapping[str, object], environment: Environment
) -> dict[str, settings.AgentSettings]:
    make = settings.AgentSettings
    agents = {n: make(name=n, kind=n, program=p) for n, p in AGENT_PROGRAMS.items()}
    agents |= {name: _agent(name, table, environment) for name, table in tables.items()}
    return {alias: agents[name] for alias, name in AGENT_ALIASES.items()} | agents


def _agent(name: str, value: object, environment: Environment) -> settings.AgentSettings:
    table = Table(value, f"[agents.{name}]", "agents.NAME", environment)
    given = table.read()
    # The format that an agent speaks: its name says so, or the name of its program.
    stem = PurePath(given.get("program", "")).stem
    by_program = {usual: kind for kind, usual in AGENT_PROGRAMS.items()}.get(stem, TEXT_AGENT)
    kind = given.get("kind") or (name if name in AGENT_PROGRAMS else by_program)
    if kind not in AGENT_KINDS:
        kinds = ", ".join(map(repr, AGENT_KINDS))
        refuse(f"{table.place} kind must be one of {kinds}, not {kind!r}")
    program = given.get("program") or AGENT_PROGRAMS.get(kind, "")
    if not program:
        refuse(f"{table.place} needs a program, the name or path of what is started")
    if any("\0" in word for word in (program, *given.get("flags", ()))):
        refuse(f"{table.place} contains a NUL character, which no command line can")
    more = {"kind": kind, "program": program, "env": _variables(table)}
    return settings.AgentSettings(name=name, **given | more)


def _variables(table: Table) -> dict[str, str | Secret]:
    """Returns variables; those from the environment or named like a credential are secrets.

    A reference to a variable that is not set is left out.
    """
    variables: dict[str, str | Secret] = {}
    for name, written in table.texts_by_name("env").items():
        if not _VARIABLE.fullmatch(name) or "\0" in written:
            refuse(f"{table.place} env.{name} must be the text of a variable, not {written!r:.80}")
        text, is_ours = resolve(written, table.environment), written.startswith("env:")
        if text or not is_ours:
            variables[name] = Secret(text) if is_ours or _CREDENTIAL.search(name) else text
    return variables


def _key(name: str, value: object, environment: Environment) -> settings.KeySettings:
    table = Table(value, f"[keys.{name}]", "keys.NAME", environment)
    given = table.read()
    if not table.web_address("url", given.get("url", "")):
        refuse(f"{table.place} needs the url that it is for, such as 'https://api.example.com'")
    token, username, password = map(table.resolved, ("token", "username", "password"))
    headers = list(table.headers("headers"))
    secrets = [secret for _, secret in headers]
    if token:
        headers.append(("Authorization", Secret(f"Bearer {token}")))
        secrets.append(Secret(token))
    elif username or password:
        pair = basic(username, password)
        headers.append(("Authorization", Secret(f"Basic {pair}")))
        secrets += [Secret(pair), Secret(password)]
    if not headers and not {"token", "username", "password"} & set(given):
        refuse(f"{table.place} needs token, username and password, or headers")
    return settings.KeySettings(
        name=name, url=given["url"], headers=tuple(headers), secrets=tuple(secrets)
    )


def basic(username: str, password: str) -> str:
    return base64.b64encode(f"{username}:{password}".encode()).decode("ascii")


def _connectors(table: Table) -> settings.ConnectorSettings:
    given = table.read()
    replies = given.get("replies", {})
    if not isinstance(replies, dict):
        refuse("[connectors] replies must be a file, or a table of replies by action")
    try:
        recorded = {str(name): as_json(reply) for name, reply in replies.items()}
    except NotJson as cause:
        refuse(f"[connectors] replies are not JSON: {cause}")
    return settings.ConnectorSettings(given.get("url", "").rstrip("/"), recorded)


def _limits(table: Table) -> dict[str, float]:
    """Returns the default limits of loops: `iterations`, and `time` in seconds.

    `cpu` limits every run: the seconds that it may compute.
    """
    limits = table.read()
    if limits.get("iterations", 0) > ITERATIONS_MAX:
        refuse(f"[limits] iterations must be at most {ITERATIONS_MAX}, not {limits['iterations']}")
    return limits


def _notify(table: Table) -> settings.NotifySettings:
    given = table.read()
    url = table.web_address("url", table.resolved("url"))
    if given and not url:
        refuse("[notify] needs a url, the address that is notified")
    events = get_args(settings.NotifyOn)
    if not all(name in events for name in given.get("on", ())):
        refuse(f"[notify] on must be a list of {', '.join(map(repr, events))}")
    return settings.NotifySettings(**given | {"url": url})


def _retention(table: Table) -> settings.Retention:
    given = table.read()
    times = (given.get("older_than"), given.get("audit"))
    return settings.Retention(times[0], given.get("max_runs"), given.get("max_size"), times[1])


def runtime_from(section: Table) -> RuntimeSettings:
    """Returns which runtime drives runs, and how to reach the cluster."""
    given = section.read()
    kind = section.environment.get(VARIABLE) or given.get("kind") or "local"
    if kind not in ("local", "temporal"):
        place = VARIABLE if section.environment.get(VARIABLE) else "[runtime] kind"
        refuse(f'{place} must be "local" or "temporal", not {kind!r:.40}')
    inner = given.get("temporal", {})
    table = Table(inner, "[runtime.temporal]", "runtime.temporal", section.environment)
    cluster = table.read()
    times = {f"{name}_s": cluster.pop(name) for name in ("heartbeat", "grace") if name in cluster}
    temporal = TemporalSettings(**cluster, **times)
    scheme, has_scheme, bucket = temporal.values.partition("://")
    is_bucket = scheme == "s3" and not bucket.startswith("/") and bool(bucket)
    if has_scheme and not is_bucket:
        wanted = 'a folder that all share, or "s3://BUCKET/PREFIX"'
        refuse(f"{table.place} values must be {wanted}, not {temporal.values!r:.80}")
    if bool(temporal.s3_key) != bool(temporal.s3_secret):
        refuse(f"{table.place} s3_key and s3_secret go together")
    return RuntimeSettings("temporal" if kind == "temporal" else "local", temporal)


def names_cluster(table: Mapping[str, object]) -> bool:
    section = table.get("runtime")
    return isinstance(section, dict) and bool(section.get("temporal"))


def chosen_kind(table: Mapping[str, object], environment: Mapping[str, str]) -> str:
    """Returns the kind of runtime, from a table that may have mistakes elsewhere."""
    section = table.get("runtime")
    kind = section.get("kind") if isinstance(section, dict) else None
    kind = environment.get(VARIABLE) or kind
    return kind if isinstance(kind, str) else "local"


# The providers of models: those that are known, and those that whorl.toml and variables name.


@dataclass(frozen=True, slots=True)
class KnownProvider:
    """A provider that needs no `base_url`; `prices` is its name in the price list."""

    kind: str
    base_url: str
    key_variable: str = ""
    url_variable: str = ""
    model: str = ""
    prices: str = ""


def _cloud(
    prefix: str, base_url: str, prices: str, model: str = "", kind: str = "openai"
) -> KnownProvider:
    """Returns a provider with variables of a prefix; only one with a model has a URL variable."""
    url_variable = f"{prefix}_BASE_URL" if model else ""
    return KnownProvider(kind, base_url, f"{prefix}_API_KEY", url_variable, model, prices)


_ANTHROPIC = "https://api.anthropic.com"
_GEMINI = "https://generativelanguage.googleapis.com/v1beta/openai"
# In the order in which one becomes the default when several keys are set.
KNOWN_PROVIDERS: dict[str, KnownProvider] = {
    "openai": _cloud("OPENAI", "https://api.openai.com/v1", "openai", "gpt-5-mini"),
    "anthropic": _cloud("ANTHROPIC", _ANTHROPIC, "anthropic", "claude-sonnet-4-5", "anthropic"),
    "deepseek": _cloud("DEEPSEEK", "https://api.deepseek.com/v1", "deepseek", "deepseek-chat"),
    "gemini": _cloud("GEMINI", _GEMINI, "google"),
    "openrouter": _cloud("OPENROUTER", "https://openrouter.ai/api/v1", "openrouter"),
    "groq": _cloud("GROQ", "https://api.groq.com/openai/v1", "groq"),
    "mistral": _cloud("MISTRAL", "https://api.mistral.ai/v1", "mistral"),
    "together": _cloud("TOGETHER", "https://api.together.xyz/v1", "together"),
    "xai": _cloud("XAI", "https://api.x.ai/v1", "x-ai"),
    "ollama": KnownProvider("ollama", "http://localhost:11434", "", "OLLAMA_HOST"),
    "lm_studio": KnownProvider("openai", "http://localhost:1234/v1", "", "LM_STUDIO_BASE_URL"),
}
# Other spellings in files of other systems.
ALIASES = {"lmstudio": "lm_studio", "lm-studio": "lm_studio", "google": "gemini"}

# Services whose own documents call `max_tokens` a hard limit.
STRICT = ("openai", "anthropic", "deepseek", "groq", "mistral")

# The wire formats of our own; plugins bring others.
KINDS = ("openai", "anthropic", "ollama", "local", "scripted")
RULE = ("match", "replies", "by", "exhaust")
_BY: dict[object, settings.By] = {"order": "order", "iteration": "iteration"}
_EXHAUST: dict[object, settings.Exhaust] = {"repeat": "repeat", "error": "error"}


def providers_from(
    tables: Mapping[str, object], environment: Environment
) -> dict[str, settings.ProviderSettings]:
    """Returns the configured providers, and those whose variables are set. Raises UsageError."""
    providers = {name: _provider(name, table, environment) for name, table in tables.items()}
    for name, public in KNOWN_PROVIDERS.items():
        key = variable_of(public.key_variable, environment)
        url = environment.get(public.url_variable, "")
        if name not in providers and (key or (url and not public.key_variable)):
            providers[name] = _provider(name, {}, environment)
    return providers


def _provider(name: str, value: object, environment: Environment) -> settings.ProviderSettings:
    table = Table(value, f"[providers.{name}]", "providers.NAME", environment)
    given = table.read()
    given_url, replies = given.get("base_url", ""), given.pop("replies", None)
    public = KNOWN_PROVIDERS.get(name)
    own_kind = "local" if name == "local" else "openai"
    kind = given.get("kind") or (public.kind if public else own_kind)
    base_url = _base_url(table, given_url, kind, public)
    key, variable = _provider_key(table, base_url, public)
    # Whether the limit of an answer is our own, or documented as one that always holds.
    strict = {KNOWN_PROVIDERS[name].base_url for name in STRICT}
    is_strict = kind in ("local", "scripted") or base_url in strict
    model = public.model if public and not given_url else ""
    usual = {"name": name, "model": model, "keeps_max_tokens": is_strict}
    own = {"kind": kind, "base_url": base_url, "api_key": key, "key_variable": variable}
    rules = () if replies is None else _rules(replies, table.place)
    whole: dict[str, Any] = usual | given | own
    return settings.ProviderSettings(**whole, rules=rules)


def _base_url(table: Table, given: str, kind: str, public: KnownProvider | None) -> str:
    url = given
    if not url and public is not None:
        url = table.environment.get(public.url_variable, "") or public.base_url
        if "://" not in url:  # OLLAMA_HOST is often written as host:port
            url = f"http://{url}"
    if not url and kind in ("scripted", "local"):
        return ""
    if not url and kind not in KINDS and (near := did_you_mean(kind, KINDS)):
        refuse(f"{table.place} kind {kind!r} is not known; {near}")
    if not is_web_address(url):
        refuse(f"{table.place} needs a base_url such as {WEB_ADDRESS}, not {shown_url(url)}")
    return url.rstrip("/")


def _provider_key(
    table: Table, base_url: str, public: KnownProvider | None
) -> tuple[Secret | None, str]:
    given, environment = table.text("api_key"), table.environment
    if shell := re.fullmatch(r"\$\{?([A-Za-z_]\w*)\}?", given):
        refuse(f"{table.place} api_key: a variable is written 'env:{shell[1]}', not {given!r}")
    if given and not given.startswith("env:"):
        return Secret(given), ""
    variable = given[4:].strip() if given else public.key_variable if public else ""
    if not given and public is not None:
        # The variable's key belongs to the provider's own host, or to the one named beside it.
        own_url = environment.get(public.url_variable, "") or public.base_url
        if urlsplit(own_url).netloc != urlsplit(base_url).netloc:
            return None, ""
        if urlsplit(base_url).scheme == "http" and not variable_of(variable, environment):
            return None, ""  # a server of the operator's own, which needs no key unless it is named
    key = variable_of(variable, environment)
    return (Secret(key) if key else None), variable


def _rules(value: object, place: str) -> tuple[settings.ReplyRule, ...]:
    """Returns the rules of a scripted provider, from a list of tables or a replies file."""
    if isinstance(value, dict) and set(value) == {"rules"}:
        value = value["rules"]
    if isinstance(value, str):
        refuse(f"{place} replies names the file {value!r}, whose rules were not read")
    if not isinstance(value, list):
        refuse(f"{place} replies must be a list of {{match, replies}} tables")
    return tuple(_rule(rule, f"{place} replies[{at}]") for at, rule in enumerate(value))


def _rule(rule: object, place: str) -> settings.ReplyRule:
    if not isinstance(rule, dict):
        refuse(f"{place} must be a table with match and replies")
    for key in rule:
        if key not in RULE:
            raise UsageError(f"{place} has no {key!r}", help=did_you_mean(key, RULE), code="W901")
    match, replies = rule.get("match", "."), rule.get("replies")
    by, exhaust = _BY.get(rule.get("by", "order")), _EXHAUST.get(rule.get("exhaust", "repeat"))
    if not isinstance(match, str) or not isinstance(replies, list) or not replies:
        refuse(f"{place} needs match, a regular expression, and replies, a list that is not empty")
    if by is None or exhaust is None:
        refuse(f"{place} takes by = {list(_BY)} and exhaust = {list(_EXHAUST)}")
    from whorl.language.faults import LanguageError
    from whorl.language.patterns import pattern

    try:
        pattern(match, dot_matches_newline=True)
        return settings.ReplyRule(match, tuple(as_json(reply) for reply in replies), by, exhaust)
    except LanguageError as cause:
        refuse(f"{place} match is not a regular expression: {cause}")
    except NotJson as cause:
        refuse(f"{place} replies are not JSON: {cause}")
