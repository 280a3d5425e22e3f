"""The beginning: `init` makes a folder ready, `new` writes a file, or lists the templates."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import UsageError, did_you_mean
from whorl.interfaces.cli.options import json_option, print_json, write_file
from whorl.interfaces.cli.terminal import echo, print_lines, say, shortened
from whorl.interfaces.formatting import table
from whorl.plugins import load_reference, needed, wings
from whorl.services.configuration.sources import parsed
from whorl.services.configuration.trust import CONFIG_NAME, judge, remember
from whorl.source.paths import find_link
from whorl.templates import EXAMPLES, TEMPLATES, example_files, find, forms, read, read_first

if TYPE_CHECKING:
    from whorl.services.files import Editor

_STARTER = """# What workflows of this folder may do, and whom they ask.
# After a change, `whorl project trust` asks you again.

[allow]
commands = {commands}                 # true, or a list of programs: ["pytest", "git"]
files = {{write = ["out/**"]}}        # beside {{{{ workspace }}}}, which every run has

# [defaults]
# provider = "openai"
# model = "gpt-5-mini"
"""
_STORE = ".whorl"
_SCHEMAS = f"{_STORE}/schemas"
_FIRST = ("first.yaml", "first.test.yaml")
_IGNORED = ".gitignore"


@click.command()
@click.argument("folder", metavar="[FOLDER]", default=".", type=click.Path(file_okay=False))
@click.option("--allow-commands", is_flag=True, help="Allow workflows to run any program.")
def init(*, folder: str, allow_commands: bool) -> None:
    """Create a project in FOLDER: configuration, a first loop with tests, schemas for editors.

    Existing files are not changed.

    \b
      whorl init
      whorl init flows --allow-commands
    """
    root = Path(folder).resolve()
    # What is there already is not written, wherever it is.
    absent = [name for name in (CONFIG_NAME, *_FIRST) if not (root / name).exists()]
    kinds = ("workflow", *_kinds().values())
    made = {f"{_SCHEMAS}/{n}.json": schema for n, schema in schemas().items() if n in kinds}
    if (link := find_link(root, [*made, *absent, _IGNORED])) is not None:
        words = f"{str(link)!r} is a symbolic link, and would lead what is written elsewhere"
        raise UsageError(words, help=f"delete it: rm {shlex.quote(str(link))}; then repeat this")
    is_first = not any(root.glob("*.yaml"))
    texts = {CONFIG_NAME: _STARTER.format(commands=str(allow_commands).lower())}
    texts |= {name: read_first(name) for name in _FIRST if is_first}
    advice = "name another folder"
    for name, schema in made.items():
        text = f"{json.dumps(schema, ensure_ascii=False, indent=1)}\n"
        write_file(str(root / name), text, advice=advice)
    for name, text in texts.items():
        if name in absent:
            text = with_schema_line(text, root / name)
            write_file(str(root / name), text, advice=advice, mode="x")
    created = ", ".join(name for name in texts if name in absent)
    echo(f"created {folder.rstrip('/')}/: {created or 'nothing, since all files exist'}")
    say(*(f"{name} exists already, and is not changed" for name in texts if name not in absent))
    if CONFIG_NAME in absent:
        config = root / CONFIG_NAME
        content = config.read_bytes()
        judged = judge(config, content, parsed(content, config), os.environ, grants={})
        remember(os.environ, judged)
    _ignore_store(root / _IGNORED)
    if is_first:
        first = f"cd {shlex.quote(folder)} && " if root != Path.cwd() else ""
        say(f"next: {first}whorl run {_FIRST[0]} --mocks")


def _ignore_store(path: Path) -> None:
    """The store holds what runs were given and gave: it belongs into no repository."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if _STORE not in (line.strip("/") for line in text.splitlines()):
        end = "\n" if text and not text.endswith("\n") else ""
        write_file(str(path), f"{end}{_STORE}/\n", advice=f"add {_STORE}/ to it", mode="a")
        say(f"wrote {_STORE}/ into {_IGNORED}")


def schemas() -> dict[str, Any]:
    """The schemas of all kinds of files, by name."""
    from whorl.dialects.native import native_schema

    others = {kind.name: load_reference(kind.schema) for wing in wings() for kind in wing.files}
    return {"workflow": native_schema(), **others}


def _kinds() -> dict[str, str]:
    """Beside workflows, the kinds of files that editors are given schemas for, by their endings."""
    return {kind.ending: kind.name for wing in wings() for kind in wing.files if kind.ending}


def with_schema_line(text: str, path: Path) -> str:
    """Adds the line by which editors find the schema of a file, if `init` has written schemas."""
    kind = _kinds().get("".join(path.suffixes), "workflow")
    for folder in path.resolve().parents if path.suffix == ".yaml" else ():
        schema = folder / _SCHEMAS / f"{kind}.json"
        if schema.is_file():
            place = Path(os.path.relpath(schema, path.resolve().parent)).as_posix()
            return f"# yaml-language-server: $schema={place}\n{text}"
    return text


@click.command()
@click.argument("template", metavar="[TEMPLATE]", required=False)
@click.argument("file", metavar="[FILE]", required=False)
@click.option("--empty", metavar="FORMAT", help="An empty file of a format; then [FILE] alone.")
@click.option("--from", "source", metavar="OTHER", type=click.Path(exists=True, dir_okay=False),
              help="A copy of a workflow file; then [FILE] alone.")  # fmt: skip
@click.option("--form", type=click.Choice(list(forms())),
              help="The format of FILE. [default: by its ending, or the first]")  # fmt: skip
@click.option("--example", metavar="NAME", help="The files of an example; then [FOLDER] alone.")
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
@json_option
def new(
    *,
    template: str | None,
    file: str | None,
    empty: str | None,
    source: str | None,
    form: str | None,
    example: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Create a workflow from a TEMPLATE; or an empty file, a copy, or an example.

    Without arguments it lists templates, examples and empty files.

    \b
      whorl new
      whorl new self-refine
      whorl new self-refine flows/
      whorl new code-review review.json
      whorl new --empty native mine.yaml
      whorl new --from polish.yaml
      whorl new --example experiment
    """
    others = [each for each in (example, empty, source) if each is not None]
    if len(others) > 1 or (others and file is not None):
        words = "--example, --empty and --from take one FILE or FOLDER"
        raise UsageError(words, help="whorl new --empty native a.yaml")
    if example is not None:
        _write_example(example, template or example, force=force)
    elif source is not None:
        path = Path(source)
        name, text = f"{path.stem}-copy{path.suffix}", path.read_bytes().decode()
        _write(template or name, text, about=f"a copy of {source}", force=force)
    elif empty is not None:
        editor: Editor = needed("editor")
        text, ending = editor.empty_text(empty)
        _write(template or f"new{ending}", text, about=f"empty, {empty}", force=force)
    elif template is None:
        _list_templates(as_json=as_json)
    else:
        _write_template(template, file, form, force=force)


def _list_templates(*, as_json: bool) -> None:
    names = list(forms())
    if as_json:
        rows = [{"description": row.description, "needs": row.needs or None} for row in TEMPLATES]
        print_json([asdict(t) | r | {"forms": names} for t, r in zip(TEMPLATES, rows, strict=True)])
        return
    lines = [(row.name, ", ".join(names), row.description) for row in TEMPLATES]
    lines += [(f"--example {name}", "folder", words) for name, (words, _) in EXAMPLES.items()]
    editor: Editor = needed("editor")
    lines += [(f"--empty {name}", name, "the smallest file") for name in editor.dialects()]
    print_lines(table(lines))


def _write_example(name: str, folder: str, *, force: bool) -> None:
    if name not in EXAMPLES:
        advice = did_you_mean(name, list(EXAMPLES)) or f"known: {', '.join(EXAMPLES)}"
        raise UsageError(f"there is no example {name!r}", help=advice)
    texts = example_files(name)
    _check_absent(*(Path(folder) / each for each in texts), force=force)
    for each, text in texts.items():
        write_file(str(Path(folder) / each), text, advice="name another FOLDER")
    echo(shortened(f"created {folder.rstrip('/')}/: {', '.join(texts)}"))
    say(f"next: cd {shlex.quote(folder)} && {EXAMPLES[name][1]}")


def _check_absent(*paths: Path, force: bool) -> None:
    existing = [path for path in paths if path.exists()]
    if existing and not force:
        advice = "name another place, or overwrite files with --force"
        raise UsageError(f"{str(existing[0])!r} exists", help=advice)


def _write_template(template: str, file: str | None, form: str | None, *, force: bool) -> None:
    chosen = find(template)
    if chosen is None:
        names = [row.name for row in TEMPLATES]
        advice = did_you_mean(template, names) or f"known: {', '.join(names)}"
        raise UsageError(f"there is no template {template!r}", help=advice)
    endings = forms()
    if form is None:
        fitting = [form for form, ending in endings.items() if (file or "").endswith(ending)]
        form = next(iter(fitting or endings))
    name = file or f"{chosen.name}{endings[form]}"
    if name.endswith("/") or Path(name).is_dir():
        name = f"{name}/{chosen.name}{endings[form]}"
    text = read(chosen.name, form)
    about = f"{chosen.name}, {form}: {chosen.description}"
    _write(str(Path(name)), text, chosen.example, about=about, needs=chosen.needs, force=force)


def _write(
    name: str, text: str, example: str | None = None, *, about: str, needs: str = "", force: bool
) -> None:
    """Writes a file; says what it needs, and how to run it with an `example`, or to edit it."""
    _check_absent(Path(name), force=force)
    mode, text = "w" if force else "x", with_schema_line(text, Path(name))
    write_file(name, text, advice="name another FILE", mode=mode)
    echo(shortened(f"created {name} ({about})"))
    command = ["file", "edit", name] if example is None else ["run", name, example]
    say(*([f"it needs {needs}"] if needs else []), f"next: {shlex.join(['whorl', *command])}")
