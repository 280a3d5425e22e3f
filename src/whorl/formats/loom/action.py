"""One action of a file while it is read: its settings and its retry policy.

The settings of an action are beside its type or under `inputs`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reading.fields import number_of, text_of, texts_of, whole_of
from whorl.errors import did_you_mean
from whorl.formats.loom import forms
from whorl.formats.loom.forms import LoomContext, find, find_mapping, has_expression, text_at
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.errors import Span
    from whorl.ir.nodes import Wanted
    from whorl.language import Json
    from whorl.source import Entry, Value


@dataclass(frozen=True, slots=True)
class Order:
    """The order of a block. Its result is that of the first action of `last` that has one.

    An action is bare if its result is the computed value, without a body around it.
    """

    after: dict[str, tuple[ir.After, ...]]
    bare: dict[str, bool]
    last: tuple[str, ...]

    @property
    def ends(self) -> list[Json]:
        """Returns the last actions, each with whether its result has no body around it."""
        return [[name, self.bare[name]] for name in self.last]


def order_of(context: LoomContext, actions: Mapping, *, parallel: bool = False) -> Order:
    """Returns the order of actions by `runAfter`, in lenient files also by their place."""
    names = {entry.name.lower(): entry.name for entry in actions}
    after: dict[str, tuple[ir.After, ...]] = {}
    bare: dict[str, bool] = {}
    before = ""
    for entry in actions:
        written = find_mapping(entry.value, "runAfter")
        follows = before and context.lenient and not parallel
        after[entry.name] = (ir.After(before, ("succeeded",)),) if follows else ()
        if written is not None:
            after[entry.name] = _run_after(context, entry.name, written, names)
        action: Value | None = entry.value
        if text_at(action, "type").lower() == "retry":
            action = find(action, "action") or find(action, "inputs", "action")
        bare[entry.name] = text_at(action, "type").lower() == "compose"
        if _is_usual(after[entry.name]):
            # An action that only handles failures does not order the actions below it.
            before = entry.name
    return Order(after, bare, _last(after))


def _last(after: dict[str, tuple[ir.After, ...]]) -> tuple[str, ...]:
    """Returns the last action; an action that handles failures counts only if there was a failure.

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
            label, advice = "has always succeeded", "write Succeeded, or remove it"
            context.report("W005", message, span, label=label, help=advice)
    return tuple(waits)


def _statuses(context: LoomContext, entry: Entry) -> tuple[Wanted, ...]:
    if not isinstance(entry.value, Sequence):
        message, advice = f"runAfter of {entry.name!r} must be a list", 'write ["Succeeded"]'
        context.report("W007", message, entry.value.span, label="not a list", help=advice)
        return ("succeeded",)
    statuses = [forms.RUN_AFTER.get(text_of(item).lower()) for item in entry.value]
    for item, status in zip(entry.value, statuses, strict=True):
        if status is None:
            message = f"runAfter of {entry.name!r} names an unknown status"
            advice = "write Succeeded, Failed, Skipped or TimedOut"
            context.report("W007", message, item.span, label="unknown status", help=advice)
    return tuple(status for status in statuses if status) or ("succeeded",)


JITTER = 0.1
_SAME_ERRORS = {"timedout": "timeout", "timeout": "timeout"}
# Azure retries calls that failed for a passing reason: these statuses, or no reply at all.
_AZURE_ON = ("408", "429", "5xx", "timeout", "P101", "P102", "P103", "P111")
# Its default, if the action does not set it.
AZURE_RETRY = ir.Retry(
    times=4, wait_s=7.5, backoff=2.0, wait_min_s=5.0, wait_max_s=3_600.0, on=_AZURE_ON, drawn=True
)


@dataclass(frozen=True, slots=True)
class EnclosingLoop:
    """A loop around an action: its names, the place of its facts, and its result."""

    names: tuple[str, ...]
    place: str
    ends: list[Json]


@dataclass(frozen=True, slots=True)
class Location:
    """The place of an action: its path, the loops around it, and whether one is a for-each.

    `read_block` reads the actions of a block there, for actions that hold others.
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
    def inside(self) -> Location:
        """Returns the location of the actions in this one."""
        return replace(self.location, path=self.path, is_parallel=False)

    @property
    def options(self) -> set[str]:
        """Returns the options of the action, `operationOptions`, in lower case."""
        written = text_at(self.fields, "operationOptions")
        return {word.strip().lower() for word in written.split(",") if word.strip()}

    @property
    def is_azure(self) -> bool:
        return not self.context.lenient

    def setting(self, *names: str) -> Value | None:
        """Returns the first setting that exists of these names, beside the type or in `inputs`.

        Neither place has priority: no known file has a setting in both.
        """
        values = (find(holder, name) for name in names for holder in (self.fields, self.inputs))
        return next((value for value in values if value is not None), None)

    def configuration(self, *names: str) -> Value | None:
        return find(self.fields, "runtimeConfiguration", *names)

    def value(self, *names: str) -> ir.Value:
        return self.context.value(self.setting(*names))

    def nothing(self) -> ir.Node:
        """Returns a node in place of an action that cannot be read."""
        return ir.Compute(name=self.name, value=ir.Constant(None))

    def timeout_s(self) -> float | None:
        """Returns the timeout of the action: `limit.timeout`, or `timeout` in milliseconds."""
        limit = find(self.fields, "limit", "timeout")
        is_own = self.type not in forms.LOOPS and self.type != "agent"
        if is_own and isinstance(limit, Scalar) and not has_expression(limit.text):
            return self.context.seconds(limit, 0)
        own = find(self.fields, "timeout")
        milliseconds = number_of(own)
        if milliseconds is not None:
            return milliseconds / 1_000
        return None if own is None else self.context.seconds(own, 0)

    def retry(self) -> ir.Retry | None:
        # The content of `inputs` of a compose is its value.
        holders = (self.fields,) if self.type == "compose" else (self.fields, self.inputs)
        names = ("retry", "retryPolicy")
        policies = [find_mapping(holder, name) for holder in holders for name in names]
        policy = next((policy for policy in policies if policy is not None), None)
        if policy is None:
            return None
        kind = text_at(policy, "type").lower() or "exponential"
        if kind not in ("fixed", "exponential", "none", "default"):
            span = (find(policy, "type") or policy).span
            message, advice = f"{kind!r} is not a kind of retry", "write fixed, exponential or none"
            self.context.report("W007", message, span, label="unknown kind", help=advice)
            return None
        is_shipped = find(policy, "maxAttempts") or find(policy, "initialDelay")
        retry = _shipped_retry(policy) if is_shipped else read_policy(self.context, policy, kind)
        # A delay without retries has no meaning.
        return retry if retry.times and kind != "none" else ir.Retry(times=0)

    def check(self) -> None:
        """Reports misspelt fields, and warns about fields and options that have no effect."""
        names = (*forms.COMMON, *forms.FIELDS.get(self.type, ()))
        self.context.check_spelling(self.fields, names, repr(self.name), warns=True)
        for name, names in forms.PART_FIELDS.items():
            for part in (find_mapping(self.fields, name), find_mapping(self.inputs, name)):
                if part is not None and not (name == "delay" and "count" in part):
                    owner = f"{name} of {self.name!r}"
                    self.context.check_spelling(part, names, owner, warns=True)
        self.check_needed()
        self._check_objects()
        self.check_options()

    def check_options(self) -> None:
        """Warns about unknown words of `operationOptions`."""
        place = find(self.fields, "operationOptions") or self.fields
        for word in sorted(self.options - {option.lower() for option in forms.OPTIONS}):
            message = f"{self.name!r} has the unknown option {word!r}"
            advice = did_you_mean(word, forms.OPTIONS) or f"known: {', '.join(forms.OPTIONS)}"
            self.context.warn("W004", message, place.span, label="unknown option", help=advice)

    def check_needed(self) -> None:
        """Reports fields that the type of the action needs and that are missing."""
        for types, names, example in forms.NEEDED:
            wanted = names.split()
            if self.type in types.split() and self.setting(*wanted) is None:
                message, advice = f"{self.name!r} needs {wanted[0]!r}", f'"{wanted[0]}": {example}'
                label = f"no {wanted[0]}"
                self.context.report("W006", message, self.span, label=label, help=f"write {advice}")

    def _check_objects(self) -> None:
        """Reports misspelt fields of objects that accept any other field."""
        check = self.context.check_spelling
        names = forms.FIELDS.get(self.type)
        if names is not None and self.type not in forms.OPEN:
            check(self.inputs, (*names, "retry", "retryPolicy"), f"inputs of {self.name!r}")
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


def read_policy(context: LoomContext, policy: Mapping, kind: str = "exponential") -> ir.Retry:
    """Reads a retry policy by the seed's rules, or by Azure's."""
    lenient = context.lenient
    if kind == "default" and not lenient:
        return AZURE_RETRY

    def seconds(usual_s: float, name: str, other: str = "") -> float:
        return context.seconds(find(policy, name) or find(policy, other), usual_s)

    wait = seconds(5.0 if lenient else 7.5, "interval")
    # The usual least wait of the seed shortens no interval; one that is written raises it.
    least = seconds(min(1.0, wait) if lenient else 5.0, "minimumInterval")
    codes = texts_of(find(policy, "on" if lenient else "httpStatusCodes"))
    written = find(policy, "count")
    times = (3 if lenient else 4) if written is None else whole_of(written)
    if times is None or not 0 <= times <= 1_000:
        message, times = "the count of a retry must be a whole number up to 1000", 0
        context.report("W007", message, policy.span, label="not a valid count")
    longest = seconds(60.0 if lenient else 86_400.0, "maximumInterval", "maxInterval")
    retry = replace(AZURE_RETRY, times=times, wait_s=wait, wait_min_s=least, wait_max_s=longest)
    retry = replace(retry, on=codes or _AZURE_ON)
    if lenient:
        on = tuple(_SAME_ERRORS.get(code.lower(), code) for code in codes) or ("*",)
        # The seed adds up to a tenth; the engine spreads to both sides of the middle.
        middle = 1 + JITTER / 2
        jitter = JITTER / 2 / middle
        retry = replace(retry, wait_s=wait * middle, jitter=jitter, on=on, drawn=False)
    if kind != "fixed":
        return retry
    wait = max(wait, least) if lenient else wait
    return ir.Retry(times=retry.times, wait_s=wait, backoff=1.0, wait_max_s=wait, on=retry.on)


def _shipped_retry(policy: Mapping) -> ir.Retry:
    """Reads the policy of the public system: the number of attempts, and milliseconds."""
    usual = {"maxAttempts": 3, "initialDelay": 1_000, "backoffMultiplier": 2, "maxDelay": 30_000}
    written = {name: number_of(find(policy, name)) for name in usual}
    numbers = usual | {name: value for name, value in written.items() if value is not None}
    return ir.Retry(
        times=max(0, int(numbers["maxAttempts"]) - 1),
        wait_s=numbers["initialDelay"] / 1_000,
        backoff=numbers["backoffMultiplier"],
        wait_max_s=numbers["maxDelay"] / 1_000,
        on=texts_of(find(policy, "retryableErrors")) or ("*",),
    )
