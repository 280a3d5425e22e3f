"""Checks a parsed whorl.toml and makes settings of it; unknown keys are errors, never ignored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from whorl.errors import did_you_mean
from whorl.providers.secrets import Secret
from whorl.providers.settings.agents import agents_from
from whorl.providers.settings.fields import (
    check_keys,
    count,
    headers_of,
    is_web_address,
    kind_of,
    number,
    refuse,
    section,
    shown_url,
    table_at,
    typed,
)
from whorl.providers.settings.keeping import folders_from, retention_from
from whorl.providers.settings.known import KNOWN
from whorl.providers.settings.notices import notify_from
from whorl.providers.settings.outside import connectors_from, keys_from, limits_from
from whorl.providers.settings.rules import rules_from
from whorl.providers.settings.servers import servers_from
from whorl.providers.settings.shape import Allow, Price, ProviderSettings, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    Table = Mapping[str, object]

SECTIONS = (
    "defaults",
    "providers",
    "prices",
    "allow",
    "tasks",
    "mcp",
    "agents",
    "keys",
    "connectors",
    "limits",
    "notify",
    "retention",
    "workflows",
)
# The wire formats of our own; plugins bring others.
KINDS = ("openai", "anthropic", "ollama", "local", "scripted")
DEFAULTS = ("provider", "model", "judge_model")
ALLOW = ("commands", "private_network")
PRICE = ("input", "output")
COUNTS = (
    "max_concurrent",
    "requests_per_minute",
    "tokens_per_minute",
    "answer_tokens",
    "threads",
)
TEXTS = ("kind", "base_url", "model", "max_tokens_field")
FLAGS = ("structured", "stream", "keeps_max_tokens")
PROVIDER = (*TEXTS, "api_key", *COUNTS, "timeout_s", "headers", *FLAGS, "replies")

# Services whose own documents call `max_tokens` a hard limit.
STRICT = ("openai", "anthropic", "deepseek", "groq", "mistral")

# What a command may see of our own environment (security rule R8).
COMMAND_VARIABLES = ("PATH", "HOME", "LANG", "TERM", "TMPDIR")


def settings_from(
    table: Table, environment: Mapping[str, str], *, project_root: str = "."
) -> Settings:
    """The settings of a parsed whorl.toml and the well-known variables; raises UsageError."""
    check_keys(table, SECTIONS, "whorl.toml")
    defaults = section(table, "defaults")
    check_keys(defaults, DEFAULTS, "[defaults]")
    providers = _providers(section(table, "providers"), environment)
    return Settings(
        default_provider=_default_provider(defaults, providers),
        default_model=typed(defaults, "model", str, place="[defaults]", default=""),
        judge_model=typed(defaults, "judge_model", str, place="[defaults]", default=""),
        providers=providers,
        prices=_prices(section(table, "prices")),
        allow=_allow(section(table, "allow")),
        tasks=_tasks(section(table, "tasks")),
        agents=agents_from(section(table, "agents"), environment),
        notify=notify_from(section(table, "notify"), environment),
        mcp=servers_from(section(table, "mcp"), environment),
        keys=keys_from(section(table, "keys"), environment),
        connectors=connectors_from(section(table, "connectors")),
        limits=limits_from(section(table, "limits")),
        environment={k: environment[k] for k in COMMAND_VARIABLES if k in environment},
        project_root=project_root,
        retention=retention_from(section(table, "retention")),
        workflows=folders_from(section(table, "workflows")),
    )


def _default_provider(defaults: Table, providers: Mapping[str, ProviderSettings]) -> str:
    named = typed(defaults, "provider", str, place="[defaults]", default="")
    return named or next(iter(providers), "")


def _providers(section: Table, environment: Mapping[str, str]) -> dict[str, ProviderSettings]:
    found = {}
    for name in section:
        place = f"[providers.{name}]"
        found[name] = _provider(name, table_at(section[name], place), environment)
    for name, known in KNOWN.items():
        key = environment.get(known.key_variable, "")
        url = environment.get(known.url_variable, "")
        if name not in found and (key or (url and not known.key_variable)):
            found[name] = _provider(name, {}, environment)
    return found


def _provider(name: str, table: Table, environment: Mapping[str, str]) -> ProviderSettings:
    place = f"[providers.{name}]"
    check_keys(table, PROVIDER, place)
    texts = {key: typed(table, key, str, place=place, default="") for key in TEXTS}
    counts = {key: count(table, key, place) for key in COUNTS}
    timeout_s = number(table, "timeout_s", place, 600.0)
    known = KNOWN.get(name)
    own_kind = "local" if name == "local" else "openai"
    kind = texts["kind"] or (known.kind if known else own_kind)
    base_url = _base_url(name, texts["base_url"], kind, environment)
    key, variable = _key(name, table, base_url, environment)
    replies = table.get("replies")
    return ProviderSettings(
        name=name,
        kind=kind,
        base_url=base_url,
        api_key=key,
        key_variable=variable,
        model=texts["model"] or (known.model if known and not texts["base_url"] else ""),
        max_concurrent=counts["max_concurrent"],
        requests_per_minute=counts["requests_per_minute"],
        tokens_per_minute=counts["tokens_per_minute"],
        answer_tokens=counts["answer_tokens"] or 1024,
        timeout_s=timeout_s,
        headers=headers_of(table, place, environment),
        structured=typed(table, "structured", bool, place=place, default=True),
        stream=typed(table, "stream", bool, place=place, default=True),
        max_tokens_field=texts["max_tokens_field"],
        keeps_max_tokens=typed(
            table, "keeps_max_tokens", bool, place=place, default=_keeps_max_tokens(kind, base_url)
        ),
        threads=counts["threads"],
        rules=() if replies is None else rules_from(replies, place),
    )


def _keeps_max_tokens(kind: str, base_url: str) -> bool:
    """Whether the limit of an answer is our own, or documented as one that always holds."""
    return kind in ("local", "scripted") or base_url in {KNOWN[name].base_url for name in STRICT}


def _base_url(name: str, given: str, kind: str, environment: Mapping[str, str]) -> str:
    known = KNOWN.get(name)
    url = given
    if not url and known is not None:
        url = environment.get(known.url_variable, "") or known.base_url
        if "://" not in url:  # OLLAMA_HOST is often written as host:port
            url = f"http://{url}"
    if not url and kind in ("scripted", "local"):
        return ""
    if not url and kind not in KINDS and (near := did_you_mean(kind, KINDS)):
        refuse(f"[providers.{name}] kind {kind!r} is not known; {near}")
    if not is_web_address(url):
        refuse(
            f"[providers.{name}] needs a base_url such as 'https://api.example.com/v1', not "
            f"{shown_url(url)}"
        )
    return url.rstrip("/")


def _key(
    name: str, table: Table, base_url: str, environment: Mapping[str, str]
) -> tuple[Secret | None, str]:
    given = typed(table, "api_key", str, place=f"[providers.{name}]", default="")
    if given.startswith("env:"):
        variable = given[4:].strip()
        text = environment.get(variable, "")
        return (Secret(text) if text else None), variable
    if given:
        return Secret(given), ""
    known = KNOWN.get(name)
    if known is None or not known.key_variable:
        return None, ""
    # The variable's key belongs to the provider's own host, or to the one named beside it.
    own = environment.get(known.url_variable, "") or known.base_url
    if urlsplit(own).netloc != urlsplit(base_url).netloc:
        return None, ""
    text = environment.get(known.key_variable, "")
    return (Secret(text) if text else None), known.key_variable


def _prices(section: Table) -> dict[str, Price]:
    found = {}
    for model in section:
        place = f"[prices.{model}]"
        table = table_at(section[model], place)
        check_keys(table, PRICE, place)
        found[model] = Price(
            number(table, "input", place, 0.0), number(table, "output", place, 0.0)
        )
    return found


def _allow(section: Table) -> Allow:
    check_keys(section, ALLOW, "[allow]")
    found: dict[str, bool | tuple[str, ...]] = {}
    for key in ALLOW:
        value = section.get(key, False)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            value = tuple(value)
        if not isinstance(value, bool | tuple):
            refuse(f"[allow] {key} must be true, false or a list of texts, not {kind_of(value)}")
        found[key] = value
    return replace(Allow(), **found)


def _tasks(section: Table) -> dict[str, str]:
    found = {}
    for name, text in section.items():
        if not isinstance(text, str) or not text.startswith(("python:", "https://", "http://")):
            refuse(
                f"[tasks] {name!r} must be 'python:module:function' or a URL, not "
                f"{shown_url(text) if isinstance(text, str) else kind_of(text)}",
            )
        found[name] = text
    return found
