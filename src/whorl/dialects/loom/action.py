"""A file and one of its actions while they are read, and the order of the actions of a block.

The settings of an action stand beside its type or under `inputs`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.loom.forms import Template, find, text_at
from whorl.dialects.loom.words import OPTIONS, PART_FIELDS, RUN_AFTER, fields_of
from whorl.dialects.reading import ReadContext, text_of, unknown_fields
from whorl.errors import did_you_mean
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.errors import Span
    from whorl.ir.fields import Wanted
    from whorl.language import Json
    from whorl.source import Entry, Value


@dataclass(slots=True)
class LoomContext(ReadContext):
    """What the readers of the parts of one file share.

    A lenient file follows the seed's rules (what is missing is null, actions run in the order in
    which they stand), any other one follows Azure's. Names are kept in lower case.
    """

    lenient: bool = False
    template: Template = field(default_factory=Template)
    # The variables: the spelling of whoever declares or sets them; their types where declared.
    variables: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    # Where each name of an action stands first.
    named: dict[str, Span] = field(default_factory=dict)
    # The names of what starts the workflow.
    triggers: tuple[str, ...] = ()
    # Whether some expression reads what actions were given.
    reads_inputs: bool = False
    # The loops by path, with the words that their authors wrote.
    loops: dict[str, Json] = field(default_factory=dict)
    # The values of parameters in a file beside this one.
    beside: Mapping | None = None
    # What answers in place of an action, by the name that its settings give.
    static_results: Mapping | None = None
    # The names of the actions inside of each scope and loop, and the responses, as they are read.
    scopes: dict[str, list[str]] = field(default_factory=dict)
    responses: list[str] = field(default_factory=list)

    def variable(self, name: str) -> str:
        """A variable's name as it is declared."""
        return self.variables.get(name.lower(), name)


@dataclass(frozen=True, slots=True)
class EnclosingLoop:
    """A loop around an action: its names, where its facts stand, and what its result is."""

    names: tuple[str, ...]
    place: str
    ends: list[Json]


@dataclass(frozen=True, slots=True)
class Location:
    """Where an action stands: its path, the loops around it, and whether one is a for-each.

    `read_block` reads the actions of a block there, for those actions that hold some.
    """

    read_block: Callable[[LoomContext, Mapping, Order, Location], ir.Block]
    path: str = ""
    loops: tuple[EnclosingLoop, ...] = ()
    is_in_each: bool = False
    is_parallel: bool = False


@dataclass(frozen=True, slots=True)
class Action:
    """An action of the file."""

    context: LoomContext
    name: str
    type: str
    fields: Mapping
    span: Span
    location: Location

    @property
    def inputs(self) -> Value | None:
        """What stands under `inputs`."""
        return find(self.fields, "inputs")

    @property
    def path(self) -> str:
        """The path of the action's node."""
        around = self.location.path
        return f"{around}/{self.name}" if around else self.name

    @property
    def options(self) -> set[str]:
        """The options of the action, `operationOptions`, in lower case."""
        written = text_at(self.fields, "operationOptions")
        return {word.strip().lower() for word in written.split(",") if word.strip()}

    @property
    def is_azure(self) -> bool:
        """Whether the file follows Azure's rules."""
        return not self.context.lenient

    def setting(self, *names: str) -> Value | None:
        """A setting under the first of these names that is there, beside the type or in `inputs`.

        Neither place counts more in the files that exist; no file has a setting in both.
        """
        holders = (self.fields, self.inputs)
        values = (find(holder, name) for name in names for holder in holders)
        return next((value for value in values if value is not None), None)

    def configuration(self, *names: str) -> Value | None:
        """A part of `runtimeConfiguration`."""
        return find(self.fields, "runtimeConfiguration", *names)

    def text(self, *names: str) -> str:
        """A setting as text; empty where it is absent or no text."""
        return text_of(self.setting(*names))

    def missing(self, what: str, label: str, advice: str) -> None:
        """Reports that the action lacks something."""
        message = f"{self.name!r} {what}"
        self.context.report("W006", message, self.span, label=label, help=advice)

    def nothing(self) -> ir.Node:
        """A node in place of an action that cannot be read."""
        return ir.Compute(name=self.name, value=ir.Constant(None))

    def check(self) -> None:
        """Warns about fields and options that do nothing where they stand."""
        self._check_fields(self.fields, fields_of(self.type), repr(self.name))
        for name, known in PART_FIELDS.items():
            for holder in (self.fields, self.inputs):
                part = find(holder, name)
                if isinstance(part, Mapping) and not (name == "delay" and "count" in part):
                    self._check_fields(part, known, f"{name} of {self.name!r}")
        place = find(self.fields, "operationOptions") or self.fields
        for word in sorted(self.options - {option.lower() for option in OPTIONS}):
            message = f"{self.name!r} has the option {word!r}, which nobody knows"
            advice = did_you_mean(word, OPTIONS) or f"known: {', '.join(OPTIONS)}"
            self.context.warn("W004", message, place.span, label="unknown option", help=advice)

    def _check_fields(self, holder: Mapping, known: tuple[str, ...], where: str) -> None:
        for entry, near in unknown_fields(holder, known, ignore_case=True):
            if entry.name[:1] not in "$@":
                message = f"{where} has the field {entry.name!r}, which does nothing there"
                advice = near or f"known: {', '.join(known[:12])}"
                span = entry.key.span
                self.context.warn("W004", message, span, label="unknown field", help=advice)


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
        bare[entry.name] = _is_bare(entry.value)
        if _is_usual(after[entry.name]):
            # An action that only deals with failures is none that others follow by standing below.
            before = entry.name
    return Order(after, bare, _last(after))


def _is_bare(action: Value) -> bool:
    kind = text_at(action, "type").lower()
    if kind == "retry":
        inner = text_at(action, "action", "type") or text_at(action, "inputs", "action", "type")
        kind = inner.lower()
    return kind == "compose"


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
    for item in entry.value if isinstance(entry.value, Sequence) else ():
        status = RUN_AFTER.get(item.text.lower()) if isinstance(item, Scalar) else None
        if status is not None:
            statuses.append(status)
            continue
        message = f"runAfter of {entry.name!r} names a status that there is not"
        advice = "write Succeeded, Failed, Skipped or TimedOut"
        context.report("W007", message, item.span, label="unknown status", help=advice)
    return tuple(statuses) or ("succeeded",)
