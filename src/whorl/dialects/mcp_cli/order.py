"""The order of steps and loops: `needs` and mentioned variables decide, then the document."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.mcp_cli.texts import names_in, operands_in
from whorl.errors import did_you_mean
from whorl.source import Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.mcp_cli.draft import Draft, Item
    from whorl.dialects.mcp_cli.variables import Variables


@dataclass(slots=True)
class Order:
    """Who waits for whom. `ordered` holds the items one after the other, as they would run."""

    items: list[Item]
    waits: dict[str, set[str]] = field(default_factory=dict)
    ordered: list[Item] = field(default_factory=list)
    before: dict[str, Item] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    mentioned: set[str] = field(default_factory=set)

    @property
    def looked_back_at(self) -> set[str]:
        """The loops that later texts mean by `loop`."""
        return {loop.name for loop in self.before.values()}

    def after(self, item: Item, *, parallel: bool) -> tuple[ir.After, ...]:
        """What an item waits for; one after the other unless steps run in parallel."""
        names = sorted(self.waits[item.name], key=lambda name: self.places[name])
        place = self.places[item.name]
        if not parallel and place:
            names.append(self.ordered[place - 1].name)
        return tuple(ir.After(name) for name in dict.fromkeys(names))


def find_order(draft: Draft, items: list[Item], variables: Variables) -> Order:
    """Computes the order of a file; reports what is not there and what waits for itself."""
    order = Order(items)
    for item in items:
        order.mentioned.update(names_in(item.fields))
        order.waits[item.name] = _needed(draft, item, variables) | _mentioned(item, variables)
    for item in items:
        if _asks_for_loop(item):
            _look_back(order, item)
    _arrange(draft, order)
    return order


def _needed(draft: Draft, item: Item, variables: Variables) -> set[str]:
    needs = item.get("needs")
    scalars = needs.items if isinstance(needs, Sequence) else (needs,)
    found: set[str] = set()
    for scalar in scalars:
        if not isinstance(scalar, Scalar) or scalar.value is None:
            continue
        if scalar.text in variables.items and scalar.text != item.name:
            found.add(scalar.text)
            continue
        itself = scalar.text == item.name
        draft.report(
            "W011" if itself else "W010",
            f"{item.words} needs {'itself' if itself else repr(scalar.text[:60])}"
            + ("" if itself else ", which is no step or loop of this file"),
            scalar.span,
            label="itself" if itself else "not there",
            help=did_you_mean(scalar.text, variables.items) or "remove it",
        )
    return found


def _mentioned(item: Item, variables: Variables) -> set[str]:
    names = [*names_in(item.fields), *operands_in(item.get("if"))]
    owners = (variables.owner(name) for name in names)
    return {owner.name for owner in owners if owner is not None and owner is not item}


def _asks_for_loop(item: Item) -> bool:
    """Whether its texts mention a loop that has ended; those inside of a loop mean that loop."""
    names = [*operands_in(item.get("if"))]
    if item.loop is None:
        names += names_in(item.fields)
    elif (items := item.loop.get("items")) is not None:
        names += names_in(items)
    return any(name.startswith("loop.") for name in names)


def _look_back(order: Order, item: Item) -> None:
    """Finds the loop that `loop.*` means: the last that it waits for, else the last before it."""
    waited = _closure(order, item.name)
    loops = [other for other in order.items if other.loop is not None and other is not item]
    candidates = [other for other in loops if other.name in waited]
    if not candidates:
        earlier = order.items[: order.items.index(item)]
        candidates = [
            other
            for other in loops
            if other in earlier and item.name not in _closure(order, other.name)
        ]
    if candidates:
        order.before[item.name] = candidates[-1]
        order.waits[item.name].add(candidates[-1].name)


def _closure(order: Order, name: str) -> set[str]:
    found: set[str] = set()
    queue = [name]
    while queue:
        for other in order.waits.get(queue.pop(), ()):
            if other not in found:
                found.add(other)
                queue.append(other)
    return found


def _arrange(draft: Draft, order: Order) -> None:
    left = list(order.items)
    done: set[str] = set()
    while left:
        item = next((one for one in left if order.waits[one.name] <= done), None)
        if item is None:
            item = _break_circle(draft, order, left)
        left.remove(item)
        done.add(item.name)
        order.places[item.name] = len(order.ordered)
        order.ordered.append(item)


def _break_circle(draft: Draft, order: Order, left: list[Item]) -> Item:
    """Reports steps that wait for each other, and reads on as if the first one did not wait."""
    names = [item.name for item in left]
    seen: list[str] = []
    name = names[0]
    while name not in seen:
        seen.append(name)
        name = next(other for other in names if other in order.waits[name])
    circle = seen[seen.index(name) :]
    first = next(item for item in left if item.name == circle[0])
    draft.report(
        "W011",
        f"steps wait for each other: {' -> '.join([*circle[:8], circle[0]])}",
        first.key.span,
        label="waits for itself",
        help="remove one `needs` or one mention; to do steps again, put them into a loop",
    )
    order.waits[first.name] = set()
    return first
