"""Which models a task means: `provider/model`, a bare name, or a list to try in order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from whorl.errors import ProviderError, did_you_mean
from whorl.lazily import dataclass
from whorl.providers.models.conversation import Candidate
from whorl.providers.outbound.addresses import origin_of
from whorl.providers.settings import ProviderSettings, Settings
from whorl.providers.settings.model_providers import ALIASES, KNOWN_PROVIDERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.language import Json

CANDIDATES_MAX = 10
LOCAL_MODEL = "smollm2-135m"

# Providers whose models' names have no slash in them.
_SINGLE_VENDORS = frozenset({"openai", "anthropic", "deepseek", "gemini", "mistral", "xai"})


@dataclass(frozen=True, slots=True)
class Choice:
    """The models to try in order, and why others that were named cannot be tried."""

    candidates: tuple[Candidate, ...]
    skipped: tuple[str, ...] = ()


def choose_models(settings: Settings, inputs: Mapping[str, Json]) -> Choice:
    """The models that the inputs `model`, `provider` and `model_url` name, in the order to try.

    One of several that is not configured is passed over; when none is left, raises P110.
    """
    named = inputs.get("model") or None
    models = named if isinstance(named, list) else [named]
    if not 1 <= len(models) <= CANDIDATES_MAX:
        _refuse(f"a list of models holds 1 to {CANDIDATES_MAX} names, not {len(models)}")
    candidates: list[Candidate] = []
    faults: list[ProviderError] = []
    for model in models:
        try:
            candidates.append(_chosen(settings, inputs, model))
        except ProviderError as fault:
            faults.append(fault)
    if not candidates:
        raise faults[0]
    return Choice(tuple(candidates), tuple(map(str, faults)))


def _chosen(settings: Settings, inputs: Mapping[str, Json], named: Json) -> Candidate:
    provider, url = _text(inputs, "provider"), _text(inputs, "model_url")
    if isinstance(named, dict):
        provider, url = _text(named, "provider") or provider, _text(named, "model_url") or url
        named = _text(named, "model")
    if named is not None and not isinstance(named, str):
        _refuse(f"a model is a name such as 'openai/gpt-5-mini', not {named!r}")
    model = named or ""
    if not provider and not url:
        provider, model = _split(settings, model)
    provider = provider or settings.default_provider
    chosen = _provider(settings, provider, url)
    # The default model belongs to the default provider, and another one may not have it.
    own_default = settings.default_model if provider == settings.default_provider else ""
    model = model or own_default or chosen.model or settings.default_model
    if chosen.kind == "local":
        model = chosen.model or LOCAL_MODEL
    if not model:
        _refuse(
            f"no model is named for provider {chosen.name!r}; name one in the file, or set "
            f"model in [providers.{chosen.name}] or [defaults] of whorl.toml"
        )
    return Candidate(chosen, model)


def _split(settings: Settings, model: str) -> tuple[str, str]:
    """The provider and the model of a name.

    A first part that is no configured provider belongs to the model's name (`meta-llama/...`),
    unless there is no default provider, or one whose models have no slash in their names: then
    it means a provider that is not set up, and sending it elsewhere would only hide that.
    """
    if not model:
        first, slash, rest = settings.default_model.partition("/")
        is_own = slash and first in settings.providers and not settings.default_provider
        return (first, rest) if is_own else ("", "")
    first, slash, rest = model.partition("/")
    name = _own_name(settings, first)
    if name == "local" and "local" not in settings.providers:
        return "local", rest
    if not slash or not rest:
        return "", model
    if name in settings.providers:
        return name, rest
    default = settings.providers.get(settings.default_provider)
    known_default = KNOWN_PROVIDERS.get(settings.default_provider)
    at_home = default is not None and known_default and default.base_url == known_default.base_url
    if default is None or (at_home and default.name in _SINGLE_VENDORS):
        _refuse(_missing(settings, name))
    return "", model


def _provider(settings: Settings, name: str, url: str) -> ProviderSettings:
    name = _own_name(settings, name)
    provider = settings.providers.get(name)
    if url:
        return _at(settings, name, provider, url)
    if provider is None and (name == "local" or not (name or settings.providers)):
        # The model of this process answers where nobody is configured to.
        from whorl.providers.models.local import INSTALL, is_installed

        if not is_installed():
            why = "provider 'local', the embedded toy model, is not installed"
            if not name:
                why = f"{_missing(settings, name)}; or try things out with the embedded toy model"
            _refuse(f"{why}: {INSTALL}")
        return ProviderSettings(
            name="local", kind="local", model=LOCAL_MODEL, keeps_max_tokens=True
        )
    if provider is None:
        _refuse(_missing(settings, name))
    if fault := missing_key(provider):
        _refuse(fault)
    return provider


def missing_key(provider: ProviderSettings) -> str:
    """Why a provider cannot be asked without its key, or nothing."""
    if provider.api_key is not None or not provider.key_variable:
        return ""
    return (
        f"provider {provider.name!r} takes its key from the variable {provider.key_variable!r}, "
        "which is not set, or is empty"
    )


def _at(
    settings: Settings, name: str, provider: ProviderSettings | None, url: str
) -> ProviderSettings:
    """The provider at an address that a workflow file names; keys go only where they belong."""
    if "?" in url or "#" in url:
        # What follows would no longer be the path of a model's answers.
        _refuse(f"model_url must be the beginning of a URL, without '?' and '#', not {url!r}")
    origin, base_url = origin_of(url), url.rstrip("/")
    if provider is not None and origin_of(provider.base_url or url) == origin:
        return replace(provider, base_url=base_url)
    for other in settings.providers.values() if provider is None else ():
        if other.base_url and origin_of(other.base_url) == origin:
            return replace(other, base_url=base_url)
    usual = provider or KNOWN_PROVIDERS.get(name)
    kind = usual.kind if usual else "openai"
    return ProviderSettings(name=name or "openai", kind=kind, base_url=base_url)


def _own_name(settings: Settings, name: str) -> str:
    return name if name in settings.providers else ALIASES.get(name, name)


def _missing(settings: Settings, name: str) -> str:
    if not name:
        return (
            "no model provider is configured: set OPENAI_API_KEY (or ANTHROPIC_API_KEY, "
            "DEEPSEEK_API_KEY, OPENROUTER_API_KEY), or add [providers.openai] to whorl.toml"
        )
    public = KNOWN_PROVIDERS.get(name)
    variable = f"set {public.key_variable}, or " if public and public.key_variable else ""
    near = did_you_mean(name, [*settings.providers, *KNOWN_PROVIDERS])
    advice = f"{variable}add [providers.{name}] to whorl.toml{'; ' + near if near else ''}"
    return f"provider {name!r} is not configured: {advice}"


def _text(inputs: Mapping[str, Json], name: str) -> str:
    value = inputs.get(name)
    if value is not None and not isinstance(value, str):
        _refuse(f"{name} must be a text, not {value!r}")
    return value or ""


def _refuse(message: str) -> NoReturn:
    raise ProviderError(message, code="P110")
