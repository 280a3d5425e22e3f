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
    from collections.abc import Mapping, Sequence

    from whorl.dialects import Reading
    from whorl.errors import Diagnostic
    from whorl.interfaces.project import Project
    from whorl.ir import RunLimits


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


def _check(project: Project, file: str, *, is_quiet: bool) -> dict[str, object]:
    try:
        reading = project.read(file)
    except InvalidWorkflow as fault:
        if not is_quiet:
            _show(fault.diagnostics, project.texts(fault.diagnostics))
        return {"file": file, "ok": False, "diagnostics": _as_json(fault.diagnostics)}
    warnings = [*reading.warnings, *_leave_needed(project, reading)]
    facts = _facts(reading)
    if not is_quiet:
        if warnings:
            _show(warnings, reading.sources)
        words = ", ".join(_words(facts, reading.workflow.limits))
        click.echo(f"{safe(file)}: ok ({words})")
    return {"file": file, "ok": True, "diagnostics": _as_json(warnings), **facts}


def _as_json(diagnostics: Sequence[Diagnostic]) -> list[dict[str, object]]:
    return [diagnostic_json(one) for one in diagnostics]


def _leave_needed(project: Project, reading: Reading) -> list[Diagnostic]:
    from whorl.errors import Diagnostic
    from whorl.interfaces.preflight import refusal

    refused = refusal(reading.workflow, project.settings())
    if refused is None:
        return []
    return [Diagnostic("R110", str(refused["message"]), severity="warning")]


def _facts(reading: Reading) -> dict[str, object]:
    from whorl.ir.walk import index_nodes
    from whorl.ir.worst_case import worst_case

    workflow = reading.workflow
    calls = worst_case(workflow).calls
    steps = len(index_nodes(workflow))
    return {
        "name": workflow.name,
        "dialect": workflow.dialect,
        "steps": steps,
        "calls_max": calls,
        "limits": {key: value for key, value in asdict(workflow.limits).items() if value},
    }


def _words(facts: dict[str, object], limited: RunLimits) -> list[str]:
    steps, calls = facts["steps"], facts["calls_max"]
    assert isinstance(steps, int)
    words = [str(facts["dialect"]), plural(steps, "step")]
    if calls is None:
        words.append("calls depend on the inputs")
    elif isinstance(calls, int) and calls:
        words.append(f"at most {plural(calls, 'call')}")
    limits = limit_words(limited)
    return [*words, f"bounded by {limits}"] if limits else words


def _show(diagnostics: Sequence[Diagnostic], texts: Mapping[str, str]) -> None:
    color = sys.stderr.isatty() and is_colored()
    click.echo(render_all(diagnostics, texts, color=color), err=True)


COMMANDS = {"validate": validate}
