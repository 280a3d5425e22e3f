"""Whether a command fails by its exit code: not where an expression reads the code."""

from __future__ import annotations

import pytest

from whorl import ir
from whorl.dialects import read_workflow
from whorl.ir.walk import walk

LOOP = "l: {repeat: {until: 'UNTIL', steps: {test: {run: make}}}}"


def _let_pass(text: str) -> list[str]:
    """The paths of the commands that do not fail by their exit code."""
    workflow = read_workflow(f"whorl: 1\n{text}\n", "a.yaml").workflow
    checked = {
        path: dict(node.inputs.entries).get("check")
        for path, node in walk(workflow.body)
        if isinstance(node, ir.Task) and node.kind == "run"
    }
    return [path for path, check in checked.items() if check == ir.Constant(False)]


@pytest.mark.parametrize(
    "text",
    [
        "steps: {test: {run: make}, b: {value: '{{ test.exit_code }}'}}",
        "steps: {test: {run: make}, b: {value: \"{{ test['exit_code'] + 1 }}\"}}",
        "steps: {test: {run: make}, b: {ask: Why?, if: test.exit_code > 0}}",
        "steps: {test: {run: make}}\noutputs: {code: 'It gave {{ test.exit_code }}.'}",
        "steps: {test: {run: make, check: false}}",
    ],
)
def test_a_command_whose_exit_code_is_read_does_not_fail_by_it(text: str) -> None:
    assert _let_pass(text) == ["test"]


@pytest.mark.parametrize(
    "text",
    [
        "steps: {test: {run: make}}",
        "# test.exit_code tells how it went\nsteps: {test: {run: make}}",
        "steps: {test: {run: make}, b: {ask: Mind test.exit_code!}}",
        "steps: {test: {run: make}, b: {value: '{{ test.stdout }}'}}",
        "steps: {test: {run: make, check: true}, b: {value: '{{ test.exit_code }}'}}",
        "steps: {test: {run: make}, l: {each: [1], as: it_, steps: "
        "{b: {value: '{{ it_.exit_code }}'}}}}",
    ],
)
def test_a_command_whose_exit_code_is_not_read_fails_by_it(text: str) -> None:
    assert _let_pass(text) == []


def test_another_step_whose_name_ends_alike_is_another_step() -> None:
    text = (
        "steps: {test: {run: make}, unit-test: {run: make}, "
        "b: {value: \"{{ results['unit-test'].exit_code }}\"}}"
    )

    assert _let_pass(text) == ["unit-test"]


def test_a_name_means_the_step_of_its_own_scope() -> None:
    loop = LOOP.replace("UNTIL", "test.exit_code == 0")
    text = f"steps: {{{loop}, m: {{repeat: {{at_most: 2, steps: {{test: {{run: make}}}}}}}}}}"

    assert _let_pass(text) == ["l/test"]


@pytest.mark.parametrize(
    "until",
    [
        "test.exit_code == 0",
        "previous.test.exit_code == 0",
        "best.test.exit_code == 0",
        "history[0].test.exit_code == 0",
    ],
)
def test_a_loop_reads_the_code_of_a_command_in_it(until: str) -> None:
    assert _let_pass(f"steps: {{{LOOP.replace('UNTIL', until)}}}") == ["l/test"]


@pytest.mark.parametrize(
    ("step", "reading"),
    [
        ("s: {repeat: {at_most: 2, steps: {test: {run: make}}}}", "s.test.exit_code"),
        ("s: {each: [1, 2], as: n, steps: {test: {run: make}}}", "s[0].test.exit_code"),
        ("s: {together: {test: {run: make}, other: {run: make}}}", "s.test.exit_code"),
    ],
)
def test_a_code_is_read_inside_of_the_result_of_a_step_around_it(step: str, reading: str) -> None:
    assert _let_pass(f"steps: {{{step}, b: {{value: '{{{{ {reading} }}}}'}}}}") == ["s/test"]


def test_a_step_of_a_branch_is_read_from_outside() -> None:
    text = (
        "steps: {c: {if: true, then: {test: {run: make}}, else: {other: {run: make}}}, "
        "b: {value: '{{ test.exit_code }}'}}"
    )

    assert [path.rpartition("/")[2] for path in _let_pass(text)] == ["test"]
