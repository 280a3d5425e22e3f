"""Native files say all that the IR can hold, in the shortest way that is read as the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from whorl import ir
from whorl.dialects import read_workflow
from whorl.dialects.native.writing import is_same_workflow, write_native
from whorl.errors import InternalError

ASK: Any = {"kind": "ask", "inputs": ir.Fields((("prompt", ir.Constant("Write.")),))}
BODY = ir.Block((ir.Task(name="write", **ASK),))
OPEN = replace(BODY, open=True)


def _workflow(*nodes: ir.Node, **given: Any) -> ir.Workflow:
    return ir.Workflow(**{"name": "w", "body": ir.Block(nodes), **given})


def _expression(source: str, syntax: str = "jinja", library: str = "") -> ir.Expression:
    return ir.Expression(syntax, source, library)


def _text(workflow: ir.Workflow) -> str:
    """The file; writing it raises where it is not read as the same workflow."""
    return write_native(workflow)


ONE = _expression("1")
NODES: dict[str, ir.Node] = {
    "jitter": ir.Task(name="a", retry=ir.Retry(2, jitter=0.1, drawn=True, wait_min_s=2.0), **ASK),
    "repairs": ir.Task(name="a", repairs=3, total_timeout_s=90.0, warns=ONE, **ASK),
    "secure": ir.Task(name="a", secure=True, secure_outputs=False, **ASK),
    "kind": ir.Task(name="a", kind="search", returns={"type": "string"}, session="s"),
    "input": ir.Task(name="a", kind="ask", inputs=ir.Fields((("top_p", ir.Constant(1)),))),
    "computed input": ir.Task(name="a", kind="ask", inputs=ir.Fields(((ONE, ONE),))),
    "empty use": ir.Task(name="a", kind="use"),
    "odd command": ir.Task(name="a", kind="run", inputs=ir.Fields((("script", ONE),))),
    "rate": ir.ForEach(name="a", items=ONE, body=OPEN, min_success_rate=0.5, item_timeout_s=2.5,
     items_max=7, on_item_failure="halt",
     words={"ports": {"inputs": ["items"], "outputs": ["results"]}}),
    "shape": ir.Compute(name="a", value=ONE, shape=_expression("it"), echo=ir.Constant("{{ x }}")),
    "closed group": ir.Group(name="a", body=replace(BODY, concurrency=2, on_failure="cancel")),
    "empty group": ir.Group(name="a", body=ir.Block((), open=True)),
    "append": ir.Assign(name="a", sets=(("x", ONE), ("x", ONE)), operation="append"),
    "between": ir.Loop(name="a", body=BODY, check="between", on_limit="time_out"),
    "failure": ir.Loop(name="a", body=BODY,
     on_iteration_failure=ir.IterationFailure("continue", 1, 2.0, True)),
    "polite time": ir.Loop(name="a", body=BODY,
     limits=ir.LoopLimits(ONE, time_s=5, interrupts=False)),
    "unbounded share": ir.Loop(name="a", body=BODY, until=ir.Score(ONE, at_least=0.5)),
    "conditions": ir.Loop(name="a", body=BODY, until=ir.AllOf((ir.When(ONE, "in words"),
     ir.When(_expression("{{ 1 }}", "template")),
     ir.Score(ONE, pattern="([0-9])", described="so"),
     ir.Judge(ONE, ONE, ("m",), 3, ir.Fields((("x", ONE),)), reason=False, evidence=True),
     ir.Stable(ir.Constant("write"), 0.5, exceeds=True),
     ir.AnyOf((ir.Plateau(2, 0.5), ir.AnyOf((ir.When(ONE),))))))),
    "loop": ir.Loop(name="a", body=BODY,
     carry=(ir.Carry("c", later=ir.Fields((("first", ONE),))), ir.Carry("d", first=ONE)),
     collect=(ir.Collect("a b", "all", ONE),), delay=ir.Constant(0),
     memory=ir.Memory(ir.Fields(), 5, key="k", bind=(("x", ONE),)),
     facts=(("nr", "number"), ("of", "limit")), bind=(("b", ONE),), tells=(("t", ONE),),
     tells_after=(("t", ONE),),
     words={"fields": {"timeout": "limit.timeout"}, "limits": {"timeout": "too late"}},
     history_keep=3),
    "case": ir.Branch(name="a", subject=ir.Constant(1), when=ONE,
     cases=(ir.Case("one", OPEN, equals=ir.Constant(1)), ir.Case("steps", BODY, when=ONE)),
     default=ir.Case("other", ir.Block((ir.Compute(name="steps", value=ONE),)))),
    "if with a condition": ir.Branch(name="a", when=ONE, cases=(ir.Case("then", OPEN, when=ONE),),
     default=None),
    "over": ir.Compute(name="a", value=ONE, over=ir.Constant([1]), keep=ONE, warns=ONE),
    "logic": ir.Compute(name="a", value=_expression("@add(1, 2)", "logic")),
    "library": ir.Compute(name="a", value=_expression("{{ 1 }}", "template", "orka")),
    "name": ir.Compute(name="a b", value=ONE),
    "reserved": ir.Compute(name="history", value=ONE),
    "wait": ir.Wait(name="a", duration=ir.Constant("PT5S")),
    "computed time": ir.Wait(name="a", until=_expression("x")),
    "wait for nothing": ir.Wait(name="a"),
    "stop": ir.Stop(name="a", message=ir.Constant("")),
    "stop_called": ir.Stop(name="a", status="failed", code=ir.Constant("E"), ends="workflow"),
    "gate": ir.Gate(name="a", message=ir.Constant(5), timeout_s=3.0, show=ir.Items((ONE,))),
    "literal": ir.Compute(name="a", value=ir.Constant(["{{ no }}", {"expr": "x"}])),
    "parts": ir.Compute(name="a", value=ir.Fields((("expr", ONE),
     ("in", ir.Items((ir.Constant(1), ir.Constant(True), ir.Constant(1.0)))),
     ("library", ir.Fields((("k", ir.Constant(None)),)))))),
    "keys": ir.Compute(name="a",
     value=ir.Fields(((ONE, ONE), ("{{ k }}", ONE), ("k", ONE), ("k", ONE)))),
    "empty object": ir.Compute(name="a", value=ir.Fields()),
    "answers": ir.Compute(name="a", value=ONE, answers=True),
    "awaited": ir.Task(name="a", kind="http", awaits_call=True, unsubscribe=ONE),
    "example": ir.Task(name="a", kind="ask", example={"type": "boolean"}),
}  # fmt: skip


@pytest.mark.parametrize("name", NODES)
def test_a_file_says_all_of_a_node(name: str) -> None:
    _text(_workflow(NODES[name], variables=(("x", ir.Constant(1)),), dialect="other"))
    _text(_workflow(NODES[name], variables=(("x", ir.Constant(1)),)))


WORKFLOWS: dict[str, dict[str, Any]] = {
    "alias": {"inputs": (ir.Port("x", aliases=("y",)),), "main_input": "x"},
    "default": {"inputs": (ir.Port("x", required=True, default={"a": "{{ 1 }}"}),)},
    "main input": {"inputs": (ir.Port("x"), ir.Port("y")), "main_input": "y"},
    "secret": {"inputs": (ir.Port("x", "string", secret=True),)},
    "optional secret": {"inputs": (ir.Port("x", "string", required=False, secret=True),)},
    "secret object": {"inputs": (ir.Port("x", "json", secret=True), ir.Port("y", secret=True))},
    "secret with a value": {"inputs": (ir.Port("x", "string", default="k", secret=True),)},
    "output": {"outputs": (("a b", _expression("a")),)},
    "no outputs": {"outputs": ()},
    "defaults": {"defaults": (("http", ir.Fields((("url", ir.Constant("x")),))),)},
    "words": {"words": {"events": ["{{ x }}"]}, "recorder": "loom"},
    "early": {"early_outputs": ("a",)},
    "answer": {"answer": ir.Fields((("status", ONE),)), "is_late": True},
    "trigger": {"inputs": (ir.Port("x"), ir.Port("y")), "main_input": "x",
     "trigger": ir.Trigger(name="t", kind="callback", methods=("GET",), path="a/{b}",
     schema={"type": "array"}, recurrence={"frequency": "day", "interval": 1, "hours": [7]},
     gives=(("body", "x"),), fields=("y",), conditions=(_expression("x"),),
     split_on=_expression("x"), items_max=5, tracking=ONE, concurrency=2, waiting_max=3,
     poll=ir.Fields((("kind", ONE), ("inputs", _expression("x")))))},
    "open": {"open_inputs": True, "hidden_outputs": ("a",), "description": "d", "dialect": "x"},
}  # fmt: skip


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_file_says_all_of_a_workflow(name: str) -> None:
    _text(_workflow(ir.Compute(name="a", value=ir.Constant(1)), **WORKFLOWS[name]))


def test_comments_above_steps_are_kept() -> None:
    source = """\
# What it is for.

whorl: 1
steps:
  # First comes
  # the draft.
  write:
    ask: |
      Write.
      # A heading
  review: {ask: "Review {{ write }}"}
  # The loop.
  more:
    repeat:
      at_most: 2
      steps:
        # Deep inside.
        inner: {value: 1}
"""
    reading = read_workflow(source, "w.yaml")
    text = write_native(reading.workflow, reading.sources, "w.yaml")

    assert text.startswith("# What it is for.\nwhorl: 1\n")
    assert "\n  # First comes\n  # the draft.\n  write:\n" in text
    assert "# A heading\n  review:" in text
    assert "\n  # The loop.\n  more:\n" in text
    assert "\n        # Deep inside.\n        inner: {value: 1}\n" in text
    assert is_same_workflow(read_workflow(text, "w.yaml").workflow, reading.workflow)


def test_what_would_be_read_otherwise_is_never_written() -> None:
    broken = _workflow(ir.Break(name="a", loop="none"))

    with pytest.raises(InternalError, match="the written file is wrong"):
        write_native(broken)
