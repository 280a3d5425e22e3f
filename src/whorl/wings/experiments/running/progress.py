"""How far an experiment is, and what is still to come: both are told while it runs."""

from __future__ import annotations

from dataclasses import field

from whorl.lazily import dataclass


@dataclass(slots=True)
class Progress:
    """How far an experiment is; what ended trials of a variant cost, and how many are running."""

    trials: int
    cases: int
    done: int = 0
    variants: dict[str, int] = field(default_factory=dict)
    costs: dict[str, float] = field(default_factory=dict)
    under_way: dict[str, int] = field(default_factory=dict)
    running: int = 0
    spent_usd: float = 0.0
    budget_usd: float | None = None
    graded: int = 0
    people: int = 0
    # Cases whose trials have all ended and been graded, and what those cost.
    whole: int = 0
    whole_usd: float = 0.0
    # What was spent on runs that are of no case any more.
    others_usd: float = 0.0
    # So many trials were there before it was asked for.
    before: int = 0
    is_paused: bool = False
    # The budget that the trial or grading needs which did not fit.
    needs_usd: float = 0.0

    @property
    def expected_usd(self) -> float | None:
        """What all of it will cost if all cases cost what whole ones did; None without one."""
        if not self.whole or self.whole == self.cases:
            return None
        return self.others_usd + self.whole_usd / self.whole * self.cases


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is still to come of an experiment, told before it starts.

    `left` trials are run, `gradings` grade results that are there. None: nothing bounds the calls;
    nothing is paid for. `is_limit`: it cannot cost more; else it is an estimate of the most.
    `unpriced` models have no known price: what they cost is not in it.
    """

    trials: int
    left: int
    gradings: int
    calls: int | None
    cost_usd: float | None
    is_limit: bool
    unpriced: tuple[str, ...] = ()
