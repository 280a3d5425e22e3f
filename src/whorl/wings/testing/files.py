"""Test files: reading and checking them, running their tests, and making one from a run.

`polish.test.yaml` has the tests of the `polish.yaml` beside it. A test file in a folder `tests`
may also be for a workflow in the folder above.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import field, replace
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whorl.dialects.mocking import mock_words
from whorl.dialects.native.writing import emit_yaml
from whorl.dialects.reader import parse
from whorl.errors import Diagnostic, InvalidWorkflow, Span, UsageError, did_you_mean
from whorl.ir import ForEach, Loop
from whorl.ir.walk import with_all_nodes
from whorl.lazily import dataclass
from whorl.runtimes.journal.sealed_secrets import shown
from whorl.services.files.preflight import LABEL_LENGTH_MAX
from whorl.services.inspecting.results import loop_document, result_of, workflow_of
from whorl.services.records import document, records_of
from whorl.source import Document, Mapping, Sequence, plain
from whorl.source.paths import open_file
from whorl.wings.testing.mocks import (
    FORMAT,
    Key,
    Mistake,
    Mocks,
    Part,
    check,
    key_of,
    meant_by,
    parts_of,
    steps_of,
)
from whorl.wings.testing.running import RECORDS_MAX, MockedProviders, Setup, run_test

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.dialects import Reading
    from whorl.ir import Node, Workflow
    from whorl.language import Json
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project
    from whorl.wings.testing.mocks import Path as Place
    from whorl.wings.testing.mocks import Step
    from whorl.wings.testing.running import Outcome

ENDINGS = (".test.yaml", ".test.yml", ".test.json")
FOLDER = "tests"
_WORKFLOWS = (".yaml", ".yml", ".json")


@dataclass(slots=True)
class Tested:
    """A test that was run, with its outcome. It passed if `failures` is empty."""

    file: str
    name: str
    failures: list[str]
    outcome: Outcome | None = None


@dataclass(slots=True)
class Suite:
    """A test file with its workflow."""

    file: str
    document: Document
    fields: dict[str, Any]
    workflow: str
    reading: Reading
    tested: list[Tested] = field(default_factory=list)


def is_test_file(file: str) -> bool:
    return file.endswith(ENDINGS)


def tests_beside(file: str) -> list[str]:
    """Returns the test files of a workflow."""
    path = Path(file)
    stem = path.name.rpartition(".")[0] or path.name
    places = [folder / (stem + end) for folder in (path.parent, path.parent / FOLDER)
              for end in ENDINGS]  # fmt: skip
    return [str(place) for place in places if place.is_file()]


def read_test_file(project: Project, file: str) -> Suite:
    """Reads a test file and its workflow; raises InvalidWorkflow with all mistakes."""
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
    """Returns the workflow that a test file names, or the one that matches its own name."""
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
    """Returns the span of a mistake, or of its nearest parent that is in the file."""
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
    """Returns the mocks and the setup of a test. Mistakes of the test are in the mocks."""
    test, mocks = read.fields["tests"][name], Mocks(read.reading.workflow)
    own: dict[str, Any] = test.get("mocks", {})
    for key, value in own.items():
        mocks.add(key, value, ("tests", name, "mocks", key))
    for key, value in read.fields.get("mocks", {}).items():
        if key not in own:
            mocks.add(key, value, ("mocks", key))
    _check_expected(mocks, test["expect"], ("tests", name, "expect"))
    setup = Setup(
        inputs={**read.fields.get("inputs", {}), **test.get("inputs", {})},
        models=[*test.get("models", ()), *read.fields.get("models", ())],
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
                mocks.mistakes.append(Mistake(place, "W005", message, is_key=True))


@dataclass(frozen=True, slots=True)
class Mocked:
    """A run that a test answers: its workflow, its inputs, and its mocked providers."""

    name: str
    workflow: Workflow
    inputs: dict[str, Json]
    iterations: int | None
    providers: MockedProviders


def mocked_run(project: Project, file: str, reading: Reading, test: str) -> Mocked:
    """Returns a run of a file with the answers of the test of this name, or of the first test."""
    found = tests_beside(file)
    if not found:
        name = os.path.basename(file)
        words = f"there are no tests beside {name!r}, whose mocks would answer"
        tests = f"{Path(file).stem}{ENDINGS[0]}"
        advice = f"write {tests}; `whorl test {file} --save {tests}` makes one of a run"
        raise UsageError(words, help=advice)
    suites = [read_test_file(project, each) for each in found]
    names = [name for suite in suites for name in suite.fields["tests"]]
    chosen = test or names[0]
    suite = next((each for each in suites if chosen in each.fields["tests"]), None)
    if suite is None:
        advice = did_you_mean(test, names) or f"known: {', '.join(map(repr, names))}"
        raise UsageError(f"there is no test {test!r} beside {file!r}", help=advice)
    suite.reading = reading
    mocks, setup = _bound(suite, chosen)
    if mocks.mistakes:
        raise _invalid(suite.document, mocks.mistakes)

    def forgetful(node: Node) -> Node:
        """Removes memory across runs, so that no later run reads mocked values."""
        if isinstance(node, Loop) and node.memory is not None:
            return replace(node, memory=replace(node.memory, across_runs=False))
        return node

    workflow = with_all_nodes(mocks.mocked(keeps_retries=setup.retries), forgetful)
    providers = MockedProviders(mocks, setup, project.secrets())
    name = f"{os.path.basename(suite.file)}: {chosen}"[:LABEL_LENGTH_MAX]
    return Mocked(name, workflow, mocks.given | setup.inputs, setup.max_iterations, providers)


def run_tests(read: Suite) -> Iterator[Tested]:
    """Runs the tests of a file, one after the other."""
    for name, test in read.fields["tests"].items():
        mocks, setup = _bound(read, name)
        tested = Tested(read.file, name, [])
        try:
            tested.outcome = run_test(mocks, setup)
            tested.failures = failures_of(tested.outcome, test["expect"])
        except (UsageError, InvalidWorkflow) as fault:
            advice = getattr(fault, "help", "")
            tested.failures = [f"{fault}; {advice}" if advice else str(fault)]
        read.tested.append(tested)
        yield tested


# What a test expects, compared with the outcome of its run.
#
# Objects are compared by the fields that are named, everything else as a whole. `{contains: ...}`
# matches any text or list that contains the value.

_SHOWN_MAX = 300
REPETITIONS = ("iteration", "item")
# The kinds of records for steps that the engine runs without a call.
COMPUTING = (
    *("compute", "assign", "branch", "group", "foreach", "item", "loop", "iteration"),
    *("call", "wait", "stop", "break", "continue"),
)


def failures_of(outcome: Outcome, expect: dict[str, Any]) -> list[str]:
    """Returns one line for each difference from `expect`; problems of the test come first."""
    usual = {"status": "failed" if "error" in expect else "succeeded"}
    return [*dict.fromkeys(outcome.problems), *_failures(outcome, usual | expect)]


def _failures(outcome: Outcome, expect: dict[str, Any]) -> Iterator[str]:
    result = outcome.result
    for name in ("status", "output", "outputs", "usage"):
        if name in expect:
            actual = result[name]
            wanted = _status(outcome, expect[name]) if name == "status" else expect[name]
            why = f"; {result['error']['message']}" if name == "status" and result["error"] else ""
            yield from (line + why for line in differences(wanted, actual, name))
    if "error" in expect:
        yield from _error_faults(expect["error"], result["error"], "error")
    if "seconds" in expect:
        yield from differences(expect["seconds"], round(outcome.seconds, 6), "seconds")
    for text, wanted in expect.get("loops", {}).items():
        key = key_of(text, outcome.mocks.steps)
        rows = [row for row in outcome.journal.loops(outcome.run) if key.fits(row.address)]
        if not rows:
            yield f"loops.{text}: it was not reached"
        for row in rows:
            yield from differences(wanted, loop_document(row), f"loops.{row.address}")
    records = outcome.records() if "steps" in expect else []
    for text, wanted in expect.get("steps", {}).items():
        yield from _step_faults(outcome, records, text, wanted)


def _status(outcome: Outcome, word: str) -> str:
    """Translates a status of the dialect to the engine's word."""
    words = {each.lower(): s for each, s in mock_words(outcome.workflow.dialect).statuses.items()}
    return words.get(word.lower(), word.lower())


def _step_faults(
    outcome: Outcome, records: list[dict[str, Any]], text: str, wanted: dict[str, Any]
) -> Iterator[str]:
    key = key_of(text, outcome.mocks.steps)
    meant = [r for r in records if key.fits(r["address"]) and r["kind"] not in REPETITIONS]
    # A step that makes no call counts as often as it ran.
    ran = sum(r["kind"] in COMPUTING and r["status"] != "skipped" for r in meant)
    count = sum(key.fits(call.address) for call in outcome.calls) or ran
    if "calls" in wanted and count != wanted["calls"]:
        yield f"steps.{text}.calls: expected {wanted['calls']}, got {count}"
    if not meant and set(wanted) - {"calls"}:
        yield f"steps.{text}: it was not reached"
    for record in meant:
        place = f"steps.{record['address']}"
        if "status" in wanted:
            status = _status(outcome, wanted["status"])
            yield from differences(status, record["status"], f"{place}.status")
        if "output" in wanted:
            yield from differences(wanted["output"], record["output"], f"{place}.output")
        if "error" in wanted:
            yield from _error_faults(wanted["error"], record["error"], f"{place}.error")
    if "inputs" in wanted:
        # Those of calls, or of the records if the steps made no call.
        given = [(call.address, call.inputs) for call in outcome.calls if key.fits(call.address)]
        for address, inputs in given or [(r["address"], r["inputs"]) for r in meant]:
            yield from differences(wanted["inputs"], inputs, f"steps.{address}.inputs")


def _error_faults(wanted: Any, error: Any, place: str) -> Iterator[str]:
    wanted = {"message": wanted} if isinstance(wanted, str) else wanted
    if error is None:
        yield f"{place}: expected one, there is none"
        return
    codes = (error["code"], (error.get("cause") or {}).get("code"))
    if "code" in wanted and wanted["code"] not in codes:
        yield f"{place}.code: expected {wanted['code']}, got {' and '.join(filter(None, codes))}"
    if wanted.get("message", "") not in str(error["message"]):
        yield from _differs(wanted["message"], error["message"], f"{place}.message", "in it ")


def differences(wanted: Json, actual: Json, place: str) -> Iterator[str]:
    """Yields the differences between a value and what is expected."""
    if isinstance(wanted, dict) and set(wanted) == {"contains"}:
        part = wanted["contains"]
        is_in = part in actual if isinstance(actual, list | dict) else False
        if not is_in and not (isinstance(actual, str) and str(part) in actual):
            yield from _differs(part, actual, place, "in it ")
    elif isinstance(wanted, dict) and isinstance(actual, dict):
        for name, value in wanted.items():
            yield from differences(value, actual.get(name), f"{place}.{name}")
    elif isinstance(wanted, list) and isinstance(actual, list) and len(wanted) == len(actual):
        for at, (value, other) in enumerate(zip(wanted, actual, strict=True)):
            yield from differences(value, other, f"{place}[{at}]")
    elif not _is_same(wanted, actual):
        yield from _differs(wanted, actual, place)


def _is_same(wanted: Json, actual: Json) -> bool:
    if isinstance(wanted, bool) or isinstance(actual, bool):
        return wanted is actual
    if isinstance(wanted, int | float) and isinstance(actual, int | float):
        return isclose(wanted, actual, rel_tol=1e-9, abs_tol=1e-9)
    return wanted == actual


def _differs(wanted: Json, actual: Json, place: str, how: str = "") -> Iterator[str]:
    expected, got = (_shown(value) for value in (wanted, actual))
    yield f"{place}: expected {how}{expected}, got {got}"


def _shown(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}..."


# A test file that is made from a run: mocks by name, with the results of its steps.

_LOOP = ("iterations", "exit_reason", "stopped_by")
_ENDED = ("succeeded", "failed", "timed_out")


def saved_test(store: SqliteStore, run: RunId, workflow: str, name: str) -> str:
    """Returns the text of a test file in which a workflow repeats a run."""
    result: dict[str, Any] = result_of(store, run)
    first = next(iter(store.read(run, limit=1))).event
    steps = steps_of(workflow_of(store, run))
    found = records_of(store, run, depth=None, limit=RECORDS_MAX).records
    records = [record for record in map(document, found) if _is_answered(record)]
    mocks, counts = _mocks(records, steps)
    expect: dict[str, Any] = {"status": result["status"], "outputs": result["outputs"]}
    if result["error"] is not None:
        expect["error"] = {name: result["error"][name] for name in ("code", "message")}
        del expect["outputs"]
    expect["loops"] = {
        loop["path"]: {name: loop[name] for name in _LOOP if loop[name] is not None}
        for loop in result["loops"]
    }
    expect["steps"] = {key: {"calls": count} for key, count in counts.items()}
    test: dict[str, Any] = {"inputs": shown(first).get("input"), "mocks": mocks}
    test["expect"] = {key: value for key, value in expect.items() if value}
    test |= {"max_iterations": first.body["iterations"]} if first.body.get("iterations") else {}
    whole = {"whorl_tests": FORMAT, "workflow": workflow, "tests": {name: test}}
    return emit_yaml(whole)


def _is_answered(record: dict[str, Any]) -> bool:
    """Returns whether a provider, a service or a person gave the result of a step."""
    inner = record["address"].rpartition("/")[2].startswith(":") and record["kind"] != "judge"
    return record["kind"] not in COMPUTING and record["status"] in _ENDED and not inner


def _mocks(
    records: list[dict[str, Any]], steps: list[Step]
) -> tuple[dict[str, Json], dict[str, int]]:
    """Returns the mocks by key, and the number of calls of each step."""
    answers: dict[str, list[Json]] = {}
    counts: dict[str, int] = {}
    for record in records:
        key = _key(record["address"], steps)
        answers.setdefault(key, []).append(_answer(record))
        if record["kind"] != "gate":
            counts[key] = counts.get(key, 0) + 1
    mocks = {key: each if len(each) > 1 else each[0] for key, each in answers.items()}
    return mocks, counts


def _key(address: str, steps: list[Step]) -> str:
    """Returns the name of a step if only one step has it, or else its path; of items, all of it."""
    parts, lists = parts_of(address), [s.names[-1][0] for s in steps if isinstance(s.node, ForEach)]
    if any(part.name in lists for part in parts if part.number):
        return address
    key = Key(parts[-1].name, (Part(parts[-1].name),))
    is_alone = len({step.names for step in meant_by(key, steps)}) == 1
    return key.text if is_alone else re.sub(r"(\[[0-9]+\])?(#[0-9]+)?(?=/|$)", "", address)


def _answer(record: dict[str, Any]) -> Json:
    answer: dict[str, Json] = {}
    if record["output"] is not None:
        answer["outputs"] = record["output"]
    if record["status"] == "timed_out":
        answer["status"] = "timed_out"
    elif record["error"] is not None:
        error = record["error"].get("cause") or record["error"]
        answer["error"] = {
            name: error[name] for name in ("code", "message", "status") if name in error
        }
    return answer or {"outputs": None}
