"""`whorl graph`: a workflow file as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError
from whorl.interfaces.cli.options import located
from whorl.interfaces.diagram import mermaid, text_tree
from whorl.interfaces.picture import svg

if TYPE_CHECKING:
    from whorl.ir import Workflow
    from whorl.services.project import Project


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--text", is_flag=True, help="A tree of text. [default]")
@click.option("--mermaid", is_flag=True, help="A Mermaid flowchart.")
@click.option("--svg", is_flag=True, help="An SVG picture.")
@click.option("-o", "--output", metavar="OUT", help="Write to a file instead of the terminal.")
@click.option("--force", is_flag=True, help="Overwrite OUT.")
@located
def graph(project: Project, *, file: str, output: str | None, force: bool, **forms: bool) -> int:
    """Draw a workflow FILE. Nothing is run.

    \b
      whorl graph polish.yaml
      whorl graph polish.yaml --svg -o polish.svg
      whorl graph polish.yaml --mermaid > polish.mmd
    """
    chosen = [name for name, is_chosen in forms.items() if is_chosen]
    if len(chosen) > 1:
        both = " and ".join(f"--{name}" for name in chosen)
        raise UsageError(f"{both} exclude each other", help="choose one form")
    drawn = _draw(project.read(file).workflow, chosen[0] if chosen else "text")
    if output is None:
        click.echo(drawn)
        return 0
    if Path(output).resolve() == Path(file).resolve():
        raise UsageError(f"{output!r} is the workflow itself", help="name another file")
    if Path(output).exists() and not force:
        raise UsageError(f"{output!r} exists", help="overwrite it with --force")
    try:
        Path(output).write_text(drawn + "\n", encoding="utf-8")
    except OSError as fault:
        raise UsageError(
            f"cannot write {output!r}: {fault.strerror or fault}", help="name another file"
        ) from None
    click.echo(f"wrote {output}", err=True)
    return 0


def _draw(workflow: Workflow, form: str) -> str:
    if form == "svg":
        return svg(workflow)
    return mermaid(workflow) if form == "mermaid" else text_tree(workflow)


COMMANDS = {"graph": graph}
