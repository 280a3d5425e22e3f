"""Taking over what another program keeps: `import` writes its workflows as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from whorl.errors import InvalidWorkflow, UsageError, plural, safe
from whorl.interfaces.cli.options import json_option, located, print_json, write_file
from whorl.interfaces.cli.terminal import print_lines, say

if TYPE_CHECKING:
    from whorl.services.project import Project


@click.command(name="import")
@click.argument("database", metavar="DATABASE")
@click.argument("folder", metavar="[FOLDER]", default=".")
@click.option("--archived", is_flag=True, help="Import archived workflows, too.")
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@json_option
@located
def import_command(
    project: Project, *, database: str, folder: str, archived: bool, force: bool, as_json: bool
) -> None:
    """Write the workflows of another program's DATABASE as files into FOLDER.

    \b
      whorl import ~/.ai-studio/data.db flows

    The database is only read. What a workflow needs is printed as lines for whorl.toml, which
    name the variables to set: no key is copied, and no password of a node.
    """
    from whorl.services.files.importing import take_over

    taken = take_over(Path(database).expanduser(), archived=archived)
    paths = {str(Path(folder) / name): text for name, text in taken.files.items()}
    if outside := [path for path in paths if Path(path).resolve().parent != Path(folder).resolve()]:
        words = f"{outside[0]!r} would be written outside of {folder!r}"
        raise UsageError(words, help="name another FOLDER")
    existing = [path for path in paths if Path(path).exists()]
    if existing and not force:
        words = f"{plural(len(existing), 'file')} would be overwritten, such as {existing[0]!r}"
        raise UsageError(words, help="name another FOLDER, or overwrite them with --force")
    for path, text in paths.items():
        write_file(path, text, advice="name another FOLDER", makes_folder=True)
    found = {path: _looked_at(project, path) for path in paths}
    if as_json:
        files = [{"file": path, **facts} for path, facts in found.items()]
        print_json({"files": files, "config": [*taken.lines], "notes": [*taken.notes]})
        return
    for path, facts in found.items():
        mistakes = f", {plural(facts['errors'], 'mistake')}" if facts["errors"] else ""
        warnings = f", {plural(facts['warnings'], 'warning')}" if facts["warnings"] else ""
        say(f"wrote {safe(path)} ({plural(facts['steps'], 'step')}{mistakes}{warnings})")
    say(*map(safe, taken.notes))
    if taken.lines:
        say("for whorl.toml:")
        print_lines(taken.lines)


def _looked_at(project: Project, path: str) -> dict[str, int]:
    """How a file that was written reads; `whorl validate` says more."""
    from whorl.ir.walk import index_nodes

    try:
        reading = project.read(path)
    except InvalidWorkflow as fault:
        return {"steps": 0, "errors": len(fault.diagnostics), "warnings": 0}
    steps = len(index_nodes(reading.workflow))
    return {"steps": steps, "errors": 0, "warnings": len(reading.warnings)}
