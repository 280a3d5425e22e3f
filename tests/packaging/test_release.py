"""A release says what it is, and everything in it is accounted for."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING

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
    assert release.notes().startswith("The engine")


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
