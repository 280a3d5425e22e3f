"""What native files cannot say is listed with its place, and names and shapes are rewritten."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from whorl import ir
from whorl.dialects import read_workflow
from whorl.dialects.writing import read_again, write_workflow, writers
from whorl.errors import UsageError

ASK: Any = {"kind": "ask", "inputs": ir.Fields((("prompt", ir.Constant("Write.")),))}
BODY = ir.Block((ir.Task(name="write", **ASK),))


def _workflow(*nodes: ir.Node, **fields: Any) -> ir.Workflow:
    return ir.Workflow(name="w", body=ir.Block(nodes), **fields)


def _expression(source: str) -> ir.Expression:
    return ir.Expression("jinja", source)


def _losses(workflow: ir.Workflow) -> list[str]:
    return [loss.words("w.json") for loss in write_workflow(workflow, "native").losses]


NODES: dict[str, tuple[ir.Node, str]] = {
    "jitter": (
        ir.Task(name="a", place="3:1", retry=ir.Retry(2, jitter=0.1), **ASK),
        "w.json:3:1: a: 'jitter' of a retry (0.1)",
    ),
    "repairs": (ir.Task(name="a", repairs=3, **ASK), "a: 'repairs' of a task (3)"),
    "kind": (ir.Task(name="a", kind="search"), "a task of kind 'search'"),
    "input": (
        ir.Task(name="a", kind="ask", inputs=ir.Fields((("top_p", ir.Constant(1)),))),
        "the input 'top_p' of the task",
    ),
    "rate": (
        ir.ForEach(name="a", items=ir.Constant([1]), body=BODY, min_success_rate=0.5),
        "'min_success_rate' of a for-each (0.5)",
    ),
    "closed group": (ir.Group(name="a", body=BODY), "keeps its results to itself"),
    "append": (
        ir.Assign(name="a", sets=(("x", ir.Constant(1)),), operation="append"),
        "changed by 'append'",
    ),
    "between": (ir.Loop(name="a", body=BODY, check="between"), "weighed between iterations"),
    "retry wait": (
        ir.Loop(name="a", body=BODY, on_iteration_failure=ir.IterationFailure("retry", 1, 2.0)),
        "before an iteration is retried",
    ),
    "polite time": (
        ir.Loop(name="a", body=BODY, limits=ir.LoopLimits(3, time_s=5.0, interrupts=False)),
        "lets an iteration finish",
    ),
    "unbounded share": (
        ir.Loop(name="a", body=BODY, until=ir.Score(_expression("write"), at_least=0.5)),
        "a score without bounds",
    ),
    "case": (
        ir.Branch(
            name="a",
            subject=_expression("1"),
            cases=(ir.Case("one", replace(BODY, open=True), equals=ir.Constant(1)),),
        ),
        "the value of case 'one'",
    ),
    "over": (
        ir.Compute(name="a", value=_expression("1"), over=ir.Constant([1])),
        "'over' of a compute",
    ),
    "function": (
        ir.Compute(
            name="a", value=ir.Expression("jinja", "vote([1], 'majority', 1, none)", "mcp-cli")
        ),
        "unknown function 'vote'",
    ),
    "logic": (
        ir.Compute(name="a", value=ir.Expression("logic", "@body('x')")),
        "unknown function 'body'",
    ),
    "name": (ir.Compute(name="a b", value=ir.Constant(1)), "the name 'a b'"),
    "iterations": (
        ir.Loop(name="a", body=BODY, limits=ir.LoopLimits(200_000)),
        "a limit of 200,000 iterations",
    ),
    "collected": (
        ir.Loop(name="a", body=BODY, collect=(ir.Collect("a b", "all", _expression("write")),)),
        "the name 'a b'",
    ),
    "reserved": (ir.Compute(name="history", value=ir.Constant(1)), "the name 'history'"),
}


@pytest.mark.parametrize("name", NODES)
def test_what_a_step_cannot_say_is_a_loss_with_its_place(name: str) -> None:
    node, words = NODES[name]
    found = _losses(_workflow(node))

    assert any(words in loss for loss in found), found


WORKFLOWS: dict[str, tuple[dict[str, Any], str]] = {
    "alias": (
        {"inputs": (ir.Port("x", aliases=("y",)),), "main_input": "x"},
        "'other names' of an input",
    ),
    "main input": (
        {"inputs": (ir.Port("x"), ir.Port("y")), "main_input": "y"},
        "the main input (y)",
    ),
    "output": ({"outputs": (("a b", _expression("a")),)}, "the name 'a b'"),
    "no outputs": ({}, "a workflow without outputs"),
    "default": (
        {"defaults": (("http", ir.Fields((("url", ir.Constant("x")),))),)},
        "the default 'url' of 'http' tasks",
    ),
}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_what_a_file_cannot_say_is_a_loss(name: str) -> None:
    fields, words = WORKFLOWS[name]
    found = _losses(_workflow(ir.Compute(name="a", value=ir.Constant(1)), **fields))

    assert any(words in loss for loss in found), found


def _text(workflow: ir.Workflow) -> str:
    written = write_workflow(workflow, "native")
    assert [loss.words() for loss in written.losses] == []
    read_again(written, "native")
    return written.text


def test_facts_of_a_loop_have_native_names() -> None:
    told = ir.Compute(name="a", value=ir.Expression("template", "{{ nr }}/{{ place }}/{{ of }}"))
    facts: Any = (("nr", "number"), ("place", "index"), ("of", "limit"))
    loop = ir.Loop(name="go", body=ir.Block((told,)), limits=ir.LoopLimits(3), facts=facts)

    text = _text(_workflow(loop, outputs=(("go", _expression("go")),)))

    assert 'value: "{{ iteration }}/{{ iteration - 1 }}/{{ 3 }}"\n' in text


def test_a_fact_of_an_outer_loop_is_a_loss_inside_of_another() -> None:
    told = ir.Compute(name="a", value=_expression("outer_nr"))
    inner = ir.Loop(name="inner", body=ir.Block((told,)))
    outer = ir.Loop(name="outer", body=ir.Block((inner,)), facts=(("outer_nr", "number"),))

    assert any("a loop further out" in loss for loss in _losses(_workflow(outer)))


def test_a_shape_stands_wherever_the_result_is_read() -> None:
    shape = ir.Fields((("text", _expression("it | upper")), ("size", _expression("it | length"))))
    one = ir.Task(name="one", shape=shape, **ASK)
    two = ir.Compute(name="two", value=_expression("one.text ~ one.size"), after=(ir.After("one"),))

    text = _text(_workflow(one, two, outputs=(("x", _expression("two")),)))

    assert 'value: "{{ (one | upper) ~ (one | length) }}"' in text.replace("'", '"')


def test_a_shape_inside_of_a_loop_is_read_from_outside() -> None:
    one = ir.Task(name="one", shape=_expression("it | upper"), **ASK)
    loop = ir.Loop(name="go", body=ir.Block((one,)), limits=ir.LoopLimits(2))

    text = _text(_workflow(loop, outputs=(("x", _expression("go.one")),)))

    assert 'x: "{{ go.one | upper }}"' in text


def test_variables_are_set_by_a_first_step() -> None:
    count = ir.Compute(name="a", value=_expression("n + 1"))
    other = ir.Compute(name="b", value=_expression("n"))
    fields: Any = {"variables": (("n", ir.Constant(1)),), "outputs": (("b", _expression("b")),)}

    text = _text(_workflow(count, other, **fields))

    assert "steps:\n  variables:\n    set:\n      n: 1\n  a:\n" in text
    assert "    after: variables\n" in text


def test_a_text_that_looks_like_a_template_stays_a_text() -> None:
    fields: Any = {"outputs": (("x", _expression("a")),)}
    workflow = _workflow(ir.Compute(name="a", value=ir.Constant("{{ no }}")), **fields)

    assert "{% raw %}{{ no }}{% endraw %}" in _text(workflow)


def test_scripts_get_their_values_back() -> None:
    source = """whorl: 1
inputs: {task: string}
steps:
  go: {run: "echo '{{ task }}' \\"{{ task | upper }}\\" {{ task }} $'{{ task }}'"}
"""
    workflow = read_workflow(source, "a.yaml").workflow

    # Quotes around a value change nothing: the shell never splits it.
    assert "echo '{{ task }}' {{ task | upper }} {{ task }} $'{{ task }}'\n" in _text(workflow)


def test_a_step_that_is_tried_once_stays_one() -> None:
    workflow = _workflow(ir.Task(name="a", retry=ir.Retry(0), **ASK))
    written = write_workflow(workflow, "native")
    again = read_again(written, "native").workflow.body.nodes[0]

    assert "retry: 0\n" in written.text
    assert ir.Retry(0) == again.retry


def test_writing_is_the_same_each_time() -> None:
    workflow = _workflow(NODES["rate"][0])

    assert write_workflow(workflow, "native") == write_workflow(workflow, "native")


def test_an_unknown_dialect_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError) as refused:
        write_workflow(_workflow(), "nativ")

    assert "native" in refused.value.help
    assert "native" in writers()
