"""Triggers: what starts a definition, and the rules that decide whether and how often it runs.

A rule that is not carried out is reported, never left out in silence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from whorl import ir
from whorl.dialects.reading.fields import words
from whorl.formats.loom.action import Action
from whorl.formats.loom.external_actions import read_connector, read_http
from whorl.formats.loom.forms import find, find_mapping, text_at
from whorl.formats.loom.project.connections import connected, unsubscribe_of
from whorl.formats.loom.project.recurrence import read_recurrence, read_window
from whorl.formats.loom.texts import fields, has_expression, is_expression, scalars_in
from whorl.formats.loom.words import OBJECT_FIELDS
from whorl.source import Mapping, Scalar, Sequence, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.errors import Span
    from whorl.formats.loom.action import Location
    from whorl.formats.loom.texts import LoomContext
    from whorl.ir.nodes import Part
    from whorl.language import Json
    from whorl.source import Entry, Value

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
