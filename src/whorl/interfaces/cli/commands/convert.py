"""`whorl convert`: a workflow file of any dialect as a native file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError
from whorl.interfaces.cli.options import located

if TYPE_CHECKING:
    from whorl.services.project import Project


@click.command()
@click.argument("file", metavar="FILE")
@click.option("-o", "--output", metavar="OUT", help="Write this file. [default: print it]")
@located
def convert(project: Project, *, file: str, output: str | None) -> int:
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
    else:
        _write(Path(output), text, Path(file))
    return 0


def _write(path: Path, text: str, source: Path) -> None:
    if path.exists():
        what = "is the file itself" if path.samefile(source) else "exists"
        raise UsageError(f"{str(path)!r} {what}", help="name another OUT")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as fault:
        message = f"cannot write {str(path)!r}: {fault.strerror or fault}"
        raise UsageError(message, help="name another OUT") from None
    click.echo(f"wrote {path}", err=True)


COMMANDS = {"convert": convert}
