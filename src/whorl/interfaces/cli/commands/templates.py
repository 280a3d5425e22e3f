"""`whorl templates` and `whorl new`: workflows to begin with."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError, did_you_mean
from whorl.interfaces.cli.options import json_option, print_json
from whorl.interfaces.figures import table
from whorl.templates import ENDINGS, find, names, read

if TYPE_CHECKING:
    from whorl.templates import Form, Template


@click.command()
@json_option
def templates(*, as_json: bool) -> int:
    """List the workflows that `whorl new` can write.

    \b
      whorl templates
    """
    known = [_known(name) for name in names()]
    if as_json:
        print_json([_document(template) for template in known])
        return 0
    forms = ", ".join(ENDINGS)
    for said in table([(template.name, forms, template.description) for template in known]):
        click.echo(said)
    return 0


@click.command()
@click.argument("template", metavar="TEMPLATE")
@click.argument("file", metavar="[FILE]", required=False)
@click.option(
    "--form",
    type=click.Choice(list(ENDINGS)),
    help="native: a YAML file; studio: a canvas. [default: by the ending of FILE, or native]",
)
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
def new(*, template: str, file: str | None, form: Form | None, force: bool) -> int:
    """Write a TEMPLATE to FILE, to run it and to change it.

    \b
      whorl new self-refine
      whorl new code-review review.json --form studio
    """
    chosen = _known(template)
    if form is None:
        form = "studio" if file is not None and file.endswith(ENDINGS["studio"]) else "native"
    path = Path(file or f"{chosen.name}{ENDINGS[form]}")
    _write(path, read(chosen.name, form), force=force)
    click.echo(f"wrote {path}", err=True)
    if chosen.needs:
        click.echo(f"it needs {chosen.needs}", err=True)
    click.echo(shlex.join(["whorl", "run", str(path), chosen.example]))
    return 0


def _known(name: str) -> Template:
    found = find(name)
    if found is None:
        hint = did_you_mean(name, names())
        raise UsageError(
            f"there is no template {name!r}", help=hint or f"known: {', '.join(names())}"
        )
    return found


def _document(template: Template) -> dict[str, object]:
    return {
        "name": template.name,
        "description": template.description,
        "forms": list(ENDINGS),
        "needs": template.needs or None,
        "example": template.example,
    }


def _write(path: Path, text: str, *, force: bool) -> None:
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(
            f"{str(path)!r} exists", help="name another FILE, or overwrite it with --force"
        ) from None
    except OSError as fault:
        raise UsageError(
            f"cannot write {str(path)!r}: {fault.strerror or fault}", help="name another FILE"
        ) from None


COMMANDS = {"templates": templates, "new": new}
