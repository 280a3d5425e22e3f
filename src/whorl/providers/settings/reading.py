"""Checks a parsed whorl.toml and makes settings of it; unknown keys are errors, never ignored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn, TypeVar
from urllib.parse import urlsplit

from whorl.errors import UsageError, did_you_mean
from whorl.providers.secrets import Secret
from whorl.providers.settings.known import KNOWN
from whorl.providers.settings.rules import rules_from
from whorl.providers.settings.shape import Allow, Price, ProviderSettings, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    Table = Mapping[str, object]

T = TypeVar("T")

SECTIONS = ("defaults", "providers", "prices", "allow", "tasks")
KEPT_SECTIONS = ("agents", "mcp", "retention", "notify", "limits")
DEFAULTS = ("provider", "model", "judge_model")
ALLOW = ("commands", "private_network")
PRICE = ("input", "output")
COUNTS = ("max_concurrent", "requests_per_minute", "tokens_per_minute", "answer_tokens")
TEXTS = ("kind", "base_url", "model", "max_tokens_field")
FLAGS = ("structured", "stream")
PROVIDER = (*TEXTS, "api_key", *COUNTS, "timeout_s", "headers", *FLAGS, "replies")

# What a command may see of our own environment (security rule R8).
COMMAND_VARIABLES = ("PATH", "HOME", "LANG", "TERM", "TMPDIR")


def settings_from(
    table: Table, environment: Mapping[str, str], *, project_root: str = "."
) -> Settings:
    """The settings of a parsed whorl.toml and the well-known variables; raises UsageError."""
    _check_keys(table, (*SECTIONS, *KEPT_SECTIONS), "whorl.toml")
    defaults = _section(table, "defaults")
    _check_keys(defaults, DEFAULTS, "[defaults]")
    providers = _providers(_section(table, "providers"), environment)
    kept = {name: _section(table, name) for name in KEPT_SECTIONS}
    return Settings(
        default_provider=_default_provider(defaults, providers),
        default_model=_typed(defaults, "model", str, place="[defaults]", default=""),
        judge_model=_typed(defaults, "judge_model", str, place="[defaults]", default=""),
        providers=providers,
        prices=_prices(_section(table, "prices")),
        allow=_allow(_section(table, "allow")),
        tasks=_tasks(_section(table, "tasks")),
        environment={k: environment[k] for k in COMMAND_VARIABLES if k in environment},
        project_root=project_root,
        **kept,
    )


def _default_provider(defaults: Table, providers: Mapping[str, ProviderSettings]) -> str:
    named = _typed(defaults, "provider", str, place="[defaults]", default="")
    return named or next(iter(providers), "")


def _providers(section: Table, environment: Mapping[str, str]) -> dict[str, ProviderSettings]:
    found = {}
    for name in section:
        place = f"[providers.{name}]"
        found[name] = _provider(name, _table(section[name], place), environment)
    for name, known in KNOWN.items():
        key = environment.get(known.key_variable, "")
        url = environment.get(known.url_variable, "")
        if name not in found and (key or (url and not known.key_variable)):
            found[name] = _provider(name, {}, environment)
    return found


def _provider(name: str, table: Table, environment: Mapping[str, str]) -> ProviderSettings:
    place = f"[providers.{name}]"
    _check_keys(table, PROVIDER, place)
    texts = {key: _typed(table, key, str, place=place, default="") for key in TEXTS}
    counts = {key: _count(table, key, place) for key in COUNTS}
    timeout_s = _number(table, "timeout_s", place, 600.0)
    known = KNOWN.get(name)
    kind = texts["kind"] or (known.kind if known else "openai")
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
        headers=_headers(table, place, environment),
        structured=_typed(table, "structured", bool, place=place, default=True),
        stream=_typed(table, "stream", bool, place=place, default=True),
        max_tokens_field=texts["max_tokens_field"],
        rules=() if replies is None else rules_from(replies, place),
    )


def _base_url(name: str, given: str, kind: str, environment: Mapping[str, str]) -> str:
    known = KNOWN.get(name)
    url = given
    if not url and known is not None:
        url = environment.get(known.url_variable, "") or known.base_url
        if "://" not in url:  # OLLAMA_HOST is often written as host:port
            url = f"http://{url}"
    if not url and kind in ("scripted", "local"):
        return ""
    if not _is_web_address(url):
        _refuse(
            f"[providers.{name}] needs a base_url such as 'https://api.example.com/v1', not {url!r}"
        )
    return url.rstrip("/")


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        known_port = parts.port is None or parts.port > 0
    except ValueError:
        return False
    plain = known_port and bool(parts.hostname) and "@" not in parts.netloc
    return plain and parts.scheme in ("http", "https")


def _key(
    name: str, table: Table, base_url: str, environment: Mapping[str, str]
) -> tuple[Secret | None, str]:
    given = _typed(table, "api_key", str, place=f"[providers.{name}]", default="")
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


def _headers(
    table: Table, place: str, environment: Mapping[str, str]
) -> tuple[tuple[str, Secret], ...]:
    found = []
    for name, text in _section(table, "headers", place).items():
        if not isinstance(text, str):
            _refuse(f"{place} headers.{name} must be a text")
        found.append((name, Secret(_resolved(text, environment))))
    return tuple(found)


def _resolved(text: str, environment: Mapping[str, str]) -> str:
    return environment.get(text[4:].strip(), "") if text.startswith("env:") else text


def _prices(section: Table) -> dict[str, Price]:
    found = {}
    for model in section:
        place = f"[prices.{model}]"
        table = _table(section[model], place)
        _check_keys(table, PRICE, place)
        found[model] = Price(
            _number(table, "input", place, 0.0), _number(table, "output", place, 0.0)
        )
    return found


def _allow(section: Table) -> Allow:
    _check_keys(section, ALLOW, "[allow]")
    found: dict[str, bool | tuple[str, ...]] = {}
    for key in ALLOW:
        value = section.get(key, False)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            value = tuple(value)
        if not isinstance(value, bool | tuple):
            _refuse(f"[allow] {key} must be true, false or a list of texts, not {value!r}")
        found[key] = value
    return replace(Allow(), **found)


def _tasks(section: Table) -> dict[str, str]:
    found = {}
    for name, text in section.items():
        if not isinstance(text, str) or not text.startswith(("python:", "https://", "http://")):
            _refuse(
                f"[tasks] {name!r} must be 'python:module:function' or a URL, not {text!r}",
            )
        found[name] = text
    return found


def _section(table: Table, name: str, place: str = "") -> Table:
    return _table(table.get(name, {}), f"{place} {name}".strip() if place else f"[{name}]")


def _table(value: object, place: str) -> Table:
    if not isinstance(value, dict):
        _refuse(f"{place} must be a table, not {value!r}")
    return value


def _check_keys(table: Table, known: tuple[str, ...], place: str) -> None:
    for key in table:
        if key not in known:
            raise UsageError(
                f"{place} has no {key!r}",
                help=did_you_mean(key, known) or f"known: {', '.join(known)}",
                code="W901",
            )


def _typed(table: Table, key: str, kind: type[T], *, place: str, default: T) -> T:
    value = table.get(key, default)
    if not isinstance(value, kind):
        _refuse(f"{place} {key} must be {_WORDS[kind]}, not {value!r}")
    return value


def _count(table: Table, key: str, place: str) -> int | None:
    value = table.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        _refuse(f"{place} {key} must be a whole number of at least 1, not {value!r}")
    return value


def _number(table: Table, key: str, place: str, default: float) -> float:
    value = table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        _refuse(f"{place} {key} must be a number of at least 0, not {value!r}")
    return float(value)


_WORDS: dict[type, str] = {str: "a text", bool: "true or false"}


def _refuse(message: str) -> NoReturn:
    raise UsageError(message, code="W901", help="see the reference of whorl.toml")
