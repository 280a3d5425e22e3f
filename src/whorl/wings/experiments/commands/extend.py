"""Records what recorded runs lack: what it will cost is told first, and at the end how to go on."""

from __future__ import annotations

import asyncio
import math
from functools import partial
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError, plural, safe
from whorl.interfaces.cli.paste_options import same_command
from whorl.interfaces.cli.terminal import say
from whorl.interfaces.formatting import dollars
from whorl.wings.experiments import words
from whorl.wings.experiments.commands.run import (
    PAUSED,
    check_nothing_missing,
    missing_of,
    pasted,
    read_file,
    say_short,
    study_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whorl.providers.registry import Providers
    from whorl.services.project import Project
    from whorl.services.run_driver import Driving
    from whorl.wings.experiments.results import Study
    from whorl.wings.experiments.running.extend import Extension, Lacking
    from whorl.wings.experiments.running.missing_data import MissingData

# How a command ends of which calls have failed.
_FAILED = 1


def extend(
    project: Project,
    file: str,
    budget: float | None,
    *,
    loop: str,
    variant: str,
    votes: int = 0,
    given: dict[str, Any] | None = None,
) -> int:
    """Records the iterations, votes and grades that are missing; what they may cost is told first.

    Gives the exit code: the budget has stopped it, or calls have failed; how to go on is told, too.
    """
    from whorl.providers.registry import Providers
    from whorl.services.run_driver import Driving
    from whorl.services.runs import open_runtime
    from whorl.wings.experiments.running.lock import alone
    from whorl.wings.experiments.running.missing_data import MissingData
    from whorl.wings.experiments.what_if.query import rule_of

    if budget is not None and math.isnan(budget):
        raise UsageError("'nan' is not an amount of dollars such as 5")

    experiment = read_file(project, file)

    async def work() -> int:
        providers = Providers(project.settings())
        async with open_runtime(project, providers, origin="terminal") as runtime:
            driving = Driving(runtime)
            study = study_of(project, runtime.store, experiment)
            node = study.loop(loop, variant)
            workflow = study.workflow(variant)
            rules = [rule_of(workflow, node, **given)] if given and any(given.values()) else None
            lacks = MissingData(study, node, variant, rules)
            lacking: dict[str, Callable[[], Sequence[Lacking]]] = {
                "iteration": lacks.iterations,
                "vote": partial(lacks.votes, votes),
                "grading": lacks.gradings,
            }
            if votes or not lacks.is_graded_by_runs:
                del lacking["grading"]
            if votes:
                del lacking["iteration"]
            try:
                if budget is None:
                    check_nothing_missing(missing_of(study, driving, providers, lacking))
                    return _say_unanswered(lacks)
                recording = _Recording(study, driving, providers, budget, lacking)
                await recording.run()
            finally:
                await driving.close()
            return recording.tell() or _say_unanswered(lacks)

    if budget is None:
        return asyncio.run(work())
    with alone(project.store, experiment.name, pasted(*same_command())):
        return asyncio.run(work())


def _say_unanswered(lacks: MissingData) -> int:
    """Says where a rule is not answered though nothing is missing; gives the exit code."""
    if not (whys := lacks.unanswered()):
        return 0
    runs = f"{len(whys)} of {plural(lacks.count, 'run')}"
    say(f"nothing more can be recorded, and the rule is not answered in {runs}: {safe(whys[0])}")
    return _FAILED


class _Recording:
    """Records what is missing of each kind, until nothing is, or it cannot go on."""

    def __init__(
        self,
        study: Study,
        driving: Driving,
        providers: Providers,
        budget_usd: float,
        lacking: dict[str, Callable[[], Sequence[Lacking]]],
    ) -> None:
        from whorl.wings.experiments.running.budget import Budget

        self._study, self._driving, self._providers = study, driving, providers
        self._lacking, self._budget_usd, self._budget = lacking, budget_usd, Budget(budget_usd)
        # What the budget did not allow, and what calls have failed of.
        self._short: dict[str, Extension] = {}
        self._failed: dict[str, Extension] = {}
        # What is missing as long as nothing is recorded, and how much of it was announced.
        self._known: dict[str, Extension] = {}
        self._announced: dict[str, int] = {}

    def _extension(self, what: str) -> Extension:
        made, of = {what: self._lacking[what]}, (self._study, self._driving, self._providers)
        return missing_of(*of, made, self._budget)[what]

    async def run(self) -> None:
        """Records until nothing is missing: after votes, a rule may need more iterations."""
        await self._end_stopped()
        self._tell_first()
        before, missing = None, await self._round()
        while missing != before and any(missing) and not (self._short or self._failed):
            before, missing = missing, await self._round()
        for stopped in (self._short, self._failed):
            # What follows from it is missing as well.
            rest = self._lacking.keys() - (self._short | self._failed) if stopped else ()
            found = {what: self._extension(what) for what in self._lacking if what in rest}
            stopped |= {what: one for what, one in found.items() if one.count}

    async def _end_stopped(self) -> None:
        """Ends votes that a crash has stopped and that nothing asks for any more, without a call.

        What may have been paid for them is in the costs from then on.
        """
        from whorl.wings.experiments.running.budget import Budget
        from whorl.wings.experiments.running.trial_runs import Runs

        stopped = self._study.later_votes.stopped()
        if not (stopped and (stopped := stopped - {one.key for one in self._lacking["vote"]()})):
            return
        settled = Budget()
        runs = Runs(self._driving, self._study.rows, settled)
        for key in stopped:
            await runs.end(key)
        self._study.refresh()
        usd, count = settled.spent_usd, plural(len(stopped), "run of votes", "runs of votes")
        words = f"{count} that a crash had stopped ended without a call"
        say(f"{words}; {dollars(usd)} more in the costs, for calls in doubt" if usd else words)

    def _tell_first(self) -> None:
        """Says what is missing, or that nothing is; nothing is paid before."""
        self._known = {what: self._extension(what) for what in self._lacking}
        self._announced = {what: one.count for what, one in self._known.items()}
        for what, extension in self._known.items():
            if extension.count:
                say(self._line(what, extension))
        if not any(self._announced.values()):
            say("nothing to record")

    def _line(self, what: str, extension: Extension) -> str:
        costs = (extension.forecast(), extension.about_usd(), self._budget.left_usd or 0.0)
        return words.missing_line(what, extension.count, *costs)

    async def _round(self) -> list[dict[str, int]]:
        """Records what is missing of each kind; gives what that was."""
        return [await self._record(what) for what in self._lacking]

    async def _record(self, what: str) -> dict[str, int]:
        """Records what is missing of one kind, and says so where that is new; gives what it was."""
        extension = self._known.get(what) or self._extension(what)
        if extension.count > self._announced.pop(what, 0):
            say(self._line(what, extension))
        if extension.missing:
            self._known = {}
        await extension.run(self._study.experiment.at_once)
        self._study.refresh()
        if extension.is_short:
            self._short[what] = self._extension(what)
        elif extension.has_failed and (rest := self._extension(what)).count:
            self._failed[what] = rest
        return extension.missing

    def tell(self) -> int:
        """Says what is not recorded and how to go on; gives the exit code."""
        if self._failed:
            rest = ", ".join(plural(one.count, what) for what, one in self._failed.items())
            why = next((each for one in self._failed.values() for each in one.faults()), "")
            say(f"{rest} not recorded: {safe(why)}; once it answers: {pasted(*same_command())}")
        if self._short:
            say_short(self._short, self._budget_usd)
        return PAUSED if self._short else _FAILED if self._failed else 0
