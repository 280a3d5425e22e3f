"""Test files: read, checked with lines and columns, and run one test after the other.

`polish.test.yaml` has the tests of the `polish.yaml` beside it, or in the folder above where it
lies in a folder `tests`.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whorl.dialects.reader import parse
from whorl.errors import Diagnostic, InvalidWorkflow, Span, UsageError
from whorl.ir import Loop
from whorl.lazily import dataclass
from whorl.services.configuration.trust import VARIABLE
from whorl.services.replay import cassette_from_text
from whorl.source import Document, Mapping, Sequence, plain
from whorl.source.paths import open_file
from whorl.wings.testing.checking import failures_of
from whorl.wings.testing.format import Mistake, check
from whorl.wings.testing.mocks import Mocks
from whorl.wings.testing.running import run_test
from whorl.wings.testing.step_keys import meant_by
from whorl.wings.testing.unmocked import Setup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.dialects import Reading
    from whorl.services.project import Project
    from whorl.wings.testing.format import Path as Place
    from whorl.wings.testing.running import Outcome

ENDINGS = (".test.yaml", ".test.yml", ".test.json")
FOLDER = "tests"
CASSETTE_BYTES_MAX = 50_000_000
_WORKFLOWS = (".yaml", ".yml", ".json")


@dataclass(slots=True)
class Tested:
    """A test that was run: what is not as expected (nothing: it passed), and its outcome."""

    file: str
    name: str
    failures: list[str]
    outcome: Outcome | None = None


@dataclass(slots=True)
class Suite:
    """A test file with the workflow that it is about."""

    file: str
    document: Document
    fields: dict[str, Any]
    workflow: str
    reading: Reading
    tested: list[Tested] = field(default_factory=list)


def is_test_file(file: str) -> bool:
    return file.endswith(ENDINGS)


def tests_beside(file: str) -> list[str]:
    """The test files of a workflow."""
    path = Path(file)
    stem = path.name.rpartition(".")[0] or path.name
    places = [folder / (stem + end) for folder in (path.parent, path.parent / FOLDER)
              for end in ENDINGS]  # fmt: skip
    return [str(place) for place in places if place.is_file()]


def read_test_file(project: Project, file: str) -> Suite:
    """Reads a test file and its workflow; raises InvalidWorkflow with all that is wrong with it."""
    document = parse(open_file(file), file)
    fields: Any = plain(document.root)
    mistakes = check(fields)
    if mistakes:
        raise _invalid(document, mistakes)
    span = _span(document, Mistake(("workflow",), "", ""))
    opened = project.files(file).open(file, _workflow_of(document, fields), span)
    reading = project.read_text(opened.text, opened.path, fields.get("name", ""))
    read = Suite(file, document, fields, os.path.relpath(opened.path), reading)
    mistakes = [m for name in fields["tests"] for m in _bound(read, name)[0].mistakes]
    if mistakes:
        raise _invalid(document, list(dict.fromkeys(mistakes)))
    return read


def _workflow_of(document: Document, fields: dict[str, Any]) -> str:
    """How a test file names its workflow, or would name it."""
    if "workflow" in fields:
        return str(fields["workflow"])
    file = document.file
    folder, name = os.path.split(file)
    stem = next(name.removesuffix(end) for end in (*ENDINGS, "") if name.endswith(end))
    is_inside = os.path.basename(os.path.abspath(folder)) == FOLDER
    for place in ("", "../") if is_inside else ("",):
        for end in _WORKFLOWS:
            if os.path.isfile(os.path.join(folder, place + stem + end)):
                return place + stem + end
    message = f"there is no workflow {stem!r} beside the test file"
    advice = "name its file: `workflow: FILE`"
    raise InvalidWorkflow([Diagnostic("W006", message, Span(file, 1, 1), help=advice)])


def _invalid(document: Document, mistakes: list[Mistake]) -> InvalidWorkflow:
    return InvalidWorkflow(
        [Diagnostic(m.code, m.message, _span(document, m), help=m.help) for m in mistakes]
    )


def _span(document: Document, mistake: Mistake) -> Span:
    """Where the place of a mistake stands, or the nearest that is there."""
    value, span = document.root, document.root.span
    for part in mistake.path:
        if isinstance(value, Mapping) and (entry := value.entry(str(part))) is not None:
            value, span = entry.value, entry.key.span
        elif isinstance(value, Sequence) and isinstance(part, int) and part < len(value):
            value = value.items[part]
            span = value.span
        else:
            return span
    return span if mistake.is_key else value.span


def _bound(read: Suite, name: str) -> tuple[Mocks, Setup]:
    """The mocks of a test and what else it gives; what is wrong with it is in the mocks."""
    test, mocks = read.fields["tests"][name], Mocks(read.reading.workflow)
    own: dict[str, Any] = test.get("mocks", {})
    for key, value in own.items():
        mocks.add(key, value, ("tests", name, "mocks", key))
    for key, value in read.fields.get("mocks", {}).items():
        if key not in own:
            mocks.add(key, value, ("mocks", key))
    real = []
    for place, fields in ((("tests", name), test), ((), read.fields)):
        for at, text in enumerate(fields.get("real", ())):
            meant = mocks.key(text, (*place, "real", at))
            real += [] if meant is None else [meant]
    _check_expected(mocks, test["expect"], ("tests", name, "expect"))
    setup = Setup(
        inputs={**read.fields.get("inputs", {}), **test.get("inputs", {})},
        models=[*test.get("models", ()), *read.fields.get("models", ())],
        real=real,
        retries=test.get("retries", read.fields.get("retries", False)),
        max_iterations=test.get("max_iterations"),
        budget=test.get("budget"),
    )
    return mocks, setup


def _check_expected(mocks: Mocks, expect: dict[str, Any], path: Place) -> None:
    for part in ("loops", "steps"):
        for text in expect.get(part, {}):
            place = (*path, part, text)
            key = mocks.key(text, place)
            if key is None or part == "steps":
                continue
            if not any(isinstance(step.node, Loop) for step in meant_by(key, mocks.steps)):
                message = f"{text!r} is not a loop"
                mocks.mistakes.append(Mistake(place, "W010", message, is_key=True))


def run_tests(project: Project, read: Suite) -> Iterator[Tested]:
    """Runs the tests of a file, one after the other."""
    for name, test in read.fields["tests"].items():
        mocks, setup = _bound(read, name)
        tested = Tested(read.file, name, [])
        try:
            if setup.real:
                _check_trusted(project, read.file, name)
                setup = replace(setup, settings=project.settings())
            if "cassette" in test:
                named, span = str(test["cassette"]), Span(read.file, 1, 1)
                opened = project.files(read.file).open(read.file, named, span, CASSETTE_BYTES_MAX)
                setup = replace(setup, cassette=cassette_from_text(opened.text, named))
            tested.outcome = run_test(mocks, setup)
            tested.failures = failures_of(tested.outcome, test["expect"])
        except (UsageError, InvalidWorkflow) as fault:
            advice = getattr(fault, "help", "")
            code = "W908: " if getattr(fault, "code", "") == "W908" else ""
            tested.failures = [f"{code}{fault}{f'; {advice}' if advice else ''}"]
        read.tested.append(tested)
        yield tested


def _check_trusted(project: Project, file: str, test: str) -> None:
    """Refuses to carry out what a test of a stranger's folder wants to be real."""
    from whorl.wings.automation.registry import lets_triggers

    if project.settings().untrusted is None and not lets_triggers(project):
        words = f"the test {test!r} has steps that are `real`, and this folder is not trusted"
        command = shlex.join(["whorl", "test", file, "--trust"])
        advice = f"read the file, then say `{command}`; in CI and containers, set {VARIABLE}=1"
        raise UsageError(words, help=f"{advice} in the environment", code="W908")
