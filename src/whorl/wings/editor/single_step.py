"""Tries: one step, or one iteration of a loop, run from a draft with given values.

A try is an ordinary run of a workflow with only that step. The steps around it and the pinned
steps are replaced by values. Its key marks it, so that lists and costs leave it out.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.errors import UsageError, did_you_mean
from whorl.interpreter.events import numbered
from whorl.ir.expressions import Names, bound_names
from whorl.ir.walk import is_hidden, walk, with_nodes
from whorl.lazily import dataclass
from whorl.runtimes.journal.forking import moment
from whorl.runtimes.sqlite.listing import TRY
from whorl.runtimes.start_options import Start
from whorl.services.files.forecasting import Effects, effects_of
from whorl.services.files.preflight import check_given
from whorl.services.records import records_of
from whorl.services.steering import with_steps

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from whorl.language import Json
    from whorl.providers.settings import Settings
    from whorl.runtimes.journal.journal import Journal, RunId
    from whorl.services.project import Project
    from whorl.wings.editor.files import Others

BUDGET_USD = 0.25
HAS_EFFECTS = "C113"
_PINS, _PINS_BYTES_MAX = "pins.json", 5_000_000
# The name of the output of a try.
_RESULT = "result"
_ALONE = (ir.Break, ir.Continue, ir.Stop)


@dataclass(frozen=True, slots=True)
class Source:
    """The iteration of a run that values are taken from."""

    run: RunId
    loop: str
    iteration: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request for a try: a step of a draft, with values by path; `pins` are results by path.

    A path inside the step names a step to replace, or an input of an iteration. Any other path
    names a value that the step sees. `others` are unsaved files beside the draft.
    """

    text: str
    file: str
    at: str
    inputs: dict[str, Json] = field(default_factory=dict)
    values: dict[str, Json] = field(default_factory=dict)
    pins: dict[str, Json] = field(default_factory=dict)
    source: Source | None = None
    budget_usd: float = BUDGET_USD
    others: Others = None
    # Other models and prompts by step.
    steps: dict[str, dict[str, str]] = field(default_factory=dict)


def prepare(
    project: Project, journal: Journal, wanted: Wanted, *, forms: str = ""
) -> tuple[ir.Workflow, Start]:
    """Returns the workflow of a try and its start; raises InvalidWorkflow or UsageError.

    `forms` says how inputs are written on the command line, if they come from there.
    """
    reading = project.read_text(wanted.text, wanted.file, others=wanted.others)
    reading = replace(reading, workflow=with_steps(reading.workflow, wanted.steps))
    nodes = nodes_by_path(reading.workflow)
    node = nodes.get(wanted.at)
    if node is None or isinstance(node, _ALONE):
        inside = next((path for path in nodes if path.endswith(f"/{wanted.at}")), "")
        advice = f"did you mean {inside!r}?" if inside else did_you_mean(wanted.at, nodes)
        words = f"there is no step {wanted.at[:120]!r} that can be tried"
        raise UsageError(words, help=advice, code="W005")
    within = f"{wanted.at}/"
    held = {path: value for path, value in wanted.pins.items() if path.startswith(within)}
    known = {path.rpartition("/")[2]: value for path, value in wanted.pins.items()
             if path not in held}  # fmt: skip
    known |= _given_by(journal, wanted.source, wanted.at)
    for path, value in wanted.values.items():
        if path.startswith(within) and path in nodes:
            held[path] = value
        else:
            known[path.rpartition("/")[2]] = value
    check_names(reading.workflow, wanted.values)
    workflow = _workflow(reading.workflow, _pinned(node, nodes, held), known)
    ports = {port.name for port in workflow.inputs}
    given = {name: value for name, value in known.items() if name in ports} | wanted.inputs
    # Only those that the tried step reads are required.
    read = Names().in_block(workflow.body)
    inputs = (replace(port, required=port.required and port.name in read)
              for port in reading.workflow.inputs)  # fmt: skip
    needed = replace(workflow, inputs=tuple(inputs))
    advice = forms or "see `inputs` of the workflow"
    check_given(needed, given, advice=advice, has_options=bool(forms))
    start = Start(
        input=given,
        limits={"cost_usd": wanted.budget_usd},
        key=f"{TRY}{secrets.token_hex(8)}",
        file=wanted.file,
        sources=dict(reading.sources),
        steps=wanted.steps,
    )
    return workflow, start


def nodes_by_path(workflow: ir.Workflow) -> dict[str, ir.Node]:
    """Returns the steps of a workflow by their paths, as pictures spell them."""
    found: dict[str, ir.Node] = {}
    for path, node in walk(workflow.body):
        found.setdefault("/".join(part.partition("@")[0] for part in path.split("/")), node)
    return found


def check_names(whole: ir.Workflow, values: Iterable[str] = (), pins: Iterable[str] = ()) -> None:
    """Refuses values and pins with unknown names; raises UsageError W005."""
    nodes = nodes_by_path(whole)
    for path in pins:
        if path not in nodes:
            raise _unknown("step", path, nodes)
    names = {path.rpartition("/")[2] for path in nodes} | {port.name for port in whole.inputs}
    names |= {name for name, _ in whole.variables} | Names().in_block(whole.body)
    names |= {name for node in nodes.values() for name in bound_names(node)}
    for path in values:
        block, _, name = path.rpartition("/")
        if name not in names or (block and block not in nodes):
            raise _unknown("value", path, [*names, *nodes])


def _unknown(what: str, name: str, known: Iterable[str]) -> UsageError:
    words = f"there is no {what} {name[:120]!r}"
    return UsageError(words, help=did_you_mean(name, known), code="W005")


def check_effects(workflow: ir.Workflow, settings: Settings) -> None:
    """Refuses a try with outside effects; raises UsageError C113, which lists them."""
    effects: Effects = effects_of(workflow, settings, ())
    parts = {"runs": effects.runs, "calls": effects.calls, "writes": effects.writes}
    words = "; ".join(f"{word} {', '.join(names)}" for word, names in parts.items() if names)
    if words:
        advice = "pin these steps, or allow it"
        raise UsageError(f"this try {words}", help=advice, code=HAS_EFFECTS)


def _given_by(journal: Journal, source: Source | None, at: str) -> dict[str, Json]:
    """Returns the inputs of a recorded iteration, and the results of the steps beside `at`."""
    if source is None:
        return {}
    address = numbered(source.loop, source.iteration)
    machine = moment(journal, source.run, address)
    if machine is None:
        words = f"run {source.run} has no iteration {address[:120]!r}"
        raise UsageError(words, help="`whorl show` lists the iterations of a run", code="W902")
    frame = next(f for f in machine.loop_frames.values() if f["address"] == source.loop)
    known: dict[str, Json] = {}
    scope: str | None = frame["inner"]
    while scope is not None:
        entry = machine.state["scopes"][scope]
        known = {**entry["values"], **known}
        scope = entry["up"]
    if at.startswith(f"{source.loop}/"):
        # A step of the body sees the results of the others in that iteration.
        for record in records_of(journal, source.run, address).records:
            if record.address == f"{address}/{record.name}" and record.output is not None:
                known[record.name] = record.output
    return known


def _pinned(node: Any, nodes: dict[str, ir.Node], pins: dict[str, Json]) -> Any:
    """Returns a step in which each pinned step is replaced by its result."""
    # What is inside of a pinned step is not run.
    outer = {path for path in pins if not any(path.startswith(f"{other}/") for other in pins)}
    values = {id(nodes[path]): pins[path] for path in outer if path in nodes}

    def change(inner: ir.Node) -> ir.Node:
        if id(inner) not in values:
            return inner
        value = ir.Constant(values[id(inner)])
        return ir.Compute(name=inner.name, after=inner.after, when=inner.when, value=value)

    return with_nodes(ir.Block((node,)), change).nodes[0]


def _workflow(whole: ir.Workflow, node: Any, known: dict[str, Json]) -> ir.Workflow:
    """Returns a workflow of one step, which sees the known values of the others."""
    if isinstance(node, ir.Loop):
        node, known = _once(node, known)
    ports = tuple(replace(port, required=False) for port in whole.inputs)
    names = [name for name in known if name not in {node.name, *(port.name for port in ports)}]
    givers = tuple(ir.Compute(name=name, value=ir.Constant(known[name])) for name in names)
    node = replace(node, after=tuple(ir.After(name) for name in names), when=None)
    read = node.name if node.name.isidentifier() else f"results[{json.dumps(node.name)}]"
    return replace(
        whole,
        body=ir.Block((*givers, node)),
        inputs=ports,
        outputs=((_RESULT, ir.Expression("jinja", read)),),
        hidden_outputs=(_RESULT,) if is_hidden(node, dict(whole.workflows)) else (),
        early_outputs=(),
        trigger=None,
        answer=None,
    )


def _once(loop: ir.Loop, known: dict[str, Json]) -> tuple[ir.Loop, dict[str, Json]]:
    """Returns a loop that makes one iteration with the known values, and the remaining values."""
    bound = {name for name, _ in loop.facts} | {carry.name for carry in loop.carry}
    held = {name: value for name, value in known.items() if name in bound}
    carry = [each for each in loop.carry if each.name not in held]
    carry += [ir.Carry(name, first=ir.Constant(value)) for name, value in held.items()]
    once = replace(
        loop,
        limits=replace(loop.limits, iterations=1),
        on_limit="finish",
        ask="never",
        memory=None,
        returns="last",
        carry=tuple(carry),
        facts=tuple(pair for pair in loop.facts if pair[0] not in held),
    )
    return once, {name: value for name, value in known.items() if name not in held}


def mark_of(node: ir.Node) -> str:
    """Returns a mark of a step. A pin is stale if the mark of its step has changed."""
    kind = node.kind if isinstance(node, ir.Task) else type(node).__name__
    returns = node.returns if isinstance(node, ir.Task) else None
    return hashlib.sha256(json.dumps([kind, returns], sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Pin:
    """A result that tries use instead of a step; a stale pin is not used."""

    value: Json
    is_stale: bool = False


def pins_of(
    project: Project, file: str, text: str | None = None, others: Others = None
) -> dict[str, Pin]:
    """Returns the pins of a file by path; `text` is a draft of it."""
    kept = _read_pins(_pins_path(project)).get(file)
    nodes = _nodes(project, file, text, others) if kept else {}
    return {
        path: Pin(pin.get("value"), path not in nodes or mark_of(nodes[path]) != pin.get("mark"))
        for path, pin in (kept.items() if isinstance(kept, dict) else ())
        if isinstance(pin, dict)
    }


def save_pins(
    project: Project, file: str, values: dict[str, Json], text: str | None, others: Others = None
) -> None:
    """Replaces the pins of a file; refuses unknown steps."""
    nodes = _nodes(project, file, text, others)
    for path in values:
        if path not in nodes:
            raise _unknown("step", path, nodes)
    project.check_store()
    target = _pins_path(project)
    kept = _read_pins(target)
    kept[file] = {at: {"value": value, "mark": mark_of(nodes[at])} for at, value in values.items()}
    written = json.dumps({name: pins for name, pins in kept.items() if pins}, ensure_ascii=False)
    if len(written) > _PINS_BYTES_MAX:
        raise UsageError(f"all pins together have more than {_PINS_BYTES_MAX:,} characters")
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = target.with_name(f".{_PINS}.{secrets.token_hex(6)}")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        stream.write(written)
    os.replace(new, target)


def _nodes(project: Project, file: str, text: str | None, others: Others) -> dict[str, ir.Node]:
    path = str(project.root / file)
    reading = project.read(path) if text is None else project.read_text(text, path, others=others)
    return nodes_by_path(reading.workflow)


def _pins_path(project: Project) -> Path:
    return project.store.parent / _PINS


def _read_pins(path: Path) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as stream:
            kept = json.loads(stream.read(_PINS_BYTES_MAX + 1))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as fault:
        words = f"the pins in {str(path)!r} cannot be read: {fault}"
        raise UsageError(words, help="correct or delete this file") from None
    return kept if isinstance(kept, dict) else {}
