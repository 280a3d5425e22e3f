"""What a worker of a cluster starts when the server of the cluster says that a schedule is due."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl.errors import WhorlError
from whorl.lazily import dataclass
from whorl.services.serving.triggers import starts_of
from whorl.wings.automation import firing
from whorl.wings.automation.registry import prepared
from whorl.wings.automation.rules import key_of
from whorl.wings.automation.table import Schedule

if TYPE_CHECKING:
    from whorl.providers.registry import Providers
    from whorl.runtimes.performing import Workers
    from whorl.services.project import Project


@dataclass(frozen=True, slots=True)
class ScheduleStarts:
    """On a cluster, makes of a schedule and a time what a worker starts, as files are there."""

    project: Project
    providers: Providers
    workers: Workers

    def __call__(self, value: dict[str, Any], due: float) -> dict[str, Any]:
        from whorl.services.runs import USUAL_URL
        from whorl.wings.cluster.messages import id_of, new_beginning

        schedule = Schedule(**value)
        # The project may lie elsewhere on the machine of a worker.
        inside = os.path.relpath(schedule.file, schedule.root)
        if not inside.startswith(os.pardir):
            schedule = replace(schedule, file=str(self.project.root / inside))
        settings, key = self.providers.settings, key_of(schedule, due)
        try:
            workflow, start = prepared(self.project, self.providers, schedule, key)
            starts = starts_of(
                workflow, firing.windowed(workflow, schedule, start, due), time.time()
            )
            begun = [
                new_beginning(
                    id_of(each.key),
                    workflow,
                    each,
                    settings.runtime.temporal,
                    redacted=self.workers.redacted,
                    url=settings.server.url or USUAL_URL,
                    origin="server",
                ).to_json()
                for each in starts.each
            ]
        except WhorlError as fault:
            return {"state": "failed", "reason": str(fault), "runs": []}
        state = "started" if begun else "skipped"
        return {"state": state, "reason": starts.reason, "runs": begun}
