"""Whether a command fails by its exit code: not where an expression reads the code."""

from __future__ import annotations

import pytest
from native_files import read

from whorl import ir
from whorl.ir.walk import walk


def _loop(until: str) -> str:
    return f"l: {{repeat: {{until: '{until}', steps: {{test: {{run: make}}}}}}}}"


# What is in `steps: {...}`, beside a command `test` that stands alone.
BESIDE = [
    ("b: {value: '{{ test.exit_code }}'}", ["test"]),
    ("b: {value: \"{{ test['exit_code'] + 1 }}\"}", ["test"]),
    ("b: {ask: Why?, if: test.exit_code > 0}", ["test"]),
    ("b: {ask: Mind test.exit_code!}", []),
    ("b: {value: '{{ test.stdout }}'}", []),
    ("l: {each: [1], as: it_, steps: {b: {value: '{{ it_.exit_code }}'}}}", []),
    # Another step whose name ends alike is another step.
    ("unit-test: {run: make}, b: {value: \"{{ results['unit-test'].exit_code }}\"}", ["unit-test"]),
]
# What the result of a step around a command is read by.
AROUND = [
    ("s: {repeat: {at_most: 2, steps: {test: {run: make}}}}", "s.test.exit_code"),
    ("s: {each: [1, 2], as: n, steps: {test: {run: make}}}", "s[0].test.exit_code"),
    ("s: {together: {test: {run: make}, other: {run: make}}}", "s.test.exit_code"),
]
TESTED = ("test", "previous.test", "best.test", "history[0].test")


STEPS = [
    *((f"test: {{run: make}}, {steps}", let_pass) for steps, let_pass in BESIDE),
    *((_loop(f"{test}.exit_code == 0"), ["l/test"]) for test in TESTED),
    *((f"{step}, b: {{value: '{{{{ {read} }}}}'}}", ["s/test"]) for step, read in AROUND),
    *(("test: {run: make}", []), ("test: {run: make, check: false}", ["test"])),
    ("test: {run: make, check: true}, b: {value: '{{ test.exit_code }}'}", []),
    # A name means the step of its own scope.
    (f"{_loop('test.exit_code == 0')}, m: {{repeat: {{steps: {{test: {{run: make}}}}}}}}",
     ["l/test"]),
    ("c: {if: true, then: {test: {run: make}}, else: {other: {run: make}}}, "
     "b: {value: '{{ test.exit_code }}'}", ["c@case.then/test"]),
]  # fmt: skip
TEST = "steps: {test: {run: make}}"


@pytest.mark.parametrize(
    ("text", "let_pass"),
    [
        *((f"steps: {{{steps}}}", let_pass) for steps, let_pass in STEPS),
        (f"{TEST}\noutputs: {{code: 'It gave {{{{ test.exit_code }}}}.'}}", ["test"]),
        (f"# test.exit_code tells how it went\n{TEST}", []),
    ],
)
def test_a_command_whose_exit_code_is_read_does_not_fail_by_it(
    text: str, let_pass: list[str]
) -> None:
    unchecked = ("check", ir.Constant(False))
    tasks = ((path, node) for path, node in walk(read(text).body) if isinstance(node, ir.Task))

    assert [path for path, node in tasks if unchecked in node.inputs.entries] == let_pass
