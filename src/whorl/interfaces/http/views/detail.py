"""One run as a whole, and what may be asked of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from whorl.errors import safe
from whorl.interfaces.http.schemas.runs import Action, Result, RunDetail
from whorl.interfaces.http.views.rows import gate_item, run_fields
from whorl.interfaces.results import as_one, open_gates, result_of
from whorl.interpreter.events import Event
from whorl.interpreter.requests import objection

if TYPE_CHECKING:
    from whorl.interfaces.http.desk import Desk
    from whorl.interfaces.results import Gate
    from whorl.interpreter.machine import Machine
    from whorl.runtimes.journal import RunId, RunRow

_ENDED = frozenset({"succeeded", "failed", "cancelled"})
_KINDS = {"pause": "run.paused", "resume": "run.resumed", "cancel": "run.cancelled"}
# Whether any loop can go on is asked of so many; a list may hold thousands.
_LOOPS_LOOKED_AT = 100


def run_detail(desk: Desk, run: RunId) -> RunDetail:
    """All that a page about one run begins with."""
    store = desk.store
    row, machine = known = as_one(store, run)
    gates = open_gates(store, run, machine)
    result: dict[str, Any] = result_of(store, run, known)
    first = next(iter(store.read(run, limit=1))).event
    given: Any = first.body.get("input")
    fields = run_fields(desk, row) | {"status": result["status"]}
    return RunDetail(
        **fields,
        result=Result(**result),
        gates=[gate_item(gate) for gate in gates],
        can=_possible(machine, row, gates),
        driver=_driver(desk, row),
        forks=list(store.forks(run)),
        inputs=given if isinstance(given, dict) else {},
        limits=dict(machine.state.get("limits") or {}),
        started_at=first.at,
        ended_at=row.updated_at if row.status in _ENDED else None,
        warnings=[safe(str(one.get("message", ""))) for one in result["warnings"]],
    )


def _driver(desk: Desk, row: RunRow) -> Literal["here", "elsewhere", "nobody"]:
    if desk.driving.is_driven(row.id):
        return "here"
    return "elsewhere" if row.status == "running" else "nobody"


def _possible(machine: Machine, row: RunRow, gates: list[Gate]) -> list[Action]:
    """What would not be refused now."""
    found: set[str] = set()
    for action, kind in _KINDS.items():
        if objection(machine, Event(kind, "", machine.now)) is None:
            found.add(action)
    if row.status in ("running", "waiting"):
        found.discard("resume")
    if row.status in ("paused", "interrupted"):
        found.discard("pause")
    loops = [frame["address"] for frame in machine.frames.values() if frame["kind"] == "loop"]
    del loops[_LOOPS_LOOKED_AT:]
    for action, kind in (("continue", "run.continued"), ("accept", "run.accepted")):
        asked = (Event(kind, "", machine.now, {"at": loop, "iteration": 1}) for loop in loops)
        if row.status != "cancelled" and any(objection(machine, one) is None for one in asked):
            found.add(action)
    if row.loop:
        found.add("fork")
    if gates:
        found |= {"approve", "reject"}
    return [action for action in get_args(Action) if action in found]
