"""Triggers: what starts a definition, and the rules that decide whether and how often it runs.

A rule that is not carried out is reported, never left out in silence.
"""

from __future__ import annotations

import calendar
import re
from typing import TYPE_CHECKING, Any, Final, Literal

from whorl import ir
from whorl.dialects.reading.fields import duration_of, words
from whorl.formats.loom.action import Action
from whorl.formats.loom.external_actions import connected, read_connector, read_http, unsubscribe_of
from whorl.formats.loom.forms import (
    OBJECT_FIELDS,
    fields,
    find,
    find_mapping,
    has_expression,
    is_expression,
    scalars_in,
    text_at,
)
from whorl.formats.loom.values.formats import WINDOWS_ZONES
from whorl.ir.values import parse_time
from whorl.source import Mapping, Scalar, Sequence, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.errors import Span
    from whorl.formats.loom.action import Location
    from whorl.formats.loom.forms import LoomContext
    from whorl.ir.nodes import Part
    from whorl.language import Json
    from whorl.source import Entry, Value

if TYPE_CHECKING:
    # The parameters of a definition, with their values.
    Given = dict[str, Value | None]

Kind = Literal["request", "recurrence", "poll", "callback", "other"]

BODY, HEADERS, QUERIES = "body", "headers", "queries"
PATH, TRACKING = "relativePathParameters", "clientTrackingId"
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("request", "manual"), "request"),
    **dict.fromkeys(("recurrence", "slidingwindow", "schedule"), "recurrence"),
    **dict.fromkeys(
        ("httpwebhook", "apiconnectionwebhook", "openapiconnectionwebhook"), "callback"
    ),
    **dict.fromkeys(
        ("http", "apiconnection", "openapiconnection", "serviceprovider", "apimanagement"), "poll"
    ),
}
_ITEMS_MAX = 100_000
_WITH_CONCURRENCY_MAX = 100
_RUNS_MAX = 100
_WAITING = 100
_NOT_WATCHED = {
    "recurrence": "the clock does not start it here",
    "poll": "its events are not watched here",
    "callback": "it is not registered with the other system",
    "other": "its events are not watched here",
}
_BY_HAND = "start it with `whorl run`, or call the address that `whorl serve` has for it"
_OTHER_RULE = "write a recurrence such as every 2 days; `whorl schedule add` knows other rules"
_STAND_IN = "set in [connectors] of whorl.toml who answers for it; or "
# What `operationOptions` of a trigger are carried out, or change nothing here.
_OPTIONS = frozenset(
    words(
        """enableschemavalidation singleinstance suppressworkflowheaders disableasyncpattern
        includeauthorizationheadersinoutputs suppressworkflowheadersonresponse"""
    )
)


def read_trigger(
    context: LoomContext, definition: Mapping, location: Location, given: Given
) -> ir.Trigger | None:
    """The trigger of a definition; None where it has none, so that only people start it."""
    entries = list(find_mapping(definition, "triggers") or ())
    if not entries or not isinstance(entries[0].value, Mapping):
        return None
    if len(entries) > 1:
        first, other = entries[0].name, entries[1]
        message = f"{other.name!r} starts nothing here: the trigger is the first one, {first!r}"
        _warn(context, message, other.key.span, "write one workflow for each trigger")
    return _Trigger(context, entries[0], location, given).read(_mentions(definition))


def _mentions(definition: Mapping) -> str:
    return "\n".join(scalar.text for scalar in scalars_in(definition)).lower()


def _warn(context: LoomContext, message: str, span: Span, advice: str) -> None:
    context.warn("W030", message, span, label="not carried out", help=advice)


class _Trigger:
    """One trigger, as it is read."""

    def __init__(
        self, context: LoomContext, entry: Entry, location: Location, given: Given
    ) -> None:
        self.context = context
        self.given = {name.lower(): value for name, value in given.items()}
        self.name = entry.name
        self.span = entry.key.span
        self.fields = entry.value
        self.type = text_at(entry.value, "type").lower()
        fields = entry.value if isinstance(entry.value, Mapping) else Mapping((), self.span)
        # What it asks of other systems is written like an action.
        self.action = Action(context, self.name, self.type, fields, self.span, location)
        options = text_at(entry.value, "operationOptions")
        self.options = {option.strip().lower() for option in options.split(",") if option.strip()}

    def read(self, mentioned: str) -> ir.Trigger:
        kind, recurrence = self._kind()
        self._check()
        inputs = find(self.fields, "inputs") if kind == "request" else None
        schema = find(inputs, "schema")
        runs, waiting = self._concurrency()
        path = text_at(inputs, "relativePath").strip("/")
        tracking = find(self.fields, "splitOnConfiguration", "correlation", TRACKING)
        tracking = tracking or find(self.fields, "correlation", TRACKING)
        gives: list[tuple[Part, str]] = [("body", BODY), ("headers", HEADERS), ("queries", QUERIES)]
        if path or PATH.lower() in mentioned:
            gives.append(("path", PATH))
        if tracking is not None or TRACKING.lower() in mentioned:
            gives.append(("tracking", TRACKING))
        properties = find_mapping(schema, "properties") or ()
        is_polled = kind == "poll" and recurrence is not None
        asked = self._asked(kind) if is_polled or kind == "callback" else None
        return ir.Trigger(
            name=self.name,
            kind=kind,
            methods=(text_at(inputs, "method").upper() or "POST",)
            if kind == "request"
            else ("POST",),
            path=path,
            schema=plain(schema) if schema and "enableschemavalidation" in self.options else None,
            gives=tuple(gives),
            fields=tuple(field.name for field in properties),
            conditions=tuple(self._conditions()),
            split_on=self._split_on(),
            items_max=_ITEMS_MAX if runs is None else _WITH_CONCURRENCY_MAX,
            tracking=None if tracking is None else self.context.value(tracking),
            concurrency=runs,
            waiting_max=waiting,
            recurrence=recurrence,
            poll=asked if is_polled else None,
            subscribe=asked if kind == "callback" else None,
            unsubscribe=unsubscribe_of(self.action) if self.type == "httpwebhook" else None,
        )

    def _kind(self) -> tuple[Kind, Json]:
        """What starts it, and when the clock does."""
        kind = _KINDS.get(self.type, "other")
        if self.context.lenient and self.type in ("", "http", "event"):
            kind = "request"
        written, why = find(self.fields, "recurrence"), ""
        recurrence: Json = None
        if kind == "recurrence" or (kind == "poll" and (written or self.type == "http")):
            try:
                read = read_recurrence(written, self.given)
                is_window = self.type == "slidingwindow"
                delay = find(self.fields, "inputs", "delay")
                recurrence = read_window(read, delay) if is_window else read
            except ValueError as fault:
                why = f", since {fault}"
        if kind in _NOT_WATCHED and recurrence is None and kind != "callback":
            texts = [scalar.text for scalar in scalars_in(written)]
            is_computed = any(has_expression(text) or text[:1] == "[" for text in texts)
            message = f"{self._words}: {_NOT_WATCHED[kind]}{why}"
            if why and not is_computed:
                self._refuse(message, (written or self.fields).span, _OTHER_RULE)
            else:
                self._warn(message, self.span, _BY_HAND)
        return kind, recurrence

    @property
    def _words(self) -> str:
        return f"trigger {self.name[:60]!r} ({text_at(self.fields, 'type') or 'no type'})"

    def _warn(self, message: str, span: Span, advice: str) -> None:
        _warn(self.context, message, span, advice)

    def _asked(self, kind: Kind) -> ir.Value:
        """What another system is asked: whether there is news, or to tell it."""
        if self.type == "http":
            node = read_http(self.action)
            assert isinstance(node, ir.Task)
            # A reply that is 202 says that there is no news, and nothing is waited for.
            kept = (e for e in node.inputs.entries if e[0] not in ("poll", "pages"))
            return fields(kind="http", inputs=ir.Fields(tuple(kept)))
        node = read_connector(self.action)
        assert isinstance(node, ir.Task)
        inputs = connected(self.action, node).inputs
        if not any(name == "call" for name, _ in inputs.entries):
            message = f"{self._words}: {_NOT_WATCHED[kind]}"
            self._warn(message, self.span, f"{_STAND_IN}{_BY_HAND}")
        return fields(kind="connector", inputs=inputs)

    def _check(self) -> None:
        """Reports what would be left out: options and settings that nothing here carries out."""
        known = {name.lower() for name in OBJECT_FIELDS["trigger"]}
        for entry in self.fields if isinstance(self.fields, Mapping) else ():
            if entry.name.lower() not in known:
                message = f"{entry.name!r} of trigger {self.name[:60]!r} has no effect"
                _warn(self.context, message, entry.key.span, "leave it out")
        for option in sorted(self.options - _OPTIONS):
            message = f"trigger {self.name[:60]!r} has the unknown option {option!r}"
            span = (find(self.fields, "operationOptions") or self.fields).span
            self._refuse(message, span, f"known are {', '.join(sorted(_OPTIONS))}")

    def _refuse(self, message: str, span: Span, advice: str) -> None:
        self.context.report("W030", message, span, label="not carried out", help=advice)

    def _conditions(self) -> Iterator[ir.Expression]:
        written = find(self.fields, "conditions")
        for item in written if isinstance(written, Sequence) else ():
            expression = find(item, "expression")
            if expression is None:
                message = f"a condition of trigger {self.name[:60]!r} has no expression"
                self._refuse(message, item.span, 'write {"expression": "@equals(...)"}')
            else:
                yield self.context.condition(expression)

    def _split_on(self) -> ir.Value | None:
        written = find(self.fields, "splitOn")
        if written is None:
            return None
        if not is_expression(written):
            message = f"splitOn of trigger {self.name[:60]!r} is not an expression"
            self._refuse(message, written.span, "write \"@triggerBody()?['value']\"")
        return self.context.value(written)

    def _concurrency(self) -> tuple[int | None, int]:
        """How many runs there may be at once, and how many may wait for that."""
        concurrency = find(self.fields, "runtimeConfiguration", "concurrency")
        runs = self._number(find(concurrency, "runs"), "runs")
        waiting = self._number(find(concurrency, "maximumWaitingRuns"), "maximumWaitingRuns")
        if "singleinstance" in self.options:
            runs = 1
        usual = _WAITING if runs is None else min(_WAITING, 10 + runs)
        return runs, usual if waiting is None else waiting

    def _number(self, value: Value | None, name: str) -> int | None:
        if value is None:
            return None
        is_whole = isinstance(value, Scalar) and value.text.isdecimal()
        if isinstance(value, Scalar) and is_whole and 1 <= int(value.text) <= 2 * _RUNS_MAX:
            return int(value.text)
        if not (isinstance(value, Scalar) and has_expression(value.text)):
            advice = f"write a number from 1 to {_RUNS_MAX}"
        else:
            advice = "write the number itself"
        self._refuse(f"{name} of trigger {self.name[:60]!r} is no such number", value.span, advice)
        return None


# When the clock starts a definition: `recurrence` of its trigger as the IR has it.

# The longest interval that Azure takes, by frequency.
_INTERVALS: Final = {
    "second": 9_999_999,
    "minute": 72_000,
    "hour": 12_000,
    "day": 500,
    "week": 71,
    "month": 16,
}
_WEEKDAYS: Final = {name.lower(): (n + 1) % 7 for n, name in enumerate(calendar.day_name)}
_PARAMETER: Final = re.compile(r"@\{?\s*parameters\(\s*'([^']+)'\s*\)\s*\}?", re.IGNORECASE)
_FIELDS: Final = frozenset(words("frequency interval starttime endtime timezone schedule"))
# The parts of a schedule, with those frequencies that have them, and their values.
_PARTS: Final[dict[str, tuple[str, tuple[str, ...], range]]] = {
    "hours": ("hours", ("day", "week", "month"), range(24)),
    "minutes": ("minutes", ("day", "week", "month"), range(60)),
    "monthdays": ("days", ("month",), range(1, 32)),
}


def read_recurrence(value: Value | None, given: dict[str, Value | None]) -> dict[str, Json]:
    """Raises ValueError, with the reason, for one that is not carried out.

    What it has of parameters alone is as they are `given`, for nobody gives them to the clock.
    """
    if not isinstance(value, Mapping):
        raise ValueError("it has no recurrence")
    written: dict[str, Any] = {}
    for entry in value:
        text = plain(entry.value)
        named = _PARAMETER.fullmatch(text) if isinstance(text, str) else None
        known = given.get(named[1].lower()) if named else None
        written[entry.name.lower()] = text if known is None else plain(known)
    if unknown := sorted(set(written) - _FIELDS):
        raise ValueError(f"{unknown[0]!r} of its recurrence is not known")
    frequency = str(written.get("frequency", "")).lower()
    if frequency not in _INTERVALS:
        raise ValueError(f"{written.get('frequency')!r} is not a frequency such as Day")
    interval = _whole(written.get("interval", 1), range(1, _INTERVALS[frequency] + 1), "interval")
    found: dict[str, Json] = {"frequency": frequency, "interval": interval}
    if zone := written.get("timezone"):
        found["zone"] = _zone(zone)
    for name, key in (("starttime", "start"), ("endtime", "end")):
        if (moment := written.get(name)) is not None:
            found[key] = _moment(moment)
    schedule = written.get("schedule")
    if schedule:
        found |= _schedule(schedule, frequency)
    return found


def read_window(recurrence: dict[str, Json], delay: Value | None) -> dict[str, Json]:
    """Windows of time that follow each other, each dealt with once it has ended, and a delay."""
    if {"hours", "minutes", "weekdays", "days"} & set(recurrence):
        raise ValueError("a sliding window cannot have a schedule")
    delay_s = 0.0 if delay is None else duration_of(delay)
    if delay_s is None:
        raise ValueError("its delay is not a duration such as PT15S")
    return recurrence | {"window": True, "delay_s": delay_s}


def _schedule(written: Any, frequency: str) -> dict[str, Json]:
    if not isinstance(written, dict):
        raise ValueError("its schedule is not an object")
    found: dict[str, Json] = {}
    for name, values in written.items():
        if not isinstance(values, list):
            raise ValueError(f"{name!r} of its schedule is not a list")
        if name.lower() == "weekdays" and frequency == "week":
            if not values or any(str(day).lower() not in _WEEKDAYS for day in values):
                raise ValueError("its weekDays are not names of days")
            found["weekdays"] = [*sorted({_WEEKDAYS[str(day).lower()] for day in values})]
            continue
        key, frequencies, span = _PARTS.get(name.lower(), ("", (), range(0)))
        if frequency not in frequencies:
            raise ValueError(f"a schedule with the frequency {frequency!r} cannot have {name!r}")
        numbers = [_whole(value, span, name) for value in values]
        if numbers:
            found[key] = [*sorted(set(numbers))]
    return found


def _whole(value: Any, span: range, name: str) -> int:
    text = str(value)
    if isinstance(value, bool) or not text.isdecimal() or int(text) not in span:
        bounds = f"{span.start} to {span.stop - 1}"
        raise ValueError(f"{text[:40]!r} is not a number from {bounds} for {name!r}")
    return int(text)


def _moment(value: Any) -> str:
    """A time as it is written, once it is known to be one; without a Z it is that of the zone."""
    try:
        parse_time(str(value))
    except ValueError:
        raise ValueError(
            f"{str(value)[:40]!r} is not a time such as 2026-01-31T09:00:00Z"
        ) from None
    return str(value)


def _zone(value: Any) -> str:
    name = str(value).strip()
    windows = next((key for key in WINDOWS_ZONES if key.lower() == name.lower()), None)
    if windows is None:
        raise ValueError(f"{name[:60]!r} is not a Windows time zone")
    return WINDOWS_ZONES[windows].split()[0]
