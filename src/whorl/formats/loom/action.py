"""One action of a file while it is read: its settings, and how often it is tried again.

The settings of an action stand beside its type or under `inputs`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reading.fields import unknown_fields
from whorl.errors import did_you_mean
from whorl.formats.loom import forms
from whorl.formats.loom.forms import LoomContext, find, has_expression, text_at
from whorl.language import LanguageError, MappingScope, evaluate_metered
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.errors import Span
    from whorl.ir.nodes import Wanted
    from whorl.language import Json
    from whorl.source import Entry, Value


# The order of actions: what each waits for, and with which status.


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
        status = forms.RUN_AFTER.get(item.text.lower()) if isinstance(item, Scalar) else None
        if status is not None:
            statuses.append(status)
            continue
        message = f"runAfter of {entry.name!r} names an unknown status"
        advice = "write Succeeded, Failed, Skipped or TimedOut"
        context.report("W007", message, item.span, label="unknown status", help=advice)
    return tuple(statuses) or ("succeeded",)


JITTER = 0.1
_SAME_ERRORS = {"timedout": "timeout", "timeout": "timeout"}
# Azure retries calls that failed for a passing reason: these statuses, or no reply at all.
_AZURE_ON = ("408", "429", "5xx", "timeout", "P101", "P102", "P103", "P111")
_COUNT_FUEL = 1_000
# What it does unless the action says otherwise.
AZURE_RETRY = ir.Retry(
    times=4, wait_s=7.5, backoff=2.0, wait_min_s=5.0, wait_max_s=3_600.0, on=_AZURE_ON, drawn=True
)


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
        return find(self.fields, "inputs")

    @property
    def path(self) -> str:
        around = self.location.path
        return f"{around}/{self.name}" if around else self.name

    @property
    def options(self) -> set[str]:
        """The options of the action, `operationOptions`, in lower case."""
        written = text_at(self.fields, "operationOptions")
        return {word.strip().lower() for word in written.split(",") if word.strip()}

    @property
    def is_azure(self) -> bool:
        return not self.context.lenient

    def setting(self, *names: str) -> Value | None:
        """A setting under the first of these names that is there, beside the type or in `inputs`.

        Neither place counts more in the files that exist; no file has a setting in both.
        """
        holders = (self.fields, self.inputs)
        values = (find(holder, name) for name in names for holder in holders)
        return next((value for value in values if value is not None), None)

    def configuration(self, *names: str) -> Value | None:
        return find(self.fields, "runtimeConfiguration", *names)

    def value(self, *names: str) -> ir.Value:
        return self.context.value(self.setting(*names))

    def missing(self, what: str, label: str, advice: str) -> None:
        """Reports that the action lacks something."""
        message = f"{self.name!r} {what}"
        self.context.report("W006", message, self.span, label=label, help=advice)

    def nothing(self) -> ir.Node:
        """A node in place of an action that cannot be read."""
        return ir.Compute(name=self.name, value=ir.Constant(None))

    def timeout_s(self) -> float | None:
        """How long an action may take: `limit.timeout`, or `timeout` in milliseconds."""
        if self.type not in ("until", "while", "dountil", "agent"):
            limit = find(self.fields, "limit", "timeout")
            if isinstance(limit, Scalar) and not has_expression(limit.text):
                return self.context.seconds(limit, 0)
        own = find(self.fields, "timeout")
        if isinstance(own, Scalar) and isinstance(own.value, int | float):
            return own.value / 1_000
        return self.context.seconds(own, 0) if own is not None else None

    def retry(self) -> ir.Retry | None:
        # What stands under `inputs` of a compose is its value.
        holders = (self.fields,) if self.type == "compose" else (self.fields, self.inputs)
        policies = (find(holder, name) for holder in holders for name in ("retry", "retryPolicy"))
        policy = next((policy for policy in policies if isinstance(policy, Mapping)), None)
        if policy is None:
            return None
        kind = text_at(policy, "type").lower() or "exponential"
        if kind not in ("fixed", "exponential", "none", "default"):
            span = (find(policy, "type") or policy).span
            message, advice = f"{kind!r} is not a kind of retry", "write fixed, exponential or none"
            self.context.report("W007", message, span, label="unknown kind", help=advice)
            return None
        if kind == "none":
            return ir.Retry(times=0)
        shipped = ("maxAttempts", "initialDelay")
        is_shipped = any(find(policy, name) is not None for name in shipped)
        retry = _shipped_retry(policy) if is_shipped else read_policy(self.context, policy, kind)
        # How long to wait for a retry that never comes means nothing.
        return retry if retry.times else ir.Retry(times=0)

    def check(self) -> None:
        """Reports misspelt fields, and warns about fields and options that do nothing."""
        names = (*forms.COMMON, *forms.FIELDS.get(self.type, ()))
        self._check_fields(self.fields, names, repr(self.name))
        for name, names in forms.PART_FIELDS.items():
            for holder in (self.fields, self.inputs):
                part = find(holder, name)
                if isinstance(part, Mapping) and not (name == "delay" and "count" in part):
                    self._check_fields(part, names, f"{name} of {self.name!r}")
        self._check_objects()
        place = find(self.fields, "operationOptions") or self.fields
        for word in sorted(self.options - {option.lower() for option in forms.OPTIONS}):
            message = f"{self.name!r} has the unknown option {word!r}"
            advice = did_you_mean(word, forms.OPTIONS) or f"known: {', '.join(forms.OPTIONS)}"
            self.context.warn("W004", message, place.span, label="unknown option", help=advice)

    def _check_objects(self) -> None:
        """Fields of these objects may be any but misspelt ones."""
        check = self.context.check_spelling
        check(self.inputs, forms.INPUT_FIELDS.get(self.type, ()), f"inputs of {self.name!r}")
        parts = {
            "runtimeConfiguration": self.configuration(),
            "concurrency": self.configuration("concurrency"),
            "runError": self.setting("runError") if self.type == "terminate" else None,
        }
        for name, part in parts.items():
            check(part, forms.OBJECT_FIELDS[name], f"{name} of {self.name!r}")
        noun = {"initializevariable": "variable", "table": "column"}.get(self.type, "")
        items = self.setting(f"{noun}s") if noun else None
        for item in items if isinstance(items, Sequence) else ():
            check(item, forms.OBJECT_FIELDS[noun], f"a {noun} of {self.name!r}")

    def _check_fields(self, holder: Mapping, names: tuple[str, ...], where: str) -> None:
        self.context.check_spelling(holder, names, where)
        entries = (entry for entry in holder if entry.name[:1] not in "$@")
        for entry, near in unknown_fields(entries, names, ignore_case=True):
            if near:
                continue
            message = f"{where} has the field {entry.name!r}, which has no effect there"
            advice, span = f"known: {', '.join(names[:12])}", entry.key.span
            self.context.warn("W004", message, span, label="unknown field", help=advice)


def read_policy(context: LoomContext, policy: Mapping, kind: str = "exponential") -> ir.Retry:
    """A retry policy by the seed's rules, or by Azure's."""
    lenient = context.lenient
    if kind == "default" and not lenient:
        return AZURE_RETRY

    def seconds(usual_s: float, *names: str) -> float:
        written = (find(policy, name) for name in names)
        return context.seconds(next((v for v in written if v is not None), None), usual_s)

    wait = seconds(5.0 if lenient else 7.5, "interval")
    times = _count(context, policy, 3 if lenient else 4)
    if not lenient:
        on = tuple(_texts(find(policy, "httpStatusCodes"))) or _AZURE_ON
        if kind == "fixed":
            return ir.Retry(times=times, wait_s=wait, backoff=1.0, wait_max_s=wait, on=on)
        least, most = seconds(5.0, "minimumInterval"), ("maximumInterval", "maxInterval")
        return replace(
            AZURE_RETRY,
            times=times,
            wait_s=wait,
            wait_min_s=least,
            wait_max_s=seconds(86_400.0, *most),
            on=on,
        )
    on = tuple(_SAME_ERRORS.get(e.lower(), e) for e in _texts(find(policy, "on"))) or ("*",)
    # The usual least wait shortens no interval; one that is written raises it.
    least = seconds(min(1.0, wait), "minimumInterval")
    if kind == "fixed":
        wait = max(wait, least)
        return ir.Retry(times=times, wait_s=wait, backoff=1.0, wait_max_s=wait, on=on)
    return ir.Retry(
        times=times,
        # The seed adds up to a tenth; the engine spreads to both sides of the middle.
        wait_s=wait * (1 + JITTER / 2),
        backoff=2.0,
        wait_max_s=seconds(60.0, "maxInterval", "maximumInterval"),
        wait_min_s=least,
        jitter=JITTER / 2 / (1 + JITTER / 2),
        on=on,
    )


def _shipped_retry(policy: Mapping) -> ir.Retry:
    """The policy of the public system: attempts in all, and milliseconds."""

    def number(name: str, default: float) -> float:
        value = find(policy, name)
        is_number = isinstance(value, Scalar) and isinstance(value.value, int | float)
        return value.value if is_number else default  # type: ignore[union-attr,return-value]

    return ir.Retry(
        times=max(0, int(number("maxAttempts", 3)) - 1),
        wait_s=number("initialDelay", 1_000) / 1_000,
        backoff=number("backoffMultiplier", 2),
        wait_max_s=number("maxDelay", 30_000) / 1_000,
        on=tuple(_texts(find(policy, "retryableErrors"))) or ("*",),
    )


def _count(context: LoomContext, policy: Mapping, default: int) -> int:
    count = find(policy, "count")
    if count is None:
        return default
    times = count.value if isinstance(count, Scalar) else None
    if isinstance(count, Scalar) and isinstance(times, str) and has_expression(times):
        # How often is known before the run, so an expression has constants only.
        computed, _ = evaluate_metered(context.expression(count), MappingScope({}), _COUNT_FUEL)
        times = None if isinstance(computed, LanguageError | list | dict) else computed
    if isinstance(times, int) and 0 <= times <= 1_000:
        return times
    message = (
        "the count of a retry must be a whole number up to 1000, or an expression of constants"
    )
    context.report("W007", message, count.span, label="no count")
    return default


def _texts(value: Value | None) -> list[str]:
    if isinstance(value, Scalar):
        return [value.text]
    return [item.text for item in value or () if isinstance(item, Scalar)]
