"""A release says what it is, and everything in it is accounted for."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

import whorl

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parent.parent.parent


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_tag_is_the_version_and_has_notes() -> None:
    release = tool("release")

    assert release.fault_of(f"v{whorl.__version__}") == ""
    assert "is not v" in release.fault_of("v0.0.1")
    assert release.notes().startswith("The first release.")


def pinned() -> set[tuple[str, str]]:
    """Names and versions of all that the wheel is installed with."""
    text = (ROOT / "requirements" / "run.txt").read_text()
    return set(re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.M))


def has_tool(*words: str) -> bool:
    """Whether a program of PyPI can be run; it comes from the network at first."""
    uv = str(Path(sys.executable).parent / "uv")
    return subprocess.run([uv, "tool", "run", *words], capture_output=True).returncode == 0  # noqa: PLW1510


@pytest.mark.slow
def test_the_bills_of_materials_name_all_that_is_in_a_release(tmp_path: Path) -> None:
    release = tool("release")
    if not has_tool("--from", release.CYCLONEDX, "cyclonedx-py", "--version"):
        pytest.skip("uv cannot run cyclonedx-bom: it comes from the network")
    if shutil.which("npm") is None:
        pytest.skip("there is no npm")

    wheel, page = (json.loads(path.read_text()) for path in release.sbom(tmp_path))

    assert {(part["name"], part["version"]) for part in wheel["components"]} == pinned()
    assert all(part["purl"].startswith("pkg:pypi/") for part in wheel["components"])
    assert all(part["externalReferences"][0]["hashes"] for part in wheel["components"])
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    named = {part["name"] for part in page["components"]}
    assert set(lock[""]["dependencies"]) <= named
    assert not named & set(lock[""]["devDependencies"])
    for bill in (wheel, page):
        assert bill["bomFormat"] == "CycloneDX"
        assert bill["metadata"]["component"]["version"] == whorl.__version__


@pytest.mark.slow
def test_the_workflows_of_the_repository_are_linted() -> None:
    if not has_tool("zizmor@1.32.0", "--version"):
        pytest.skip("uv cannot run zizmor: it comes from the network")
    own = Path(sys.executable).parent
    words = ["make", "--assume-old=.venv/.uv", f"BIN={own}", "lint-workflows"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def test_every_dependency_is_listed_with_licence_size_and_reason() -> None:
    dependencies = tool("dependencies")
    rows = dict(
        re.findall(r"^\| ([\w.-]+) \| (.* MB \| .*) \|$", dependencies.PAGE.read_text(), re.M)
    )

    assert dependencies.named() <= set(rows)
    assert set(re.findall(r"^\| ([\w.-]+) \|", dependencies.page(), re.M)) - {"package"} <= set(
        rows
    )
    for name, row in rows.items():
        assert all(cell.strip() for cell in row.split("|")), name


def test_the_workflows_of_the_repository_run_what_is_here() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    for file in (ROOT / ".github" / "workflows").glob("*.yml"):
        jobs = yaml.safe_load(file.read_text())["jobs"]
        for job in jobs.values():
            for step in job["steps"]:
                for name in re.findall(r"^make ([\w-]+)", step.get("run", ""), re.M):
                    assert name in targets, (file.name, name)
                for path in re.findall(r"\b(tools/\w+\.py|\.ci/run)", step.get("run", "")):
                    assert (ROOT / path).exists(), (file.name, path)
