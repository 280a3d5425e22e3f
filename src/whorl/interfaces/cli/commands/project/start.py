"""The command `init`, and the line that tells editors which schema a file has."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import click

from whorl.errors import UsageError
from whorl.interfaces.cli.options import write_file
from whorl.interfaces.cli.terminal import echo, say
from whorl.plugins import FileKind, load_reference, wings
from whorl.source.paths import find_link

_STARTER = """# What workflows of this folder may do, and whom they ask.
# After a change, `whorl trust` asks you again.

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
@click.option("--commands", is_flag=True, help="Allow workflows to run any program.")
def init(*, folder: str, commands: bool) -> None:
    """Make a FOLDER ready: a whorl.toml, which is trusted as written, a first loop with its tests,
    a line in .gitignore, and schemas for editors. What is there stays as it is.

    \b
      whorl init
      whorl init flows --commands
    """
    from whorl.services.configuration.trust import CONFIG_NAME
    from whorl.templates import read_first

    root = Path(folder).resolve()
    # What is there already is not written, wherever it is.
    absent = [name for name in (CONFIG_NAME, *_FIRST) if not (root / name).exists()]
    schemas = {f"{_SCHEMAS}/{name}.json": schema for name, schema in _schemas().items()}
    if (link := find_link(root, [*schemas, *absent, _IGNORED])) is not None:
        words = f"{str(link)!r} is a symbolic link, and would lead what is written elsewhere"
        raise UsageError(words, help=f"delete it: rm {shlex.quote(str(link))}; then repeat this")
    for name, schema in schemas.items():
        text = f"{json.dumps(schema, ensure_ascii=False, indent=1)}\n"
        write_file(str(root / name), text, advice="name another folder", makes_folder=True)
    starter = _STARTER.format(commands=str(commands).lower())
    if _write_new(root, CONFIG_NAME, with_schema_line(starter, root / CONFIG_NAME)):
        _trust(root / CONFIG_NAME)
    is_first = not any(root.glob("*.yaml"))
    for name in _FIRST if is_first else ():
        _write_new(root, name, with_schema_line(read_first(name), root / name))
    _ignore_store(root)
    if is_first and root != Path.cwd():
        echo(f"cd {shlex.quote(folder)}")
    for command in ("test", f"run {_FIRST[0]}") if is_first else ():
        echo(f"whorl {command}")


def _write_new(root: Path, name: str, text: str) -> bool:
    if (root / name).exists():
        say(f"{name} exists already, and is not changed")
        return False
    write_file(str(root / name), text, advice="name another folder", mode="x", makes_folder=True)
    say(f"wrote {name}")
    return True


def _trust(path: Path) -> None:
    from whorl.services.configuration.sources import parsed
    from whorl.services.configuration.trust import judge, remember

    content = path.read_bytes()
    remember(os.environ, judge(path, content, parsed(content, path), os.environ, grants={}))


def _ignore_store(root: Path) -> None:
    """The store holds what runs were given and gave: it belongs into no repository."""
    path = root / _IGNORED
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if {f"{_STORE}/", _STORE, f"/{_STORE}/", f"/{_STORE}"}.isdisjoint(text.splitlines()):
        end = "\n" if text and not text.endswith("\n") else ""
        write_file(str(path), f"{end}{_STORE}/\n", advice=f"add {_STORE}/ to it", mode="a")
        say(f"wrote {_STORE}/ into {_IGNORED}")


def _schemas() -> dict[str, Any]:
    """The schemas by name."""
    from whorl.dialects.native import native_schema
    from whorl.providers.settings.schema import settings_schema

    others = {each.name: load_reference(each.schema) for each in _kinds()}
    return {"workflow": native_schema(), **others, "config": settings_schema()}


def _kinds() -> list[FileKind]:
    """The other kinds of files that editors are given schemas for."""
    return [each for wing in wings() for each in wing.files if each.ending]


def with_schema_line(text: str, path: Path) -> str:
    """A file with the line by which editors find its schema, where `init` has put schemas."""
    kinds = {".toml": "config", **{each.ending: each.name for each in _kinds()}}
    kind = kinds.get("".join(path.suffixes), "workflow")
    for folder in path.resolve().parents if path.suffix in (".yaml", ".toml") else ():
        schema = folder / _SCHEMAS / f"{kind}.json"
        if schema.is_file():
            place = Path(os.path.relpath(schema, path.resolve().parent)).as_posix()
            mark = "#:schema " if kind == "config" else "# yaml-language-server: $schema="
            return f"{mark}{place}\n{text}"
    return text
