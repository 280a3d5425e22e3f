"""The operations on a project, and the least role for each: one table for every interface.

HTTP refuses what is not in it, the page shows the operations that its token allows, and the
reference is generated from it.
"""

from __future__ import annotations

from typing import Final

from whorl.lazily import dataclass
from whorl.runtimes.service.tables import ROLES, Role


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation: its least role, what it is, and its addresses (`METHODS PATH...` a line)."""

    role: Role
    words: str
    addresses: str
    needs_edit: bool
    is_noted: bool

    def routes(self) -> list[tuple[str, str]]:
        """Returns its addresses, each with a method."""
        lines = [line.split() for line in self.addresses.splitlines() if line.strip()]
        return [(method, path) for names, *paths in lines for method in names.split(",")
                for path in paths]  # fmt: skip


_LOOK: Final = """
GET /api/project /api/workflows /api/workflows/graph /api/workflows/source /api/workflows/sketch
GET /api/workflows/etag /api/templates /api/palette /api/pins /api/costs /api/changes /api/schedules
GET /api/runs /api/runs/{run} /api/runs/{run}/loops /api/runs/{run}/iterations
GET /api/runs/{run}/iterations/{number} /api/runs/{run}/diff /api/runs/{run}/matrix
GET /api/runs/{run}/step /api/runs/{run}/records /api/runs/{run}/graph
GET /api/runs/{run}/source /api/runs/{run}/events /api/runs/{run}/values/{ref}
GET /api/runs/{run}/facts /api/experiments /api/experiments/{name} /api/experiments/{name}/cases
GET /api/experiments/{name}/events /api/experiments/{name}/facts /api/experiments/{name}/judge
GET /api/experiments/{name}/queue /api/experiments/{name}/report /api/openapi.json /metrics
GET /hooks/runs/{run}
POST /api/session /api/validate /api/experiments/{name}/what-if /api/runs/{run}/what-if
"""
_RUN: Final = "/api/runs/{run}"
_TRIGGER: Final = "/hooks/workflows/{workflow}/{trigger}"
_SCHEDULE: Final = "/api/schedules/{schedule}"
# By name: the least role, what it is, and where it is asked for over HTTP.
_ROWS: Final[dict[str, tuple[Role, str, str]]] = {
    "health": ("read", "see whether the server is well, and load the files of the page",
               "GET / /assets/{name} /healthz /readyz"),
    "look": ("read", "see runs, saved workflows, journals, costs; check a saved workflow", _LOOK),
    "start": ("run", "start a saved workflow with inputs, and with no more budget than it has",
              "POST /api/runs /hooks/{name}\n"
              f"DELETE,GET,PATCH,POST,PUT {_TRIGGER} {_TRIGGER}/{{path:path}}"),
    "run experiment": ("run", "run a saved experiment", "POST /api/experiments"),
    "run schedule": ("run", "start the workflow of a schedule now", f"POST {_SCHEDULE}/run"),
    "pause": ("steer", "pause a run", f"POST {_RUN}/pause"),
    "resume": ("steer", "resume a run, also with more budget", f"POST {_RUN}/resume"),
    "cancel": ("steer", "cancel a run", f"POST {_RUN}/cancel"),
    "stop": ("steer", "end a loop after its iteration", f"POST {_RUN}/stop"),
    "continue": ("steer", "give a loop iterations, or a run budget", f"POST {_RUN}/continue"),
    "accept": ("steer", "end a loop with a chosen iteration", f"POST {_RUN}/accept"),
    "approve": ("steer", "approve what a run asks, also with other values", f"POST {_RUN}/approve"),
    "reject": ("steer", "reject what a run asks", f"POST {_RUN}/reject"),
    "fork": ("steer", "fork a run, also with other values, models, prompts", f"POST {_RUN}/fork"),
    "raise limits": ("steer", "start with more budget or iterations than the file has", ""),
    "call": ("steer", "answer what a run waits for", "POST /hooks/runs/{run}/{at:path}"),
    "stop experiment": ("steer", "stop an experiment", "POST /api/experiments/{name}/stop"),
    "pause schedule": ("steer", "pause a schedule", f"POST {_SCHEDULE}/pause"),
    "resume schedule": ("steer", "resume a schedule", f"POST {_SCHEDULE}/resume"),
    "add schedule": ("admin", "make a schedule", "POST /api/schedules"),
    "remove schedule": ("admin", "remove a schedule", f"DELETE {_SCHEDULE}"),
    "audit": ("admin", "read the audit", "GET /api/audit"),
    "see broken file": ("admin", "see a file that is not valid YAML or JSON", ""),
    "draft": ("admin", "check, draw and change a text that is not saved",
              "POST /api/workflows/sketch /api/workflows/edit /api/workflows/names"),
    "try": ("admin", "run a step of a text that is not saved, with effects", "POST /api/tries"),
    "pin": ("admin", "keep results in the place of steps", "PUT /api/pins"),
    "save": ("admin", "save a workflow file", "PUT /api/workflows/source"),
    "new file": ("admin", "make a workflow file", "POST /api/workflows"),
}  # fmt: skip
# Only on a server with `--edit`; and what the audit does not record.
_EDITING: Final = ("draft", "try", "pin", "save", "new file")
_SILENT: Final = ("health", "look", "audit", "see broken file", "draft")
OPERATIONS: Final = {
    name: Operation(*row, name in _EDITING, name not in _SILENT) for name, row in _ROWS.items()
}
# The tools of MCP; each served workflow is one more, which starts it.
TOOLS: Final = {"whorl_result": "look", "whorl_cancel": "cancel"}
ROUTES: Final = {route: name for name, each in OPERATIONS.items() for route in each.routes()}


def has_role(role: Role, name: str) -> bool:
    return ROLES.index(role) >= ROLES.index(OPERATIONS[name].role)


def allowed(role: Role, *, edits: bool = False) -> list[str]:
    """Returns the operations that a role may use, on a server that writes files or does not."""
    usable = (name for name, each in OPERATIONS.items() if edits or not each.needs_edit)
    return [name for name in usable if has_role(role, name)]
