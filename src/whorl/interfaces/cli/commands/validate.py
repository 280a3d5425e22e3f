"""`whorl validate`: reads workflow files and lists everything that is wrong in them."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from whorl.errors import InvalidWorkflow, render_all, safe
from whorl.errors import as_json as diagnostic_json
from whorl.interfaces.cli.options import json_option, located, print_json
from whorl.interfaces.cli.view.paint import is_colored
from whorl.interfaces.diagram import limit_words
from whorl.interfaces.figures import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from whorl.dialects import Reading
    from whorl.errors import Diagnostic, Span
    from whorl.ir import RunLimits
    from whorl.services.project import Project


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
    try:
        reading = project.read(file)
    except InvalidWorkflow as fault:
        if not is_quiet:
            _show(fault.diagnostics, project.texts(fault.diagnostics))
        return {"file": file, "ok": False, "diagnostics": _as_json(fault.diagnostics)}
    warnings = [*reading.warnings, *_needed(project, reading)]
    facts = _facts(reading)
    if not is_quiet:
        if warnings:
            _show(warnings, reading.sources)
        words = ", ".join(_words(facts, reading.workflow.limits))
        click.echo(f"{safe(file)}: ok ({words})")
    return {"file": file, "ok": True, "diagnostics": _as_json(warnings), **facts}


def _as_json(diagnostics: Sequence[Diagnostic]) -> list[dict[str, object]]:
    return [diagnostic_json(one) for one in diagnostics]


def _needed(project: Project, reading: Reading) -> Iterator[Diagnostic]:
    """What a run needs and the configuration does not have: no mistake of the file."""
    from whorl.errors import Diagnostic
    from whorl.providers.registry import Providers
    from whorl.services.preflight import refusal, unknown_names

    settings = project.settings()
    refused = refusal(reading.workflow, settings)
    if refused is not None:
        span = _span(reading, str(refused["path"]))
        code, message = str(refused["code"]), str(refused["message"])
        yield Diagnostic(code, message, span, severity="warning")
    for found in unknown_names(reading.workflow, Providers(settings)):
        if found.is_named:
            message = f"step {found.path!r} {found.message}"
            span = _span(reading, found.path)
            yield Diagnostic(found.code, message, span, severity="warning")


def _span(reading: Reading, path: str) -> Span | None:
    """Where a step of the file stands; a step of another file that it calls: the file's top."""
    from whorl.errors import Span
    from whorl.ir.walk import walk

    file = next(iter(reading.sources), "")
    places = (node.place for here, node in walk(reading.workflow.body) if here == path)
    line, _, column = next(places, "").partition(":")
    if not line.isdecimal() or not column.isdecimal():
        return Span(file, 1, 1) if file else None
    return Span(file, int(line), int(column), len(path.rpartition("/")[2]))


def _facts(reading: Reading) -> dict[str, Any]:
    from whorl.ir.walk import index_nodes
    from whorl.ir.worst_case import worst_case

    workflow = reading.workflow
    worst = worst_case(workflow)
    return {
        "name": workflow.name,
        "dialect": workflow.dialect,
        "steps": len(index_nodes(workflow)),
        "calls_max": worst.calls,
        "calls_without_retries": worst.typical,
        "limits": {key: value for key, value in asdict(workflow.limits).items() if value},
    }


def _words(facts: dict[str, Any], limited: RunLimits) -> list[str]:
    from whorl.interfaces.wording import calls_words

    words = [str(facts["dialect"]), plural(facts["steps"], "step")]
    if facts["calls_max"] != 0:
        words.append(calls_words(facts["calls_max"], facts["calls_without_retries"]))
    limits = limit_words(limited)
    return [*words, f"bounded by {limits}"] if limits else words


def _show(diagnostics: Sequence[Diagnostic], texts: Mapping[str, str]) -> None:
    color = sys.stderr.isatty() and is_colored()
    click.echo(render_all(diagnostics, texts, color=color), err=True)


COMMANDS = {"validate": validate}
