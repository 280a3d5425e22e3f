"""What `whorl test` prints: each test, why one failed, and which steps were not reached."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from whorl import ir
from whorl.errors import InvalidWorkflow, UsageError, plural, safe
from whorl.errors import as_json as diagnostic_json
from whorl.interfaces.advice import with_help
from whorl.interfaces.cli.group import show_diagnostics
from whorl.interfaces.cli.options import print_json
from whorl.interfaces.cli.summary import error_lines, loop_lines
from whorl.interfaces.cli.terminal import paint, print_lines
from whorl.ir.walk import index_nodes
from whorl.lazily import dataclass
from whorl.services.discovery import candidates
from whorl.services.inspecting.results import status_words
from whorl.wings.testing.files import is_test_file, read_test_file, run_tests, tests_beside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.ir import Condition, Node, Workflow
    from whorl.services.project import Project
    from whorl.wings.testing.files import Suite, Tested
    from whorl.wings.testing.running import Outcome


def find_tests(project: Project, files: tuple[str, ...]) -> dict[str, list[str]]:
    """The test files that are meant, by what was named; without a name, those of the project."""
    if files:
        named = {file: [file] if is_test_file(file) else [] for file in files}
        return {file: tests or tests_beside(project.locate(file)) for file, tests in named.items()}
    paths = sorted(path for path, _ in candidates(str(project.root)) if is_test_file(path))
    if not paths:
        advice = "write NAME.test.yaml beside NAME.yaml, or `whorl test FILE --save NAME.test.yaml`"
        raise UsageError("there are no tests in this project", help=advice)
    return {path: [path] for path in map(os.path.relpath, paths)}


def test_files(
    project: Project,
    tests: dict[str, list[str]],
    *,
    coverage: bool,
    fail_under: float | None,
    as_json: bool,
) -> int:
    """Runs test files; gives the exit code: 2 for mistakes, 1 where a test fails."""
    suites: list[Suite] = []
    mistakes: list[Any] = []
    for file in dict.fromkeys(file for each in tests.values() for file in each):
        try:
            suite = read_test_file(project, file)
        except InvalidWorkflow as fault:
            mistakes += map(diagnostic_json, fault.diagnostics)
            if not as_json:
                show_diagnostics(fault.diagnostics, project.texts(fault.diagnostics))
            continue
        suites.append(suite)
        for at, tested in enumerate(run_tests(project, suite)):
            if not as_json:
                print_lines(_test_lines(tested, is_first=at == 0))
    covered = list(_covered(project, tests, suites)) if coverage or fail_under is not None else []
    all_tested = [tested for suite in suites for tested in suite.tested]
    is_under = fail_under is not None and _percent(covered) < fail_under
    if as_json:
        print_json(_document(all_tested, covered, mistakes))
    else:
        print_lines(_summary_lines(all_tested, covered, fail_under))
    if mistakes:
        return 2
    return 1 if is_under or any(tested.failures for tested in all_tested) else 0


def _covered(
    project: Project, tests: dict[str, list[str]], suites: list[Suite]
) -> Iterator[Coverage]:
    """What was reached of each workflow, also of one that has no tests."""
    by_file: dict[str, list[Suite]] = {}
    for suite in suites:
        by_file.setdefault(os.path.relpath(suite.workflow), []).append(suite)
    for file, each in by_file.items():
        workflow = each[0].reading.workflow
        outcomes = (tested.outcome for suite in each for tested in suite.tested)
        yield coverage_of(file, workflow, [outcome for outcome in outcomes if outcome is not None])
    for file in (file for file, each in tests.items() if not each):
        yield coverage_of(file, project.read(file).workflow, [])


def _percent(covered: list[Coverage]) -> float:
    total = sum(each.total for each in covered)
    return 100 * sum(len(each.reached) for each in covered) / total if total else 100.0


def _test_lines(tested: Tested, *, is_first: bool) -> Iterator[str]:
    if is_first:
        yield safe(tested.file)
    mark = paint("✗", "red") if tested.failures else paint("✓", "green")
    yield f"  {mark} {safe(tested.name)}"
    yield from (f"      {safe(line)}" for line in tested.failures)
    if tested.failures and tested.outcome is not None:
        yield from (f"      | {line}" for line in why_lines(tested.outcome))


def _summary_lines(
    tested: list[Tested], covered: list[Coverage], fail_under: float | None
) -> Iterator[str]:
    failed = sum(bool(each.failures) for each in tested)
    if tested:
        yield f"{plural(len(tested), 'test')}, {f'{failed} failed' if failed else 'all passed'}"
    for each in covered:
        percent = _percent([each])
        yield ""
        yield f"{safe(each.file)}: {len(each.reached)} of {each.total} reached ({percent:.0f} %)"
        for goal in each.missed:
            line = "" if goal.line is None else f":{goal.line}"
            yield f"  not reached  {_file_of(goal.path, each.file)}{line}  {safe(goal.label)}"
    if fail_under is not None and _percent(covered) < fail_under:
        yield f"reached {_percent(covered):.0f} %, which is less than {fail_under:g} %"


def _file_of(path: str, file: str) -> str:
    """The file that a step stands in: a called one is named in its path."""
    called, colon, _ = path.partition(":")
    return safe(called if colon else os.path.basename(file))


def _document(tested: list[Tested], covered: list[Coverage], mistakes: list[Any]) -> dict[str, Any]:
    tests = [
        {"file": each.file, "name": each.name, "ok": not each.failures, "failures": each.failures}
        for each in tested
    ]
    goals = [
        {
            "file": each.file,
            "percent": round(_percent([each]), 1),
            "reached": [asdict(goal) for goal in each.reached],
            "missed": [asdict(goal) for goal in each.missed],
        }
        for each in covered
    ]
    ok = not mistakes and all(test["ok"] for test in tests)
    return {"ok": ok, "tests": tests, "coverage": goals, "diagnostics": mistakes}


def why_lines(outcome: Outcome) -> Iterator[str]:
    """The same as `whorl why` tells of a run: its loops, its failure, what it waits for."""
    result = with_help(outcome.result, is_kept=False)
    yield f"the run of {outcome.workflow.name} {status_words(str(result['status']))}"
    machine = outcome.machine()
    for row in outcome.journal.loops(outcome.run):
        rows = outcome.iterations(row)
        yield from loop_lines(row, rows, workflow=outcome.workflow, machine=machine)
    if result["error"]:
        yield from error_lines(result["error"])


# Which steps, branches and exits of loops the runs of tests have reached, and where they stand.

_LIMIT = "max_iterations"
_NONE = "no case"
_REPETITIONS = ("iteration", "item")
# What a loop is said to be stopped by, where it is one of these.
_STOPPING: dict[type, str] = {
    ir.When: "expression",
    ir.Score: "score",
    ir.Judge: "judge",
    ir.BranchTaken: "branch",
    ir.Stable: "stable",
    ir.Plateau: "plateau",
}


@dataclass(frozen=True, slots=True)
class Goal:
    """Something that a test can reach: a step, a case of a branch, an exit of a loop.

    `words` are what records and loops tell of it: any of them will do.
    """

    kind: Literal["step", "branch", "exit"]
    path: str
    line: int | None
    words: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        path = self.path.rpartition(":")[2].replace("@case.", "/").replace("@default", "/else")
        if self.kind == "step":
            return path
        return f"{path}: {'case' if self.kind == 'branch' else 'exit by'} {' or '.join(self.words)}"


@dataclass(frozen=True, slots=True)
class Coverage:
    """What of a workflow was reached, in the order of its file, and what was not."""

    file: str
    reached: list[Goal]
    missed: list[Goal]

    @property
    def total(self) -> int:
        return len(self.reached) + len(self.missed)


def coverage_of(file: str, workflow: Workflow, outcomes: Iterable[Outcome]) -> Coverage:
    """What the runs of a workflow have reached of it and of the workflows that it calls."""
    seen = {fact for outcome in outcomes for fact in _seen(outcome)}
    reached: list[Goal] = []
    missed: list[Goal] = []
    for goal in goals_of(workflow):
        facts = [(goal.path, word) for word in goal.words or ("",)]
        (reached if seen.intersection(facts) else missed).append(goal)
    return Coverage(file, reached, missed)


def goals_of(workflow: Workflow) -> Iterator[Goal]:
    nodes = index_nodes(workflow)
    # What has no place in a file, where others have one, its reader has added.
    has_places = any(node.place for node in nodes.values())
    for path, node in nodes.items():
        if node.place or not has_places:
            line = int(node.place.partition(":")[0]) if node.place else None
            yield Goal("step", path, line)
            yield from (Goal("branch", path, line, (name,)) for name in _cases(node))
            yield from (Goal("exit", path, line, words) for words in _exits(node))


def _cases(node: Node) -> Iterator[str]:
    if isinstance(node, ir.Branch):
        yield from (case.name for case in node.cases)
        yield node.default.name if node.default is not None else _NONE


def _exits(node: Node) -> Iterator[tuple[str, ...]]:
    if isinstance(node, ir.Loop):
        conditions = dict.fromkeys(filter(None, map(_stopping, _any_of(node.until))))
        yield from conditions
        yield (_LIMIT,)


def _any_of(condition: Condition | None) -> Iterator[Condition]:
    """The conditions each of which ends a loop."""
    if isinstance(condition, ir.AnyOf):
        for part in condition.conditions:
            yield from _any_of(part)
    elif condition is not None:
        yield condition


def _stopping(condition: Condition) -> tuple[str, ...]:
    """By what a condition is said to have stopped a loop; a score may only measure."""
    if isinstance(condition, ir.AllOf):
        words = (word for part in condition.conditions for word in _stopping(part))
        return tuple(dict.fromkeys(words))
    if isinstance(condition, ir.Score) and condition.at_least is None:
        return ()
    word = _STOPPING.get(type(condition))
    return () if word is None else (word,)


def _seen(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """Pairs of a path and a word; the word is empty for the step itself."""
    paths: dict[str, str] = {}
    for record in outcome.records():
        if record["kind"] in _REPETITIONS or record["status"] == "skipped":
            continue
        path = paths[record["address"]] = record["path"]
        yield path, ""
        if record["kind"] == "branch":
            yield path, record.get("branch") or _NONE
    for loop in outcome.journal.loops(outcome.run):
        path = paths.get(loop.address, "")
        yield path, loop.stopped_by if loop.exit_reason == "condition_met" else loop.exit_reason
