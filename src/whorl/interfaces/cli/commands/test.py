"""`whorl test`: runs a workflow against the recorded replies of a run and shows what changed."""

from __future__ import annotations

import difflib
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError, safe
from whorl.interfaces.cli.options import json_option, located, print_json
from whorl.interfaces.cli.stage import say
from whorl.interfaces.figures import plural
from whorl.services.replay import cassette_from_run, cassette_from_text, replay, steered
from whorl.services.results import result_of
from whorl.services.runs import find_run
from whorl.source import open_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.language import Json
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project
    from whorl.services.replay import Cassette, Replayed

CASSETTE_BYTES_MAX = 50_000_000
_LISTED_MAX = 20


@click.command()
@click.argument("file", metavar="FILE")
@click.option(
    "--run", "run", metavar="RUN", help="The run to replay. [default: the newest of FILE]"
)
@click.option("--cassette", metavar="PATH", help="Replay a saved cassette instead of a run.")
@click.option("--save", metavar="PATH", help="Save the run as a cassette and replay nothing.")
@json_option
@located
def test(
    project: Project,
    *,
    file: str,
    run: str | None,
    cassette: str | None,
    save: str | None,
    as_json: bool,
) -> int:
    """Run FILE against recorded replies and show what changed. Nothing is sent.

    \b
      whorl test polish.yaml
      whorl test polish.yaml --save tests/polish.json
      whorl test polish.yaml --cassette tests/polish.json

    Any run is a recording. A call that is asked something new is shown with both versions; a call
    that was never recorded is a miss. The exit code is 0 when nothing has changed.
    """
    if run is not None and cassette is not None:
        raise UsageError("--run and --cassette exclude each other", help="leave one of them out")
    workflow = project.read(file).workflow
    if cassette is not None:
        text = open_file(cassette, size_max=CASSETTE_BYTES_MAX)
        recorded = cassette_from_text(text, cassette)
    else:
        recorded = _recorded(project, file, run)
    if save is not None:
        _save(recorded, Path(save))
        if as_json:
            print_json({"saved": save, "calls": len(recorded.calls)})
        else:
            click.echo(f"saved {plural(len(recorded.calls), 'call')} to {save}")
        return 0
    replayed = replay(workflow, recorded)
    if as_json:
        print_json(asdict(replayed) | {"same": replayed.is_same})
    else:
        for said in _told(file, recorded, replayed):
            click.echo(said)
    return 0 if replayed.is_same else 1


def _save(recorded: Cassette, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(recorded.to_text(), encoding="utf-8")
    except OSError as fault:
        message = f"cannot write {str(path)!r}: {fault.strerror or fault}"
        raise UsageError(message, help="name a file: --save tests/NAME.json") from None


def _recorded(project: Project, file: str, run: str | None) -> Cassette:
    store = project.open_store()
    try:
        found = find_run(store, run) if run is not None else _newest(store, file)
        if how := steered(store, found):
            say(f"run {found} was {how}, which a replay does not do again")
        return cassette_from_run(store, found, result_of(store, found))
    finally:
        store.close()


def _newest(store: SqliteStore, file: str) -> RunId:
    path = str(Path(file).resolve())
    found = [
        row.id
        for row in store.runs(limit=1_000)
        if row.file and str(Path(row.file).resolve()) == path and row.status == "succeeded"
    ]
    for at, run in enumerate(found):
        if not steered(store, run):
            if at:
                say(f"replaying run {run}: newer ones were steered by a person")
            return run
    if found:
        return found[0]
    raise UsageError(
        f"no run of {file!r} has succeeded yet, so there is nothing to replay",
        help=f"run it once: `whorl run {file}`; or name a run with --run",
    )


def _told(file: str, cassette: Cassette, replayed: Replayed) -> Iterator[str]:
    if replayed.is_same:
        replies = plural(len(cassette.calls), "recorded reply", "recorded replies")
        yield f"✓ {file}: the same with {replies}"
        return
    for change in replayed.changes[:_LISTED_MAX]:
        yield f"~ {change.address} is asked something else"
        yield from _difference(change.before, change.now)
    for address in replayed.misses[:_LISTED_MAX]:
        yield f"! {address} was never recorded"
    for address in replayed.unused[:_LISTED_MAX]:
        yield f"- {address} is not asked any more"
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
    lines = difflib.unified_diff(_lines(before), _lines(now), "recorded", "now", n=2, lineterm="")
    for one in lines:
        yield f"  {safe(one)}"


def _lines(value: Json) -> list[str]:
    """A value as lines that can be compared: long texts are broken where they are."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return text.replace("\\n", "\n").splitlines()


COMMANDS = {"test": test}
