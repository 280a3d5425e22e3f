"""What is done with workflow files: `validate`, `lint`, `convert` and `graph`."""

from __future__ import annotations

import os
import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import click

from whorl.errors import (
    Diagnostic,
    InvalidWorkflow,
    SeveralWorkflows,
    Span,
    UsageError,
    plural,
    safe,
)
from whorl.errors import as_json as diagnostic_json
from whorl.interfaces.cli.group import show_diagnostics
from whorl.interfaces.cli.options import (
    json_option,
    located,
    print_json,
    workflow_option,
    write_file,
)
from whorl.interfaces.cli.terminal import echo, say
from whorl.interfaces.diagrams.text import limit_words
from whorl.interfaces.formatting import table
from whorl.plugins import load_reference, wings
from whorl.services.discovery import candidates, is_other
from whorl.source.paths import open_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whorl.dialects import Reading
    from whorl.plugins import FileKind
    from whorl.services.files.forecasting import Forecast
    from whorl.services.files.preflight import Unknown
    from whorl.services.project import Project

    Reports = list[dict[str, Any]]

# What a file of a kind comes to, and what is odd in it.
CheckFile: TypeAlias = "Callable[[Project, str], tuple[str, list[Diagnostic]]]"


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--known", is_flag=True, help="Leave out files that are not workflows.")
@workflow_option
@json_option
@located
def validate(
    project: Project, *, files: tuple[str, ...], known: bool, workflow: str, as_json: bool
) -> int:
    """Check workflow files, or all of a folder. Nothing is run; all mistakes are listed.

    \b
      whorl validate flows/*.yaml
      whorl validate .
    """
    reports: Reports = []
    for file in files:
        if not Path(file).is_dir():
            reports += _check(project, file, workflow, is_quiet=as_json, known=known)
            continue
        for path in (os.path.normpath(path) for path, _ in sorted(candidates(file))):
            reports += _check(project, path, "", is_quiet=as_json, folder=file)
    if as_json:
        print_json(reports)
    elif any(Path(file).is_dir() for file in files):
        for line in table(_overview(reports), right={1}):
            echo(line)
    return 0 if all(report["ok"] for report in reports) else 2


def _overview(reports: Reports) -> Iterator[tuple[str, str, str]]:
    """A row for each file: how many mistakes it has, and what a run of it needs."""
    yield "file", "mistakes", "needs"
    for report in reports:
        mistakes = sum(each["severity"] == "error" for each in report["diagnostics"])
        needs = ", ".join(map(safe, report.get("needs", ()))) or "-"
        yield safe(report["file"]), str(mistakes or "-"), needs
    bad = sum(not report["ok"] for report in reports)
    yield plural(len(reports), "file"), f"{bad} with mistakes", ""


def _check(
    project: Project,
    file: str,
    name: str,
    *,
    is_quiet: bool,
    known: bool = False,
    folder: str = "",
) -> Reports:
    """The report of a file; one for each workflow where it has several and none is named.

    What is probably no workflow is left out of a folder, and of what is only `known` as one.
    """
    try:
        if (kind := _kind(file, known=known)) is not None:
            return [_kind_report(project, file, kind, is_quiet=is_quiet)]
        reading = project.read(file, name)
    except InvalidWorkflow as fault:
        if isinstance(fault, SeveralWorkflows) and not name:
            options: Any = {"is_quiet": is_quiet, "known": known, "folder": folder}
            each = (_check(project, file, n, **options) for n in fault.names)
            return [report for reports in each for report in reports]
        mistakes = fault.diagnostics
        if known and all(mistake.code == "W018" for mistake in mistakes):
            return []
        if folder and is_other(fault, Path(os.path.relpath(file, folder)).as_posix()):
            return []
        if not is_quiet:
            show_diagnostics(mistakes, project.texts(mistakes))
        return [{"file": file, "ok": False, "diagnostics": [*map(diagnostic_json, mistakes)]}]
    return [_report(project, file, reading, name, is_quiet=is_quiet)]


def _kind(file: str, *, known: bool) -> FileKind | None:
    """The kind of a file that is no workflow; of those that are `known` as one, by its text."""
    path, text = Path(file), ""
    kinds = [each for wing in wings() for each in wing.files]
    if path.suffix in (".yaml", ".yml", ".json") and path.is_file():
        text = open_file(file)
    for each in kinds:
        # Most files are none of these, and need nothing of them.
        if each.word and each.word in text:
            claims = cast("Callable[[str, str], bool]", load_reference(each.claims))
            if claims(text, file):
                return each
    return next(
        (each for each in kinds if each.infix and each.infix in path.name and not known), None
    )


def _kind_report(project: Project, file: str, kind: FileKind, *, is_quiet: bool) -> dict[str, Any]:
    """What a file that is no workflow comes to; its mistakes are raised."""
    words, found = cast("CheckFile", load_reference(kind.check))(project, file)
    if not is_quiet:
        say(f"{safe(file)}: {words}")
        if found:
            show_diagnostics(found, {})
    return {"file": file, "ok": True, "diagnostics": [*map(diagnostic_json, found)]}


def _report(
    project: Project, file: str, reading: Reading, name: str, *, is_quiet: bool
) -> dict[str, Any]:
    from whorl.interfaces.status_words import effects_words
    from whorl.ir.walk import index_nodes
    from whorl.ir.worst_case import worst_case
    from whorl.providers.registry import Providers
    from whorl.services.files.forecasting import forecast

    lacking = _lacking(project, reading)
    warnings = [*reading.warnings, *_needed(project, reading, lacking)]
    workflow = reading.workflow
    worst = worst_case(workflow)
    foreseen = forecast(workflow, Providers(project.settings()), included=reading.included)
    facts = {
        "name": workflow.name,
        "dialect": workflow.dialect,
        "steps": len(index_nodes(workflow)),
        "calls_max": worst.calls,
        "calls_without_retries": worst.typical,
        "bound_usd": foreseen.bound_usd,
        "limits": {key: value for key, value in asdict(workflow.limits).items() if value},
        "effects": asdict(foreseen.effects),
    }
    if not is_quiet:
        if warnings:
            show_diagnostics(warnings, reading.sources)
        words, which = ", ".join(_fact_words(facts, reading, foreseen)), f" {safe(name)}"
        echo(f"{safe(file)}{which if name else ''}: ok ({words})")
        if outside := effects_words(foreseen.effects):
            echo(f"  {outside}")
    needs = [*dict.fromkeys(each.needs for each in lacking)]
    listed = [*map(diagnostic_json, warnings)]
    return {"file": file, "ok": True, "diagnostics": listed, "needs": needs, **facts}


def _lacking(project: Project, reading: Reading) -> list[Unknown]:
    """What a run needs and the configuration does not have: no mistake of the file."""
    from whorl.providers.registry import Providers
    from whorl.services.files.preflight import missing_permissions, unknown_names

    settings = project.settings()
    if settings.untrusted is not None:
        # What it configures is not there, so nothing is said of names that may be in it.
        return []
    names = unknown_names(reading.workflow, Providers(settings))
    shown = (replace(n, message=f"step {n.path!r} {n.message}") for n in names if n.is_named)
    return [*missing_permissions(reading.workflow, settings), *shown]


def _needed(project: Project, reading: Reading, lacking: list[Unknown]) -> Iterator[Diagnostic]:
    for note in project.configuration().notes:
        yield Diagnostic("W023", note, severity="warning")
    if (untrusted := project.settings().untrusted) is not None:
        words, code = str(untrusted), untrusted.code
        yield Diagnostic(code, words, help=untrusted.help, severity="warning")
    for each in lacking:
        yield Diagnostic(each.code, each.message, _span(reading, each.path), severity="warning")


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
    from whorl.interfaces.status_words import calls_words, forecast_words

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
@workflow_option
@json_option
@located
def lint(project: Project, *, file: str, target: str | None, workflow: str, as_json: bool) -> int:
    """Say what in FILE another system would refuse, or do otherwise.

    \b
      whorl lint workflow.json

    The exit code is 2 when something would not deploy.
    """
    from whorl.dialects import dialects
    from whorl.dialects.reader import parse
    from whorl.plugins import load_reference

    file = project.locate(file)
    try:
        dialect = project.read(file, workflow).workflow.dialect
    except SeveralWorkflows as fault:
        # What would be refused is said of all of them at once.
        dialect = project.read(file, fault.names[0]).workflow.dialect
    own = _linters(dialect)
    target = target or next(iter(own), "")
    if target not in own:
        forms = {each: form for n in dialects().names() for each, (form, _) in _linters(n).items()}
        target = target or next(iter(forms))
        if target not in forms:
            raise UsageError(f"{target!r} is not known", help=f"known: {', '.join(forms)}")
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
        echo(f"{safe(file)}: nothing that {target} would refuse")
    return 2 if is_refused else 0


def _linters(dialect: str) -> dict[str, tuple[str, str]]:
    """By system, what it calls files of a dialect, and what checks them for it."""
    from whorl.dialects import dialects

    return getattr(dialects().load(dialect), "linters", {})


@click.command()
@click.argument("file", metavar="FILE")
@click.option("-o", "--output", metavar="OUT", help="Write this file. [default: print it]")
@workflow_option
@located
def convert(project: Project, *, file: str, output: str | None, workflow: str) -> None:
    """Write FILE in the native format.

    \b
      whorl convert flow.json -o flow.yaml

    It is the same workflow, with the workflows that FILE calls; no file is overwritten.
    """
    from whorl.dialects.native import writing

    file = project.locate(file)
    reading = project.read(file, workflow)
    text, secrets = writing.convert(reading.workflow, reading.sources, file)
    if output is None:
        echo(text, nl=False)
        _tell_left_out(secrets)
        return
    path, advice = Path(output), "name another OUT"
    if path.exists():
        what = "is the file itself" if path.samefile(file) else "exists"
        raise UsageError(f"{str(path)!r} {what}", help=advice)
    write_file(str(path), text, advice=advice, makes_folder=True)
    say(f"wrote {path}")
    _tell_left_out(secrets)


def _tell_left_out(secrets: list[str]) -> None:
    """Says which secret inputs lost the values that the project has for them."""
    own = [safe(name) for name in secrets if ": " not in name]
    if own:
        flags = " ".join(f"-i {shlex.quote(name)}=@FILE" for name in own)
        say(f"warning: values of secrets are not written; give them to each run: {flags}")
    for key, _, name in (name.rpartition(": ") for name in secrets if ": " in name):
        what = f"the secret input {safe(name)!r} of the workflow {safe(key)!r}"
        say(f"warning: the value of {what} is not written; give it in the call")


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--text", is_flag=True, help="A tree of text. [default]")
@click.option("--mermaid", is_flag=True, help="A Mermaid flowchart.")
@click.option("--svg", is_flag=True, help="An SVG picture.")
@click.option("-o", "--output", metavar="OUT", help="Write to a file instead of the terminal.")
@click.option("--force", is_flag=True, help="Overwrite OUT.")
@workflow_option
@located
def graph(
    project: Project, *, file: str, output: str | None, force: bool, workflow: str, **forms: bool
) -> None:
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
    file = project.locate(file)
    drawn = draw(project.read(file, workflow).workflow)
    if output is None:
        echo(drawn)
        return
    if Path(output).resolve() == Path(file).resolve():
        raise UsageError(f"{output!r} is the workflow itself", help="name another file")
    if Path(output).exists() and not force:
        raise UsageError(f"{output!r} exists", help="overwrite it with --force")
    write_file(output, drawn + "\n", advice="name another file")
    say(f"wrote {output}")
