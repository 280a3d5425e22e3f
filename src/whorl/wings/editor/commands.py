"""`edit` and `try`: operations on a workflow file, and one step or iteration alone."""

from __future__ import annotations

import asyncio
import difflib
import json
import os
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from whorl.errors import EditRefused, UsageError, did_you_mean, plural, safe
from whorl.errors import as_json as _finding
from whorl.interfaces.cli import options
from whorl.interfaces.cli.group import show_diagnostics
from whorl.interfaces.cli.options import json_option, located, print_json, read_stdin, write_file
from whorl.interfaces.cli.session import Show, run_session, show_options
from whorl.interfaces.cli.terminal import echo, say
from whorl.interfaces.formatting import allowed
from whorl.interpreter.events import split_iteration
from whorl.services.configuration.trust import check_trusted
from whorl.services.files import preflight
from whorl.services.project import is_code
from whorl.services.runs import find_run
from whorl.source.paths import check_inside, open_file
from whorl.wings.editor import files, single_step

if TYPE_CHECKING:
    from whorl.ir import Workflow
    from whorl.services.project import Project
    from whorl.wings.editor.kit.changes import Edited

_OPERATIONS_BYTES_MAX = 1_000_000


@click.command()
@click.argument("file", metavar="FILE")
@click.argument("words", metavar="[OPERATION ARGUMENT...]", nargs=-1)
@click.option("--operations", "listed", metavar="FILE",
              help="A JSON list of operations, all or none.")  # fmt: skip
@click.option("--list", "lists", is_flag=True, help="List the steps, with their paths.")
@click.option("--into", metavar="STEP", help="For add, move: the step that holds it.")
@click.option("--case", metavar="NAME", help="For add, move: which branch of the holder.")
@click.option("--after", metavar="STEP", help="For add, move: after which step.")
@click.option("--first", is_flag=True, help="For add, move: before all others.")
@click.option("--name", metavar="NAME", help="For add, wrap, connect: the new name.")
@click.option("--kind", metavar="KIND", help="For wrap: repeat (the default), each, together, if. "
              "For connect: order, data or feedback.")  # fmt: skip
@click.option("--port", metavar="PORT", help="For rename: the port of the step that gets the name, "
              "as input:NAME or output:NAME.")  # fmt: skip
@click.option("--until", metavar="TEXT", help="For wrap: when the loop ends.")
@click.option("--at-most", type=click.IntRange(1), metavar="N", help="For wrap: its iterations.")
@click.option("--field", "fields", metavar="NAME=VALUE", multiple=True,
              help="For add, wrap: a field; also NAME:=JSON, and @FILE for either.")  # fmt: skip
@click.option("--keep", is_flag=True, help="For remove: keep what the step holds.")
@click.option("--bridge", is_flag=True, help="For remove: connect the steps before and after it.")
@click.option("--readers", type=click.Choice(["rewire", "leave"]), default="rewire",
              show_default=True, help="What to do with steps that read this one.")  # fmt: skip
@click.option("--diff", "only_shows", is_flag=True, help="Show the change, and write nothing.")
@json_option
@located
def edit(
    project: Project,
    *,
    file: str,
    words: tuple[str, ...],
    listed: str | None,
    lists: bool,
    readers: str,
    only_shows: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Change a workflow file by operations; everything else in it stays byte for byte.

    \b
      whorl file edit polish.yaml set polish/write ask "Write {{ task }}"
      whorl file edit polish.yaml set polish repeat.at_most:=7
      whorl file edit polish.yaml add ask --into polish --after polish/write --name check
      whorl file edit polish.yaml wrap write review --until review.approved --at-most 5
      whorl file edit polish.yaml rename polish/write draft
      whorl file edit polish.yaml --list             # its steps, with their paths
      whorl file edit polish.yaml                    # the page, with the file in the editor

    Operations: set, unset, rewrite, open, add, remove, move, rename, wrap, unwrap, connect,
    disconnect, place, extract, inline. The exit code is 2 when one is refused; the file is then as
    it was.
    """
    path = project.locate(file)
    text = _read(path)
    operations = _listed(listed) if listed else []
    if words:
        operations.append(_operation(words, options))
    if not operations:
        if not lists and not as_json and sys.stdin.isatty() and sys.stdout.isatty():
            return _open_page(project, path)
        return _show(project, path, text, as_json=as_json)
    try:
        edited = files.edit_text(project, text, path, operations, rewires=readers == "rewire")
    except EditRefused as fault:
        return _refused(fault, path, text, as_json=as_json)
    found = files.diagnose(project, edited.text, path, edited.others)
    if found and (unknown := files.new_fields(files.diagnose(project, text, path), found)):
        return _refused(EditRefused(unknown[0]), path, edited.text, as_json=as_json)
    if not only_shows and edited.text != text:
        check_inside(project.root, path)
        # Write new files first, and the file that names them last.
        for name, other in edited.others.items():
            target = str(Path(path).parent / name)
            write_file(target, other, advice="choose another name", mode="x")
        _write(path, edited.text)
    if as_json:
        findings = [_finding(each) for each in found]
        print_json({**files.answer(text, edited), "diagnostics": findings})
    else:
        for name in edited.others:
            say(f"{'would write' if only_shows else 'wrote'} {safe(name)}")
        _report(path, text, edited, "rewired" if readers == "rewire" else "left")
        if mistakes := [each for each in found if each.severity == "error"]:
            say(f"the file has {plural(len(mistakes), 'mistake')} now; see `whorl validate`")
    return 0


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            return stream.read(2_000_000)
    except (OSError, UnicodeDecodeError) as fault:
        reason = getattr(fault, "strerror", None) or "it is not a text in UTF-8"
        raise UsageError(f"cannot read {path!r}: {reason}", code="W903") from None


def _write(path: str, text: str) -> None:
    """Replaces a file by renaming a new one. Keeps its mode, and a symlink that leads to it."""
    folder, name = os.path.split(os.path.realpath(path))
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        files.replace_file(opened, name, text.encode(), path)
    finally:
        os.close(opened)


def _listed(name: str) -> list[dict[str, Any]]:
    try:
        with open(name, encoding="utf-8") as stream:
            operations = json.loads(stream.read(_OPERATIONS_BYTES_MAX))
    except (OSError, ValueError, RecursionError) as fault:
        raise UsageError(f"cannot read operations from {name!r}: {fault}") from None
    if not isinstance(operations, list):
        raise UsageError(f"{name!r} holds no list of operations")
    return operations


def _open_page(project: Project, path: str) -> int:
    """Serves the page with the file in its editor, until the server is stopped."""
    from whorl.interfaces.cli.commands.server import serve_page

    file = os.path.relpath(os.path.abspath(path), project.root)
    if file.startswith(".."):
        raise UsageError(f"{path!r} is not in the project", help="--list shows its steps")
    # Quoted twice: for the address of the page, and for the link to it.
    serve_page(project, page=f"edit/{quote(quote(file, safe=''), safe='')}")
    return 0


def _show(project: Project, path: str, text: str, *, as_json: bool) -> int:
    """Prints the steps of a file, with the paths that operations use."""
    dialect, sketch = files.sketch_text(project, text, path)
    found = files.diagnose(project, text, path) if as_json or sketch is None else []
    if as_json:
        listed = [_finding(each) for each in found]
        print_json({"file": path, "dialect": dialect, "sketch": sketch, "diagnostics": listed})
    elif sketch is not None:
        for node in sketch["nodes"]:
            line = node["span"]["line"] if node["span"] else 0
            echo(f"{line:>5}  {safe(node['path'])}  ({safe(node['kind']) or '?'})")
    elif not found:
        raise UsageError(f"files of the format {dialect!r} are edited as text", code="C107")
    else:
        show_diagnostics(found, {path: text})
    return 0 if sketch is not None else 2


def _refused(fault: EditRefused, path: str, text: str, *, as_json: bool) -> int:
    if as_json:
        found = {**_finding(fault.diagnostic), "operation": fault.operation}
        print_json({"error": found})
    else:
        show_diagnostics([fault.diagnostic], {path: text})
    return 2


def _report(path: str, text: str, edited: Edited, what: str) -> None:
    before, after = (part.splitlines(keepends=True) for part in (text, edited.text))
    for line in difflib.unified_diff(before, after, path, path, n=1):
        echo(safe(line.rstrip("\r\n")))
    for one in edited.rewired:
        say(f"{what}: {safe(one.path) or 'the workflow'} {safe(one.field)}, line {one.line}")
    if edited.text == text:
        say("nothing changed")


def _keys(written: str) -> list[str | int]:
    """Splits a field into its keys: `repeat.until.0`."""
    return [int(part) if part.isdigit() else part for part in written.split(".")]


# The arguments of each operation.
_USAGE = {
    "set": "STEP FIELD VALUE, or STEP FIELD:=JSON",
    "unset": "STEP FIELD",
    "rewrite": "STEP TEXT",
    "open": "STEP [FIELD]",
    "add": "KIND",
    "remove": "STEP",
    "move": "STEP...",
    "rename": "STEP NAME",
    "wrap": "STEP...",
    "unwrap": "STEP",
    "connect": "FROM[:PORT] TO[:PORT]",
    "disconnect": "FROM[:PORT] TO[:PORT]",
    "extract": "STEP FILE",
    "inline": "STEP",
    "place": "STEP X Y",
}


def _operation(words: tuple[str, ...], given: dict[str, Any]) -> dict[str, Any]:
    """Returns an operation in the form of a list of operations, from words and options."""
    word, *arguments = words
    if word not in _USAGE:
        advice = did_you_mean(word, _USAGE) or f"known: {', '.join(_USAGE)}"
        raise UsageError(f"there is no operation {word!r}", help=advice)
    named = {key: given[key] for key in ("name", "kind", "port") if given[key]}
    name = {key: part for key, part in named.items() if key == "name"}
    place = {"into": given["into"] or ""}
    place |= {"case": given["case"]} if given["case"] else {}
    place |= {"after": given["after"]} if given["first"] or given["after"] else {}
    fields = options.read_values(given["fields"], "--field", read_stdin)
    made: dict[str, Any]
    match word, arguments:
        case "set", [at, field, text]:
            made = {"at": at, "field": _keys(field), "value": text}
        case "set", [at, assigned]:
            ((field, value),) = options.read_values([assigned], "set", read_stdin).items()
            made = {"at": at, "field": _keys(field), "value": value}
        case "unset", [at, field]:
            made = {"at": at, "field": _keys(field)}
        case "open", [at, *keys] if len(keys) < 2:
            made = {"at": at, "field": [key for field in keys for key in _keys(field)]}
        case "rewrite", [at, text]:
            made = {"at": at, "text": text}
        case "rename", [at, new]:
            made = {"at": at, **named, "name": new}
        case "add", [kind]:
            made = {"kind": kind, "fields": fields, **name, **place}
        case "remove", [at]:
            inside = "keep" if given["keep"] else "with"
            made = {"at": at, "inside": inside, "bridge": given["bridge"]}
        case "move", [_, *_]:
            made = {"at": arguments, **place}
        case "wrap", [_, *_]:
            limits = {key: given[key] for key in ("until", "at_most") if given[key] is not None}
            made = {"at": arguments, "kind": "repeat", **named, "fields": limits | fields}
        case "extract", [at, file]:
            made = {"at": at, "file": file}
        case (("unwrap" | "inline"), [at]):
            made = {"at": at}
        case (("connect" | "disconnect"), [source, target]):
            ends = [dict(zip(("at", "port"), end.split(":", 1), strict=False))
                    for end in (source, target)]  # fmt: skip
            made = {"from": ends[0], "to": ends[1], **named}
        case "place", [at, x, y]:
            made = {"at": at, "x": _number(x), "y": _number(y)}
        case _:
            raise UsageError(f"{word!r} takes {_USAGE[word]}", help="see `whorl file edit --help`")
    return {"operation": word, **made}


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise UsageError("x and y are numbers") from None
    return int(number) if number.is_integer() else number


# `try`: one step, or one iteration of a loop, with given or pinned values.


@click.command(name="try")
@click.argument("file", metavar="FILE")
@click.option("--at", required=True, metavar="STEP", help="The step, or the loop, that is tried.")
@options.input_options
@click.option("--value", "values", multiple=True, metavar="NAME=VALUE",
              help="What the step sees: a step before it, or a carried value.")  # fmt: skip
@click.option("--values-of", metavar="RUN/LOOP[N]", help="The values of an iteration of a run.")
@click.option("--pin", "pins", multiple=True, metavar="STEP=VALUE",
              help="The result of a step that is not run; also STEP:=JSON.")  # fmt: skip
@options.budget_option("The most that it may spend.")
@options.step_options
@click.option("--yes", "-y", "may", is_flag=True,
              help="Allow commands, requests and written files.")  # fmt: skip
@show_options
@partial(located, drives=True)
def try_command(
    project: Project,
    *,
    file: str,
    at: str,
    inputs: tuple[str, ...],
    values: tuple[str, ...],
    values_of: str | None,
    pins: tuple[str, ...],
    budget: float | None,
    steps: dict[str, dict[str, str]],
    may: bool,
    show: Show,
) -> int:
    """Run one step of a workflow FILE alone, or the body of a loop once.

    \b
      whorl try polish.yaml --at polish -i task=bees
      whorl try polish.yaml --at polish --values-of last/polish[3]
      whorl try polish.yaml --at polish --pin review=@review.json
      whorl try polish.yaml --at polish/review --value write="A draft."

    A try is a run: it is journalled and has a budget of $0.25 unless you say otherwise. `whorl ls`
    and `whorl runs cost` leave it out unless you ask (--all). Pins of the page hold for each try.
    """
    path = project.locate(file)
    if is_code(path) and not os.path.exists(path):
        check_trusted(project.settings())
        words = f"{path!r} is written in Python, and no step of it can be tried alone"
        raise UsageError(words, help=f"`whorl run {path}` runs all of it")
    text = open_file(path)
    name, read = os.path.relpath(os.path.abspath(path), project.root), project.read_text(text, path)
    # A pinned step may be named by its path inside the tried step.
    named = options.read_values(pins, "--pin", read_stdin)
    given = {step if "/" in step else f"{at}/{step}": value for step, value in named.items()}
    single_step.check_names(read.workflow, pins=given)
    kept = single_step.pins_of(project, name, text)
    for step, pin in kept.items():
        if pin.is_stale and step not in given:
            say(f"the pin of {safe(step)} is stale, and is not used")
    wanted = single_step.Wanted(
        text,
        os.path.abspath(path),
        at,
        options.read_inputs(project, read.workflow, inputs),
        options.read_values(values, "--value", read_stdin),
        {step: pin.value for step, pin in kept.items() if not pin.is_stale} | given,
        _source(project, values_of),
        single_step.BUDGET_USD if budget is None else budget,
        steps=steps,
    )
    if not show.is_silent:
        options.ask_for_trust(project)
    return asyncio.run(_try(project, wanted, show, may=may))


def _source(project: Project, written: str | None) -> single_step.Source | None:
    if written is None:
        return None
    run, _, address = written.partition("/")
    loop, number = split_iteration(address)
    if number is None:
        raise UsageError(f"{written!r} does not name an iteration", help="such as last/polish[3]")
    with closing(project.open_store()) as store:
        return single_step.Source(find_run(store, run), loop, number)


async def _try(project: Project, wanted: single_step.Wanted, show: Show, *, may: bool) -> int:
    from whorl.providers.registry import Providers

    providers = Providers(project.settings())
    async with run_session(project, show, providers=providers) as session:
        workflow, start = single_step.prepare(project, session.store, wanted, forms=options.FORMS)
        show.check(workflow)
        if not may:
            _ask(workflow, providers.settings)
        start, note = preflight.permitted(workflow, providers, start)
        run, _ = await session.runtime.start(workflow, start)
        most = allowed(wanted.budget_usd)
        say(f"try of {safe(wanted.at)} (not in ls), at most {most}", *filter(None, [note]))
        return await session.drive(run)


def _ask(workflow: Workflow, settings: Any) -> None:
    """Asks once whether a try may have outside effects; raises UsageError if it may not."""
    try:
        single_step.check_effects(workflow, settings)
    except UsageError as fault:
        if not sys.stdin.isatty() or not click.confirm(f"{fault}; run it?", err=True):
            raise
