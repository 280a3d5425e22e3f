"""What is known without any run: `templates`, `new`, `explain` and `schema`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError, did_you_mean
from whorl.interfaces.cli.commands.project.start import with_schema_line
from whorl.interfaces.cli.options import json_option, print_json, write_file
from whorl.interfaces.cli.terminal import echo, print_lines, say
from whorl.interfaces.formatting import table
from whorl.plugins import load_reference, needed, wings
from whorl.templates import TEMPLATES, find, forms, read

if TYPE_CHECKING:
    from whorl.services.files import Editor


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
@click.argument("template", metavar="[TEMPLATE]", required=False)
@click.argument("file", metavar="[FILE]", required=False)
@click.option("--list", "lists", is_flag=True, help="List the templates and the empty files.")
@click.option("--empty", metavar="DIALECT", help="An empty file of a dialect; then [FILE] alone.")
@click.option("--from", "source", metavar="OTHER", type=click.Path(exists=True, dir_okay=False),
              help="A copy of a workflow file; then [FILE] alone.")  # fmt: skip
@click.option(
    "--form",
    type=click.Choice(list(forms())),
    help="The format of FILE. [default: by its ending, or the first]",
)
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
def new(
    *,
    template: str | None,
    file: str | None,
    lists: bool,
    empty: str | None,
    source: str | None,
    form: str | None,
    force: bool,
) -> None:
    """Write a TEMPLATE to FILE, to run it and to change it; or an empty file, or a copy.

    \b
      whorl new self-refine
      whorl new self-refine flows/
      whorl new code-review review.json
      whorl new --empty native mine.yaml
      whorl new --from polish.yaml
      whorl new --list
    """
    if lists:
        _list_new()
    elif empty is not None or source is not None:
        _write_other(template, file, empty, source, force=force)
    elif template is None:
        raise UsageError("no template is named", help="`whorl new --list` lists them")
    else:
        _write_template(template, file, form, force=force)


def _list_new() -> None:
    lines = [(row.name, ", ".join(row.dialects), row.description) for row in TEMPLATES]
    lines += [(f"--empty {name}", name, "the smallest file") for name in _editor().dialects()]
    print_lines(table(lines))


def _editor() -> Editor:
    editor: Editor = needed("editor")
    return editor


def _write_other(
    name: str | None, more: str | None, empty: str | None, source: str | None, *, force: bool
) -> None:
    """Writes an empty file, or a copy of another one."""
    if more is not None or (empty is not None and source is not None):
        raise UsageError("--empty and --from take one FILE", help="whorl new --empty native a.yaml")
    if source is not None:
        origin = Path(source)
        file = name or f"{origin.stem}-copy{origin.suffix}"
        text = origin.read_bytes().decode(errors="strict")
    else:
        text, ending = _editor().empty_text(empty or "")
        file = name or f"new{ending}"
    _write(file, text, force=force)
    say(f"wrote {file}")
    echo(shlex.join(["whorl", "edit", file]))


def _write(name: str, text: str, *, force: bool) -> None:
    if Path(name).exists() and not force:
        advice = "name another FILE, or overwrite it with --force"
        raise UsageError(f"{name!r} exists", help=advice)
    mode, text = "w" if force else "x", with_schema_line(text, Path(name))
    write_file(name, text, advice="name another FILE", mode=mode, makes_folder=True)


def _write_template(template: str, file: str | None, form: str | None, *, force: bool) -> None:
    chosen = find(template)
    if chosen is None:
        names = [row.name for row in TEMPLATES]
        advice = did_you_mean(template, names) or f"known: {', '.join(names)}"
        raise UsageError(f"there is no template {template!r}", help=advice)
    endings = forms()
    if file is not None and (file.endswith("/") or Path(file).is_dir()):
        file = str(Path(file) / f"{chosen.name}{endings[form or next(iter(endings))]}")
    if form is None:
        fitting = [form for form, ending in endings.items() if (file or "").endswith(ending)]
        form = next(iter(fitting or endings))
    name = str(Path(file or f"{chosen.name}{endings[form]}"))
    _write(name, read(chosen.name, form), force=force)
    say(f"wrote {name}", *([f"it needs {chosen.needs}"] if chosen.needs else []))
    echo(shlex.join(["whorl", "run", name, chosen.example]))


@click.command()
@click.argument("what", metavar="CODE | function NAME", nargs=-1)
def explain(what: tuple[str, ...]) -> None:
    """Explain an error CODE, or a function of expressions by its NAME.

    \b
      whorl explain W004
      whorl explain function addDays
    """
    from whorl import explanations

    if not what:
        advice = "whorl explain W004"
        raise UsageError("name the code that is to be explained: a message has it", help=advice)
    code, *others = what
    if code == "function":
        print_lines(_functions(others))
        return
    if others:
        message = f"one code is explained at a time, not {len(what)}"
        raise UsageError(message, help="whorl explain W004")
    page = explanations.explain(code)
    if page is None:
        raise UsageError(f"no error has the code {code!r}", help=_near_codes(code))
    echo(page.rstrip())


def _near_codes(word: str) -> str:
    """The codes that are like a word, or whose titles have it."""
    from whorl import explanations

    codes = explanations.codes()
    letter, digits = word[:1].upper(), word[1:]
    padded = f"{letter}{digits:0>3}" if digits.isdigit() else word
    if near := did_you_mean(padded, codes) if padded not in codes else f"did you mean {padded!r}?":
        return near
    titles = {code: explanations.title(code) for code in codes}
    found = [f"{c} ({title})" for c, title in titles.items() if word.lower() in title.lower()]
    if found:
        return f"did you mean {', '.join(found[:5])}?"
    return "write a code as a message has it, such as W004; the page `Error codes` lists all"


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
@click.option("--tests", "kind", flag_value="tests", help="Of test files instead.")
@click.option("--experiment", "kind", flag_value="experiment", help="Of experiment files instead.")
@click.option("--config", "kind", flag_value="config", help="Of whorl.toml instead.")
def schema(*, kind: str | None) -> None:
    """Print the JSON Schema of native workflow files, for editors. `whorl init` writes them.

    \b
      whorl schema > whorl.schema.json
      whorl schema --tests > whorl.test.schema.json
      whorl schema --config > whorl.toml.schema.json
    """
    from whorl.dialects.native import native_schema

    if kind == "config":
        from whorl.providers.settings.schema import settings_schema

        print_json(settings_schema())
    elif kind is None:
        print_json(native_schema())
    else:
        known = {each.name: each.schema for wing in wings() for each in wing.files}
        if kind not in known:
            raise UsageError(f"this installation of whorl has no {kind}", code="W025")
        print_json(load_reference(known[kind]))
