"""The dollars of an experiment: what is spent, what is reserved, and what each part of it may have.

What is under way has a limit of its own, and that much is reserved for it: so the sum of both never
exceeds the budget, whatever the calls turn out to cost.
"""

from __future__ import annotations

from whorl.lazily import dataclass

# Sums of dollars are exact to this.
NOTHING = 1e-9


@dataclass(slots=True)
class Budget:
    """What may be spent in all (None: nothing limits it), is spent, and is reserved."""

    most_usd: float | None = None
    spent_usd: float = 0.0
    reserved_usd: float = 0.0

    @property
    def left_usd(self) -> float | None:
        """What is neither spent nor reserved; None: nothing limits it."""
        if self.most_usd is None:
            return None
        return max(0.0, self.most_usd - self.spent_usd - self.reserved_usd)

    def fits(self, amount_usd: float) -> bool:
        """Whether so much is left; nothing always fits."""
        left = self.left_usd
        return left is None or not amount_usd or amount_usd <= left + NOTHING

    def allows(self, least_usd: float, *, is_open: bool) -> bool:
        """Whether something may begin that takes so much; `is_open`: it may cost more."""
        is_used_up = is_open and self.left_usd == 0.0 and self.spent_usd > NOTHING
        return self.fits(least_usd) and not is_used_up

    def share(self, least_usd: float, wanted_usd: float, places: int) -> float:
        """What one of those that may run at once may spend, where its cost is open.

        It is at least what it takes. Fewer run at once where that gives each what it should have.
        """
        left = self.left_usd or 0.0
        if wanted_usd > 0:
            places = min(places, int(left / wanted_usd))
        return max(least_usd, left / max(1, places))


@dataclass(slots=True)
class Reserved:
    """What is reserved for one thing that is under way."""

    of: Budget
    amount_usd: float = 0.0

    def keep(self, amount_usd: float) -> None:
        """From now on it takes just so much."""
        self.of.reserved_usd = max(0.0, self.of.reserved_usd + amount_usd - self.amount_usd)
        self.amount_usd = amount_usd

    def use(self, spent_usd: float) -> None:
        """So much of it is spent; it may be more than was reserved."""
        self.keep(max(0.0, self.amount_usd - spent_usd))


@dataclass(slots=True)
class CostHistory:
    """What things of one kind have cost so far."""

    count: int = 0
    cost_usd: float = 0.0

    def add(self, cost_usd: float) -> None:
        self.count, self.cost_usd = self.count + 1, self.cost_usd + cost_usd

    def mean_usd(self, otherwise: float = 0.0) -> float:
        return self.cost_usd / self.count if self.count else otherwise
