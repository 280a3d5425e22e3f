"""Files of the public system load as they are, or say what is wrong, where, and what to write."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from mcp_cli_files import HEAD, SHARED, Memory, read

from whorl.dialects import ProjectFiles, read_workflow
from whorl.errors import InvalidWorkflow

if TYPE_CHECKING:
    from pathlib import Path

CORPUS = SHARED / "corpora" / "mcp-cli"
pytestmark = pytest.mark.skipif(not CORPUS.exists(), reason="the files are not beside the project")

FILES = sorted(p for part in ("docs", "examples") for p in (CORPUS / part).rglob("*.yaml"))
BLOCKS = sorted((CORPUS / "docs-blocks").glob("*.yaml"))
# Those that cannot run here, each for what it says.
REFUSED = {
    "main_production_graphrag.yaml": "is absolute",
    "multi-strategy-search.yaml": "rag",
    "advanced-search.yaml": "rag",
    "multi-strategy.yaml": "rag",
    "settings.yaml": "no dialect knows this file",
}
REFUSED_BLOCKS = {
    "README__L41": "lacks the field 'name'",
    "docs__workflows__LOOPS__L199": "no dialect knows",
    "docs__workflows__LOOPS__L227": "no dialect knows",
    "docs__workflows__LOOPS__L426": "no dialect knows",
    "docs__workflows__VARIABLES__L429": "lacks the field 'max_iterations'",
    "docs__workflows__VARIABLES__L512": "has no field 'loop'",
    "docs__workflows__patterns__README__L265": "lacks the field 'max_iterations'",
    "docs__workflows__patterns__README__L370": "lacks the field 'name'",
    "docs__workflows__patterns__iterative-refinement__L230": "no dialect knows",
    "docs__workflows__patterns__iterative-refinement__L241": "no dialect knows",
    "docs__workflows__patterns__iterative-refinement__L362": "no dialect knows",
    "docs__workflows__schema__QUICK_REFERENCE__L441": "is absolute",
    "docs__workflows__schema__QUICK_REFERENCE__L818": "rag",
    "docs__workflows__schema__STEPS_REFERENCE__L679": "is absolute",
    "docs__workflows__schema__STEPS_REFERENCE__L752": "no variable 'step.extract_items'",
    "docs__workflows__schema__STEPS_REFERENCE__L786": "no dialect knows",
}


def check_refusal(fault: InvalidWorkflow, words: str) -> None:
    """Every mistake has a place and says what to do."""
    assert any(words in found.message for found in fault.diagnostics), fault
    for found in fault.diagnostics:
        assert found.span is not None
        assert found.help or found.label, found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_loads_or_says_what_is_wrong(path: Path) -> None:
    try:
        read(path.read_text())
    except InvalidWorkflow as fault:
        check_refusal(fault, REFUSED[path.name])
    else:
        assert path.name not in REFUSED


def framed(text: str) -> str:
    """A piece of a file inside of the smallest frame that makes it one."""
    if "$schema" in text:
        return text
    if text.lstrip().startswith("- name:"):
        text = "steps:\n" + re.sub("^", "  ", text, flags=re.MULTILINE)
    if "execution:" in text:
        return '$schema: "workflow/v2.0"\nname: main\n' + text
    is_piece = re.search(r"^(steps|loops):", text, re.MULTILINE)
    return HEAD + text if is_piece else text


@pytest.mark.parametrize("path", BLOCKS, ids=lambda path: path.stem)
def test_a_block_of_the_documentation_loads_or_says_what_is_wrong(path: Path) -> None:
    text = framed(path.read_text())
    names = set(re.findall(r"name: (\w+)", text))
    needed = {n for part in re.findall(r"needs: \[(.*?)\]", text) for n in part.split(", ")}
    extra = "".join(f"  - {{name: {name}, run: Go}}\n" for name in sorted(needed - names))
    try:
        read(text + (f"\nsteps:\n{extra}" if extra else ""))
    except InvalidWorkflow as fault:
        check_refusal(fault, REFUSED_BLOCKS[path.stem])
    else:
        assert path.stem not in REFUSED_BLOCKS


def test_a_workflow_that_is_not_beside_the_file_is_missed(tmp_path: Path) -> None:
    source = CORPUS / "examples/config/workflows/iterative_dev/iterative_developer.yaml"
    file = tmp_path / "iterative_developer.yaml"
    file.write_text(source.read_text())
    with pytest.raises(InvalidWorkflow) as caught:
        read_workflow(file.read_text(), str(file), ProjectFiles(str(tmp_path)))

    assert sorted({d.code for d in caught.value.diagnostics}) == ["W016"]
    assert all("write" in d.help for d in caught.value.diagnostics)


def test_the_program_of_the_public_system_is_whole_with_its_parts() -> None:
    folder = CORPUS / "examples/config/workflows/iterative_dev"
    files = {path.name: path.read_text() for path in folder.glob("*.yaml")}

    reading = read_workflow(files["iterative_developer.yaml"], "main.yaml", Memory(files))

    assert reading.warnings == ()
    assert {key for key, _ in reading.workflow.workflows} >= {"test_designer.yaml"}
