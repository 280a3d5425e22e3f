"""What an open session has: the runtime on its store, the providers, the runs that it drives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import StoreError, UsageError
from whorl.services.driving import Driving
from whorl.services.preflight import check_models, refusal

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from whorl.ir import Workflow
    from whorl.providers.registry import Providers
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.local import LocalRuntime
    from whorl.runtimes.sqlite import SqliteStore


class Opened:
    """The open part of a session; `stack` closes it."""

    def __init__(self, stack: AsyncExitStack, providers: Providers, runtime: LocalRuntime) -> None:
        self.stack = stack
        self.providers = providers
        self.runtime = runtime
        self.driving = Driving(runtime)

    @property
    def store(self) -> SqliteStore:
        """Where the runs are kept."""
        return self.runtime.store

    async def take_up(self, run: RunId) -> None:
        """Drives a run that nobody drives."""
        if self.driving.is_driven(run):
            return
        status = self.store.run(run).status
        if status == "waiting":
            # The time that a person was given to decide may be over, or about to be.
            self.driving.drive(run)
        if status != "interrupted":
            return
        try:
            await self.driving.go_on(run)
        except (UsageError, StoreError):
            # Whoever takes it up at the same time goes on with it as well.
            if self.store.run(run).status == "interrupted":
                raise

    def check_leave(self, workflow: Workflow) -> None:
        """Refuses a workflow that the operator gave no leave for, or no model."""
        refused = refusal(workflow, self.providers.settings)
        if refused is not None:
            raise UsageError(str(refused["message"]), code=str(refused["code"]))
        check_models(workflow, self.providers)
