"""Triggers: what starts a definition, and the rules that decide whether and how often it runs.

A rule that has no effect is reported.
"""

from __future__ import annotations

import calendar
import re
from typing import TYPE_CHECKING, Any, Final, Literal

from whorl import ir
from whorl.dialects.reading.fields import duration_of, text_of, words
from whorl.formats.loom import forms
from whorl.formats.loom.action import Action
from whorl.formats.loom.blocks import read_connector, read_http
from whorl.formats.loom.forms import fields, find, find_mapping, scalars_in, text_at
from whorl.formats.loom.values.formats import windows_zone
from whorl.ir.values import parse_time
from whorl.source import Mapping, Sequence, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.errors import Span
    from whorl.formats.loom.action import Location
    from whorl.formats.loom.forms import LoomContext
    from whorl.ir.nodes import Part
    from whorl.language import Json
    from whorl.source import Value

Kind = Literal["request", "recurrence", "poll", "callback", "other"]

BODY, HEADERS, QUERIES = "body", "headers", "queries"
PATH, TRACKING = "relativePathParameters", "clientTrackingId"
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("request", "manual"), "request"),
    **dict.fromkeys(("recurrence", "slidingwindow", "schedule"), "recurrence"),
    **dict.fromkeys(words("httpwebhook apiconnectionwebhook openapiconnectionwebhook"), "callback"),
    **dict.fromkeys(words("http apiconnection openapiconnection"), "poll"),
    **dict.fromkeys(words("serviceprovider apimanagement"), "poll"),
}
_ITEMS_MAX = 100_000
_WITH_CONCURRENCY_MAX = 100
_RUNS_MAX = 100
_WAITING = 100
_BY_HAND = "start it with `whorl run`, or call the address that `whorl serve` has for it"
_OTHER_RULE = (
    "write a recurrence such as every 2 days; `whorl server schedule add` knows other rules"
)
_STAND_IN = "set `url` or `replies` in [connectors] of whorl.toml; or "


def read_trigger(
    context: LoomContext, definition: Mapping, location: Location, given: dict[str, Value | None]
) -> ir.Trigger | None:
    """Returns the trigger of a definition; None if only people start it.

    `given` are the parameters of the definition with their values.
    """
    entries = list(find_mapping(definition, "triggers") or ())
    if not entries or not isinstance(entries[0].value, Mapping):
        return None
    first, written = entries[0], entries[0].value
    # Its requests to other systems are written like an action.
    kind = text_at(written, "type").lower()
    trigger = Action(context, first.name, kind, written, first.key.span, location)
    if len(entries) > 1:
        name = entries[1].name
        message = f"{name!r} starts no runs: only the first trigger, {first.name!r}, does"
        _warn(trigger, message, "write one workflow for each trigger", entries[1].key.span)
    mentioned = "\n".join(scalar.text for scalar in scalars_in(definition)).lower()
    return _read(trigger, {name.lower(): value for name, value in given.items()}, mentioned)


def _read(trigger: Action, given: dict[str, Value | None], mentioned: str) -> ir.Trigger:
    context, written = trigger.context, trigger.fields
    kind, recurrence = _kind(trigger, given)
    trigger.check_options()
    inputs = trigger.inputs if kind == "request" else None
    schema = find(inputs, "schema")
    runs, waiting = (_number(trigger, name) for name in ("runs", "maximumWaitingRuns"))
    runs = 1 if "singleinstance" in trigger.options else runs
    usual = _WAITING if runs is None else min(_WAITING, 10 + runs)
    path = text_at(inputs, "relativePath").strip("/")
    split_on = find(written, "splitOn")
    tracking = find(written, "splitOnConfiguration", "correlation", TRACKING)
    tracking = tracking or find(written, "correlation", TRACKING)
    gives: list[tuple[Part, str]] = [("body", BODY), ("headers", HEADERS), ("queries", QUERIES)]
    if path or PATH.lower() in mentioned:
        gives.append(("path", PATH))
    if tracking is not None or TRACKING.lower() in mentioned:
        gives.append(("tracking", TRACKING))
    is_polled = kind == "poll" and recurrence is not None
    return ir.Trigger(
        name=trigger.name,
        kind=kind,
        methods=(text_at(inputs, "method").upper() or "POST",),
        path=path,
        schema=plain(schema) if schema and "enableschemavalidation" in trigger.options else None,
        gives=tuple(gives),
        fields=tuple(field.name for field in find_mapping(schema, "properties") or ()),
        conditions=tuple(_conditions(trigger)),
        split_on=None if split_on is None else context.value(split_on),
        items_max=_ITEMS_MAX if runs is None else _WITH_CONCURRENCY_MAX,
        tracking=None if tracking is None else context.value(tracking),
        concurrency=runs,
        waiting_max=usual if waiting is None else waiting,
        recurrence=recurrence,
        poll=_asked(trigger) if is_polled else None,
    )


def _warn(trigger: Action, message: str, advice: str, span: Span | None = None) -> None:
    place = span or trigger.span
    trigger.context.warn("W030", message, place, label="has no effect here", help=advice)


def _refuse(trigger: Action, message: str, advice: str, span: Span) -> None:
    trigger.context.report("W030", message, span, label="not supported", help=advice)


def _not_watched(trigger: Action) -> str:
    kind = text_at(trigger.fields, "type") or "no type"
    return f"trigger {trigger.name[:60]!r} ({kind}) does not start runs by itself"


def _kind(trigger: Action, given: dict[str, Value | None]) -> tuple[Kind, Json]:
    """Returns what starts the definition, and its schedule."""
    kind = _KINDS.get(trigger.type, "other")
    if trigger.context.lenient and trigger.type in ("", "http", "event"):
        kind = "request"
    written, why = find(trigger.fields, "recurrence"), ""
    recurrence: Json = None
    if kind == "recurrence" or (kind == "poll" and (written or trigger.type == "http")):
        try:
            recurrence = _recurrence(trigger, written, given)
        except ValueError as fault:
            why = f", since {fault}"
    if kind != "request" and recurrence is None:
        texts = [scalar.text for scalar in scalars_in(written)]
        is_computed = any(forms.has_expression(text) or text[:1] == "[" for text in texts)
        message = f"{_not_watched(trigger)}{why}"
        if why and not is_computed:
            _refuse(trigger, message, _OTHER_RULE, (written or trigger.fields).span)
        else:
            _warn(trigger, message, _BY_HAND)
    return kind, recurrence


def _asked(trigger: Action) -> ir.Value:
    """Returns the request by which a trigger asks another system for news."""
    if trigger.type == "http":
        trigger.check_needed()
        node = read_http(trigger)
        # A reply that is 202 says that there is no news, and nothing is waited for.
        kept = (entry for entry in node.inputs.entries if entry[0] not in ("poll", "pages"))
        return fields(kind="http", inputs=ir.Fields(tuple(kept)))
    _warn(trigger, _not_watched(trigger), f"{_STAND_IN}{_BY_HAND}")
    return fields(kind="connector", inputs=read_connector(trigger).inputs)


def _conditions(trigger: Action) -> Iterator[ir.Expression]:
    written = find(trigger.fields, "conditions")
    for item in written if isinstance(written, Sequence) else ():
        expression = find(item, "expression")
        if expression is None:
            message = f"a condition of trigger {trigger.name[:60]!r} has no expression"
            _refuse(trigger, message, 'write {"expression": "@equals(...)"}', item.span)
        else:
            yield trigger.context.condition(expression)


def _number(trigger: Action, name: str) -> int | None:
    value = trigger.configuration("concurrency", name)
    text = text_of(value)
    if value is None or (text.isdecimal() and 1 <= int(text) <= 2 * _RUNS_MAX):
        return int(text) if text else None
    message = f"{name} of trigger {trigger.name[:60]!r} must be a number from 1 to {_RUNS_MAX}"
    _refuse(trigger, message, f"write {name}: 1", value.span)
    return None


_WEEKDAYS: Final = {name.lower(): (n + 1) % 7 for n, name in enumerate(calendar.day_name)}
_PARAMETER: Final = re.compile(r"@\{?\s*parameters\(\s*'([^']+)'\s*\)\s*\}?", re.IGNORECASE)
_FIELDS: Final = frozenset(words("frequency interval starttime endtime timezone schedule"))
# The parts of a schedule, with those frequencies that have them, and their values.
_PARTS: Final = {
    "hours": ("hours", "day week month", range(24)),
    "minutes": ("minutes", "day week month", range(60)),
    "monthdays": ("days", "month", range(1, 32)),
    "weekdays": ("weekdays", "week", range(7)),
}


def _recurrence(
    trigger: Action, value: Value | None, given: dict[str, Value | None]
) -> dict[str, Json]:
    """Returns a schedule; raises ValueError, with the reason, if Whorl does not support it.

    Parameters have their `given` values, because a schedule passes no inputs. A sliding window
    follows the one before. Its run begins after the end of the window, and a delay.
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
    if frequency not in words("second minute hour day week month"):
        raise ValueError(f"{written.get('frequency')!r} is not a frequency such as Day")
    interval = _whole(written.get("interval", 1), range(1, 10_000_000), "interval")
    found: dict[str, Json] = {"frequency": frequency, "interval": interval}
    if zone := written.get("timezone"):
        names = windows_zone(str(zone))
        if not names:
            raise ValueError(f"{str(zone)[:60]!r} is not a Windows time zone")
        found["zone"] = names[0]
    for name, key in (("starttime", "start"), ("endtime", "end")):
        # It stays as it is written; without a Z it is a time of the zone.
        if (moment := written.get(name)) is not None:
            found[key] = str(moment)
            try:
                parse_time(str(moment))
            except ValueError:
                shown = repr(str(moment)[:40])
                raise ValueError(f"{shown} is not a time such as 2026-01-31T09:00:00Z") from None
    found |= _schedule(written.get("schedule") or {}, frequency)
    if trigger.type != "slidingwindow":
        return found
    delay = find(trigger.inputs, "delay")
    delay_s = 0.0 if delay is None else duration_of(delay)
    if {"hours", "minutes", "weekdays", "days"} & set(found):
        raise ValueError("a sliding window cannot have a schedule")
    if delay_s is None:
        raise ValueError("its delay is not a duration such as PT15S")
    return found | {"window": True, "delay_s": delay_s}


def _schedule(written: Any, frequency: str) -> dict[str, Json]:
    if not isinstance(written, dict):
        raise ValueError("its schedule is not an object")
    found: dict[str, Json] = {}
    for name, values in written.items():
        key, frequencies, span = _PARTS.get(name.lower(), ("", "", range(0)))
        if frequency not in frequencies.split():
            raise ValueError(f"a schedule with the frequency {frequency!r} cannot have {name!r}")
        if not isinstance(values, list):
            raise ValueError(f"{name!r} of its schedule is not a list")
        days = _WEEKDAYS if key == "weekdays" else {}
        numbers = {_whole(days.get(str(value).lower(), value), span, name) for value in values}
        if numbers:
            found[key] = [*sorted(numbers)]
    return found


def _whole(value: Any, span: range, name: str) -> int:
    text = str(value)
    if isinstance(value, bool) or not text.isdecimal() or int(text) not in span:
        bounds = f"{span.start} to {span.stop - 1}"
        raise ValueError(f"{text[:40]!r} is not a number from {bounds} for {name!r}")
    return int(text)
