"""What is known without any run: `templates`, `new`, `explain` and `schema`."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from whorl.errors import UsageError, did_you_mean
from whorl.interfaces.cli.options import json_option, print_json, write_file
from whorl.interfaces.cli.terminal import print_lines, say
from whorl.interfaces.figures import table
from whorl.templates import TEMPLATES, find, forms, read


@click.command()
@json_option
def templates(*, as_json: bool) -> None:
    """List the workflows that `whorl new` can write.

    \b
      whorl templates
    """
    if not as_json:
        names = ", ".join(forms())
        print_lines(table([(row.name, names, row.description) for row in TEMPLATES]))
        return
    print_json(
        [
            {
                "name": template.name,
                "description": template.description,
                "forms": list(forms()),
                "needs": template.needs or None,
                "example": template.example,
            }
            for template in TEMPLATES
        ]
    )


@click.command()
@click.argument("template", metavar="TEMPLATE")
@click.argument("file", metavar="[FILE]", required=False)
@click.option(
    "--form",
    type=click.Choice(list(forms())),
    help="The format of FILE. [default: by its ending, or the first]",
)
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
def new(*, template: str, file: str | None, form: str | None, force: bool) -> None:
    """Write a TEMPLATE to FILE, to run it and to change it.

    \b
      whorl new self-refine
      whorl new code-review review.json
    """
    chosen = find(template)
    if chosen is None:
        names = [row.name for row in TEMPLATES]
        advice = did_you_mean(template, names) or f"known: {', '.join(names)}"
        raise UsageError(f"there is no template {template!r}", help=advice)
    endings = forms()
    if form is None:
        fitting = [form for form, ending in endings.items() if (file or "").endswith(ending)]
        form = next(iter(fitting or endings))
    name = str(Path(file or f"{chosen.name}{endings[form]}"))
    if Path(name).exists() and not force:
        advice = "name another FILE, or overwrite it with --force"
        raise UsageError(f"{name!r} exists", help=advice)
    text, mode = read(chosen.name, form), "w" if force else "x"
    write_file(name, text, advice="name another FILE", mode=mode)
    say(f"wrote {name}", *([f"it needs {chosen.needs}"] if chosen.needs else []))
    click.echo(shlex.join(["whorl", "run", name, chosen.example]))


@click.command()
@click.argument("what", metavar="CODE | function NAME", nargs=-1, required=True)
def explain(what: tuple[str, ...]) -> None:
    """Explain an error CODE, or a function of expressions by its NAME.

    \b
      whorl explain W004
      whorl explain function addDays
    """
    from whorl import explanations

    code, *others = what
    if code == "function":
        print_lines(_functions(others))
        return
    if others:
        message = f"one code is explained at a time, not {len(what)}"
        raise UsageError(message, help="whorl explain W004")
    page = explanations.explain(code)
    if page is None:
        codes = explanations.codes()
        advice = did_you_mean(code, codes) or f"known: {' '.join(codes)}"
        raise UsageError(f"no error has the code {code!r}", help=advice)
    click.echo(page.rstrip())


def _functions(names: list[str]) -> list[str]:
    """All functions, filters and tests of a name, from the tables that the language uses."""
    from whorl.language import LanguageError, Library, functions
    from whorl.language.libraries import libraries, open_library

    if len(names) != 1:
        message = "name the function that is to be explained"
        raise UsageError(message, help="whorl explain function addDays")
    wanted = names[0].removesuffix("()").lstrip("@").lower()
    lines: list[str] = []
    listed: list[str] = []
    core = Library(functions=functions(), title="templates: {{ ... }}")
    for name in (*libraries().names(), ""):
        try:
            library = open_library(name) if name else core
        except LanguageError as fault:
            # A plugin that is broken is named, and what the others have is explained.
            say(f"warning: {fault}")
            continue
        for entry in library.functions if library.title else ():
            if entry.name.startswith("$"):
                continue  # readers write these; nobody else can
            listed.append(entry.name)
            if entry.name.lower() == wanted:
                family = f"{entry.kind} of the family {entry.family!r}, for {library.title}"
                lines += ["", library.signature(entry), f"  {entry.doc}", f"  {family}"]
    if not lines:
        advice = did_you_mean(names[0], listed) or "docs/reference lists all of them"
        raise UsageError(f"there is no function {names[0]!r}", help=advice)
    return lines[1:]


@click.command()
def schema() -> None:
    """Print the JSON Schema of native workflow files, for editors.

    \b
      whorl schema > whorl.schema.json
    """
    from whorl.dialects.native import native_schema

    print_json(native_schema())
