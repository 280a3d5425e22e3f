"""The top of a native file: name, inputs, defaults, budget and outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from whorl import ir
from whorl.dialects.native.draft import Around, shown
from whorl.dialects.native.exit_codes import let_read_codes_pass
from whorl.dialects.native.format.header import TYPES
from whorl.dialects.native.names import RESERVED, read_result
from whorl.dialects.native.scalars import count_of, duration_of, number_of, text_of
from whorl.dialects.native.subjects import last_with_result
from whorl.dialects.native.values import read_value
from whorl.ir.walk import is_hidden, names_given, walk
from whorl.source import Mapping, Scalar, plain

if TYPE_CHECKING:
    from whorl.dialects.native.draft import Draft
    from whorl.ir.values import PortType
    from whorl.language import Json
    from whorl.source import Entry, Value

_ACCEPTED: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "list": (list,),
    "file": (str,),
    "files": (list, str),
}


def read_header(draft: Draft, root: Mapping) -> ir.Workflow:
    """Reads a whole native file, top first."""
    draft.name = text_of(root.get("name")) or _stem(draft.file)
    inputs = _read_inputs(draft, root.get("inputs"))
    body = draft.block(root.get("steps"), Around())
    _check_clashes(draft, root, body)
    workflow = ir.Workflow(
        name=draft.name,
        description=text_of(root.get("description")) or "",
        inputs=inputs,
        main_input=_main_input(inputs),
        body=body,
        outputs=_read_outputs(draft, root.get("outputs"), body),
        limits=_read_budget(root.get("budget")),
        defaults=_read_defaults(draft, root),
        workflows=tuple(draft.workflows.items()),
        dialect="native",
        hidden_outputs=_hidden_outputs(draft, root.get("outputs"), body),
    )
    return let_read_codes_pass(workflow, draft.names)


def _stem(file: str) -> str:
    name = file.replace("\\", "/").rpartition("/")[2]
    return name.partition(".")[0] or "workflow"


def _read_inputs(draft: Draft, value: Value | None) -> tuple[ir.Port, ...]:
    if not isinstance(value, Mapping):
        return ()
    return tuple(_read_port(draft, entry) for entry in value)


def _read_port(draft: Draft, entry: Entry) -> ir.Port:
    written = entry.value
    if not isinstance(written, Mapping):
        kind = written.text if isinstance(written, Scalar) else ""
        return ir.Port(entry.name, _port_type(kind), required=not kind.endswith("?"))
    kind = text_of(written.get("type")) or "any"
    default = written.get("default")
    said = written.get("required")
    required = default is None and not kind.endswith("?")
    if isinstance(said, Scalar) and isinstance(said.value, bool):
        required = said.value and default is None
    _check_default(draft, entry, _port_type(kind), default)
    return ir.Port(
        entry.name,
        _port_type(kind),
        required=required,
        default=None if default is None else plain(default),
        description=text_of(written.get("description")) or "",
    )


def _port_type(word: str) -> PortType:
    bare = word.removesuffix("?")
    return cast("PortType", bare) if bare in TYPES else "any"


def _check_default(draft: Draft, entry: Entry, kind: str, default: Value | None) -> None:
    accepted = _ACCEPTED.get(kind)
    if default is None or accepted is None:
        return
    value: Json = plain(default)
    is_truth = isinstance(value, bool)
    if value is None or (isinstance(value, accepted) and is_truth == (kind == "boolean")):
        return
    draft.report(
        "W007",
        f"the default of input {entry.name!r} must be of type {kind}, not {shown(default)}",
        default.span,
        label=f"expected {kind}",
        help="change the default or the type",
    )


def _main_input(inputs: tuple[ir.Port, ...]) -> str:
    if len(inputs) == 1:
        return inputs[0].name
    texts = [port.name for port in inputs if port.required and port.type == "string"]
    return texts[0] if texts else ""


def _read_outputs(
    draft: Draft, value: Value | None, body: ir.Block
) -> tuple[tuple[str, ir.Value], ...]:
    if isinstance(value, Mapping) and value.entries:
        return tuple((entry.name, read_value(draft, entry.value)) for entry in value)
    last = last_with_result(body)
    return () if last is None else ((last.name, read_result(last.name)),)


def _hidden_outputs(draft: Draft, value: Value | None, body: ir.Block) -> tuple[str, ...]:
    """A secure step that is only the last one gives its output to nobody who looks on."""
    if isinstance(value, Mapping) and value.entries:
        return ()
    last = last_with_result(body)
    return (last.name,) if last is not None and is_hidden(last, draft.workflows) else ()


def _read_budget(value: Value | None) -> ir.RunLimits:
    if not isinstance(value, Mapping):
        return ir.RunLimits(cost_usd=_read_cost(value))
    return ir.RunLimits(
        cost_usd=_read_cost(value.get("cost")),
        tokens=count_of(value.get("tokens")),
        calls=count_of(value.get("calls")),
        time_s=duration_of(value.get("time")),
    )


def _read_cost(value: Value | None) -> float | None:
    """An amount; the structure check has reported one that is none."""
    cost = number_of(value)
    return None if cost is None or cost < 0 else float(cost)


def _read_defaults(draft: Draft, root: Mapping) -> tuple[tuple[str, ir.Fields], ...]:
    model, system = root.get("model"), root.get("system")
    ask: list[tuple[str, ir.Value]] = []
    judge: list[tuple[str, ir.Value]] = []
    if model is not None:
        ask.append(("model", read_value(draft, model)))
        judge.append(ask[0])
    if system is not None:
        ask.append(("system", read_value(draft, system)))
    found = (("ask", ir.Fields(tuple(ask))), ("judge", ir.Fields(tuple(judge))))
    return tuple((kind, fields) for kind, fields in found if fields.entries)


def _check_clashes(draft: Draft, root: Mapping, body: ir.Block) -> None:
    """A name means one thing: an input, a step or a variable."""
    steps = {name for name, _ in names_given(body)}
    sets = [name for _, node in walk(body) if isinstance(node, ir.Assign) for name, _ in node.sets]
    inputs = root.get("inputs")
    for entry in inputs.entries if isinstance(inputs, Mapping) else ():
        if entry.name in RESERVED or (entry.name not in steps and entry.name not in sets):
            continue
        what = "a step" if entry.name in steps else "a variable"
        draft.report(
            "W012",
            f"{entry.name!r} is the name of an input and of {what}",
            entry.key.span,
            label=f"{what} has this name, too",
            help="choose another name for one of them",
        )
    for path, node in walk(body):
        if node.name in sets:
            draft.report(
                "W012",
                f"{node.name!r} is the name of a step and of a variable",
                draft.places.node(path),
                label="a variable has this name, too",
                help="choose another name for one of them",
            )
