"""Literate cases: Markdown with prose, a workflow, what its tasks reply, and what must come of it.

A case begins with a heading and holds fenced blocks:

    yaml dialect=native   the workflow; more files as `yaml file=NAME`
    replies               what tasks reply, by node name or address (see `replies.py`)
    input                 what the run is given
    requests              what people ask for whenever the run rests (see `person.py`)
    options               runs, iterations, limits, explore;
                          crash: why crashes may change the outcome;
                          not_yet: why the case cannot hold yet (it must then fail);
                          clock: virtual, for what only a clock that tests set can show;
                          list_not_yet: why lists show another status (they must then);
                          for cases that are recorded only (see `journals/recorded.py`):
                          interrupted, the address of a call during which the process ends;
                          slice_s, how long each slice takes; cpu_max_s, how long all may
    outcome               what must come of it (see `expecting.py`)
    diagnostics           instead: `CODE LINE:COLUMN text` for each mistake in the file, and
                          ` => ` before a part of its help; `severity=error` or
                          `severity=warning` beside the word: each is one
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2] / "conformance"
_FENCE = re.compile(r"^```(\S+)(.*)$")
_KNOWN = ("replies", "input", "requests", "options", "outcome", "diagnostics")


@dataclass(slots=True)
class Case:
    """One case. The blocks are parsed YAML, but for the workflow and its files."""

    title: str
    file: Path
    line: int
    dialect: str = "native"
    workflow: str = ""
    files: dict[str, str] = field(default_factory=dict)
    blocks: dict[str, Any] = field(default_factory=dict)
    severity: str = ""

    @property
    def id(self) -> str:
        """A name for reports: the file and the title."""
        root = ROOT if self.file.is_relative_to(ROOT) else self.file.parent
        stem = self.file.relative_to(root).with_suffix("").as_posix()
        return f"{stem}: {self.title}"

    @property
    def options(self) -> dict[str, Any]:
        """What is special about the case."""
        found: dict[str, Any] = self.blocks.get("options", {})
        return found


@cache
def load_cases() -> tuple[Case, ...]:
    """All cases."""
    return tuple(case for file in sorted(ROOT.rglob("*.md")) for case in read_cases(file))


def read_cases(file: Path) -> list[Case]:
    """The cases of one file."""
    cases: list[Case] = []
    lines = iter(enumerate(file.read_text(encoding="utf-8").splitlines(), start=1))
    for number, line in lines:
        fence = _FENCE.match(line)
        if line.startswith("# "):
            cases.append(Case(line[2:].strip(), file, number))
        elif fence is not None:
            body = _block(lines)
            _add(cases[-1], fence[1], fence[2], body, number)
    return [case for case in cases if case.workflow]


def _block(lines: Any) -> str:
    found: list[str] = []
    for _, line in lines:
        if line.startswith("```"):
            break
        found.append(line)
    return "\n".join(found) + "\n"


def _add(case: Case, word: str, rest: str, body: str, line: int) -> None:
    marks = dict(mark.split("=", 1) for mark in rest.split())
    if "file" in marks:
        case.files[marks["file"]] = body
    elif "dialect" in marks:
        case.dialect, case.workflow = marks["dialect"], body
    elif word == "diagnostics":
        case.blocks[word] = [line for line in body.splitlines() if line.strip()]
        case.severity = marks.get("severity", "")
    elif word in _KNOWN:
        case.blocks[word] = yaml.load(body, yaml.CSafeLoader)
    else:
        raise ValueError(f"{case.file}:{line}: a block of kind {word!r} is not known")
