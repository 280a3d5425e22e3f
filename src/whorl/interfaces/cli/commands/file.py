"""The commands about workflow files: check, convert, draw, lint and import them; their schemas."""

from __future__ import annotations

import os
import sys
from contextlib import closing, suppress
from dataclasses import asdict, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whorl.dialects import Reading, dialects
from whorl.dialects.reader import parse
from whorl.errors import (
    Diagnostic,
    InvalidWorkflow,
    ProviderError,
    SeveralWorkflows,
    Span,
    UsageError,
    plural,
    safe,
)
from whorl.errors import as_json as diagnostic_json
from whorl.interfaces.cli import options
from whorl.interfaces.cli.commands import with_json
from whorl.interfaces.cli.group import show_diagnostics
from whorl.interfaces.cli.terminal import echo, hand_over, print_lines, say
from whorl.interfaces.diagrams.text import limit_words
from whorl.interfaces.formatting import table
from whorl.interfaces.status_words import calls_words, effects_words, forecast_words
from whorl.ir import Loop
from whorl.ir.walk import index_nodes, is_program, walk
from whorl.ir.worst_case import worst_case
from whorl.lazily import dataclass
from whorl.plugins import FileKind, load_reference, wings
from whorl.providers.registry import Providers
from whorl.services.configuration.trust import CONFIG_NAME
from whorl.services.files.forecasting import Forecast, forecast, named_in
from whorl.services.files.preflight import missing_permissions, unknown_names
from whorl.services.project import FILES_MAX, SUFFIXES, candidates, find_project, is_other
from whorl.source.paths import open_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whorl.ir import Workflow
    from whorl.services.project import Project

    Report = dict[str, Any]


# The columns of `--needs`, and what fills them.
_NEEDS = ("programs", "hosts", "files", "MCP servers", "keys")


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--known", is_flag=True, help="Leave out files that are not workflows.")
@click.option("--needs", "is_table", is_flag=True, help="List what each workflow needs.")
@options.workflow_option
@with_json
def validate(
    project: Project,
    *,
    paths: tuple[str, ...],
    known: bool,
    is_table: bool,
    workflow: str,
    as_json: bool,
) -> int:
    """Check files, and folders with all below them; by default, the project. Nothing is run.

    Workflows, tests, experiments and whorl.toml are checked; all mistakes are listed.

    \b
      whorl validate flows/*.yaml
      whorl validate
      whorl validate flows --needs
    """
    paths = paths or (os.path.relpath(project.root),)
    is_one = len(paths) == 1 and not Path(paths[0]).is_dir()
    check = _Check(project, is_quiet=as_json or is_table, is_known=known, is_one=is_one)
    reports: list[Report] = []
    for path in paths:
        reports += check.folder(path) if Path(path).is_dir() else check.file(path, workflow)
    bad = sum(not each["ok"] for each in reports)
    if as_json:
        left = () if is_table else ("requires",)
        options.print_json([{n: v for n, v in each.items() if n not in left} for each in reports])
        return 2 if bad else 0
    if is_table:
        listed = ((r["file"], r["requires"].values()) for r in reports if "requires" in r)
        rows = [(safe(file), *(safe(", ".join(n)) or "-" for n in needs)) for file, needs in listed]
        print_lines(table([("file", *_NEEDS), *rows]))
    for diagnostics, texts in check.found:
        show_diagnostics(diagnostics, texts)
    if not (is_table or is_one):
        odd = sum(each["ok"] and bool(each["diagnostics"]) for each in reports)
        counts = ((odd, "warning"), (bad, "error"))
        words = [f"{len(reports) - bad - odd} ok", *(plural(n, what) for n, what in counts if n)]
        echo(f"{plural(len(reports), 'file')}: {', '.join(words)}")
    elif is_one and len(reports) == 1 and "steps" in reports[0] and not is_table:
        words = ["run", paths[0], *(["--workflow", workflow] if workflow else [])]
        say(f"next: {options.pasted(*words)}")
    return 2 if bad else 0


@dataclass(slots=True)
class _Check:
    """Checks files, and prints a line for each unless it `is_quiet`.

    In a folder, it leaves out files that are probably not workflows and, if `is_known`, files of an
    unknown format. `found` holds mistakes and warnings, each with the texts that they are about.
    """

    project: Project
    is_known: bool = False
    is_quiet: bool = False
    is_one: bool = False
    found: list[tuple[Sequence[Diagnostic], dict[str, str]]] = field(default_factory=list)

    def folder(self, folder: str) -> list[Report]:
        """The reports of all files below a folder."""
        paths = sorted(path for path, _ in candidates(folder, (*SUFFIXES, CONFIG_NAME)))
        if len(paths) == FILES_MAX:
            say(f"{safe(folder)} has more than {FILES_MAX} files; only these are checked")
        names = [os.path.normpath(path) for path in paths]
        return [report for name in names for report in self.file(name, folder=folder)]

    def file(self, file: str, name: str = "", folder: str = "") -> list[Report]:
        """Returns the report of a file; one for each workflow if none of several is named."""
        report: Report = {"ok": True, "diagnostics": []}
        texts: dict[str, str] = {}
        try:
            if os.path.basename(file) == CONFIG_NAME:
                # In the project of its own folder.
                find_project(self.project.environment, folder=Path(file).parent).settings()
                words = "ok, configuration"
            elif (kind := self._kind(file)) is not None:
                check: Any = load_reference(kind.check)
                words, report["diagnostics"] = check(self.project, file)
            else:
                report, words, texts = self._of_workflow(file, name)
        except InvalidWorkflow as fault:
            if isinstance(fault, SeveralWorkflows) and not name:
                return [part for each in fault.names for part in self.file(file, each, folder)]
            mistakes = fault.diagnostics
            if self.is_known and all(mistake.code == "W018" for mistake in mistakes):
                return []
            place = os.path.relpath(file, folder) if folder else ""
            if place and is_other(fault, Path(place).as_posix()):
                return []
            report, texts = {"ok": False, "diagnostics": mistakes}, self.project.texts(mistakes)
        except (UsageError, ProviderError) as fault:
            own = self.project.config
            if not folder or (own is not None and Path(file).resolve() == own.resolve()):
                raise
            mistake = Diagnostic(fault.code, f"{file}: {fault}", help=getattr(fault, "help", ""))
            report = {"ok": False, "diagnostics": [mistake]}
        diagnostics = report["diagnostics"]
        if diagnostics:
            self.found.append((diagnostics, texts))
        report = {"file": file, **report, "diagnostics": [*map(diagnostic_json, diagnostics)]}
        severities = [diagnostic.severity for diagnostic in diagnostics]
        counts = ((severities.count(what), what) for what in ("error", "warning"))
        counted = ", ".join(plural(count, what) for count, what in counts if count)
        if not self.is_quiet and (report["ok"] or not self.is_one):
            line = words if report["ok"] else counted
            echo(f"{safe(file)}{f' {safe(name)}' if name else ''}: {line}")
        return [report]

    def _kind(self, file: str) -> FileKind | None:
        """Returns the kind of a non-workflow file, by its text or (unless `is_known`) its name."""
        path, text = Path(file), ""
        kinds = [kind for wing in wings() for kind in wing.files]
        if path.suffix in (".yaml", ".yml", ".json") and path.is_file():
            text = open_file(file)
        for kind in kinds:
            # Most files are of no such kind, so the code of a kind is loaded only if needed.
            if kind.word and kind.word in text:
                claims: Any = load_reference(kind.claims)
                if claims(text, file):
                    return kind
        named = (kind for kind in kinds if kind.infix and kind.infix in path.name)
        return None if self.is_known else next(named, None)

    def _of_workflow(self, file: str, name: str) -> tuple[Report, str, dict[str, str]]:
        """The report of a workflow, the words for it, and the texts that it was read from."""
        reading = self.project.read(file, name)
        is_dry = is_program(reading.workflow)
        written, reading = reading.workflow, replace(reading, workflow=_rehearsed(reading.workflow))
        workflow, settings = reading.workflow, self.project.settings()
        notes, needs = _findings(self.project, reading)
        # How much code does is known only afterwards.
        worst, providers = worst_case(written), Providers(settings)
        foreseen = forecast(workflow, providers, included=reading.included)
        foreseen = replace(foreseen, calls=worst.calls, usual=worst.typical)
        effects = foreseen.effects
        facts = {
            "name": workflow.name,
            "dialect": workflow.dialect,
            "steps": len(index_nodes(workflow)),
            "calls_max": worst.calls,
            "calls_without_retries": worst.typical,
            "bound_usd": foreseen.bound_usd,
            "limits": {key: value for key, value in asdict(workflow.limits).items() if value},
            "effects": asdict(effects),
        }
        files = (*effects.reads, *effects.writes)
        required = (effects.runs, effects.calls, files, *named_in(workflow, settings))
        facts["requires"] = dict(zip(_NEEDS, map(list, required), strict=True))
        words = f"ok, {', '.join(_fact_words(facts, reading, foreseen))}"
        if is_dry:
            words += "\n  from a dry run: invented answers, two iterations of each loop"
        if outside := effects_words(effects):
            words += f"\n  {outside}"
        diagnostics = [*reading.warnings, *notes]
        report = {"ok": True, "diagnostics": diagnostics, "needs": needs, **facts}
        return report, words, dict(reading.sources)


def _findings(project: Project, reading: Reading) -> tuple[list[Diagnostic], list[str]]:
    """Returns problems that a run would have although the file is valid, and what it needs."""
    settings, warning = project.settings(), partial(Diagnostic, severity="warning")
    found = [warning("W023", note) for note in project.configuration().notes]
    if (untrusted := settings.untrusted) is not None:
        # What it configures is missing, so names that may be in it are not reported.
        return [*found, warning(untrusted.code, str(untrusted), help=untrusted.help)], []
    names = unknown_names(reading.workflow, Providers(settings))
    shown = (replace(n, message=f"step {n.path!r} {n.message}") for n in names if n.is_named)
    lacking = [*missing_permissions(reading.workflow, settings), *shown]
    found += [warning(each.code, each.message, _span(reading, each.path)) for each in lacking]
    return found, [*dict.fromkeys(each.needs for each in lacking)]


def _span(reading: Reading, path: str) -> Span | None:
    """Returns the place of a step in the file; for a step of a called file, the file's top."""
    file = next(iter(reading.sources), "")
    places = (node.place for at, node in walk(reading.workflow.body) if at == path)
    line, _, column = next(places, "").partition(":")
    if not line.isdecimal() or not column.isdecimal():
        return Span(file, 1, 1) if file else None
    return Span(file, int(line), int(column), len(path.rpartition("/")[2]))


def _fact_words(facts: Report, reading: Reading, foreseen: Forecast) -> Iterator[str]:
    loops = sum(isinstance(node, Loop) for node in index_nodes(reading.workflow).values())
    yield facts["dialect"]
    yield plural(loops, "loop") if loops else plural(facts["steps"], "step")
    limits, calls = reading.workflow.limits, facts["calls_max"]
    if calls != 0 and limits.cost_usd is not None and not foreseen.is_priced:
        # The same words as before a run: money of unknown prices bounds nothing.
        yield forecast_words(foreseen)
        limits = replace(limits, cost_usd=None)
    elif calls != 0:
        yield calls_words(calls, facts["calls_without_retries"])
    yield from (f"bounded by {words}" for words in [limit_words(limits)] if words)


@click.command(name="import")
@click.argument("database", metavar="DATABASE")
@click.argument("folder", metavar="[FOLDER]", default=".")
@click.option("--archived", is_flag=True, help="Import archived workflows, too.")
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@with_json
def import_command(
    project: Project, *, database: str, folder: str, archived: bool, force: bool, as_json: bool
) -> None:
    """Write the workflows of another program's DATABASE as files into FOLDER.

    \b
      whorl file import ~/.ai-studio/data.db flows

    The database is only read. No key is copied, and no password of a step.
    """
    from whorl.services.files.importing import take_over

    taken = take_over(Path(database).expanduser(), archived=archived)
    paths = {str(Path(folder) / name): text for name, text in taken.files.items()}
    if outside := [path for path in paths if Path(path).resolve().parent != Path(folder).resolve()]:
        words = f"{outside[0]!r} would be written outside of {folder!r}"
        raise UsageError(words, help="name another FOLDER")
    existing = [path for path in paths if Path(path).exists()]
    if existing and not force:
        words = f"{plural(len(existing), 'file')} would be overwritten, such as {existing[0]!r}"
        raise UsageError(words, help="name another FOLDER, or overwrite them with --force")
    for path, text in paths.items():
        options.write_file(path, text, advice="name another FOLDER")
        say(*[] if as_json else [f"wrote {safe(path)}"])
    if as_json:
        options.print_json({"files": [*paths], "notes": [*taken.notes]})
    else:
        say(*map(safe, taken.notes))


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--target", metavar="SYSTEM",
              help="The original system. [default: by the format]")  # fmt: skip
@options.workflow_option
@with_json
def lint(project: Project, *, file: str, target: str | None, workflow: str, as_json: bool) -> int:
    """Check FILE against the rules of its original system.

    \b
      whorl file lint workflow.json

    The exit code is 2 if the original system would refuse the file.
    """
    file = project.locate(file)
    try:
        dialect = project.read(file, workflow).workflow.dialect
    except SeveralWorkflows as fault:
        # What would be refused is said of all of them at once.
        dialect = project.read(file, fault.names[0]).workflow.dialect
    # By system, what the system calls its files, and what checks them for it.
    own: dict[str, tuple[str, str]] = getattr(dialects().load(dialect), "linters", {})
    target = target or next(iter(own), "")
    if target not in own:
        words = f"there are no rules{target and f' of {target!r}'} for the format {dialect!r}"
        advice = f"systems: {', '.join(own)}" if own else "Whorl knows no system with this format"
        raise UsageError(words, help=advice)
    text = open_file(file)
    check: Any = load_reference(own[target][1])
    diagnostics, is_refused = check(parse(text, file, lenient=True))
    if as_json:
        options.print_json([*map(diagnostic_json, diagnostics)])
    elif diagnostics:
        show_diagnostics(diagnostics, {file: text})
    else:
        echo(f"{safe(file)}: nothing that {target} would refuse")
    return 2 if is_refused else 0


@click.command()
@click.argument("file", metavar="FILE")
@options.workflow_option
@options.output_option(overwrites=False)
@options.located
def convert(project: Project, *, file: str, workflow: str) -> None:
    """Write FILE in the native format.

    \b
      whorl file convert flow.json -o flow.yaml

    The result includes the workflows that FILE calls. No file is overwritten.
    """
    from whorl.dialects.native import writing

    file = project.locate(file)
    reading = project.read(file, workflow)
    text, secrets = writing.convert(reading.workflow, reading.sources, file)
    _print_document(text)
    if secrets:
        say(f"warning: values of secret inputs are not written: {safe(', '.join(secrets))}")
    if own := [f"-i {safe(name)}=@FILE" for name in secrets if ": " not in name]:
        say(f"give them to each run: {' '.join(own)}")


def _print_document(text: str) -> None:
    """Prints a text that was made of a file, to a file as it is."""
    (echo if sys.stdout.isatty() else hand_over)(text.removesuffix("\n"))


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--text", is_flag=True, help="A tree of text. [default]")
@click.option("--mermaid", is_flag=True, help="A Mermaid flowchart.")
@click.option("--svg", is_flag=True, help="An SVG picture.")
@options.workflow_option
@options.output_option(svg="svg", mmd="mermaid")
@options.located
def graph(project: Project, *, file: str, workflow: str, **forms: bool) -> None:
    """Draw a workflow FILE, or what a RUN of a program has done. Nothing is run.

    \b
      whorl file graph polish.yaml
      whorl file graph last
      whorl file graph polish.yaml --svg -o polish.svg
      whorl file graph polish.yaml --mermaid > polish.mmd
    """
    from whorl.interfaces.diagrams import svg, text

    form = next((name for name, is_chosen in forms.items() if is_chosen), "text")
    draw = {"svg": svg.svg, "mermaid": text.mermaid}.get(form, text.text_tree)
    _print_document(draw(_drawn(project, file, workflow)))


def _drawn(project: Project, file: str, name: str) -> Workflow:
    """Returns the workflow of a file; of a run, what it has requested; of a program, a dry run."""
    if not Path(project.locate(file)).exists() and ":" not in file:
        from whorl.services.inspecting.results import shown_workflow

        with suppress(UsageError), closing(project.open_store()) as store:
            return shown_workflow(store, store.resolve(file))
    return _rehearsed(project.read(project.locate(file), name).workflow)


def _rehearsed(workflow: Workflow) -> Workflow:
    """Returns a workflow; a program as a dry run requests it, for which the engine is loaded."""
    if not is_program(workflow):
        return workflow
    from whorl.services.replay import as_rehearsed

    return as_rehearsed(workflow)


@click.command()
@click.option("--tests", "kind", flag_value="tests", help="The schema of test files.")
@click.option(
    "--experiment", "kind", flag_value="experiment", help="The schema of experiment files."
)
@options.output_option(json="")
def schema(*, kind: str | None) -> None:
    """Print the JSON Schema of native workflow files, for editors. `whorl init` writes them.

    \b
      whorl file schema > whorl.schema.json
      whorl file schema --tests > whorl.test.schema.json
    """
    from whorl.interfaces.cli.commands.start import schemas

    known = schemas()
    if (kind or "workflow") not in known:
        raise UsageError(f"this installation of whorl has no {kind}", code="W025")
    options.print_json(known[kind or "workflow"])
