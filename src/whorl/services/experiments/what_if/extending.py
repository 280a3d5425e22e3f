"""What is missing in recorded runs is recorded, within a budget: votes, and iterations.

Judges of a loop are asked again about recorded results: the votes of one result are a run of their
own, with a key over the result and how many votes it had: so they are paid once, and facts have
them from then on.
A run that ended before a rule would have goes on exploring, as if it had been asked to from the
start: its facts have the iterations from then on, and neither its result nor its own cost changes.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from whorl import ir
from whorl.errors import UsageError
from whorl.interpreter.events import amount_in
from whorl.ir.walk import walk
from whorl.language import Expression
from whorl.lazily import dataclass
from whorl.runtimes.starting import Start
from whorl.services import steering
from whorl.services.experiments.trials import digest, labels_of
from whorl.services.experiments.variants import find_loop, not_explored, with_loop
from whorl.services.experiments.what_if.facts import USAGE, Call, votes_in
from whorl.services.experiments.what_if.walking import GONE_ON, answer
from whorl.services.files import forecasting, preflight

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from whorl.ir import Judge, Loop, Workflow
    from whorl.language import Json
    from whorl.runtimes.journal.journal import RunId, RunRow
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.driving import Driving
    from whorl.services.experiments.what_if.facts import IterationFacts, LoopFacts
    from whorl.services.experiments.what_if.rules import Rule


VOTES = "votes-"
_CAST, _CONTINUED = frozenset({"task.finished"}), frozenset({"run.continued"})


@dataclass(frozen=True, slots=True)
class Missing:
    """Votes that a result lacks: the key of their run, what is asked, and how many."""

    key: str
    asked: dict[str, Any]
    count: int
    file: str = ""
    experiment: str = ""

    def bound(self, providers: Any) -> float | None:
        """What they may cost at most; None: nothing bounds it."""
        found = forecasting.forecast(voting(self), providers)
        return found.bound_usd if found.bound_usd is not None else found.cost_usd

    async def record(self, driving: Driving, providers: Any, most: float) -> float:
        """Asks for the votes; gives what that cost."""
        runtime, workflow = driving.runtime, voting(self)
        labels = labels_of(self.experiment)
        start = Start(limits={"cost_usd": most}, key=self.key, file=self.file, labels=labels)
        start, _ = preflight.permitted(workflow, providers, start)
        if start.refused is not None:
            raise UsageError(str(start.refused["message"]), code=str(start.refused["code"]))
        run, is_new = await runtime.start(workflow, start)
        if is_new:
            driving.drive(run)
        else:
            await driving.take_up(run)
        await driving.settled(run)
        return runtime.store.run(run).cost_usd


def with_votes(
    facts: LoopFacts, store: SqliteStore, rows: Mapping[str, RunRow], prefix: str
) -> LoopFacts:
    """The facts of a run with the votes that were asked for later."""
    iterations = [_with_votes(facts, row, store, rows, prefix) for row in facts.iterations]
    return replace(facts, iterations=iterations)


def _with_votes(
    facts: LoopFacts,
    row: IterationFacts,
    store: SqliteStore,
    rows: Mapping[str, RunRow],
    prefix: str,
) -> IterationFacts:
    calls = list(row.calls)
    for atom in row.atoms:
        if not atom.startswith("judge "):
            continue
        while (later := rows.get(_key(prefix, facts, row.number, atom, calls))) is not None:
            more = list(_cast(store, later.id, atom))
            calls += more
            if not more:
                break
    return row if len(calls) == len(row.calls) else replace(row, calls=calls)


def _key(prefix: str, facts: LoopFacts, number: int, atom: str, calls: Iterable[Call]) -> str:
    asked = sum(call.judge == atom for call in calls)
    return f"{prefix}{VOTES}{digest(facts.run, facts.address, number, atom, asked)}"


def _cast(store: SqliteStore, run: RunId, atom: str) -> Iterator[Call]:
    for entry in store.read(run, kinds=_CAST):
        body: dict[str, Any] = entry.event.body
        value, used = body.get("value"), body.get("usage") or {}
        verdict = str(value.get("verdict")) if isinstance(value, dict) else ""
        usage = {name: amount_in(used.get(name)) for name in USAGE}
        yield Call(atom, usage=usage, verdict=verdict)


def missing_votes(
    facts: LoopFacts, judges: Mapping[str, Judge], prefix: str, votes: int = 0
) -> Iterator[Missing]:
    """What each iteration lacks of the votes of its judges, or of so many."""
    for row in facts.iterations:
        for atom, judge in judges.items():
            asked = facts.asked.get(row.number, {}).get(atom)
            if row.atoms.get(atom) is not True or not isinstance(asked, dict):
                continue
            lacks = max(votes, judge.votes) - len(votes_in(row.calls, atom))
            if lacks > 0:
                yield Missing(_key(prefix, facts, row.number, atom, row.calls), asked, lacks)


def voting(missing: Missing) -> Workflow:
    """The workflow that asks a judge for votes on one result."""
    given: list[tuple[str | Expression, ir.Value]] = [
        (name, ir.Constant(value)) for name, value in missing.asked.items()
    ]
    given.append(("vote", Expression("template", "{{ vote }}")))
    judge = ir.Task(name="judge", kind="judge", inputs=ir.Fields(tuple(given)))
    numbers = ir.Constant(list(range(1, missing.count + 1)))
    each = ir.ForEach(name="votes", items=numbers, item_name="vote", body=ir.Block((judge,)))
    return ir.Workflow(name="votes", body=ir.Block((each,)))


class Lacking(Protocol):
    """Something that recorded runs lack: `count` iterations of a loop, or votes of a judge."""

    @property
    def count(self) -> int: ...

    def bound(self, providers: Any) -> float | None: ...

    async def record(self, driving: Driving, providers: Any, most: float) -> float: ...


@dataclass(slots=True)
class Extension:
    """Records what is missing, within a budget."""

    driving: Driving
    providers: Any
    missing: Sequence[Lacking]
    spent_usd: float = 0.0
    left: int = 0

    def forecast(self) -> tuple[int, float | None]:
        """How many of them, and what they cost at most; None: nothing bounds it."""
        each = [one.bound(self.providers) for one in self.missing]
        known = [bound for bound in each if bound is not None]
        count = sum(one.count for one in self.missing)
        return count, sum(known) if len(known) == len(each) else None

    async def run(self, budget: float, at_once: int) -> None:
        places, changed = asyncio.Semaphore(at_once), asyncio.Condition()
        reserved, under_way = 0.0, 0

        async def record(one: Lacking) -> None:
            nonlocal reserved, under_way
            async with places:
                bound = one.bound(self.providers) or 0.0
                async with changed:
                    # What others may cost comes back when they have cost less.
                    while reserved and self.spent_usd + reserved + bound > budget + 1e-9:
                        await changed.wait()
                    if self.spent_usd + bound > budget + 1e-9:
                        self.left += one.count
                        return
                    most = budget - self.spent_usd - reserved
                    reserved += bound
                    under_way += 1
                try:
                    # Others add to it in the meantime: it is read after the wait.
                    cost_usd = await one.record(self.driving, self.providers, most)
                    self.spent_usd += cost_usd
                finally:
                    async with changed:
                        under_way -= 1
                        reserved = reserved - bound if under_way else 0.0
                        changed.notify_all()

        await asyncio.gather(*(record(one) for one in self.missing))


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
        loop = find_loop(self.workflow, self.loop)
        longer = replace(loop, limits=replace(loop.limits, iterations=self.count))
        found = forecasting.forecast(with_loop(self.workflow, loop, longer), providers)
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


async def take_up_extended(driving: Driving, rows: Iterable[RunRow]) -> None:
    """Goes on with the loops that went on exploring when their process ended."""
    store = driving.runtime.store
    for row in rows:
        if row.status == "interrupted" and any(
            entry.event.body.get("explore") for entry in store.read(row.id, kinds=_CONTINUED)
        ):
            await driving.take_up(row.id)
            await driving.settled(row.id)


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
