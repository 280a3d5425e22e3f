"""Records what recorded runs lack: what it will cost is told first, and at the end how to go on."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError, plural, safe
from whorl.interfaces.cli.carrying import same_command
from whorl.interfaces.cli.commands.experiments.conducting import (
    PAUSED,
    check_nothing_missing,
    missing_of,
    pasted,
    read_file,
    say_short,
    study_of,
)
from whorl.interfaces.cli.printing import experiment_words as words
from whorl.interfaces.cli.terminal import say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whorl.providers.registry import Providers
    from whorl.services.driving import Driving
    from whorl.services.experiments.running.extension import Extension, Lacking
    from whorl.services.experiments.study import Study
    from whorl.services.project import Project

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
    """Records the iterations and the votes that are missing; what they may cost is told first.

    Gives the exit code: the budget has stopped it, or calls have failed; how to go on is told, too.
    """
    from whorl.providers.registry import Providers
    from whorl.services.driving import Driving
    from whorl.services.experiments.what_if.asking import rule_of
    from whorl.services.runs import open_runtime

    if budget is not None and math.isnan(budget):
        raise UsageError("'nan' is not an amount of dollars such as 5")

    async def work() -> int:
        providers = Providers(project.settings())
        async with open_runtime(project, providers, origin="terminal") as runtime:
            driving = Driving(runtime)
            study = study_of(project, runtime.store, read_file(project, file))
            node = study.loop(loop, variant)
            workflow = study.workflow(variant)
            rules = [rule_of(workflow, node, **given)] if given and any(given.values()) else None
            votes_only: dict[str, Callable[[], Sequence[Lacking]]] = {
                "vote": lambda: study.missing_votes(node, variant, rules, votes)
            }
            iterations = {"iteration": lambda: study.too_short(node, variant, rules or [])}
            lacking = votes_only if votes else iterations | votes_only
            try:
                if budget is None:
                    check_nothing_missing(missing_of(study, driving, providers, lacking))
                    return 0
                recording = _Recording(study, driving, providers, budget, lacking)
                await recording.run()
            finally:
                await driving.close()
            return recording.tell()

    return asyncio.run(work())


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
        from whorl.services.experiments.running.budget import Budget

        self._study, self._driving, self._providers = study, driving, providers
        self._lacking, self._budget_usd, self._budget = lacking, budget_usd, Budget(budget_usd)
        # What the budget did not allow, and what calls have failed of.
        self._short: dict[str, Extension] = {}
        self._failed: dict[str, Extension] = {}

    def _extension(self, what: str) -> Extension:
        made, of = {what: self._lacking[what]}, (self._study, self._driving, self._providers)
        return missing_of(*of, made, self._budget)[what]

    async def run(self) -> None:
        """Records until nothing is missing: after votes, a rule may need more iterations."""
        before, missing = None, await self._round(is_first=True)
        while missing != before and any(missing) and not (self._short or self._failed):
            before, missing = missing, await self._round()

    async def _round(self, *, is_first: bool = False) -> list[dict[str, int]]:
        """Records what is missing of each kind; gives what that was."""
        found = [await self._record(what) for what in self._lacking]
        # Only what is missing is told, if anything is.
        if is_first and not any(missing for missing, _ in found):
            for _, line in found:
                say(line)
        return [missing for missing, _ in found]

    async def _record(self, what: str) -> tuple[dict[str, int], str]:
        """Records what is missing of one kind; gives what that was, and the line that tells it."""
        extension, left_usd = self._extension(what), self._budget.left_usd or 0.0
        costs = (extension.forecast(), extension.about_usd(), left_usd)
        line = words.missing_line(what, extension.count, *costs)
        if extension.count:
            say(line)
        await extension.run(self._study.experiment.at_once)
        self._study.refresh()
        if extension.is_short:
            self._short[what] = self._extension(what)
        elif extension.has_failed:
            self._failed[what] = self._extension(what)
        return extension.missing, line

    def tell(self) -> int:
        """Says what is not recorded and how to go on; gives the exit code."""
        if self._failed:
            rest = ", ".join(plural(one.count, what) for what, one in self._failed.items())
            why = next((each for one in self._failed.values() for each in one.faults()), "")
            say(f"{rest} not recorded: {safe(why)}; once it answers: {pasted(*same_command())}")
        if self._short:
            say_short(self._short, self._budget_usd)
        return PAUSED if self._short else _FAILED if self._failed else 0
