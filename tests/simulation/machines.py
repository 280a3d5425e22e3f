"""Machines that are fed by hand, one event after the other."""

from __future__ import annotations

from typing import Any, Literal

from whorl import ir
from whorl.interpreter.events import Event, Perform, Send
from whorl.interpreter.machine import Machine
from whorl.interpreter.plan import Plan

FALSE = ir.When(ir.Expression("jinja", "false"))
RESERVE: Any = {"reserve": {"calls": 1}}


def plan_with(
    *nodes: ir.Node,
    concurrency: int | None = None,
    on_failure: Literal["go_on", "halt", "cancel"] = "go_on",
    **fields: Any,
) -> Plan:
    """The plan of a workflow of these nodes; `fields` are others of the workflow."""
    body = ir.Block(nodes, concurrency=concurrency, on_failure=on_failure)
    return Plan(ir.Workflow(name="w", body=body, **fields))


def begun(*nodes: ir.Node, at: float = 0.0, **fields: Any) -> Machine:
    """A run of these nodes that has begun."""
    machine = Machine(plan_with(*nodes, **fields))
    feed(machine, "run.started", at=at)
    return machine


def restored(machine: Machine) -> Machine:
    """The machine that its snapshot makes."""
    return Machine.restore(machine.plan, machine.snapshot())


def feed(machine: Machine, kind: str, address: str = "", at: float = 0.0, **body: Any) -> None:
    machine.feed(Event(kind, address, at, body))


def finish(machine: Machine, *addresses: str, at: float = 0.0) -> None:
    for address in addresses:
        feed(machine, "task.finished", address, at, value=1)


def fail(machine: Machine, *addresses: str, at: float = 0.0, code: str = "P101") -> None:
    """The calls fail; trying again helps, but not with what the code P101 stands for."""
    for address in addresses:
        error = {"code": code, "message": "no", "retryable": code != "P101"}
        feed(machine, "task.failed", address, at, error=error)


def performs(machine: Machine) -> list[Perform]:
    return [command for command in machine.poll() if isinstance(command, Perform)]


def wanted(machine: Machine) -> list[str]:
    return [perform.address for perform in performs(machine)]


def sent(machine: Machine) -> list[str]:
    return [command.address for command in machine.poll() if isinstance(command, Send)]


def error_of(machine: Machine) -> dict[str, Any]:
    found: dict[str, Any] = machine.state["result"]["error"]
    return found


def loop_of(machine: Machine) -> Any:
    """The frame of the only loop."""
    [frame] = [frame for frame in machine.frames.values() if frame["kind"] == "loop"]
    return frame
