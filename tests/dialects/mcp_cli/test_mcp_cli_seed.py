"""Every promise of the guide to loops has a test, and every workflow in it can be read."""

from __future__ import annotations

import re

import pytest
from mcp_cli_files import HEAD, ROOT, SHARED, found_in, read

CONFORMANCE = ROOT / "conformance" / "mcp-cli"
SEEDS = sorted((SHARED / "seeds").glob("004_*.txt"))
needs_seed = pytest.mark.skipif(not SEEDS, reason="the guide is not beside the project")

# A sentence of the guide, and the case (by its title) or the test (by its name) that holds it.
JUDGED = "A loop goes round until the judge says yes"
TOLERATED = "A failed iteration that may fail changes nothing"
LACKING = "What a loop cannot do without"
PROMISES = {
    "A workflow is called repeatedly": JUDGED,
    "An LLM evaluates whether to continue or exit": JUDGED,
    "Loop variables track state across iterations": JUDGED,
    "Results accumulate for later use": JUDGED,
    "1. Initialize (iteration = 1)": JUDGED,
    "2. Interpolate `with` parameters using loop variables": JUDGED,
    "4. Store result": JUDGED,
    "5. Evaluate `until` condition with LLM": JUDGED,
    "Condition met → Exit (reason: condition_met)": JUDGED,
    "Max iterations → Exit (reason: max_iterations)": (
        "The limit of iterations is a success with a warning"
    ),
    "Error + halt → Exit (reason: error)": "test_the_exit_reason_of_a_failure_is_called_error",
    "**Context isolation:** Each workflow call is independent": "The called workflow is isolated",
    "**Safety limits:** `max_iterations` prevents runaway loops": (
        "The limit of iterations is a success with a warning"
    ),
    "**Flexible error handling:** Continue, halt, or retry on failure": TOLERATED,
    "# Required: Unique identifier": "Names are unique, and some have a meaning",
    "# Required: Workflow to call": LACKING,
    "# Required: Safety limit": LACKING,
    "# Required: Exit condition": LACKING,
    "# Optional: Store all iterations": JUDGED,
    "| `{{loop.iteration}}` | int | Current iteration number |": JUDGED,
    "| `{{loop.output}}` | string | Current iteration output |": (
        "The judge reads this iteration's output, and the question is as it is written"
    ),
    "| `{{loop.last.output}}` | string | Previous iteration output |": JUDGED,
    "| `{{loop.history}}` | string | All outputs separated by `---` |": JUDGED,
    "# Empty on first iteration": JUDGED,
    'full_context: "Output from iteration 1---Output from iteration 2"': JUDGED,
    "1. Loop executor extracts the workflow output": (
        "The judge reads this iteration's output, and the question is as it is written"
    ),
    "Answer with YES if condition is met, NO if not met.": "test_the_judge_is_told_the_three_lines",
    "3. LLM responds with YES or NO": "An answer that is neither yes nor no is asked for once more",
    "4. If YES → exit loop early (before max_iterations)": JUDGED,
    "# Don't interpolate output into condition": "A condition that holds the output itself",
    "The LLM sees the answer IN the condition itself - very confusing!": (
        "A condition that holds the output itself"
    ),
    "| `halt` | Stop immediately, fail workflow | Errors are critical |": (
        "A failed iteration halts the loop and the run"
    ),
    "| `continue` | Log error, continue to next iteration | Errors are expected |": TOLERATED,
    "| `retry` | Retry same iteration | Transient failures |": "The same iteration is tried again",
    "**Workflow called each iteration (dev_cycle.yaml):**": (
        "test_code_is_developed_until_its_review_passes"
    ),
    "### Example 2: Refinement Loop": "test_a_document_is_refined",
    "### Example 3: Search Until Found": "test_a_search_goes_on_after_a_failed_round",
    "### Example 4: Quality Gate": "test_a_document_is_refined",
    "# Look for:": "test_the_words_for_a_judgement",
    "# [INFO] Condition evaluation: 'Your condition' -> YES/NO": "test_the_words_for_a_judgement",
    "| `{{loop_name}}` | Final output from loop |": JUDGED,
    "| `{{loop.iteration}}` | Total iterations completed |": JUDGED,
    "| `{{accumulator_name}}` | Full iteration history (if `accumulate` specified) |": JUDGED,
    "Accumulated history: {{my_loop_accumulator}}": JUDGED,
    "- 2 API calls per iteration (workflow + condition check)": JUDGED,
    "- Exits immediately when condition met (no wasted iterations)": JUDGED,
    "Call a loop from within a loop by using workflow composition:": (
        "A loop inside of a loop, by composition"
    ),
    "### Progressive Refinement": "test_a_document_is_refined",
    "### Multi-Stage Pipeline": "test_stages_follow_each_other",
}


def titles() -> set[str]:
    return {
        line[2:].strip()
        for page in CONFORMANCE.glob("*.md")
        for line in page.read_text().splitlines()
        if line.startswith("# ")
    }


def functions() -> set[str]:
    pages = ROOT.joinpath("tests").rglob("test_*.py")
    return {name for page in pages for name in re.findall(r"def (test_\w+)", page.read_text())}


def test_every_promise_has_a_test() -> None:
    known = titles() | functions()

    assert [test for test in PROMISES.values() if test not in known] == []


@needs_seed
def test_every_promise_is_one_of_the_guide() -> None:
    guide = SEEDS[0].read_text()

    assert [sentence for sentence in PROMISES if sentence not in guide] == []


def blocks() -> list[tuple[int, str]]:
    """The YAML blocks of the guide that hold a workflow or loops, with their lines."""
    if not SEEDS:
        return []
    guide = SEEDS[0].read_text()
    found = []
    for match in re.finditer(r"^ *```yaml\n(.*?)^ *```", guide, re.DOTALL | re.MULTILINE):
        body = match[1]
        is_file = re.search(r"^(steps|loops):", body, re.MULTILINE)
        if is_file and "inner_workflow.yaml" not in body and "\naccumulate:" not in body:
            found.append((guide[: match.start()].count("\n") + 2, body))
    return found


@needs_seed
@pytest.mark.parametrize(("line", "body"), blocks())
def test_every_workflow_of_the_guide_is_read(line: int, body: str) -> None:
    framed = body if "$schema" in body else HEAD + body
    given = [n for n in re.findall(r"needs: \[(.*?)\]", framed) for n in n.split(", ")]
    missing = [n for n in given if f"name: {n}" not in framed]
    framed += "".join(
        f"\nloops:\n  - {{name: {name}, workflow: task, max_iterations: 1, until: done}}\n"
        for name in missing
    )

    assert read(framed).workflow.dialect == "mcp-cli", line


@needs_seed
def test_there_are_many_of_them() -> None:
    assert len(blocks()) == 14


@needs_seed
def test_both_files_of_the_nested_pattern_are_read() -> None:
    guide = SEEDS[0].read_text()
    body = next(b for b in re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL) if "outer_loop" in b)
    outer, inner = body.split("# inner_workflow.yaml also has a loop\n")

    reading = read(HEAD + outer, {"inner_workflow.yaml": HEAD + inner})

    assert [key for key, _ in reading.workflow.workflows] == ["task.yaml", "inner_workflow.yaml"]


@needs_seed
def test_what_is_accumulated_is_read_later() -> None:
    guide = SEEDS[0].read_text()
    blocks = re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)
    body = next(block for block in blocks if "\naccumulate:" in block)
    field, steps = body.split("# Access later\n")
    name = field.rpartition(": ")[2].strip()
    loop = f"name: my_loop, workflow: w, max_iterations: 3, until: done, accumulate: {name}"

    reading = read(f"{HEAD}loops:\n  - {{{loop}}}\n{steps}")

    assert [port.name for port in reading.workflow.inputs] == ["input"]


def test_a_good_condition_gets_no_warning() -> None:
    loop = "loops:\n  - {name: a, workflow: b, with: {input: x}, max_iterations: 5, until: PASS}\n"

    assert found_in(HEAD + loop) == []
