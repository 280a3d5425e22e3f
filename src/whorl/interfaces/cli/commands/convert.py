"""`whorl convert`: a workflow file in the native format, and a list of what that loses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from whorl.errors import InternalError, InvalidWorkflow, UsageError, safe
from whorl.interfaces.cli.options import located
from whorl.interfaces.cli.terminal import paint
from whorl.interfaces.figures import plural

if TYPE_CHECKING:
    from whorl.dialects.writing import Written
    from whorl.services.project import Project


@click.command()
@click.argument("file", metavar="FILE")
@click.option("-o", "--output", metavar="OUT", help="Write this file. [default: print it]")
@click.option(
    "--force", is_flag=True, help="Write it although something is lost; it overwrites nothing."
)
@located
def convert(project: Project, *, file: str, output: str | None, force: bool) -> int:
    """Write FILE in the native format.

    \b
      whorl convert flow.json -o flow.yaml

    What cannot be said there is listed, and then nothing is written unless you force it;
    the exit code is 1. Workflows that FILE calls are written beside OUT.
    """
    from whorl.dialects.writing import write_workflow

    reading = project.read(file)
    name = None if output is None else Path(output).name
    written = write_workflow(reading.workflow, "native", name or "")
    _check(written, is_whole=not written.losses)
    for loss in written.losses:
        click.echo(f"{paint('warning[W026]', 'yellow')}: {safe(loss.words(file))}", err=True)
    if written.losses and not force:
        count = plural(len(written.losses), "loss", "losses")
        click.echo(f"nothing is written: {count}; write it all the same with --force", err=True)
        return 1
    if output is None:
        _print(written)
    else:
        _write(written, Path(output).parent, Path(file))
    return 0


def _check(written: Written, *, is_whole: bool) -> None:
    """Reads what was written; a conversion without losses that cannot be read is our mistake."""
    from whorl.dialects.writing import read_again

    try:
        read_again(written, "native")
    except InvalidWorkflow as fault:
        if is_whole:
            found = fault.diagnostics[0]
            message = f"what was written is wrong: {found.message} ({found.span})"
            raise InternalError(message) from fault
        click.echo("warning[W026]: what can be said is no complete workflow", err=True)


def _print(written: Written) -> None:
    click.echo(written.text, nl=False)
    for name in [name for name in written.files if name != written.main]:
        click.echo(f"it calls {name}; write both with -o", err=True)


def _write(written: Written, folder: Path, source: Path) -> None:
    paths = {folder / name: text for name, text in written.files.items()}
    for path in paths:
        if path.exists():
            what = "is the file itself" if path.samefile(source) else "exists"
            raise UsageError(f"{str(path)!r} {what}", help="write into another folder: -o new/...")
    for path, text in paths.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as fault:
            message = f"cannot write {str(path)!r}: {fault.strerror or fault}"
            raise UsageError(message, help="name another OUT") from None
        click.echo(f"wrote {path}", err=True)


COMMANDS = {"convert": convert}
