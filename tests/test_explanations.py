"""The explanations of codes: each example that is a workflow gives the code that it explains."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from whorl.dialects import read_workflow
from whorl.errors import InvalidWorkflow
from whorl.explanations import codes, explain
from whorl.runtimes.start_options import Start
from whorl.services.project import Project
from whorl.services.replay import rehearse

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.ir import Workflow


EXAMPLES = {
    code: found.group(1)
    for code in codes()
    if (found := re.search(r"^```yaml\n(.*?)^```", explain(code) or "", re.S | re.M))
}
OF_FILES = [code for code in EXAMPLES if code.startswith("W")]
OF_RUNS = [code for code in EXAMPLES if not code.startswith("W")]


def whole(text: str) -> str:
    """An example as a file of its own."""
    is_whole = re.search(r"^(\$schema:|whorl:|version:|title:|\{)", text, re.M)
    return text if is_whole else f"whorl: 1\n{text}"


def workflow_of(code: str) -> Workflow:
    return read_workflow(whole(EXAMPLES[code]), "example.yaml").workflow


@pytest.mark.parametrize("code", OF_FILES)
def test_an_example_of_a_mistake_has_it(code: str, tmp_path: Path) -> None:
    named = re.match(r"# (\w+\.yaml)\n", EXAMPLES[code])
    file = tmp_path / (named[1] if named else "example.yaml")
    file.write_text(whole(EXAMPLES[code]))
    try:
        found = Project(tmp_path, None, tmp_path / "store", {}).read(str(file)).warnings
    except InvalidWorkflow as fault:
        found = fault.diagnostics

    assert code in [one.code for one in found]


@pytest.mark.parametrize("code", OF_RUNS)
def test_an_example_of_a_run_is_a_valid_file(code: str) -> None:
    assert workflow_of(code).body.nodes


@pytest.mark.parametrize("code", ["R104", "R105", "R109", "R111"])
def test_an_example_of_a_failure_fails(code: str) -> None:
    workflow = workflow_of(code)
    given = {port.name: "x" for port in workflow.inputs if port.required}
    told = rehearse(workflow, Start(input=given))

    assert told["error"]["code"] == code  # type: ignore[index,call-overload]
