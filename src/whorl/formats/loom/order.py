"""The order of actions: what each waits for, and with which status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.formats.loom import words
from whorl.formats.loom.forms import find, text_at
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.formats.loom.texts import LoomContext
    from whorl.ir.nodes import Wanted
    from whorl.language import Json
    from whorl.source import Entry


@dataclass(frozen=True, slots=True)
class Order:
    """Who waits for whom; the result of the block is that of the first of `last` that has one.

    An action is bare if its result is what it computes, without a body around it.
    """

    after: dict[str, tuple[ir.After, ...]]
    bare: dict[str, bool]
    last: tuple[str, ...]

    @property
    def ends(self) -> list[Json]:
        """The last actions, each with whether its result stands without a body around it."""
        return [[name, self.bare[name]] for name in self.last]


def order_of(context: LoomContext, actions: Mapping, *, parallel: bool = False) -> Order:
    """The order of actions: by `runAfter`, and in lenient files also as they stand."""
    names = {entry.name.lower(): entry.name for entry in actions}
    after: dict[str, tuple[ir.After, ...]] = {}
    bare: dict[str, bool] = {}
    before = ""
    for entry in actions:
        written = find(entry.value, "runAfter")
        after[entry.name] = ()
        if isinstance(written, Mapping):
            after[entry.name] = _run_after(context, entry.name, written, names)
        elif before and context.lenient and not parallel:
            after[entry.name] = (ir.After(before, ("succeeded",)),)
        inner = find(entry.value, "action") or find(entry.value, "inputs", "action")
        is_retry = text_at(entry.value, "type").lower() == "retry"
        kind = text_at(inner if is_retry else entry.value, "type").lower()
        bare[entry.name] = kind == "compose"
        if _is_usual(after[entry.name]):
            # An action that only deals with failures is none that others follow by standing below.
            before = entry.name
    return Order(after, bare, _last(after))


def _last(after: dict[str, tuple[ir.After, ...]]) -> tuple[str, ...]:
    """The last action; one that only deals with failures counts where there was one to deal with.

    Otherwise the result is that of the action before it.
    """
    awaited = {wait.node for waits in after.values() for wait in waits}
    leaves = [name for name in after if name not in awaited]
    usual = [name for name in leaves if _is_usual(after[name])]
    last = (usual or leaves)[-1:]
    for name in last:
        if not _is_usual(after[name]):
            before = (wait.node for wait in after[name] if wait.node in after)
            last += [node for node in before if node not in last]
    return tuple(last)


def _is_usual(waits: tuple[ir.After, ...]) -> bool:
    return all("succeeded" in wait.statuses for wait in waits)


def _run_after(
    context: LoomContext, name: str, written: Mapping, names: dict[str, str]
) -> tuple[ir.After, ...]:
    waits: list[ir.After] = []
    triggers = {trigger.lower() for trigger in context.triggers} - names.keys()
    for entry in written:
        statuses, span = _statuses(context, entry), entry.key.span
        if entry.name.lower() not in triggers:
            waits.append(ir.After(names.get(entry.name.lower(), entry.name), statuses))
            context.places.remember_part(waits[-1], span)
        elif "succeeded" not in statuses:
            # A run begins when its trigger has succeeded.
            message = f"{name!r} never runs: it waits for a failure of the trigger {entry.name!r}"
            label, advice = "has always succeeded", "write Succeeded, or leave it out"
            context.report("W010", message, span, label=label, help=advice)
    return tuple(waits)


def _statuses(context: LoomContext, entry: Entry) -> tuple[Wanted, ...]:
    statuses: list[Wanted] = []
    if not isinstance(entry.value, Sequence):
        message, advice = f"runAfter of {entry.name!r} is a list", 'write ["Succeeded"]'
        context.report("W007", message, entry.value.span, label="no list", help=advice)
    for item in entry.value if isinstance(entry.value, Sequence) else ():
        status = words.RUN_AFTER.get(item.text.lower()) if isinstance(item, Scalar) else None
        if status is not None:
            statuses.append(status)
            continue
        message = f"runAfter of {entry.name!r} names an unknown status"
        advice = "write Succeeded, Failed, Skipped or TimedOut"
        context.report("W007", message, item.span, label="unknown status", help=advice)
    return tuple(statuses) or ("succeeded",)
