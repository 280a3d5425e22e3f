"""Iterations that were not made: loops of recorded runs go on, and return what they returned.

A run that ended before a rule would have goes on exploring, as if it had been asked to from the
start: its facts have the iterations from then on, and neither its result nor its own cost changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError
from whorl.ir.walk import walk
from whorl.lazily import dataclass
from whorl.services import steering
from whorl.services.experiments.variants import not_explored
from whorl.services.experiments.what_if.rules import GONE_ON, answer
from whorl.services.files import forecasting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whorl.ir import Loop, Workflow
    from whorl.language import Json
    from whorl.runtimes.journal.journal import RunId
    from whorl.services.driving import Driving
    from whorl.services.experiments.what_if.facts import LoopFacts
    from whorl.services.experiments.what_if.rules import Rule


@dataclass(frozen=True, slots=True)
class Shorter:
    """A recorded run that ended too early for a rule, and how many iterations it lacks."""

    run: RunId
    loop: str
    count: int
    by: str
    workflow: Workflow

    def bound(self, providers: Any) -> float | None:
        """What it may cost at most; None: nothing bounds it."""
        found = forecasting.forecast(self.workflow, providers, iterations=self.count)
        return found.bound_usd if found.bound_usd is not None else found.cost_usd

    async def record(self, driving: Driving, providers: Any, most: float) -> float:
        """Has the loop go on; gives what that cost."""
        store = driving.runtime.store
        before = store.run(self.run).cost_usd
        body: dict[str, Json] = {
            "at": self.loop,
            "iterations": self.count,
            "explore": True,
            "by": self.by,
        }
        await driving.ask(self.run, lambda: steering.asked("run.continued", body))
        await driving.settled(self.run)
        return store.run(self.run).cost_usd - before


def too_short(
    workflow: Workflow,
    loop: Loop,
    rules: Sequence[Rule],
    recorded: Iterable[tuple[RunId, LoopFacts]],
) -> Iterator[Shorter]:
    """The runs that would have gone on under one of the rules, up to its limit."""
    for run, facts in recorded:
        made = len(facts.iterations)
        answers = ((rule, answer(facts, loop, rule)) for rule in rules)
        open_ = [rule.at_most for rule, found in answers if found.why.startswith(GONE_ON)]
        if made and (lacks := max(open_, default=0) - made) > 0:
            yield Shorter(run, facts.address, lacks, facts.stopped_by, workflow)


def check_reopened(workflow: Workflow, loop: Loop) -> None:
    """Raises UsageError where a loop that has ended cannot go on as it would have."""
    if loop.session == "continue":
        words = f"loop {loop.name!r} continues a conversation, which a reopened loop has lost"
        advice = f"record it with `explore: {{{loop.name}: 8}}`"
        raise UsageError(words, help=advice, code="X107")
    if why := not_explored(workflow, loop.name):
        raise UsageError(why, code="X106")
    if any(after.node == loop.name for _, node in walk(workflow.body) for after in node.after):
        words = f"steps after {loop.name!r} would run again"
        advice = f"record it with `explore: {{{loop.name}: 8}}`"
        raise UsageError(words, help=advice, code="X108")
