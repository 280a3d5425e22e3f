"""What is missing in recorded runs is recorded, within a budget: votes, grades and iterations.

Judges of a loop are asked again about recorded results: the votes of one result are a run of their
own, with a key over the result and how many votes it had: so they are paid once, and facts have
them from then on.
A run that ended before a rule would have goes on exploring, as if it had been asked to from the
start: its facts have the iterations from then on, and neither its result nor its own cost changes.
"""

from __future__ import annotations

import math
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.errors import UsageError, plural
from whorl.interpreter.events import amount_in
from whorl.interpreter.requests import objection
from whorl.ir.walk import walk
from whorl.language import Expression
from whorl.lazily import dataclass
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.start_options import Start
from whorl.services import steering
from whorl.services.files import preflight
from whorl.services.files.preflight import find_loop, not_explored
from whorl.wings.experiments.trials import VOTES, digest, labels_of
from whorl.wings.experiments.variants import fails_with, with_loop
from whorl.wings.experiments.what_if.evaluate import GONE_ON, answer
from whorl.wings.experiments.what_if.facts import USAGE, Call, votes_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from whorl.interpreter.events import Event
    from whorl.interpreter.refused_requests import Refused
    from whorl.ir import Judge, Loop, Workflow
    from whorl.language import Json
    from whorl.runtimes.journal.journal import RunId, RunRow
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.wings.experiments.running.trial_runs import Runs
    from whorl.wings.experiments.what_if.facts import IterationFacts, LoopFacts
    from whorl.wings.experiments.what_if.rules import Rule


_CAST = frozenset({"task.finished"})
_LOOP_ENDS = frozenset({"loop.finished"})
# Of one whose process was killed, it shows a moment later that nobody drives it.
_UNDER_WAY = ("running", "interrupted")


@dataclass(frozen=True, slots=True)
class Missing:
    """What a result lacks and a run of its own gives: votes of a judge, or a grade.

    `of` is the run whose result that is. `is_due`: what it is about is there already.
    """

    key: str
    asked_for: Workflow
    count: int
    seen_usd: float = 0.0
    of: str = ""
    file: str = ""
    experiment: str = ""
    input: dict[str, Any] = field(default_factory=dict)
    is_due: bool = True

    def has_limit(self, row: RunRow) -> bool:
        return row.status in (*_UNDER_WAY, "failed")

    async def record(self, runs: Runs, providers: Any, most_usd: float) -> None:
        """Asks for it, within an amount."""
        if self.key not in runs.rows or runs.rows[self.key].status in _UNDER_WAY:
            await self._start(runs, providers, most_usd)
        elif runs.lacks_money(self.key):
            await runs.allow(self.key, most_usd)
        else:
            await runs.try_again(self.key)
        await runs.try_outside_again(self.key)

    async def _start(self, runs: Runs, providers: Any, most_usd: float) -> None:
        limits: dict[str, Json] = {"cost_usd": most_usd}
        labels = labels_of(self.experiment)
        start = Start(self.input, limits=limits, key=self.key, file=self.file, labels=labels)
        start, _ = preflight.permitted(self.asked_for, providers, start)
        if start.refused is not None:
            raise UsageError(str(start.refused["message"]), code=str(start.refused["code"]))
        await runs.start(self.asked_for, start)


@dataclass(frozen=True, slots=True)
class LaterVotes:
    """The votes of judges that were asked for after runs had ended, by the keys of their runs."""

    store: SqliteStore
    rows: Mapping[str, RunRow]
    prefix: str

    def added_to(self, facts: LoopFacts) -> LoopFacts:
        """The facts of a run with these votes."""
        if not self.rows:
            return facts
        return replace(facts, iterations=[self._added(facts, row) for row in facts.iterations])

    def _added(self, facts: LoopFacts, row: IterationFacts) -> IterationFacts:
        calls = list(row.calls)
        for atom in row.atoms:
            if atom.startswith("judge "):
                self._add(facts, row.number, atom, calls)
        return row if len(calls) == len(row.calls) else replace(row, calls=calls)

    def _add(self, facts: LoopFacts, number: int, atom: str, calls: list[Call]) -> str:
        """Adds the votes on a result to its calls; gives the key of the run that has more of them.

        That is the one that was stopped, if there is one: it goes on.
        """
        tries, of = 0, (facts, number, atom, calls)
        while (row := self.rows.get(key := self._key(*of, tries))) is not None:
            more = list(_cast(self.store, row.id, atom))
            calls += more
            if not more and row.status != "cancelled":
                break
            tries = 0 if more else tries + 1
            is_open = row.status not in ("succeeded", "cancelled")
            if is_open and self._key(*of) not in self.rows:
                break
        return key

    def _key(
        self, facts: LoopFacts, number: int, atom: str, calls: Iterable[Call], tries: int = 0
    ) -> str:
        """Of a run that was cancelled without a vote, another one takes the place."""
        asked = sum(call.judge == atom for call in calls)
        of = (facts.run, facts.address, number, atom, asked, *([tries] if tries else ()))
        return f"{self.prefix}{VOTES}{digest(*of)}"

    def missing(
        self, facts: LoopFacts, judges: Mapping[str, Judge], votes: int = 0
    ) -> Iterator[Missing]:
        """What each iteration lacks of the votes of its judges, or of so many."""
        for row in facts.iterations:
            for atom, judge in judges.items():
                asked = facts.asked.get(row.number, {}).get(atom)
                if row.atoms.get(atom) is not True or not isinstance(asked, dict):
                    continue
                calls = list(row.calls)
                key = self._add(facts, row.number, atom, calls)
                lacks = max(votes, judge.votes) - len(votes_in(calls, atom))
                if lacks > 0:
                    count = max(lacks, self._left(key))
                    own = [call for call in calls if call.judge == atom]
                    yield Missing(key, voting(asked, count), count, mean_usd(own), facts.run)

    def _left(self, key: str) -> int:
        """How many votes a run was asked for that it has not cast yet."""
        if (row := self.rows.get(key)) is None:
            return 0
        (each,) = ir.from_json(self.store.workflow(row.id)).body.nodes
        assert isinstance(each, ir.ForEach)
        assert isinstance(each.items, ir.Constant)
        numbers: Any = each.items.value
        return len(numbers) - sum(1 for _ in _cast(self.store, row.id, ""))

    def stopped(self) -> set[str]:
        """The keys of the runs whose process has ended before them."""
        return {key for key, row in self.rows.items() if row.status == "interrupted"}


def _cast(store: SqliteStore, run: RunId, atom: str) -> Iterator[Call]:
    for entry in store.read(run, kinds=_CAST):
        body: dict[str, Any] = entry.event.body
        value, used = body.get("value"), body.get("usage") or {}
        verdict = str(value.get("verdict")) if isinstance(value, dict) else ""
        usage = {name: amount_in(used.get(name)) for name in USAGE}
        yield Call(atom, usage=usage, verdict=verdict)


def voting(asked: Mapping[str, Any], count: int) -> Workflow:
    """The workflow that asks a judge for so many votes on one result."""
    given: list[tuple[str | Expression, ir.Value]] = [
        (name, ir.Constant(value)) for name, value in asked.items()
    ]
    given.append(("vote", Expression("template", "{{ vote }}")))
    judge = ir.Task(name="judge", kind="judge", inputs=ir.Fields(tuple(given)))
    numbers = ir.Constant(list(range(1, count + 1)))
    each = ir.ForEach(name="votes", items=numbers, item_name="vote", body=ir.Block((judge,)))
    return ir.Workflow(name="votes", body=ir.Block((each,)))


@dataclass(frozen=True, slots=True)
class TruncatedRun:
    """A recorded run that ended too early for a rule, and how many iterations it lacks.

    It is to have `most` of them. So many it was `asked` to have before, and has not yet; 0: it has
    ended.
    """

    store: SqliteStore
    key: str
    loop: str
    count: int
    most: int
    asked: int
    by: str
    workflow: Workflow
    seen_usd: float = 0.0
    is_due: bool = True

    @property
    def asked_for(self) -> Workflow:
        loop = find_loop(self.workflow, self.loop)
        longer = replace(loop, limits=replace(loop.limits, iterations=self.count))
        return with_loop(self.workflow, loop, longer)

    @property
    def _fails_with_run(self) -> bool:
        loop = find_loop(self.workflow, self.loop)
        return loop.retry is None and fails_with(self.workflow, loop)

    def has_limit(self, row: RunRow) -> bool:
        return row.status == "interrupted"

    def obstacle(self, row: RunRow) -> Refused | None:
        """Why the loop cannot go on; or nothing."""
        request = self._request(row, self.count, 1.0)
        return None if self.asked else objection(fold(self.store, row.id).machine, request)

    async def record(self, runs: Runs, providers: Any, most_usd: float) -> None:
        """Has the loop go on, within an amount; one that was stopped goes on where it stands."""
        row = runs.rows[self.key]
        if row.status == "interrupted":
            await runs.take_up(self.key)
        elif row.status == "paused":
            await runs.allow(self.key, most_usd)
        else:
            await self._ask(runs, self.count, most_usd)
        await runs.try_outside_again(self.key)
        now = runs.rows[self.key]
        if now.status == "succeeded" and reached(self.store, now.id, self.loop) == self.asked:
            # It has what was asked for before.
            left_usd = max(0.0, most_usd - (now.cost_usd - row.cost_usd))
            await self._ask(runs, self.most - self.asked, left_usd)
            await runs.try_outside_again(self.key)

    async def _ask(self, runs: Runs, count: int, most_usd: float) -> None:
        if count:
            request = self._request(runs.rows[self.key], count, most_usd)
            await runs.ask(self.key, lambda: request)

    def _request(self, row: RunRow, count: int, most_usd: float) -> Event:
        body: dict[str, Json] = {
            "at": self.loop,
            "iterations": count,
            "explore": True,
            # Where a call gets no whole answer, that is no result of the loop.
            "again": self._fails_with_run,
            "by": self.by,
            "limits": {"cost_usd": row.cost_usd + most_usd},
        }
        return steering.asked("run.continued", body)


def reached(store: SqliteStore, run: RunId, loop: str, before: float = math.inf) -> int:
    """How many iterations a loop had when it ended last, with those that it explored."""
    made = 0
    for entry in store.read(run, kinds=_LOOP_ENDS):
        body: dict[str, Any] = entry.event.body
        if entry.event.address == loop and entry.seq < before:
            made = int(body.get("explored") or body["iterations"])
    return made


def too_short(
    store: SqliteStore,
    workflow: Workflow,
    loop: Loop,
    rules: Sequence[Rule],
    recorded: Iterable[tuple[str, LoopFacts, int]],
) -> Iterator[TruncatedRun]:
    """The runs that would have gone on under one of the rules, up to its limit.

    They come with their keys, and with how many iterations they are to have by what was asked of
    them before; 0: nothing is under way.
    """
    for key, facts, asked in recorded:
        made = len(facts.iterations)
        answers = ((rule, answer(facts, loop, rule)) for rule in rules)
        open_ = [rule.at_most for rule, found in answers if found.why.startswith(GONE_ON)]
        most = max([asked, *open_])
        if made and (asked or most > made):
            calls = [call for row in facts.iterations for call in row.calls]
            each_usd = mean_usd(calls) * len(calls) / made
            counts, by = (max(0, most - made), most, asked), facts.stopped_by
            yield TruncatedRun(store, key, facts.address, *counts, by, workflow, each_usd)


def mean_usd(calls: Sequence[Call]) -> float:
    """What calls have cost on average; of those in doubt nobody knows it."""
    costs = [call.usage.get("cost_usd", 0.0) for call in calls if not call.is_in_doubt]
    return sum(costs) / max(1, len(costs))


def check_reopened(
    workflow: Workflow, loop: Loop, rules: Sequence[Rule], found: Sequence[Refused], count: int
) -> None:
    """Raises UsageError where a loop that has ended cannot go on as it would have.

    `found` is why those of single runs cannot, of so many.
    """
    most = max(rule.at_most for rule in rules)
    advice = f"record it with `explore: {{{loop.name}: {most}}}`"
    if loop.session == "continue":
        words = f"loop {loop.name!r} continues a conversation, which a reopened loop has lost"
        raise UsageError(words, help=advice, code="X107")
    if why := not_explored(workflow, loop.name):
        raise UsageError(why, code="X106")
    if any(after.node == loop.name for _, node in walk(workflow.body) for after in node.after):
        words = f"steps after {loop.name!r} would run again"
        raise UsageError(words, help=advice, code="X108")
    if any("time_s" in dict(rule.limits) for rule in rules):
        words = f"a time limit is not answered by a loop that goes on later, as {loop.name!r} would"
        raise UsageError(words, help=advice, code="X109")
    if found:
        words = f"{len(found)} of {plural(count, 'run')} cannot go on: {found[0]}"
        is_short = found[0].facts.get("verb") == "add"
        advice = "raise it in the workflow, and run the experiment again" if is_short else advice
        raise UsageError(words, help=advice, code="X109")
