"""`whorl graph`: a workflow file as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from whorl.interfaces.cli.options import located
from whorl.interfaces.diagram import mermaid, text_tree

if TYPE_CHECKING:
    from whorl.interfaces.project import Project


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--text", "form", flag_value="text", default="text", help="A tree of text. [default]")
@click.option("--mermaid", "form", flag_value="mermaid", help="A Mermaid flowchart.")
@located
def graph(project: Project, *, file: str, form: str) -> int:
    """Draw a workflow FILE. Nothing is run.

    \b
      whorl graph polish.yaml
      whorl graph polish.yaml --mermaid > polish.mmd
    """
    workflow = project.read(file).workflow
    click.echo(mermaid(workflow) if form == "mermaid" else text_tree(workflow))
    return 0


COMMANDS = {"graph": graph}
