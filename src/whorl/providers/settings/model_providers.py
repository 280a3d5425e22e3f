"""The providers of models: those that are known, and those that whorl.toml and variables name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from whorl.errors import UsageError, did_you_mean
from whorl.lazily import dataclass
from whorl.providers import settings
from whorl.providers.json_values import NotJson, as_json
from whorl.providers.redaction import Secret
from whorl.providers.settings.tables import (
    Table,
    check_user,
    is_web_address,
    refuse,
    shown_url,
    variable_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.providers.settings.tables import Environment


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
    """A provider whose variables begin with a prefix; only one with a model has one for its URL."""
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
_BY: dict[object, settings.By] = {"order": "order", "iteration": "iteration", "attempt": "attempt"}
_EXHAUST: dict[object, settings.Exhaust] = {"repeat": "repeat", "error": "error"}


def providers_from(
    tables: Mapping[str, object], environment: Environment
) -> dict[str, settings.ProviderSettings]:
    """The configured providers, and those whose variables are set; raises UsageError."""
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
    check_user(url, f"{table.place} base_url")
    if not is_web_address(url):
        example = "'https://api.example.com/v1'"
        refuse(f"{table.place} needs a base_url such as {example}, not {shown_url(url)}")
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
    """The rules of a scripted provider: a list of tables, or the `rules` of a replies file."""
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
