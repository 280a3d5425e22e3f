"""Asks models: chooses them, waits for a turn, tries the next one after a failure, counts usage."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn, cast
from weakref import WeakKeyDictionary

from whorl.errors import ProviderError, UsageError, did_you_mean
from whorl.lazily import dataclass
from whorl.plugins import Plugins
from whorl.providers.models import conversation as conversations
from whorl.providers.models.conversation import Candidate
from whorl.providers.outbound.addresses import origin_of
from whorl.providers.settings import ProviderSettings, Settings
from whorl.providers.settings.sections import ALIASES, KNOWN_PROVIDERS
from whorl.providers.task import Cap, Emit, Estimate, Held, MaxUsage, Request, Usage, time_limit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from whorl.language import Json
    from whorl.providers.models.conversation import Answer, Conversation, Wire
    from whorl.providers.outbound.client import Outbound

WIRES = {
    "openai": "whorl.providers.models.wires:OpenAIWire",
    "anthropic": "whorl.providers.models.wires:AnthropicWire",
    "ollama": "whorl.providers.models.wires:OllamaWire",
    "local": "whorl.providers.models.local:LocalWire",
    "scripted": "whorl.providers.models.wires:ScriptedWire",
}

# Failures that cannot be mended by sending the same again, but may be by asking another model.
_WORTH_ANOTHER = frozenset({"P101", "P104", "P110", "P119", "P127", "P128"})
# Kinds of providers that run on one's own machine and send no bill.
FREE_KINDS = frozenset({"scripted", "local", "ollama"})
WINDOW_S = 60.0


class Models:
    """The models of the settings, with the limits that all runs of the process share."""

    def __init__(self, settings: Settings, outbound: Outbound) -> None:
        self._outbound = outbound
        self.prices = Prices(settings)
        self._kinds = Plugins("whorl.providers", WIRES)
        self._wires: dict[str, Wire] = {}
        self._rate_limits: WeakKeyDictionary[
            asyncio.AbstractEventLoop, dict[tuple[str | int | None, ...], RateLimit]
        ] = WeakKeyDictionary()

    def estimate(
        self, choice: Choice, conversation: Conversation, *, answer_tokens: int | None = None
    ) -> Estimate:
        candidates = choice.candidates
        usual = answer_tokens or max(candidate.provider.answer_tokens for candidate in candidates)
        read, least = conversations.input_tokens(conversation), conversation.max_tokens or usual
        most, longest = (
            max(n, least + 1) for n in (conversation.answer_most, conversations.ANSWER_MOST)
        )
        tokens = (least, most, longest)
        costs, dearer, worst = ([self.prices.cost(c, read, n) for c in candidates] for n in tokens)
        estimate = Estimate(1, read + least, _dearest(costs), input_tokens=read)
        if not all(candidate.provider.keeps_max_tokens for candidate in candidates):
            estimate = replace(estimate, at_worst=MaxUsage(read + longest, _dearest(worst)))
        if conversation.max_tokens is not None:
            return estimate
        each = [
            None if low is None or high is None else (high - low) / (most - least)
            for low, high in zip(costs, dearer, strict=True)
        ]
        return replace(estimate, cap=Cap(least, most, _dearest(each)))

    async def ask(
        self, choice: Choice, conversation: Conversation, request: Request, emit: Emit
    ) -> tuple[Answer, Usage, dict[str, Json]]:
        """Returns the answer, the usage of all tries together, and details for people."""
        held: Held | None = request.held
        used = Usage()
        tried: list[Json] = list(choice.skipped)
        for at, candidate in enumerate(choice.candidates):
            # Another model is another request, also where the same server has both.
            key = conversation.key and f"{conversation.key}{f'~{at + 1}' if at else ''}"
            asked = replace(conversation, key=key)
            answer, usage = await self._try(candidate, asked, request.timeout_s, emit, held)
            # A call that waits for the next model has already sent a request.
            held = None
            used += usage
            if not isinstance(answer, ProviderError):
                return answer, used, _detail(candidate, answer, conversation, tried)
            tried.append(f"{candidate.name}: {answer}")
            is_worth_it = answer.retryable or answer.code in _WORTH_ANOTHER
            another = is_worth_it or "too_long" in answer.detail
            if at + 1 == len(choice.candidates) or not another:
                answer.detail["usage"] = used.as_json()
                answer.detail["model"] = candidate.name
                if len(tried) > 1:
                    answer.detail["tried"] = list(tried)
                raise answer
        raise AssertionError("a choice holds at least one model")

    async def check(self, provider: ProviderSettings) -> str:
        check = getattr(self._wire(provider), "check", None)
        if check is None:
            raise ProviderError(f"kind {provider.kind!r} cannot be checked", code="P110")
        return str(await check(provider))

    async def _try(
        self,
        candidate: Candidate,
        conversation: Conversation,
        timeout_s: float | None,
        emit: Emit,
        held: Held | None,
    ) -> tuple[Answer | ProviderError, Usage]:
        """Returns the answer of one model, or its fault, and the usage in both cases."""
        provider = candidate.provider
        # What most answers have; a limit that only a budget sets says nothing of that.
        expected = conversations.input_tokens(conversation) + (
            conversation.max_tokens or provider.answer_tokens
        )
        limit_s = min(timeout_s or provider.timeout_s, provider.timeout_s)
        late = (
            f"the call waited {timeout_s or 0:g} s for the limits of provider {provider.name!r};"
            " raise the timeout of the step, or max_concurrent or the rates of the provider"
        )
        # An address in a file may share a provider's name, but not its limits.
        rates = (provider.requests_per_minute, provider.tokens_per_minute)
        key = (provider.name, provider.max_concurrent, *rates)
        rate_limits = self._rate_limits.setdefault(asyncio.get_running_loop(), {})
        if key not in rate_limits:
            rate_limits[key] = RateLimit(provider)
        try:
            wire = self._wire(provider)
            conversations.check_files(wire, conversation, provider)
            async with AsyncExitStack() as stack:
                # A call that still waits was not sent.
                async with time_limit(timeout_s, late, {"unsent": True}):
                    turn = await stack.enter_async_context(rate_limits[key].turn(expected, held))
                answer = await wire.converse(candidate, conversation, timeout_s=limit_s, emit=emit)
                read, written = answer.input_tokens, answer.output_tokens
                read = conversations.input_tokens(conversation) if read is None else read
                written = conversations.output_tokens(answer) if written is None else written
                cached = (answer.cache_read_tokens, answer.cache_written_tokens)
                cost = self.prices.cost(candidate, read, written, cached=cached)
                turn.tokens = read + written
        except ProviderError as error:
            if error.code == "P104" and error.detail.get("status") == 404:
                error.code = "P127"
            return error, self._usage_of_fault(candidate, conversation, error)
        fault = conversations.fault_in(answer, conversation, candidate.name)
        return fault or answer, Usage(1, read, written, cost)

    def _wire(self, provider: ProviderSettings) -> Wire:
        kind = provider.kind
        if kind not in self._wires:
            try:
                made = cast("Callable[[Outbound], Wire]", self._kinds.load(kind))
            except UsageError as cause:
                is_broken = self._kinds.has(kind)
                why = f"which does not load ({cause})" if is_broken else "which is not known"
                what = f"provider {provider.name!r} is of kind {kind!r}, {why}"
                kinds = f"known kinds: {', '.join(self._kinds.names())}"
                raise ProviderError(f"{what}; {kinds}", code="P110") from cause
            self._wires[kind] = made(self._outbound)
        return self._wires[kind]

    def _usage_of_fault(
        self, candidate: Candidate, conversation: Conversation, fault: ProviderError
    ) -> Usage:
        """Returns the usage of a failed call: that of the streamed part, no cost for a refusal.

        If no answer came in time, the cost is unknown and the highest possible usage counts.
        """
        characters = fault.detail.get("characters")
        if isinstance(characters, int):
            written = -(-characters // 4)
        elif fault.detail.get("unsent") or fault.code in ("P107", "P110", "P113"):
            return Usage(0)
        elif fault.answered:
            return Usage(1)
        else:
            written = conversation.limit or candidate.provider.answer_tokens
        read = conversations.input_tokens(conversation)
        return Usage(1, read, written, self.prices.cost(candidate, read, written))


def _detail(
    candidate: Candidate, answer: Answer, conversation: Conversation, tried: list[Json]
) -> dict[str, Json]:
    detail: dict[str, Json] = {"model": candidate.name, "finish": answer.finish, **answer.detail}
    if answer.is_cut and not conversations.is_settled(answer, conversation):
        at, most = "the model's own limit", conversation.max_tokens
        if most is not None and answer.finish == "length":
            at = f"max_tokens, which is {most:,}; raise it for a whole answer"
        detail["warnings"] = [{"code": "P118", "message": f"an answer was cut at {at}"}]
    if answer.input_tokens is None or answer.output_tokens is None:
        detail["usage_estimated"] = True
    return detail | ({"tried": tried} if tried else {})


def _dearest(costs: list[float | None]) -> float | None:
    return None if None in costs else max(cost for cost in costs if cost is not None)


class Prices:
    """Costs in dollars. The price list takes half a second to load, so it is loaded when needed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def cost(
        self, candidate: Candidate, read: int, written: int, *, cached: tuple[int, int] = (0, 0)
    ) -> float | None:
        """Returns the cost of tokens, or None if no price is known.

        `cached` are the tokens that were read from a prompt cache and written into one; the public
        list has separate prices for them.
        """
        prices, provider = self._settings.prices, candidate.provider
        price = prices.get(candidate.name) or prices.get(candidate.model)
        if price is not None:
            return (read * price.input + written * price.output) / 1_000_000
        if provider.kind in FREE_KINDS:
            return 0.0
        public = KNOWN_PROVIDERS.get(provider.name)
        # A model behind another address has the name of a listed one at most by chance.
        if public is None or not public.prices or provider.base_url != public.base_url:
            return None
        from genai_prices import Usage, calc_price

        of_cache = {"cache_read_tokens": cached[0] or None, "cache_write_tokens": cached[1] or None}
        usage = Usage(input_tokens=read, output_tokens=written, **of_cache)
        try:
            listed = calc_price(usage, model_ref=candidate.model, provider_id=public.prices)
        except LookupError:
            return None
        return float(listed.total_price)


@dataclass(slots=True)
class Turn:
    """A call that may be sent; `tokens` is corrected when they have been counted."""

    at: float
    tokens: int


class RateLimit:
    """One provider's limits, shared by all runs of an event loop. First come, first served."""

    def __init__(
        self,
        provider: ProviderSettings,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._provider = provider
        self._clock = clock
        self._sleep = sleep
        self._recent: deque[Turn] = deque()
        most = provider.max_concurrent
        self._places = None if most is None else asyncio.Semaphore(most)
        self._entry = asyncio.Lock()

    @asynccontextmanager
    async def turn(self, tokens: int, held: Held | None = None) -> AsyncIterator[Turn]:
        """Waits for the call's turn and tells `held`; the caller sets `Turn.tokens` afterwards."""
        is_full = self._entry.locked() or (self._places is not None and self._places.locked())
        if not is_full and self._shortage_s(self._clock(), tokens) <= 0:
            held = None
        if held is not None:
            held(True)
        async with self._places or nullcontext():
            async with self._entry:
                while (seconds := self._shortage_s(self._clock(), tokens)) > 0:
                    await self._sleep(seconds)
                turn = Turn(self._clock(), tokens)
                if self._provider.requests_per_minute or self._provider.tokens_per_minute:
                    self._recent.append(turn)
            if held is not None:
                held(False)
            yield turn

    def _shortage_s(self, now: float, tokens: int) -> float:
        """Returns how many seconds the rates hold a call back, or 0 if it may be sent."""
        while self._recent and now - self._recent[0].at >= WINDOW_S:
            self._recent.popleft()
        requests, budget = self._provider.requests_per_minute, self._provider.tokens_per_minute
        is_full = requests is not None and len(self._recent) >= requests
        is_spent = budget is not None and sum(t.tokens for t in self._recent) + tokens > budget
        # A call over the whole budget goes when nothing else is in the window.
        waits = bool(self._recent) and (is_full or is_spent)
        return self._recent[0].at + WINDOW_S - now if waits else 0.0


# Which models a task means: `provider/model`, a bare name, or a list to try in order.

CANDIDATES_MAX = 10
LOCAL_MODEL = "smollm2-135m"

# Providers whose models' names have no slash in them.
_SINGLE_VENDORS = frozenset({"openai", "anthropic", "deepseek", "gemini", "mistral", "xai"})


@dataclass(frozen=True, slots=True)
class Choice:
    """The models to try in order, and why other named ones cannot be tried."""

    candidates: tuple[Candidate, ...]
    skipped: tuple[str, ...] = ()


def choose_models(settings: Settings, inputs: Mapping[str, Json]) -> Choice:
    """Returns the models of the inputs `model`, `provider` and `model_url`, in the order to try.

    Skips those of several that are not configured. Raises P110 if none is left.
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
    """Returns the provider and the model of a name.

    If the first part is not a configured provider, it belongs to the model's name
    (`meta-llama/...`). Without a default provider, or if the default's models have no slash in
    their names, it means a provider that is not set up; using another one would hide that.
    """
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
        # The model of this process answers if no provider is configured.
        from whorl.providers.models.local import INSTALL, is_installed

        if not is_installed():
            why = "the built-in toy model (for demos only) is not installed"
            _refuse(f"{_missing(settings, name)}; {why}: {INSTALL}")
        return ProviderSettings(name="local", kind="local", keeps_max_tokens=True)
    if provider is None:
        _refuse(_missing(settings, name))
    if provider.api_key is None and provider.key_variable:
        _refuse(
            f"provider {provider.name!r} takes its key from the variable "
            f"{provider.key_variable!r}, which is not set, or is empty"
        )
    return provider


def _at(
    settings: Settings, name: str, provider: ProviderSettings | None, url: str
) -> ProviderSettings:
    """Returns the provider at an address of a workflow file; keys go only where they belong."""
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
