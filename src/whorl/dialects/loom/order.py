"""The order of the actions of one block, and which of them is its last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.loom.action import find, text_at
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.loom.draft import Draft
    from whorl.ir.nodes import Wanted
    from whorl.language import Json
    from whorl.source import Entry, Value

_STATUSES: dict[str, Wanted] = {
    "succeeded": "succeeded",
    "failed": "failed",
    "skipped": "skipped",
    "timedout": "timed_out",
    "timeout": "timed_out",
    "cancelled": "cancelled",
    "canceled": "cancelled",
    "aborted": "cancelled",
}
# The types whose result is what they compute, without a body around it.
BARE = frozenset({"compose"})


@dataclass(frozen=True, slots=True)
class Order:
    """Who waits for whom; the result of the block is that of the first of `last` that has one."""

    after: dict[str, tuple[ir.After, ...]]
    bare: dict[str, bool]
    last: tuple[str, ...]

    @property
    def ends(self) -> list[Json]:
        """The last actions, each with whether its result stands without a body around it."""
        return [[name, self.bare[name]] for name in self.last]


def order_of(draft: Draft, actions: Mapping, *, parallel: bool = False) -> Order:
    """The order of actions: by `runAfter`, and in lenient files also as they stand."""
    names = {entry.name.lower(): entry.name for entry in actions}
    after: dict[str, tuple[ir.After, ...]] = {}
    bare: dict[str, bool] = {}
    before = ""
    for entry in actions:
        written = find(entry.value, "runAfter")
        if isinstance(written, Mapping):
            after[entry.name] = _read(draft, entry.name, written, names)
        elif before and draft.lenient and not parallel:
            after[entry.name] = (ir.After(before, ("succeeded",)),)
        else:
            after[entry.name] = ()
        bare[entry.name] = _is_bare(entry.value)
        if _is_usual(after[entry.name]):
            # An action that only deals with failures is none that others follow by standing below.
            before = entry.name
    return Order(after, bare, _last(after))


def _is_bare(action: Value) -> bool:
    kind = text_at(action, "type").lower()
    if kind == "retry":
        kind = (
            text_at(action, "action", "type") or text_at(action, "inputs", "action", "type")
        ).lower()
    return kind in BARE


def _last(after: dict[str, tuple[ir.After, ...]]) -> tuple[str, ...]:
    """The last action; one that only deals with failures counts where there was one to deal with.

    Otherwise the result is that of the action before it.
    """
    awaited = {wait.node for waits in after.values() for wait in waits}
    leaves = [name for name in after if name not in awaited]
    usual = [name for name in leaves if _is_usual(after[name])]
    found = (usual or leaves)[-1:]
    for name in found:
        if not _is_usual(after[name]):
            before = (wait.node for wait in after[name] if wait.node in after)
            found += [node for node in before if node not in found]
    return tuple(found)


def _is_usual(waits: tuple[ir.After, ...]) -> bool:
    return all("succeeded" in wait.statuses for wait in waits)


def _read(draft: Draft, name: str, written: Mapping, names: dict[str, str]) -> tuple[ir.After, ...]:
    found: list[ir.After] = []
    triggers = {trigger.lower() for trigger in draft.triggers} - names.keys()
    for entry in written:
        statuses = _statuses(draft, entry)
        if entry.name.lower() not in triggers:
            node = names.get(entry.name.lower(), entry.name)
            found.append(ir.After(node, statuses))
            draft.places.remember_part(found[-1], entry.key.span)
        elif "succeeded" not in statuses:
            # A run begins when its trigger has succeeded.
            draft.report(
                "W010",
                f"{name!r} never runs: it waits for a failure of the trigger {entry.name!r}",
                entry.key.span,
                label="has always succeeded",
                help="write Succeeded, or leave it out",
            )
    return tuple(found)


def _statuses(draft: Draft, entry: Entry) -> tuple[Wanted, ...]:
    statuses: list[Wanted] = []
    for item in entry.value if isinstance(entry.value, Sequence) else ():
        status = _STATUSES.get(item.text.lower()) if isinstance(item, Scalar) else None
        if status is None:
            draft.report(
                "W007",
                f"runAfter of {entry.name!r} names a status that there is not",
                item.span,
                label="unknown status",
                help="write Succeeded, Failed, Skipped or TimedOut",
            )
        else:
            statuses.append(status)
    return tuple(statuses) or ("succeeded",)
