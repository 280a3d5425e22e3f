"""What is done with workflow files: `validate`, `lint`, `convert`, `graph`, `test` by a replay."""

from __future__ import annotations

import difflib
import json
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import Diagnostic, InvalidWorkflow, Span, UsageError, safe
from whorl.errors import as_json as diagnostic_json
from whorl.interfaces.cli.group import show_diagnostics
from whorl.interfaces.cli.options import (
    json_option,
    located,
    print_json,
    read_stdin,
    read_values,
    write_file,
)
from whorl.interfaces.cli.terminal import print_lines, say
from whorl.interfaces.diagrams.text import limit_words
from whorl.interfaces.figures import plural
from whorl.source.paths import open_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.dialects import Reading
    from whorl.language import Json
    from whorl.services.preflight import Forecast
    from whorl.services.project import Project
    from whorl.services.replay import Cassette, Replayed


CASSETTE_BYTES_MAX = 50_000_000
_LISTED_MAX = 20


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@json_option
@located
def validate(project: Project, *, files: tuple[str, ...], as_json: bool) -> int:
    """Check workflow files. Nothing is run; all mistakes of all files are listed.

    \b
      whorl validate flows/*.yaml
    """
    reports = [_check(project, file, is_quiet=as_json) for file in files]
    if as_json:
        print_json(reports)
    return 0 if all(report["ok"] for report in reports) else 2


def _check(project: Project, file: str, *, is_quiet: bool) -> dict[str, Any]:
    from whorl.interfaces.wording import effects_words
    from whorl.ir.walk import index_nodes
    from whorl.ir.worst_case import worst_case
    from whorl.providers.registry import Providers
    from whorl.services.preflight import forecast

    try:
        reading = project.read(file)
    except InvalidWorkflow as fault:
        mistakes = fault.diagnostics
        if not is_quiet:
            show_diagnostics(mistakes, project.texts(mistakes))
        return {"file": file, "ok": False, "diagnostics": [*map(diagnostic_json, mistakes)]}
    warnings = [*reading.warnings, *_needed(project, reading)]
    workflow = reading.workflow
    worst = worst_case(workflow)
    foreseen = forecast(workflow, Providers(project.settings()))
    facts = {
        "name": workflow.name,
        "dialect": workflow.dialect,
        "steps": len(index_nodes(workflow)),
        "calls_max": worst.calls,
        "calls_without_retries": worst.typical,
        "limits": {key: value for key, value in asdict(workflow.limits).items() if value},
        "effects": asdict(foreseen.effects),
    }
    if not is_quiet:
        if warnings:
            show_diagnostics(warnings, reading.sources)
        words = ", ".join(_fact_words(facts, reading, foreseen))
        click.echo(f"{safe(file)}: ok ({words})")
        if outside := effects_words(foreseen.effects):
            click.echo(f"  {outside}")
    return {"file": file, "ok": True, "diagnostics": [*map(diagnostic_json, warnings)], **facts}


def _needed(project: Project, reading: Reading) -> Iterator[Diagnostic]:
    """What a run needs and the configuration does not have: no mistake of the file."""
    from whorl.providers.registry import Providers
    from whorl.services.preflight import refusal, unknown_names

    settings = project.settings()
    needs: list[tuple[str, str, str]] = []
    if (untrusted := settings.untrusted) is not None:
        # What it configures is not there, so nothing is said of names that may be in it.
        words, code = str(untrusted), untrusted.code
        yield Diagnostic(code, words, help=untrusted.help, severity="warning")
        return
    if refused := refusal(reading.workflow, settings):
        needs.append((str(refused["code"]), str(refused["message"]), str(refused["path"])))
    for name in unknown_names(reading.workflow, Providers(settings)):
        if name.is_named:
            needs.append((name.code, f"step {name.path!r} {name.message}", name.path))
    for code, message, path in needs:
        yield Diagnostic(code, message, _span(reading, path), severity="warning")


def _span(reading: Reading, path: str) -> Span | None:
    """Where a step of the file stands; a step of another file that it calls: the file's top."""
    from whorl.ir.walk import walk

    file = next(iter(reading.sources), "")
    places = (node.place for at, node in walk(reading.workflow.body) if at == path)
    line, _, column = next(places, "").partition(":")
    if not line.isdecimal() or not column.isdecimal():
        return Span(file, 1, 1) if file else None
    return Span(file, int(line), int(column), len(path.rpartition("/")[2]))


def _fact_words(facts: dict[str, Any], reading: Reading, foreseen: Forecast) -> list[str]:
    from whorl.interfaces.wording import calls_words, forecast_words

    words = [str(facts["dialect"]), plural(facts["steps"], "step")]
    limited = reading.workflow.limits
    if facts["calls_max"] != 0:
        words.append(calls_words(facts["calls_max"], facts["calls_without_retries"]))
        if limited.cost_usd is not None and not foreseen.is_priced:
            # The same words as before a run: money of unknown prices bounds nothing.
            words[-1], limited = forecast_words(foreseen), replace(limited, cost_usd=None)
    limits = limit_words(limited)
    return [*words, f"bounded by {limits}"] if limits else words


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--target", metavar="SYSTEM",
              help="For whom. [default: the first that its dialect names]")  # fmt: skip
@json_option
@located
def lint(project: Project, *, file: str, target: str | None, as_json: bool) -> int:
    """Say what in FILE another system would refuse, or do otherwise.

    \b
      whorl lint workflow.json

    The exit code is 2 when something would not deploy.
    """
    from whorl.dialects import dialects
    from whorl.dialects.reader import parse
    from whorl.plugins import load_reference

    dialect = project.read(file).workflow.dialect
    own = _linters(dialect)
    target = target or next(iter(own), "")
    if target not in own:
        forms = {each: form for n in dialects().names() for each, (form, _) in _linters(n).items()}
        target = target or next(iter(forms))
        if target not in forms:
            raise UsageError(f"nothing is known of {target!r}", help=f"known: {', '.join(forms)}")
        form = forms[target]
        raise UsageError(
            f"{file!r} is a file of the dialect {dialect!r}, and {target} takes {form} only",
            help=f"only a file that is written as a {form} definition can go to {target}",
        )
    text = open_file(file)
    check: Any = load_reference(own[target][1])
    diagnostics, is_refused = check(parse(text, file, lenient=True))
    if as_json:
        print_json([*map(diagnostic_json, diagnostics)])
    elif diagnostics:
        show_diagnostics(diagnostics, {file: text})
    else:
        click.echo(f"{safe(file)}: nothing that {target} would refuse")
    return 2 if is_refused else 0


def _linters(dialect: str) -> dict[str, tuple[str, str]]:
    """By system, what it calls files of a dialect, and what checks them for it."""
    from whorl.dialects import dialects

    return getattr(dialects().load(dialect), "linters", {})


@click.command()
@click.argument("file", metavar="FILE")
@click.option("-o", "--output", metavar="OUT", help="Write this file. [default: print it]")
@located
def convert(project: Project, *, file: str, output: str | None) -> None:
    """Write FILE in the native format.

    \b
      whorl convert flow.json -o flow.yaml

    It is the same workflow, with the workflows that FILE calls; no file is overwritten.
    """
    from whorl.dialects.native.writing import write_native

    reading = project.read(file)
    text = write_native(reading.workflow, reading.sources, file)
    if output is None:
        click.echo(text, nl=False)
        return
    path, advice = Path(output), "name another OUT"
    if path.exists():
        what = "is the file itself" if path.samefile(file) else "exists"
        raise UsageError(f"{str(path)!r} {what}", help=advice)
    write_file(str(path), text, advice=advice, makes_folder=True)
    say(f"wrote {path}")


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--text", is_flag=True, help="A tree of text. [default]")
@click.option("--mermaid", is_flag=True, help="A Mermaid flowchart.")
@click.option("--svg", is_flag=True, help="An SVG picture.")
@click.option("-o", "--output", metavar="OUT", help="Write to a file instead of the terminal.")
@click.option("--force", is_flag=True, help="Overwrite OUT.")
@located
def graph(project: Project, *, file: str, output: str | None, force: bool, **forms: bool) -> None:
    """Draw a workflow FILE. Nothing is run.

    \b
      whorl graph polish.yaml
      whorl graph polish.yaml --svg -o polish.svg
      whorl graph polish.yaml --mermaid > polish.mmd
    """
    from whorl.interfaces.diagrams import svg, text

    chosen = [name for name, is_chosen in forms.items() if is_chosen]
    if len(chosen) > 1:
        both = " and ".join(f"--{name}" for name in chosen)
        raise UsageError(f"{both} exclude each other", help="choose one form")
    draw = {"svg": svg.svg, "mermaid": text.mermaid}.get("".join(chosen), text.text_tree)
    drawn = draw(project.read(file).workflow)
    if output is None:
        click.echo(drawn)
        return
    if Path(output).resolve() == Path(file).resolve():
        raise UsageError(f"{output!r} is the workflow itself", help="name another file")
    if Path(output).exists() and not force:
        raise UsageError(f"{output!r} exists", help="overwrite it with --force")
    write_file(output, drawn + "\n", advice="name another file")
    say(f"wrote {output}")


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--run", metavar="RUN", help="The run to replay. [default: the newest of FILE]")
@click.option("--cassette", metavar="PATH", help="Replay a saved cassette instead of a run.")
@click.option("--save", metavar="PATH", help="Save the run as a cassette and replay nothing.")
@click.option(
    *("-i", "--input", "inputs"),
    metavar="NAME=VALUE",
    multiple=True,
    help="A secret input, which no recording holds. Repeatable.",
)
@json_option
@located
def test(
    project: Project,
    *,
    file: str,
    inputs: tuple[str, ...],
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
    that was never recorded is a miss. The exit code is 0 when nothing has changed. A recording
    holds no secrets: `***` stands for each, unless -i gives it again.
    """
    from whorl.services.replay import cassette_from_text, replay

    if run is not None and cassette is not None:
        raise UsageError("--run and --cassette exclude each other", help="leave one of them out")
    workflow = project.read(file).workflow
    if cassette is not None:
        text = open_file(cassette, size_max=CASSETTE_BYTES_MAX)
        recorded = cassette_from_text(text, cassette)
    else:
        recorded = _recorded(project, file, run)
    if save is not None:
        advice = "name a file: --save tests/NAME.json"
        write_file(save, recorded.to_text(), advice=advice, makes_folder=True, is_private=True)
        if as_json:
            print_json({"saved": save, "calls": len(recorded.calls)})
        else:
            click.echo(f"saved {plural(len(recorded.calls), 'call')} to {save}")
        return 0
    given = read_values(inputs, "-i", read_stdin)
    replayed = replay(workflow, recorded, given)
    if as_json:
        print_json(asdict(replayed) | {"same": replayed.is_same})
    else:
        print_lines(_replay_lines(file, recorded, replayed))
    return 0 if replayed.is_same else 1


def _recorded(project: Project, file: str, run: str | None) -> Cassette:
    """The recording of a run, or else of the newest run of the file that nobody steered."""
    from whorl.services.replay import cassette_from_run, steered
    from whorl.services.results import result_of
    from whorl.services.runs import find_run

    with closing(project.open_store()) as store:
        if run is not None:
            chosen = find_run(store, run)
        else:
            path = Path(file).resolve()
            rows = [row for row in store.runs(limit=1_000) if row.file]
            ended = [row for row in rows if row.status == "succeeded"]
            runs = [row.id for row in ended if Path(row.file).resolve() == path]
            if not runs:
                raise UsageError(
                    f"no run of {file!r} has succeeded yet, so there is nothing to replay",
                    help=f"run it once: `whorl run {file}`; or name a run with --run",
                )
            chosen = next((run for run in runs if not steered(store, run)), runs[0])
            if chosen != runs[0]:
                say(f"replaying run {chosen}: newer ones were steered by a person")
        if how := steered(store, chosen):
            say(f"run {chosen} was {how}, which a replay does not do again")
        return cassette_from_run(store, chosen, result_of(store, chosen))


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
