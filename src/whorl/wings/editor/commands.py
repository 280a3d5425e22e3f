"""`edit` and `try`: operations on a workflow file, and one step or iteration alone."""

from __future__ import annotations

import asyncio
import difflib
import json
import os
import re
import secrets
import sys
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from whorl.errors import EditRefused, UsageError, did_you_mean, plural, safe
from whorl.errors import as_json as _finding
from whorl.interfaces.cli import options
from whorl.interfaces.cli.group import show_diagnostics
from whorl.interfaces.cli.options import (
    json_option,
    located,
    print_json,
    read_stdin,
    with_paths,
    write_file,
)
from whorl.interfaces.cli.output_options import Show, show_options
from whorl.interfaces.cli.session import run_session
from whorl.interfaces.cli.terminal import echo, say
from whorl.interfaces.cli.trust import ask_for_trust
from whorl.services.configuration.trust import check_trusted
from whorl.services.files import preflight
from whorl.services.project import is_code
from whorl.services.runs import find_run
from whorl.source.paths import check_inside, open_file
from whorl.wings.editor import single_step

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.services.project import Project
    from whorl.wings.editor.kit.edit import Edited

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
@click.option("--name", metavar="NAME", help="For add, wrap, connect, extract: what it is called.")
@click.option("--kind", metavar="KIND", help="For wrap: repeat (the default), each, together, if. "
              "For connect: order, data or feedback.")  # fmt: skip
@click.option("--port", metavar="PORT", help="For rename: the port of the step that gets the name, "
              "as input:NAME or output:NAME.")  # fmt: skip
@click.option("--until", metavar="TEXT", help="For wrap: when the loop ends.")
@click.option("--at-most", type=click.IntRange(1), metavar="N", help="For wrap: its iterations.")
@click.option("--field", "fields", metavar="NAME=VALUE", multiple=True,
              help="For add, wrap: a field; NAME:=JSON for any value.")  # fmt: skip
@click.option("--keep", is_flag=True, help="For remove: keep what the step holds.")
@click.option("--bridge", is_flag=True, help="For remove: connect the steps before and after it.")
@click.option("--readers", type=click.Choice(["rewire", "leave"]), default="rewire",
              show_default=True, help="What happens to the readers of a step.")  # fmt: skip
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
      whorl edit polish.yaml set polish/write ask "Write {{ task }}"
      whorl edit polish.yaml set polish repeat.at_most:=7
      whorl edit polish.yaml add ask --into polish --after polish/write --name check
      whorl edit polish.yaml wrap write review --name polish --until review.approved --at-most 5
      whorl edit polish.yaml rename polish/write draft
      whorl edit polish.yaml names polish/write # what its texts may read
      whorl edit polish.yaml --list             # its steps, with their paths
      whorl edit polish.yaml                    # the page, with the file in the editor

    Operations: set, unset, rewrite, open, add, remove, move, rename, wrap, unwrap, connect,
    disconnect, place, extract, inline. The exit code is 2 when one is refused; the file is then as
    it was.
    """
    path = project.locate(file)
    text = _read(path)
    if words[:1] == ("names",):
        return _show_names(project, path, text, words[1:], as_json=as_json)
    operations = _listed(listed) if listed else []
    if words:
        operations.append(_operation(words, options))
    if not operations:
        if not lists and not as_json and sys.stdin.isatty() and sys.stdout.isatty():
            return _open_page(project, path)
        return _show(project, path, text, as_json=as_json)
    from whorl.wings.editor.files import answer, diagnose, edit_text, new_fields

    try:
        edited = edit_text(project, text, path, operations, rewires=readers == "rewire")
    except EditRefused as fault:
        return _refused(fault, path, text, as_json=as_json)
    found = diagnose(project, edited.text, path, edited.others)
    if found and (unknown := new_fields(diagnose(project, text, path), found)):
        return _refused(EditRefused(unknown[0]), path, edited.text, as_json=as_json)
    if not only_shows and edited.text != text:
        check_inside(project.root, path)
        # Other files are new ones; what names them is written last.
        for name, other in edited.others.items():
            target = str(Path(path).parent / name)
            write_file(target, other, advice="choose another name", mode="x")
        _write(path, edited.text)
    if as_json:
        print_json({**answer(text, edited), "diagnostics": [_finding(each) for each in found]})
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
    """Writes by renaming a whole new file beside it; the mode stays, and so does what is linked."""
    real = os.path.realpath(path)
    new = Path(real).parent / f".{Path(real).name[:100]}.{secrets.token_hex(6)}"
    try:
        mode = os.stat(real).st_mode & 0o777
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
            os.fchmod(stream.fileno(), mode)
            stream.write(text.encode())
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(new, real)
    except OSError as fault:
        raise UsageError(f"cannot write {path!r}: {fault.strerror or fault}") from None
    finally:
        with suppress(OSError):
            os.unlink(new)


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
    """Serves the page, with the file in its editor, until it is stopped."""
    from whorl.interfaces.cli.commands.project.serving import serve_page

    file = os.path.relpath(os.path.abspath(path), project.root)
    if file.startswith(".."):
        raise UsageError(f"{path!r} is not in the project", help="--list shows its steps")
    # Once for the address of the page, and once for the link that leads there.
    serve_page(project, page=f"edit/{quote(quote(file, safe=''), safe='')}")
    return 0


def _show(project: Project, path: str, text: str, *, as_json: bool) -> int:
    """The steps of a file, with the paths that operations name them by."""
    from whorl.wings.editor.files import diagnose, sketch_text

    dialect, sketch = sketch_text(project, text, path)
    if as_json:
        found = [_finding(each) for each in diagnose(project, text, path)]
        print_json({"file": path, "dialect": dialect, "sketch": sketch, "diagnostics": found})
        return 0 if sketch is not None else 2
    if sketch is None:
        diagnostics = diagnose(project, text, path)
        if not diagnostics:
            raise UsageError(f"files of the dialect {dialect!r} are edited as text", code="C107")
        show_diagnostics(diagnostics, {path: text})
        return 2
    for node in sketch["nodes"]:
        line = node["span"]["line"] if node["span"] else 0
        echo(f"{line:>5}  {safe(node['path'])}  ({safe(node['kind']) or '?'})")
    return 0


def _show_names(
    project: Project, path: str, text: str, words: tuple[str, ...], *, as_json: bool
) -> int:
    """What the texts of a step may read."""
    from whorl.wings.editor.files import names_at

    if len(words) > 1:
        raise UsageError("'names' takes STEP", help="see `whorl edit --help`")
    try:
        names = names_at(project, text, path, words[0] if words else "")
    except EditRefused as fault:
        return _refused(fault, path, text, as_json=as_json)
    if as_json:
        print_json({"names": names})
    for name in () if as_json else names:
        read = f"  read by {len(name['readers'])}" if name["readers"] else ""
        echo(f"{safe(name['name'])}  ({safe(name['type'])}){read}")
    return 0


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


def _value(written: str) -> tuple[str, Any]:
    """`NAME=VALUE` for a text, `NAME:=JSON` for any value."""
    name, mark, rest = written.partition("=")
    if not mark:
        raise UsageError(f"{written!r} is not NAME=VALUE or NAME:=JSON")
    if not name.endswith(":"):
        return name, rest
    try:
        return name[:-1], json.loads(rest)
    except ValueError:
        advice = f"a text is given with {name[:-1]}=TEXT, or in JSON with quotes"
        raise UsageError(f"{rest[:60]!r} is not JSON", help=advice) from None


def _keys(written: str) -> list[str | int]:
    """A field as keys: `repeat.until.0`."""
    return [int(part) if part.isdigit() else part for part in written.split(".")]


def _place(options: dict[str, Any]) -> dict[str, Any]:
    place: dict[str, Any] = {"into": options["into"] or ""}
    if options["case"]:
        place["case"] = options["case"]
    if options["first"] or options["after"]:
        place["after"] = options["after"]
    return place


def _set(words: list[str], _: dict[str, Any]) -> dict[str, Any]:
    if len(words) == 3:
        return {"at": words[0], "field": _keys(words[1]), "value": words[2]}
    at, written = words
    field, value = _value(written)
    return {"at": at, "field": _keys(field), "value": value}


def _open(words: list[str], _: dict[str, Any]) -> dict[str, Any]:
    return {"at": words[0], "field": _keys(words[1]) if len(words) > 1 else []}


def _add(words: list[str], options: dict[str, Any]) -> dict[str, Any]:
    name = {"name": options["name"]} if options["name"] else {}
    fields = dict(map(_value, options["fields"]))
    return {"kind": words[0], "fields": fields, **name, **_place(options)}


def _wrap(words: list[str], options: dict[str, Any]) -> dict[str, Any]:
    given = {"until": options["until"], "at_most": options["at_most"]}
    fields = {name: part for name, part in given.items() if part is not None}
    fields |= dict(map(_value, options["fields"]))
    name = {"name": options["name"]} if options["name"] else {}
    return {"at": words, "kind": options["kind"] or "repeat", "fields": fields, **name}


def _connect(words: list[str], options: dict[str, Any]) -> dict[str, Any]:
    ends = [dict(zip(("at", "port"), word.split(":", 1), strict=False)) for word in words]
    more = {name: options[name] for name in ("kind", "name") if options[name]}
    return {"from": ends[0], "to": ends[1], **more}


def _numbers(words: list[str], _: dict[str, Any]) -> dict[str, Any]:
    try:
        numbers = [float(word) for word in words[1:]]
    except ValueError:
        raise UsageError("x and y are numbers") from None
    whole = [int(number) if number.is_integer() else number for number in numbers]
    return {"at": words[0], "x": whole[0], "y": whole[1]}


def _rename(words: list[str], options: dict[str, Any]) -> dict[str, Any]:
    port = {"port": options["port"]} if options["port"] else {}
    return {"at": words[0], "name": words[1], **port}


def _extract(words: list[str], options: dict[str, Any]) -> dict[str, Any]:
    name = {"name": options["name"]} if options["name"] else {}
    return {"at": words[:-1], "file": words[-1], **name}


def _remove(words: list[str], options: dict[str, Any]) -> dict[str, Any]:
    inside = "keep" if options["keep"] else "with"
    return {"at": words[0], "inside": inside, "bridge": options["bridge"]}


# By operation: how many arguments it takes, what they are, and what becomes of them.
_WORDS: dict[str, tuple[range, str, Callable[[list[str], dict[str, Any]], dict[str, Any]]]] = {
    "set": (range(2, 4), "STEP FIELD VALUE, or STEP FIELD:=JSON", _set),
    "unset": (range(2, 3), "STEP FIELD", lambda w, _: {"at": w[0], "field": _keys(w[1])}),
    "rewrite": (range(2, 3), "STEP TEXT", lambda w, _: {"at": w[0], "text": w[1]}),
    "open": (range(1, 3), "STEP [FIELD]", _open),
    "add": (range(1, 2), "KIND", _add),
    "remove": (range(1, 2), "STEP", _remove),
    "move": (range(1, 100), "STEP...", lambda w, options: {"at": w, **_place(options)}),
    "rename": (range(2, 3), "STEP NAME", _rename),
    "wrap": (range(1, 100), "STEP...", _wrap),
    "unwrap": (range(1, 2), "STEP", lambda w, _: {"at": w[0]}),
    "connect": (range(2, 3), "FROM[:PORT] TO[:PORT]", _connect),
    "disconnect": (range(2, 3), "FROM[:PORT] TO[:PORT]", _connect),
    "extract": (range(2, 100), "STEP... FILE", _extract),
    "inline": (range(1, 2), "STEP", lambda w, _: {"at": w[0]}),
    "place": (range(3, 4), "STEP X Y", _numbers),
}


def _operation(words: tuple[str, ...], options: dict[str, Any]) -> dict[str, Any]:
    word, *arguments = words
    if word not in _WORDS:
        advice = did_you_mean(word, (*_WORDS, "names")) or f"known: {', '.join(_WORDS)}"
        raise UsageError(f"there is no operation {word!r}", help=advice)
    counts, usage, made = _WORDS[word]
    if len(arguments) not in counts:
        raise UsageError(f"{word!r} takes {usage}", help="see `whorl edit --help`")
    return {"operation": word, **made(arguments, options)}


# `try`: one step, or one iteration of a loop, with values that are given or pinned.

_ITERATION = re.compile(r"(?P<run>[^/]+)/(?P<loop>.+)\[(?P<number>[0-9]{1,9})\]")


@click.command(name="try")
@click.argument("file", metavar="FILE")
@click.option("--at", required=True, metavar="STEP", help="The step, or the loop, that is tried.")
@click.option("--input", "-i", "inputs", multiple=True, metavar="NAME=VALUE",
              help="An input of the workflow; also NAME:=JSON and NAME=@FILE.")  # fmt: skip
@click.option("--value", "values", multiple=True, metavar="NAME=VALUE",
              help="What the step sees: a step before it, or a carried value.")  # fmt: skip
@click.option("--values-of", metavar="RUN/LOOP[N]", help="The values of an iteration of a run.")
@click.option("--pin", "pins", multiple=True, metavar="STEP=VALUE",
              help="The result of a step that is not run; also STEP:=JSON.")  # fmt: skip
@click.option("--keep-pins", is_flag=True, help="Keep these pins for further tries of the file.")
@options.budget_option("The most that it may spend.")
@click.option("--yes", "may", is_flag=True, help="Let it run commands, call and write.")
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
    keep_pins: bool,
    budget: float | None,
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
    and `whorl cost` leave it out unless you ask (--all). Pins that were kept hold for each try.
    """
    path = project.locate(file)
    text = _text(project, path)
    name, read = os.path.relpath(os.path.abspath(path), project.root), project.read_text(text, path)
    given = {_inside(at, step): value for step, value in _read_try_command(pins, "--pin").items()}
    single_step.check_names(read.workflow, single_step.Wanted(text, path, at, pins=given))
    if keep_pins:
        before = {step: pin.value for step, pin in single_step.pins_of(project, name).items()
                  if not pin.is_stale}  # fmt: skip
        single_step.save_pins(project, name, before | given, None)
    kept = single_step.pins_of(project, name, text)
    for step, pin in kept.items():
        if pin.is_stale:
            say(f"the pin of {safe(step)} is stale, and is not used")
    wanted = single_step.Wanted(
        text,
        os.path.abspath(path),
        at,
        with_paths(project, read.workflow, _read_try_command(inputs, "-i")),
        _read_try_command(values, "--value"),
        {step: pin.value for step, pin in kept.items() if not pin.is_stale} | given,
        _source(project, values_of),
        single_step.BUDGET_USD if budget is None else budget,
    )
    single_step.check_names(read.workflow, replace(wanted, pins={}))
    if not show.is_silent:
        ask_for_trust(project)
    return asyncio.run(_try(project, wanted, show, may=may))


def _text(project: Project, path: str) -> str:
    """The text of a file; a workflow that is written in Python has none to take a step from."""
    if is_code(path) and not os.path.exists(path):
        check_trusted(project.settings())
        words = f"{path!r} is written in Python, and no step of it can be tried alone"
        raise UsageError(words, help=f"`whorl run {path}` runs all of it")
    return open_file(path)


def _read_try_command(words: tuple[str, ...], option: str) -> dict[str, Json]:
    return options.read_values(words, option, read_stdin)


def _inside(at: str, step: str) -> str:
    """The path of a pinned step, which may be named by what it is called in the one tried."""
    return step if "/" in step else f"{at}/{step}"


def _source(project: Project, written: str | None) -> single_step.Source | None:
    if written is None:
        return None
    found = _ITERATION.fullmatch(written)
    if found is None:
        raise UsageError(f"{written!r} does not name an iteration", help="such as last/polish[3]")
    with closing(project.open_store()) as store:
        return single_step.Source(
            find_run(store, found["run"]), found["loop"], int(found["number"])
        )


async def _try(project: Project, wanted: single_step.Wanted, show: Show, *, may: bool) -> int:
    from whorl.providers.registry import Providers

    providers = Providers(project.settings())
    async with run_session(project, show, providers=providers) as session:
        workflow, start = single_step.prepare(project, session.store, wanted, forms=options.FORMS)
        show.check(workflow)
        if not may:
            _ask(workflow, providers.settings)
        start, note = preflight.permitted(workflow, providers, start)
        if note:
            say(note)
        run, _ = await session.runtime.start(workflow, start)
        return await session.drive(run)


def _ask(workflow: Workflow, settings: Any) -> None:
    """Asks once whether a try may do what it does outside; raises UsageError where it may not."""
    try:
        single_step.check_effects(workflow, settings)
    except UsageError as fault:
        if not sys.stdin.isatty() or not click.confirm(f"{fault}; go on?", err=True):
            raise
