"""`whorl lint`: what another system would refuse in a file, or do otherwise."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError, render_all, safe
from whorl.errors import as_json as diagnostic_json
from whorl.interfaces.cli.options import json_option, located, print_json

if TYPE_CHECKING:
    from whorl.interfaces.project import Project


@click.command()
@click.argument("file", metavar="FILE")
@click.option(
    "--target", type=click.Choice(["azure"]), default="azure", help="For whom. [default: azure]"
)
@json_option
@located
def lint(project: Project, *, file: str, target: str, as_json: bool) -> int:
    """Say what in FILE another system would refuse, or do otherwise.

    \b
      whorl lint workflow.json --target azure

    The exit code is 2 when something would not deploy.
    """
    from whorl.dialects.detection import parse
    from whorl.dialects.loom import LoomReader
    from whorl.dialects.loom.linting import lint_for_azure
    from whorl.dialects.loom.linting_limits import REFUSED
    from whorl.source import open_file

    dialect = project.read(file).workflow.dialect
    text = open_file(file)
    document = parse(text, file, lenient=True)
    if not LoomReader().claims(document):
        raise UsageError(
            f"{file!r} is a file of the dialect {dialect!r}, and {target} takes Logic Apps only",
            help="lint the Logic Apps definition that it stands for",
        )
    found = lint_for_azure(document)
    if as_json:
        print_json([diagnostic_json(one) for one in found])
    elif found:
        color = sys.stderr.isatty()
        click.echo(render_all(found, {file: text}, color=color), err=True)
    else:
        click.echo(f"{safe(file)}: nothing that {target} would refuse")
    return 2 if any(one.severity == "error" or one.label == REFUSED for one in found) else 0


COMMANDS = {"lint": lint}
