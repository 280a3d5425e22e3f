"""Placeholders: `{{input}}`, `{{node.output}}`, `{{node.field[0]}}`, `{{item}}`, `{{topic}}`.

One that is nearly a name that there is can only be misspelt, and is an error; any other that stands
for nothing stays as it is written, with a warning.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.findings import REPORTED_MAX
from whorl.dialects.studio.canvas.handles import RESULTS
from whorl.dialects.studio.canvas.kinds import MAIN_FIELDS
from whorl.dialects.studio.functions.pipes import PIPES
from whorl.dialects.studio.texts.scripts import ScriptFault, read_script
from whorl.dialects.studio.texts.sources import called, expression, known, quoted
from whorl.errors import did_you_mean
from whorl.ir.checks.suggest import suggest
from whorl.source import Mapping, Scalar, Sequence, plain

if TYPE_CHECKING:
    from whorl.dialects.studio.canvas.regions import Region
    from whorl.dialects.studio.scene import Scene
    from whorl.dialects.studio.texts.scripts import Script
    from whorl.errors import Span
    from whorl.source import Value

_PLACE = re.compile(r"\{\{([^{}]*)\}\}")
_PATH = re.compile(r"(?:\.[\w-]+|\[\s*(?:-?\d{1,9}|'[^'\n]*'|\"[^\"\n]*\")\s*\])*")
_STEP = re.compile(r"\.([\w-]+)|\[\s*(?:(-?\d+)|'([^']*)'|\"([^\"]*)\")\s*\]")
_MAIN = ("output", "result")
PLACES_MAX = 1_000
# Comparing names costs time, and a hostile file has many of both.
_COMPARED_MAX = 500
_COUNTED = ("index", "total", "iteration")


def read_text(scene: Scene, node: str, value: Value | None) -> ir.Value:
    """A field of a node: a text with placeholders, or any constant."""
    if not isinstance(value, Scalar) or not isinstance(value.value, str):
        return ir.Constant(None if value is None else plain(value))
    source = text_source(scene, node, value)
    return ir.Constant(value.value) if source is None else expression(source)


def read_tree(scene: Scene, node: str, value: Value | None) -> ir.Value:
    """A field of a node whose lists and objects may hold texts with placeholders."""
    if isinstance(value, Sequence):
        return ir.Items(tuple(read_tree(scene, node, item) for item in value))
    if isinstance(value, Mapping):
        return ir.Fields(
            tuple((entry.name, read_tree(scene, node, entry.value)) for entry in value)
        )
    return read_text(scene, node, value)


def text_source(scene: Scene, node: str, scalar: Scalar) -> str | None:
    """The source of a text with placeholders; None if it has none that stand for anything."""
    text = scalar.text
    parts: list[str] = []
    end = 0
    for number, place in enumerate(_PLACE.finditer(text)):
        if number == PLACES_MAX:
            message = f"a text of {node!r} has more than {PLACES_MAX:,} places"
            span = scalar.locate(place.start())
            scene.draft.report("W002", message, span, help="split it into several transforms")
            break
        source = _place(scene, node, scalar, place)
        if source is None:
            continue
        if place.start() > end:
            parts.append(quoted(text[end : place.start()]))
        parts.append(source)
        end = place.end()
    if not parts:
        return None
    if end < len(text):
        parts.append(quoted(text[end:]))
    return " ~ ".join(parts)


def script_source(scene: Scene, node: str, scalar: Scalar, script: Script) -> str:
    """The source of a script: what is piped, through all its pipes."""
    written = f"{{{{{script.reference}}}}}"
    source: str | None = scene.value(node)
    if script.reference:
        source = resolve(scene, node, script.reference, written)
        if source is None:
            names = [*PIPES, *scene.canvas.nodes, *scene.inputs, "input"]
            scene.draft.report(
                "W020",
                f"{script.reference[:60]!r} in {node!r} is neither a pipe nor a name",
                scalar.locate(script.offset, len(script.reference)),
                label="unknown",
                help=suggest(script.reference, names),
            )
        elif (lacking := unknown_field(scene, node, script.reference)) is not None:
            kind = scene.canvas.nodes[lacking[0]].type
            scene.draft.report(
                "W005",
                f"{script.reference[:60]!r} in {node!r}: {kind} {lacking[0]!r} gives no "
                f"{lacking[1][:60]!r}",
                scalar.locate(script.offset, len(script.reference)),
                label="unknown field",
                help=suggest(lacking[1], sorted(RESULTS[kind])),
            )
    return piped(source or "none", script)


def piped(source: str, script: Script) -> str:
    """A value through the pipes of a script."""
    for pipe in script.pipes:
        arguments = [quoted(a) if isinstance(a, str) else repr(a) for a in pipe.arguments]
        source = called("pipe", source, quoted(pipe.name), *arguments)
    return source


def _place(scene: Scene, node: str, scalar: Scalar, place: re.Match[str]) -> str | None:
    content = place[1].strip()
    if "|" not in content:
        return _resolved(scene, node, scalar, content, place)
    try:
        script = read_script(place[1])
    except ScriptFault as fault:
        span = scalar.locate(place.start(1) + fault.offset)
        scene.draft.warn("W020", f"{fault}; it stays as it is written", span, help=fault.help)
        return None
    found = _resolved(scene, node, scalar, script.reference or "input", place)
    return None if found is None else piped(found, script)


def _resolved(
    scene: Scene, node: str, scalar: Scalar, content: str, place: re.Match[str]
) -> str | None:
    """The source of a reference; what can only be misspelt is reported, all else is warned of."""
    found = resolve(scene, node, content, place[0])
    told = scene.draft.warnings, scene.draft.diagnostics
    if any(len(findings) >= REPORTED_MAX for findings in told):
        return found
    span = scalar.locate(place.start(1), max(1, len(place[1])))
    if found is None:
        _tell_unknown(scene, node, content, span)
    elif (lacking := unknown_field(scene, node, content)) is not None:
        other, name = lacking
        kind = scene.canvas.nodes[other].type
        _tell(
            scene,
            f"{{{{{content[:60]}}}}} in {node!r}: {kind} {other!r} gives no {name[:60]!r}",
            span,
            suggest(name, sorted({*RESULTS[kind], "output"})),
        )
    elif near := _misspelt_input(scene, content):
        message = f"{{{{{content[:60]}}}}} in {node!r} names no input of the workflow, but a field "
        message += "of what comes in"
        scene.draft.warn("W005", message, span, label="no such input", help=near)
    return found


def _misspelt_input(scene: Scene, content: str) -> str:
    head, *steps = content.split(".")
    if head.strip() not in ("input", "inputs") or not steps or steps[0] in scene.inputs:
        return ""
    return did_you_mean(steps[0], islice(scene.inputs, _COMPARED_MAX))


def unknown_field(scene: Scene, node: str, content: str) -> tuple[str, str] | None:
    """The node and the field that a reference names, where such a node never has that field."""
    for end in _ends(content):
        other, steps = content[:end].strip(), _steps(content[end:])
        if other in scene.canvas.nodes and _PATH.fullmatch(content[end:]):
            kind = scene.canvas.nodes[other].type
            name = steps[0] if steps else "output"
            started = scene.regions.by_start.get(other)
            if started is not None and scene.is_within(node, started):
                return None  # inside of its stretch, it stands for what comes in
            known = RESULTS.get(kind)
            if known is None or not isinstance(name, str) or name in (*known, *_MAIN):
                return None
            return other, name
    return None


def _tell(scene: Scene, message: str, span: Span, advice: str) -> None:
    """A name that is nearly another one can only be misspelt; any other may be text that stays."""
    if advice.startswith("did you mean"):
        scene.draft.report("W005", message, span, label="unknown name", help=advice)
    else:
        told = f"{message}, and stays as it is written"
        scene.draft.warn("W005", told, span, label="unknown name", help=advice)


def _tell_unknown(scene: Scene, node: str, content: str, span: Span) -> None:
    turn = ("item", *_COUNTED) if scene.regions.around(node) is not None else ()
    names = [*turn, *scene.canvas.nodes, *scene.inputs, *scene.variables, "input"]
    head = re.split(r"[.\[]", content, maxsplit=1)[0]
    region = scene.regions.around(head) if head in scene.canvas.nodes else None
    if head in scene.canvas.nodes and head != node:
        advice = f"connect {head!r} to {node!r}, directly or through other nodes"
        if region is not None and not scene.is_within(node, region):
            advice = f"{head!r} runs inside of {region.start!r}; its result is {region.end!r}"
    else:
        advice = suggest(head.strip(), [name for name in names if name != node])
    message = f"{{{{{content[:60]}}}}} in {node!r} stands for nothing here"
    _tell(scene, message, span, advice)


def resolve(scene: Scene, node: str, content: str, written: str) -> str | None:
    """The source of what a reference stands for at a node; None if it stands for nothing."""
    for end in _ends(content):
        head, rest = content[:end].strip(), content[end:]
        if _PATH.fullmatch(rest) is None:
            continue
        source = _named(scene, node, head, _steps(rest))
        if source is not None:
            return _dug(*source, written)
    return None


def _ends(content: str) -> list[int]:
    """Where the name at the beginning may end, the longest first: ids may hold dots."""
    marks = [found.start() for found in re.finditer(r"[.\[]", content)]
    return [len(content), *reversed(marks)]


def _steps(path: str) -> list[str | int]:
    steps: list[str | int] = []
    for found in _STEP.finditer(path):
        name, index, *quoted_names = found.groups()
        if index is not None:
            steps.append(int(index))
        else:
            steps.append(next(part for part in (name, *quoted_names) if part is not None))
    return steps


def _dug(source: str, path: list[str | int], written: str) -> str:
    steps = [quoted(step) if isinstance(step, str) else str(step) for step in path]
    return called("dig", source, quoted(written), *steps)


def _named(
    scene: Scene, node: str, head: str, path: list[str | int]
) -> tuple[str, list[str | int]] | None:
    """What a name stands for, and the path that is left to follow."""
    first = path[0] if path else None
    if head in ("input", "inputs") and isinstance(first, str) and first in scene.inputs:
        return _refer(scene, node, scene.inputs[first], "output"), path[1:]
    if head == "input":
        source = own_input(scene, node)
        return None if source is None else (source, path)
    if head == "inputs":
        return (scene.value(node), path) if scene.canvas.incoming[node] else None
    turn = _turn(scene, node, head)
    if turn is not None:
        return turn, path
    if head in scene.canvas.nodes and _may_see(scene, node, head):
        return _result(scene, node, head, path)
    incoming = scene.incoming(node)
    if head in incoming:
        return incoming[head], path
    if head in scene.inputs:
        return _refer(scene, node, scene.inputs[head], "output"), path
    return (known(head), path) if head in scene.variables else None


def own_input(scene: Scene, node: str) -> str | None:
    """What `{{input}}` is at a node: what comes in, or what its stretch or the run was given."""
    incoming = scene.incoming(node)
    if "input" in incoming:
        return incoming["input"]
    if len(incoming) == 1:
        return next(iter(incoming.values()))
    around = scene.regions.around(node)
    if around is not None:
        return known(around.start)
    if incoming:
        return scene.value(node)
    named = scene.inputs.get("input") or (
        next(iter(scene.inputs.values())) if len(scene.inputs) == 1 else None
    )
    return None if named is None else _refer(scene, node, named, "output")


def _turn(scene: Scene, node: str, head: str) -> str | None:
    """`item`, `index` and `total` of the nearest iterator; the latter two of a loop as well."""
    region: Region | None = scene.regions.around(node)
    while region is not None:
        if head == "item" and region.kind == "iterator":
            return known(region.start)
        if head in _COUNTED:
            return scene.counted(region, head)
        region = region.parent
    return None


def _result(
    scene: Scene, node: str, other: str, path: list[str | int]
) -> tuple[str, list[str | int]]:
    first = path[0] if path else "output"
    kind = scene.canvas.nodes[other].type
    if kind == "input" and first in ("value", *_MAIN, _name_of(scene, other)):
        return _refer(scene, node, other, "output"), path[1:]
    if kind in ("loop", "exit", "iterator", "aggregator") and isinstance(first, str):
        return called("main", _refer(scene, node, other, first), quoted(first)), path[1:]
    source = _refer(scene, node, other, "output")
    if kind in MAIN_FIELDS:
        source = known(other)
    if not path or first in _MAIN:
        return called("main", source, quoted(str(first))), path[1:]
    return source, path


def _name_of(scene: Scene, node: str) -> str:
    return next((name for name, holder in scene.inputs.items() if holder == node), "")


def _may_see(scene: Scene, node: str, other: str) -> bool:
    """Whether a node's result is there when the text is made; an order is added if need be."""
    if other == node or scene.canvas.nodes[other].type == "note":
        return False
    started = scene.regions.by_start.get(other)
    if started is not None and scene.is_within(node, started):
        return True
    level = scene.regions.level(other)
    if level is not None and not scene.is_within(node, level):
        return False
    ended = scene.regions.by_end.get(other)
    return not scene.leads_to(node, ended.start if ended else other)


def _refer(scene: Scene, node: str, other: str, handle: str) -> str:
    scene.refer(node, other)
    return scene.output(other, handle, node)
