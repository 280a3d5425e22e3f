"""What tests workflow files: `test` runs the tests beside them, or replays a recorded run."""

from __future__ import annotations

import difflib
import json
import os
import shlex
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError, plural, safe
from whorl.interfaces.cli.options import (
    json_option,
    located,
    print_json,
    read_inputs,
    with_paths,
    workflow_option,
    write_file,
)
from whorl.interfaces.cli.terminal import echo, print_lines, say
from whorl.source.paths import open_file
from whorl.wings.testing.files import read_test_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.errors import Diagnostic
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project
    from whorl.services.replay import Cassette, Replayed


CASSETTE_BYTES_MAX = 50_000_000
_LISTED_MAX = 20


@click.command()
@click.argument("files", metavar="[FILE]...", nargs=-1)
@click.option("--coverage", is_flag=True, help="List the steps, branches and exits not reached.")
@click.option("--fail-under", type=click.FloatRange(0, 100), metavar="PERCENT",
              help="Fail where less was reached.")  # fmt: skip
@click.option("--run", metavar="RUN", help="The run to replay. [default: the newest of FILE]")
@click.option("--cassette", metavar="PATH", help="Replay a saved cassette instead of a run.")
@click.option("--save", metavar="PATH",
              help="Save the run: as tests (.yaml), or as a cassette (.json).")  # fmt: skip
@click.option(
    *("-i", "--input", "inputs"),
    metavar="NAME=VALUE",
    multiple=True,
    help="A secret input, which no recording holds. Repeatable.",
)
@workflow_option
@json_option
@partial(located, drives=True)
def test(
    project: Project,
    *,
    files: tuple[str, ...],
    coverage: bool,
    fail_under: float | None,
    inputs: tuple[str, ...],
    run: str | None,
    cassette: str | None,
    save: str | None,
    workflow: str,
    as_json: bool,
) -> int:
    """Run the tests beside workflow FILES, or FILE against recorded replies.

    \b
      whorl test                                  all tests of the project
      whorl test polish.yaml                      those of polish.test.yaml
      whorl test --coverage --fail-under 80
      whorl test polish.yaml --save polish.test.yaml
      whorl test polish.yaml --cassette tests/polish.json

    A test gives mocks by the names of steps, and says what it expects; time jumps. Nothing is
    sent, but for the steps that a test file names in `real`: they are carried out, with what the
    folder is trusted with.
    Any run is a recording, too: without tests, or with --run or --cassette, FILE is run against
    the replies of a run. A call that is asked something new is shown with both versions; a call
    that was never recorded is a miss. The exit code is 0 when nothing has changed. A recording
    holds no secrets: `***` stands for each, unless -i gives it again.
    """
    from whorl.wings.testing.words import find_tests, test_files

    if run is not None and cassette is not None:
        raise UsageError("--run and --cassette exclude each other", help="leave one of them out")
    is_replayed = bool(run or cassette or save)
    tests = {} if is_replayed else find_tests(project, files)
    if not is_replayed and (not files or coverage or fail_under is not None or any(tests.values())):
        return test_files(project, tests, coverage=coverage, fail_under=fail_under, as_json=as_json)
    if len(files) != 1:
        raise UsageError("a replay is of one FILE", help="whorl test FILE")
    which = (project.locate(files[0]), workflow)
    return _replayed(project, which, inputs, (run, cassette, save), as_json=as_json)


def _replayed(
    project: Project,
    which: tuple[str, str],
    inputs: tuple[str, ...],
    chosen: tuple[str | None, str | None, str | None],
    *,
    as_json: bool,
) -> int:
    """Replays the chosen run or cassette of a file and the workflow meant in it, or saves it."""
    from whorl.services.replay import cassette_from_text, check_secrets, replay

    run, cassette, save = chosen
    workflow = project.read(*which).workflow
    if save is not None and save.endswith((".yaml", ".yml")):
        return _save_test(project, which, run, workflow, save)
    if cassette is not None:
        text = open_file(cassette, size_max=CASSETTE_BYTES_MAX)
        recorded = cassette_from_text(text, cassette)
    else:
        recorded = _recorded(project, which, run, workflow, is_saved=save is not None)
    if save is not None:
        advice = "name a file: --save tests/NAME.json"
        write_file(save, recorded.to_text(), advice=advice, makes_folder=True, is_private=True)
        if as_json:
            print_json({"saved": save, "calls": len(recorded.calls)})
        else:
            echo(f"saved {plural(len(recorded.calls), 'call')} to {save}")
        return 0
    given = with_paths(project, workflow, read_inputs(workflow, inputs))
    check_secrets(workflow, recorded, given)
    replayed = replay(workflow, recorded, given)
    if as_json:
        print_json(asdict(replayed) | {"same": replayed.is_same})
    else:
        print_lines(_replay_lines(which[0], recorded, replayed))
    return 0 if replayed.is_same else 1


def _save_test(
    project: Project, which: tuple[str, str], run: str | None, workflow: Workflow, save: str
) -> int:
    """Writes a test file with mocks by name; one that is there may hold what people wrote."""
    from whorl.wings.testing.files import saved_test

    if Path(save).exists():
        raise UsageError(f"{save!r} exists", help="name another file")
    with closing(_opened(project, which, workflow)) as store:
        chosen = _chosen(store, which, run, workflow)
        _say_changed(store, chosen)
        beside = os.path.relpath(which[0], os.path.dirname(save) or ".")
        text = saved_test(store, chosen, beside.replace(os.sep, "/"), f"as in run {chosen}")
    advice = "name a file: --save NAME.test.yaml"
    write_file(save, text, advice=advice, makes_folder=True, is_private=True)
    say(f"saved run {chosen} as a test to {save}")
    echo(f"whorl test {save}")
    return 0


def _opened(project: Project, which: tuple[str, str], workflow: Workflow) -> SqliteStore:
    """The store of the runs; there has to be one."""
    if not project.has_runs():
        raise _no_run(which, workflow)
    return project.open_store()


def _no_run(which: tuple[str, str], workflow: Workflow) -> UsageError:
    """Nothing of a file can be replayed yet: it says how to run it, with the inputs it needs."""
    needed = [port.name for port in workflow.inputs if port.required and port.default is None]
    file, name = which
    command = shlex.join(["whorl", "run", file, *(["--workflow", name] if name else [])])
    command += "".join(f" -i {each}=VALUE" for each in needed)
    return UsageError(
        f"no run of {file!r} has succeeded yet, so there is nothing to replay",
        help=f"run it once: `{command}`; or name a run with --run",
    )


def _say_changed(store: SqliteStore, run: RunId) -> None:
    """What is saved is what the run did, which may not be what its file says by now."""
    from whorl.services.files.versions import changed_file

    if file := changed_file(store, run):
        changed = f"{safe(os.path.relpath(file))} has changed since run {run} began"
        say(f"{changed}: what is saved is what the earlier version did")


def _recorded(
    project: Project,
    which: tuple[str, str],
    run: str | None,
    workflow: Workflow,
    *,
    is_saved: bool,
) -> Cassette:
    """The recording of a run, or else of the newest run of the file that nobody steered."""
    from whorl.services.inspecting.results import result_of
    from whorl.services.replay import cassette_from_run

    with closing(_opened(project, which, workflow)) as store:
        chosen = _chosen(store, which, run, workflow)
        if is_saved:
            _say_changed(store, chosen)
        return cassette_from_run(store, chosen, result_of(store, chosen))


def _chosen(
    store: SqliteStore, which: tuple[str, str], run: str | None, workflow: Workflow
) -> RunId:
    from whorl.services.replay import steered
    from whorl.services.runs import find_run

    if run is not None:
        chosen = find_run(store, run)
    else:
        file, name = which
        path = Path(file).resolve()
        # Of a file with several workflows, runs of the one that is meant.
        rows = [row for row in store.runs(limit=1_000) if row.file]
        rows = [row for row in rows if not name or row.name.lower() == name.lower()]
        ended = [row for row in rows if row.status == "succeeded"]
        runs = [row.id for row in ended if Path(row.file).resolve() == path]
        if not runs:
            raise _no_run(which, workflow)
        chosen = next((run for run in runs if not steered(store, run)), runs[0])
        if chosen != runs[0]:
            say(f"replaying run {chosen}: newer ones were steered by a person")
    if how := steered(store, chosen):
        say(f"run {chosen} was {how}, which a replay does not do again")
    return chosen


def _replay_lines(file: str, cassette: Cassette, replayed: Replayed) -> Iterator[str]:
    if replayed.is_same:
        replies = plural(len(cassette.calls), "recorded reply", "recorded replies")
        yield f"✓ {file}: the same with {replies}"
        return
    for change in replayed.changes[:_LISTED_MAX]:
        yield f"~ {change.address} is asked something else"
        yield from _difference(change.before, change.now)
    yield from (f"! {address} was never recorded" for address in replayed.misses[:_LISTED_MAX])
    yield from (f"- {address} is not asked any more" for address in replayed.unused[:_LISTED_MAX])
    if replayed.result != replayed.recorded:
        yield "≠ the result differs"
        yield from _difference(replayed.recorded, replayed.result)
    counts = (
        plural(len(replayed.changes), "changed call"),
        plural(len(replayed.misses), "miss", "misses"),
        plural(len(replayed.unused), "reply not used", "replies not used"),
    )
    yield f"✗ {file}: {', '.join(counts)}"


def _difference(before: Json, now: Json) -> Iterator[str]:
    """How two values differ, line by line: long texts are broken where they are."""
    texts = (json.dumps(value, indent=2, ensure_ascii=False) for value in (before, now))
    old, new = (text.replace("\\n", "\n").splitlines() for text in texts)
    lines = difflib.unified_diff(old, new, "recorded", "now", n=2, lineterm="")
    return (f"  {safe(text)}" for text in lines)


def check_file(project: Project, file: str) -> tuple[str, list[Diagnostic]]:
    """What a file of tests comes to; its mistakes are raised."""
    words = plural(len(read_test_file(project, file).fields["tests"]), "test")
    return f"ok ({words}; run them with `whorl test`)", []
