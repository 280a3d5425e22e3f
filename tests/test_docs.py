"""The documents: generated pages are fresh, and what they show works."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from threats import COLLECTED, FILES, NUMBERS, PAGE, files_of, rows_of
from waiting import PATIENCE_S
from whorl.dialects import read_workflow

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(language: str) -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        for index, text in enumerate(
            re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.S | re.M)
        ):
            found.append((f"{page.relative_to(ROOT)}#{index}", text))
    return found


EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
WORKFLOWS = [(name, text) for name, text in blocks("yaml") if text.startswith("whorl: 1")]
WORKFLOWS += [(one.name, one.read_text()) for one in EXAMPLES if ".test." not in one.name]


@pytest.mark.parametrize(("name", "text"), WORKFLOWS, ids=[name for name, _ in WORKFLOWS])
def test_workflows_in_documents_and_examples_load(name: str, text: str) -> None:
    assert read_workflow(text, name).workflow.body.nodes


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    ("name", "text"), blocks("python"), ids=[name for name, _ in blocks("python")]
)
def test_programs_in_documents_run(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    done = subprocess.run(
        [sys.executable, "-c", text],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_programs_beside_those_of_langgraph_are_files_that_run() -> None:
    """tests/peers runs the files, and compares what both give."""
    names = ("essay", "gate", "many")
    for language, folder in (("langgraph", "bench/peers"), ("py", "examples/python")):
        shown = [text for name, text in blocks(language) if "langgraph.md" in name]
        assert shown[:3] == [(ROOT / folder / f"{name}.py").read_text() for name in names]

    page = (ROOT / "docs" / "formats" / "langgraph.md").read_text()
    rows = re.findall(r"^\| [^|]+ \| (\d+) \| (\d+) \|$", page, re.M)
    lines = [
        [str(len(re.findall(r"^\s*[^\s#]", text, re.M))) for _, text in blocks(language)[:3]]
        for language in ("langgraph", "py")
    ]
    assert rows == list(zip(*lines, strict=True))


def test_each_end_in_the_tables_has_its_case() -> None:
    page = (ROOT / "docs" / "reference" / "ends.md").read_text()
    cells = [line.split("|") for line in page.splitlines() if line.startswith("| ")]
    named = [row[-2].strip() for row in cells if row[-2].strip() != "case"]
    titles = re.findall(r"^# (.*)$", (ROOT / "conformance/runs/ends.md").read_text(), re.M)

    assert named == titles


@pytest.mark.slow
def test_generated_pages_are_fresh() -> None:
    script = ROOT / "tools" / "generate_docs.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_table_of_what_is_tried_has_each_row_and_counts_its_tests(
    request: pytest.FixtureRequest,
) -> None:
    """`make security` writes what was run; tests may have been added since, and none is gone.

    What another call of pytest has not collected is not compared.
    """
    rows = rows_of(PAGE.read_text())
    collected, files = request.config.stash[COLLECTED], request.config.stash[FILES]
    is_whole = not any("::" in word for word in request.config.args)
    for number, (promised, tests, passed, measured, result) in rows.items():
        told, held = int(tests.replace(",", "")), int(passed.replace(",", ""))
        assert promised
        assert measured
        assert result in ("holds", "in part", "BROKEN", "not run")
        assert result != "holds" or held == told > 0, number
        assert (result == "not run") == (told == 0 and measured == "-"), number
        if is_whole and files.issuperset(files_of().get(number, ())):
            assert told <= collected[number], f"make security ROWS={number}"

    assert tuple(rows) == NUMBERS


TEMPLATES = sorted((ROOT / "src" / "whorl" / "templates" / "native").glob("*.yaml"))
SCORING = [*WORKFLOWS, *((one.name, one.read_text()) for one in TEMPLATES)]
SCORING = [(name, text) for name, text in SCORING if re.search(r"\bscore: \{", text)]
