"""Turns of a task that wants tools: every event by hand, and a restored machine between all."""

from __future__ import annotations

from typing import Any

import pytest

from whorl import ir
from whorl.interfaces.advice import advice
from whorl.interpreter.events import Cancel, Event, Perform
from whorl.interpreter.machine import Machine
from whorl.interpreter.plan import Plan
from whorl.ir import Block, Constant, Fields, Task, Workflow


class Driven:
    """Feeds a machine; with `restore` every event meets a machine made from a snapshot."""

    def __init__(self, workflow: Workflow, *, restore: bool) -> None:
        self.plan = Plan(workflow)
        self.machine = Machine(self.plan)
        self.restore = restore
        self.wanted: dict[str, Perform] = {}
        self.cancelled: list[str] = []
        self.feed("run.started", "", run="r", seed="s", input={})

    def feed(self, kind: str, address: str, **body: Any) -> None:
        if self.restore:
            self.machine = Machine.restore(self.plan, self.machine.snapshot())
        self.machine.feed(Event(kind, address, 1.0, body))
        for command in self.machine.poll():
            if isinstance(command, Perform):
                self.wanted[command.address] = command
            elif isinstance(command, Cancel):
                self.cancelled.append(command.address)

    def reply(self, address: str, value: Any = None, **more: Any) -> None:
        """The intent and the reply of a call that is wanted."""
        assert address in self.wanted, f"{address} is not wanted: {list(self.wanted)}"
        self.feed("task.started", address, reserve={"calls": 1})
        usage = {"calls": 1, "input_tokens": 2, "output_tokens": 1, "cost_usd": 0.5}
        self.feed("task.finished", address, value=value, usage=usage, **more)

    def fail(self, address: str, code: str, **more: Any) -> None:
        """The intent and the failure of a call that is wanted."""
        assert address in self.wanted
        self.feed("task.started", address, reserve={"calls": 1})
        error = {"code": code, "message": f"it is {code}", "retryable": False, **more}
        self.feed("task.failed", address, error=error)

    @property
    def result(self) -> dict[str, Any]:
        found: dict[str, Any] = self.machine.state["result"]
        return found


def asking(**inputs: Any) -> Workflow:
    given = Fields((("prompt", Constant("p")), *((k, Constant(v)) for k, v in inputs.items())))
    task = Task(name="ask", kind="ask", inputs=given)
    return Workflow(name="w", body=Block((task,)), outputs=())


def tool(number: int, **inputs: Any) -> dict[str, Any]:
    return {"id": f"c{number}", "name": "t__x", "kind": "tool", "inputs": inputs}


@pytest.fixture(params=[False, True], ids=["straight", "restored"])
def driven(request: pytest.FixtureRequest) -> Driven:
    """A run whose task may use a tool."""
    return Driven(asking(tools=["t"]), restore=request.param)


def test_a_tool_that_fails_or_cannot_be_called_is_reported_to_the_model(driven: Driven) -> None:
    missing = {"id": "c2", "error": "there is no tool 'x'"}
    driven.reply("ask", "", calls=[tool(1), missing], said="s")
    driven.fail("ask/:tool1", "P123")
    turns = [
        {"role": "tool", "id": "c1", "error": "it is P123"},
        {"role": "tool", "id": "c2", "error": "there is no tool 'x'"},
    ]
    assert driven.wanted["ask/:turn2"].inputs["turns"] == ["s", *turns]

    driven.reply("ask/:turn2", "", calls=[missing], said="t")
    assert driven.wanted["ask/:turn3"].inputs["turns"] == ["s", *turns, "t", turns[1]]


@pytest.mark.parametrize("code", ["P122", "R110"])
def test_a_tool_that_has_changed_or_has_no_leave_ends_the_task(driven: Driven, code: str) -> None:
    driven.reply("ask", "", calls=[tool(1), tool(2)], said="s")
    driven.feed("task.started", "ask/:tool2", reserve={"calls": 1})
    driven.fail("ask/:tool1", code)

    assert driven.machine.status == "failed"
    assert code in str(driven.result["error"])
    assert "ask/:tool2" in driven.cancelled
    assert "ask/:turn2" not in driven.wanted


@pytest.mark.parametrize(("given", "most"), [({"max_turns": 2}, 2), ({}, 10)])
def test_the_number_of_turns_is_limited(driven: Driven, given: dict[str, int], most: int) -> None:
    driven, address = Driven(asking(tools=["t"], **given), restore=driven.restore), "ask"
    for number in range(1, most):
        driven.reply(address, "", calls=[tool(number)], said="s")
        driven.reply(f"ask/:tool{number}", 1)
        address = f"ask/:turn{number + 1}"
    driven.reply(address, "", calls=[tool(most)], said="s")

    assert driven.machine.status == "failed"
    error = driven.result["error"]
    assert error["cause"]["code"] == "P124"
    assert error["facts"] == {"code": "P124", "turns": most}
    assert advice("R100", error["facts"]) == "raise max_turns"


def test_the_tasks_behind_tools_keep_the_care_of_the_one_who_asks() -> None:
    task = Task(name="ask", kind="ask", secure=True, delivery="ask", timeout_s=5.0)
    nodes = Plan(Workflow(name="w", body=Block((task,)), outputs=())).nodes

    found = [node for node in nodes.values() if isinstance(node, ir.Task) and node.kind != "ask"]

    assert {node.kind for node in found} == {"tool", "use"}
    assert {(node.secure, node.delivery, node.timeout_s) for node in found} == {(True, "ask", 5.0)}
