"""What tokens cost: by the operator's `[prices]` first, then by the public price list."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from whorl.providers.settings.known import KNOWN

if TYPE_CHECKING:
    from whorl.providers.models.wire import Candidate
    from whorl.providers.settings import Price, Settings

# Kinds of providers that run on one's own machine and send no bill.
FREE_KINDS = frozenset({"scripted", "local", "ollama"})

Cached: TypeAlias = tuple[int, int]


class Prices:
    """Costs in dollars. The price list takes half a second to load, so it is loaded when needed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._unlisted: set[str] = set()

    def cost(
        self, candidate: Candidate, tokens_in: int, tokens_out: int, *, cached: Cached = (0, 0)
    ) -> float | None:
        """What these tokens cost, or None when no price is known.

        `cached` are those of the tokens read that came from a prompt cache and that went into one;
        the public list has prices of their own for them.
        """
        price = self._configured(candidate)
        if price is not None:
            return (tokens_in * price.input + tokens_out * price.output) / 1_000_000
        if candidate.provider.kind in FREE_KINDS:
            return 0.0
        return self._listed(candidate, tokens_in, tokens_out, cached)

    def _configured(self, candidate: Candidate) -> Price | None:
        prices = self._settings.prices
        return prices.get(candidate.name) or prices.get(candidate.model)

    def _listed(
        self, candidate: Candidate, tokens_in: int, tokens_out: int, cached: Cached
    ) -> float | None:
        # A model behind another address has the name of a listed one at most by chance.
        known = KNOWN.get(candidate.provider.name)
        if (
            known is None
            or not known.prices
            or candidate.provider.base_url != known.base_url
            or candidate.name in self._unlisted
        ):
            return None
        from genai_prices import Usage, calc_price

        try:
            found = calc_price(
                Usage(
                    input_tokens=tokens_in,
                    output_tokens=tokens_out,
                    cache_read_tokens=cached[0] or None,
                    cache_write_tokens=cached[1] or None,
                ),
                model_ref=candidate.model,
                provider_id=known.prices,
            )
        except LookupError:
            self._unlisted.add(candidate.name)
            return None
        return float(found.total_price)
