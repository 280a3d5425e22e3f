"""Actions that hold other actions: conditions, switches, for-each, scopes, parallel branches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.loom.action import Scene, find, find_deep, text_at
from whorl.dialects.loom.conditions import condition_of
from whorl.dialects.loom.order import Order, order_of
from whorl.dialects.loom.plain import IT, bodied
from whorl.dialects.loom.texts import computed, value_of
from whorl.errors import Span
from whorl.source import Entry, Mapping, Scalar

if TYPE_CHECKING:
    from whorl.dialects.loom.action import Action
    from whorl.language import Json
    from whorl.source import Value

AZURE_CONCURRENCY = 20
CONCURRENCY_MAX = 50
# Where the actions of a part stand, when they do not stand there themselves.
_PARTS = ("actions", "steps")


@dataclass(frozen=True, slots=True)
class Body:
    """Actions inside of an action, with their order."""

    block: ir.Block
    order: Order


def actions_in(part: Value | None, alone: str) -> Mapping:
    """The actions of a part: under `actions`, as they stand, or a single one that has no name."""
    if not isinstance(part, Mapping):
        return _none(part)
    if isinstance(find(part, "type"), Scalar):
        name = text_at(part, "name") if _is_control(part) else ""
        key = Scalar(name or alone, part.span)
        return Mapping((Entry(key, part),), part.span)
    for name in _PARTS:
        inner = find(part, name)
        if isinstance(inner, Mapping):
            return inner
    if all(isinstance(entry.value, Mapping) for entry in part):
        return part
    return Mapping((), part.span)


def _is_control(part: Mapping) -> bool:
    # The name of an action that sets a variable is the variable's.
    return "variable" not in text_at(part, "type").lower()


def _none(part: Value | None) -> Mapping:
    return Mapping((), part.span if part is not None else Span("", 1, 1))


def read_body(action: Action, part: Value | None, *, scene: Scene, alone: str) -> Body:
    """Reads the actions of a part."""
    actions = actions_in(part, alone)
    order = order_of(action.draft, actions, parallel=scene.is_parallel)
    action.draft.scopes.setdefault(action.name, []).extend(entry.name for entry in actions)
    block = action.draft.read_block(action.draft, actions, order, scene)
    return Body(block, order)


def _inside(action: Action, slot: str = "body") -> Scene:
    path = action.path if slot == "body" else f"{action.path}@{slot}"
    return replace(action.scene, path=path, is_parallel=False)


def read_if(action: Action) -> ir.Node:
    """Takes one branch or the other."""
    condition = action.setting("condition", "expression")
    yes = action.setting("actions", "then")
    no = action.setting("else")
    if condition is None:
        _missing(action, "condition", "@equals(1, 1)")
        condition = Scalar(False, action.span)
    taken = read_body(action, yes, scene=_inside(action, "case.true"), alone=f"{action.name}_then")
    other = read_body(action, no, scene=_inside(action, "default"), alone=f"{action.name}_else")
    shown: dict[str, Json] = {
        "true": taken.order.ends,
        "false": other.order.ends,
    }
    return ir.Branch(
        name=action.name,
        cases=(ir.Case("true", taken.block, when=condition_of(action.draft, condition)),),
        default=ir.Case("false", other.block),
        shape=bodied(computed("taken_of", IT, shown)),
    )


def read_switch(action: Action) -> ir.Node:
    """Takes the case that equals a value."""
    draft = action.draft
    subject = action.setting("on", "expression")
    if subject is None:
        _missing(action, "on", "@body('think').action")
    cases: list[ir.Case] = []
    shown: dict[str, Json] = {}
    written = action.setting("cases")
    for entry in written if isinstance(written, Mapping) else ():
        scene = _inside(action, f"case.{entry.name}")
        body = read_body(action, entry.value, scene=scene, alone=entry.name)
        wanted = find(entry.value, "case")
        is_action = isinstance(find(entry.value, "type"), Scalar)
        value: Json = entry.name
        if isinstance(wanted, Scalar) and not is_action:
            value = wanted.value
        cases.append(ir.Case(entry.name, body.block, equals=ir.Constant(value)))
        shown[entry.name] = body.order.ends
    default = action.setting("default")
    other: ir.Case | None = None
    if default is not None:
        scene = _inside(action, "default")
        body = read_body(action, default, scene=scene, alone=f"{action.name}_default")
        other = ir.Case("default", body.block)
        shown["default"] = body.order.ends
    return ir.Branch(
        name=action.name,
        subject=value_of(draft, subject),
        cases=tuple(cases),
        default=other,
        shape=bodied(computed("taken_of", IT, shown)),
    )


def read_foreach(action: Action) -> ir.Node:
    """Runs its actions for each item."""
    items = action.setting("foreach", "items")
    if items is None:
        _missing(action, "foreach", "@body('fetch').items")
    scene = replace(_inside(action), is_in_each=True)
    body = read_body(action, action.setting("actions"), scene=scene, alone=f"{action.name}_item")
    return ir.ForEach(
        name=action.name,
        items=value_of(action.draft, items),
        body=body.block,
        item_name="$item",
        concurrency=_concurrency(action),
        shape=bodied(computed("each_last", IT, body.order.ends)),
    )


def _concurrency(action: Action) -> int:
    sequential = "sequential" in text_at(action.fields, "operationOptions").lower()
    if sequential or (action.scene.is_in_each and not action.draft.lenient):
        return 1
    wanted = find_deep(action.fields, "runtimeConfiguration", "concurrency", "repetitions")
    if isinstance(wanted, Scalar) and isinstance(wanted.value, int):
        return max(1, min(wanted.value, CONCURRENCY_MAX))
    return 1 if action.draft.lenient else AZURE_CONCURRENCY


def read_scope(action: Action) -> ir.Node:
    """A block of actions."""
    return _group(action, _inside(action))


def read_parallel(action: Action) -> ir.Node:
    """A block whose actions run side by side unless `runAfter` orders them."""
    return _group(action, replace(_inside(action), is_parallel=True))


def _group(action: Action, scene: Scene) -> ir.Node:
    part = action.setting("actions", "branches")
    body = read_body(action, part, scene=scene, alone=f"{action.name}_action")
    bare: dict[str, Json] = dict(body.order.bare)
    return ir.Group(
        name=action.name, body=body.block, shape=bodied(computed("results_of", IT, bare))
    )


def _missing(action: Action, name: str, example: str) -> None:
    span: Span = action.span
    action.draft.report(
        "W006",
        f"{action.name!r} needs {name!r}",
        span,
        label=f"no {name}",
        help=f'write "{name}": "{example}"',
    )
