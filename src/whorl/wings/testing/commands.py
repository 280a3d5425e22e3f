"""`whorl test`: runs the tests of workflow files, or replays a recorded run."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import InvalidWorkflow, UsageError, plural, safe
from whorl.errors import as_json as diagnostic_json
from whorl.interfaces.cli import options
from whorl.interfaces.cli.group import show_diagnostics
from whorl.interfaces.cli.terminal import echo, paint, print_lines, say
from whorl.interfaces.formatting import changes
from whorl.ir.walk import index_nodes
from whorl.runtimes.sqlite.listing import MOCKED
from whorl.services.inspecting.results import result_of
from whorl.services.project import candidates
from whorl.services.replay import recording_from_run, recording_from_text, replay, steered
from whorl.services.runs import find_run
from whorl.source.paths import open_file
from whorl.wings.testing import files as test_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.errors import Diagnostic
    from whorl.ir import Workflow
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project
    from whorl.services.replay import Recording, Replayed
    from whorl.wings.testing.files import Suite, Tested
    from whorl.wings.testing.running import Outcome

RECORDING_BYTES_MAX = 50_000_000
_LISTED_MAX = 20


@click.command()
@click.argument("files", metavar="[PATH]...", nargs=-1)
@click.option("--coverage", is_flag=True, help="List the steps that no test reaches.")
@click.option("--fail-under", type=click.FloatRange(0, 100), metavar="PERCENT",
              help="Fail if the tests reach fewer steps than this.")  # fmt: skip
@click.option("--run", metavar="RUN", help="The run to replay. [default: the newest of FILE]")
@click.option("--recording", metavar="PATH", help="Replay a saved recording instead of a run.")
@click.option("--save", metavar="PATH",
              help="Save the run: as tests (.yaml), or as a recording (.json).")  # fmt: skip
@click.option("-i", "--input", "inputs", metavar="NAME=VALUE", multiple=True,
              help="A secret input, which no recording holds. Repeatable.")  # fmt: skip
@options.workflow_option
@options.json_option
@options.located
def test(
    project: Project,
    *,
    files: tuple[str, ...],
    coverage: bool,
    fail_under: float | None,
    inputs: tuple[str, ...],
    run: str | None,
    recording: str | None,
    save: str | None,
    workflow: str,
    as_json: bool,
) -> int:
    """Run the tests beside files, or below folders; or replay FILE with recorded replies.

    \b
      whorl test                                  all tests of the project
      whorl test polish.yaml                      those of polish.test.yaml
      whorl test --coverage --fail-under 80
      whorl test polish.yaml --save polish.test.yaml
      whorl test polish.yaml --recording tests/polish.json

    A test has mocks by step names and what it expects. Nothing is sent, and no test waits.
    Without tests, or with --run or --recording, FILE is run against the recorded replies of a run.
    A changed question is shown in both versions; a call that was not recorded is a miss.
    A recording has `***` in place of each secret; -i gives a secret again.
    """
    if run is not None and recording is not None:
        raise UsageError("--run and --recording exclude each other", help="leave one of them out")
    is_covered = coverage or fail_under is not None
    if not (run or recording or save):
        tests = _find_tests(project, files)
        if not files or is_covered or any(tests.values()):
            least = fail_under or 0.0
            return _test_files(project, tests, is_covered=is_covered, least=least, as_json=as_json)
    if len(files) != 1:
        raise UsageError("a replay is of one FILE", help="whorl test FILE")
    file = project.locate(files[0])
    read = project.read(file, workflow).workflow
    if recording is not None:
        text = open_file(recording, size_max=RECORDING_BYTES_MAX)
        recorded = recording_from_text(text, recording)
    else:
        if not project.has_runs():
            raise _no_run(file, workflow)
        with closing(project.open_store()) as store:
            chosen = find_run(store, run) if run else _newest(store, file, workflow)
            if how := steered(store, chosen):
                say(f"run {chosen} was {how}, which a replay does not repeat")
            if save and save.endswith((".yaml", ".yml")):
                return _save_test(store, chosen, file, save)
            recorded = recording_from_run(store, chosen, result_of(store, chosen))
    if save:
        advice = "name a file: --save tests/NAME.json"
        text = recorded.to_text()
        options.write_file(save, text, advice=advice, is_private=True)
        if as_json:
            options.print_json({"saved": save, "calls": len(recorded.calls)})
        else:
            echo(f"saved {plural(len(recorded.calls), 'call')} to {save}")
        return 0
    replayed = replay(read, recorded, options.read_inputs(project, read, inputs))
    if as_json:
        options.print_json(asdict(replayed) | {"same": replayed.is_same})
    else:
        print_lines(_replay_lines(file, recorded, replayed))
    return 0 if replayed.is_same else 1


def _find_tests(project: Project, files: tuple[str, ...]) -> dict[str, list[str]]:
    """Returns the test files by the name that was given; without a name, those of the project."""
    found: dict[str, list[str]] = {}
    for file in files or (os.path.relpath(project.root),):
        if os.path.isdir(file):
            paths = sorted(path for path, _ in candidates(file) if test_files.is_test_file(path))
            if not paths:
                where = repr(file) if files else "this project"
                advice = "write NAME.test.yaml beside NAME.yaml, or "
                advice += "`whorl test FILE --save NAME.test.yaml`"
                raise UsageError(f"there are no tests in {where}", help=advice)
            found |= {path: [path] for path in map(os.path.normpath, paths)}
        else:
            is_test = test_files.is_test_file(file)
            found[file] = [file] if is_test else test_files.tests_beside(project.locate(file))
    return found


def _test_files(
    project: Project, tests: dict[str, list[str]], *, is_covered: bool, least: float, as_json: bool
) -> int:
    """Runs test files. Returns the exit code: 2 for mistakes, 1 if a test fails."""
    suites: list[Suite] = []
    mistakes: list[Any] = []
    for file in dict.fromkeys(file for each in tests.values() for file in each):
        try:
            suite = test_files.read_test_file(project, file)
        except InvalidWorkflow as fault:
            mistakes += map(diagnostic_json, fault.diagnostics)
            if not as_json:
                show_diagnostics(fault.diagnostics, project.texts(fault.diagnostics))
            continue
        suites.append(suite)
        done = list(test_files.run_tests(suite))
        failed = sum(bool(each.failures) for each in done)
        ended = f"{failed} of {len(done)} failed" if failed else f"{len(done)} passed"
        if not as_json:
            print_lines([f"{safe(suite.file)}: {ended}", *chain(*map(_test_lines, done))])
    covered = list(_coverage(project, tests, suites)) if is_covered else []
    is_under = is_covered and _percent(covered) < least
    all_tested = [tested for suite in suites for tested in suite.tested]
    has_failed = any(tested.failures for tested in all_tested)
    if as_json:
        rows = [
            {"file": each.file, "name": each.name, "ok": not each.failures,
             "failures": each.failures}
            for each in all_tested
        ]  # fmt: skip
        ok = not mistakes and not has_failed
        options.print_json({"ok": ok, "tests": rows, "coverage": covered, "diagnostics": mistakes})
    else:
        print_lines(_summary_lines(all_tested, covered))
        if is_under:
            echo(f"reached {_percent(covered):.0f} %, which is less than {least:g} %")
        if worst := [each.file for each in all_tested if each.failures]:
            say(f"next: {options.pasted('test', worst[0])}")
    return 2 if mistakes else int(is_under or has_failed)


def _test_lines(tested: Tested) -> Iterator[str]:
    mark = paint("✗", "red") if tested.failures else paint("✓", "green")
    yield f"  {mark} {safe(tested.name)}"
    yield from (f"      {safe(line)}" for line in tested.failures)
    if tested.failures and tested.outcome is not None:
        yield from (f"      | {line}" for line in tested.outcome.why())


def _summary_lines(tested: list[Tested], covered: list[dict[str, Any]]) -> Iterator[str]:
    failed = sum(bool(each.failures) for each in tested)
    if len({each.file for each in tested}) > 1:
        yield f"{plural(len(tested), 'test')}, {f'{failed} failed' if failed else 'all passed'}"
    for each in covered:
        reached, missed = each["reached"], each["missed"]
        total = plural(len(reached) + len(missed), "step")
        yield ""
        yield f"{safe(each['file'])}: {len(reached)} of {total} reached ({each['percent']:.0f} %)"
        for step in missed:
            # A called workflow is named in the path of its steps.
            file, _, path = step["path"].rpartition(":")
            line = "" if step["line"] is None else f":{step['line']}"
            place = f"{file or os.path.basename(each['file'])}{line}"
            path = path.replace("@case.", "/").replace("@default", "/else")
            yield f"  not reached  {safe(place)}  {safe(path)}"


def _coverage(
    project: Project, tests: dict[str, list[str]], suites: list[Suite]
) -> Iterator[dict[str, Any]]:
    """Yields the reached steps of each workflow, also of a workflow without tests."""
    by_file: dict[str, list[Suite]] = {}
    for suite in suites:
        by_file.setdefault(os.path.relpath(suite.workflow), []).append(suite)
    for file, each in by_file.items():
        outcomes = (tested.outcome for suite in each for tested in suite.tested)
        yield _covered(file, each[0].reading.workflow, filter(None, outcomes))
    for file in (file for file, each in tests.items() if not each):
        yield _covered(file, project.read(file).workflow, ())


def _covered(file: str, workflow: Workflow, outcomes: Iterable[Outcome]) -> dict[str, Any]:
    """Returns the coverage of one file: the reached steps, the missed steps and the percentage."""
    seen = {
        record["path"]
        for outcome in outcomes
        for record in outcome.records()
        if record["kind"] not in test_files.REPETITIONS and record["status"] != "skipped"
    }
    nodes = index_nodes(workflow)
    # If other nodes have a place in the file, the reader added the nodes without one.
    has_places = any(node.place for node in nodes.values())
    steps = [
        {"path": path, "line": int(node.place.partition(":")[0]) if node.place else None}
        for path, node in nodes.items()
        if node.place or not has_places
    ]
    reached = [step for step in steps if step["path"] in seen]
    missed = [step for step in steps if step["path"] not in seen]
    covered = {"file": file, "reached": reached, "missed": missed}
    return covered | {"percent": round(_percent([covered]), 1)}


def _percent(covered: list[dict[str, Any]]) -> float:
    reached = sum(len(each["reached"]) for each in covered)
    total = reached + sum(len(each["missed"]) for each in covered)
    return 100 * reached / total if total else 100.0


def _no_run(file: str, name: str) -> UsageError:
    command = options.pasted("run", file, *(["--workflow", name] if name else []))
    return UsageError(
        f"no run of {file!r} has succeeded yet, so there is nothing to replay",
        help=f"run it once: `{command}`; or name a run with --run",
    )


def _newest(store: SqliteStore, file: str, name: str) -> RunId:
    """Returns the newest succeeded run of a file, if possible one that no person steered."""
    path = Path(file).resolve()
    runs = [
        row.id
        for row in store.runs(limit=1_000)
        if row.status == "succeeded"
        and MOCKED not in row.labels
        and row.file
        and Path(row.file).resolve() == path
        if not name or row.name.lower() == name.lower()
    ]
    if not runs:
        raise _no_run(file, name)
    return next((run for run in runs if not steered(store, run)), runs[0])


def _save_test(store: SqliteStore, run: RunId, file: str, save: str) -> int:
    """Writes a test file with mocks by name. An existing file is kept, since users edit it."""
    if Path(save).exists():
        raise UsageError(f"{save!r} exists", help="name another file")
    beside = os.path.relpath(file, os.path.dirname(save) or ".").replace(os.sep, "/")
    text = test_files.saved_test(store, run, beside, f"as in run {run}")
    advice = "name a file: --save NAME.test.yaml"
    options.write_file(save, text, advice=advice, is_private=True)
    echo(f"saved run {run} as a test to {save}")
    say(f"next: {options.pasted('test', save)}")
    return 0


def _replay_lines(file: str, recording: Recording, replayed: Replayed) -> Iterator[str]:
    if replayed.is_same:
        replies = plural(len(recording.calls), "recorded reply", "recorded replies")
        yield f"✓ {file}: the same with {replies}"
        return
    for change in replayed.changes[:_LISTED_MAX]:
        yield f"~ {change.address} receives another request"
        yield from (f"  {mark}{text}" for mark, text in changes(change.before, change.now))
    yield from (f"! {address} has no recorded reply" for address in replayed.misses[:_LISTED_MAX])
    yield from (f"- {address} was not called" for address in replayed.unused[:_LISTED_MAX])
    if replayed.result != replayed.recorded:
        yield "≠ the result differs"
        yield from (f"  {mark}{text}" for mark, text in changes(replayed.recorded, replayed.result))
    counts = (
        plural(len(replayed.changes), "changed call"),
        plural(len(replayed.misses), "miss", "misses"),
        plural(len(replayed.unused), "reply not used", "replies not used"),
    )
    yield f"✗ {file}: {', '.join(counts)}"


def check_file(project: Project, file: str) -> tuple[str, list[Diagnostic]]:
    """Returns a summary of a test file; raises InvalidWorkflow with its mistakes."""
    words = plural(len(test_files.read_test_file(project, file).fields["tests"]), "test")
    return f"ok, {words}", []
