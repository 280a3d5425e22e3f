"""What is known without any run: `templates`, `new`, `explain` and `schema`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError, did_you_mean
from whorl.interfaces.cli.options import json_option, print_json, write_file
from whorl.interfaces.cli.terminal import print_lines, say
from whorl.interfaces.figures import table
from whorl.templates import ENDINGS, find, names, read

if TYPE_CHECKING:
    from whorl.language import FunctionEntry
    from whorl.templates import Form, Template


@click.command()
@json_option
def templates(*, as_json: bool) -> int:
    """List the workflows that `whorl new` can write.

    \b
      whorl templates
    """
    listed = [_known(name) for name in names()]
    if as_json:
        print_json([_document(template) for template in listed])
        return 0
    forms = ", ".join(ENDINGS)
    print_lines(table([(template.name, forms, template.description) for template in listed]))
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
    name = str(Path(file or f"{chosen.name}{ENDINGS[form]}"))
    if Path(name).exists() and not force:
        advice = "name another FILE, or overwrite it with --force"
        raise UsageError(f"{name!r} exists", help=advice)
    text, mode = read(chosen.name, form), "w" if force else "x"
    write_file(name, text, advice="name another FILE", mode=mode)
    say(f"wrote {name}", *([f"it needs {chosen.needs}"] if chosen.needs else []))
    click.echo(shlex.join(["whorl", "run", name, chosen.example]))
    return 0


def _known(name: str) -> Template:
    template = find(name)
    if template is None:
        hint = did_you_mean(name, names())
        raise UsageError(
            f"there is no template {name!r}", help=hint or f"known: {', '.join(names())}"
        )
    return template


def _document(template: Template) -> dict[str, object]:
    return {
        "name": template.name,
        "description": template.description,
        "forms": list(ENDINGS),
        "needs": template.needs or None,
        "example": template.example,
    }


@click.command()
@click.argument("what", metavar="CODE | function NAME", nargs=-1, required=True)
def explain(what: tuple[str, ...]) -> int:
    """Explain an error CODE, or a function of expressions by its NAME.

    \b
      whorl explain W004
      whorl explain function addDays
    """
    if what[0] == "function":
        print_lines(_functions(what[1:]))
    elif len(what) == 1:
        click.echo(_page(what[0]))
    else:
        raise UsageError(
            f"one code is explained at a time, not {len(what)}", help="whorl explain W004"
        )
    return 0


def _page(code: str) -> str:
    from whorl.explanations import codes, explain

    page = explain(code)
    if page is None:
        known = codes()
        hint = did_you_mean(code, known)
        raise UsageError(
            f"no error has the code {code!r}", help=hint or f"known: {' '.join(known)}"
        )
    return page.rstrip()


# Where functions are known, and how an author writes a call of one.
_LIBRARIES = (("logic", "Logic Apps expressions: @{...}"), ("", "templates: {{ ... }}"))


def logic_signature(entry: FunctionEntry) -> str:
    """The parameters of a function of Logic Apps; a question mark stands behind what may be left
    out.
    """
    optional = [f"{name}?" for name, _ in entry.optional]
    further = ["..."] if entry.extra else []
    return f"{entry.name}({', '.join([*entry.required, *optional, *further])})"


def _functions(names: tuple[str, ...]) -> list[str]:
    """All functions, filters and tests of a name, from the tables that the language uses."""
    from whorl.language import functions

    if len(names) != 1:
        raise UsageError(
            "name the function that is to be explained", help="whorl explain function addDays"
        )
    wanted = names[0].removesuffix("()").lstrip("@").lower()
    lines: list[str] = []
    names_known: list[str] = []
    for library, where in _LIBRARIES:
        for entry in functions(library):
            names_known.append(entry.name)
            if entry.name.lower() == wanted:
                written = logic_signature(entry) if library == "logic" else entry.signature
                lines += [written, f"  {entry.doc}"]
                lines += [f"  {entry.kind} of the family {entry.family!r}, for {where}", ""]
    if not lines:
        hint = did_you_mean(names[0], names_known) or "docs/reference lists all of them"
        raise UsageError(f"there is no function {names[0]!r}", help=hint)
    return lines[:-1]


@click.command()
def schema() -> int:
    """Print the JSON Schema of native workflow files, for editors.

    \b
      whorl schema > whorl.schema.json
    """
    from whorl.dialects.native import native_schema

    print_json(native_schema())
    return 0
